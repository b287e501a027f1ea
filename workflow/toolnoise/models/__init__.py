"""Models: builders of Keras networks that name every layer, and initial weights from the streams.

A builder is called as `build(input_shape, classes, **options)` and returns a Keras model that gives logits. Each
layer's initialisers define the distribution of its weights. The numbers are drawn from streams named by the layers. If
images are too small for a network, the builder raises a ValueError, as Keras does.
"""
