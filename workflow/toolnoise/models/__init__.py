"""Models: builders of Keras networks that name every layer, and initial weights from the streams.

A builder is called as `build(input_shape, classes, **options)` and returns a Keras model that gives logits. It says
through each layer's initialisers how its weights are distributed; the numbers come from the streams, by the names of
the layers. A network that images are too small for is a ValueError, as it is in Keras.
"""
