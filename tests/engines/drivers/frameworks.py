"""What one framework computes by this program and by itself, in one process: `frameworks.py FUNCTION ARGUMENT...`."""

import json
import sys
from unittest import mock

import numpy as np

# Max-pooling in JAX


def jax_pooling():
    """Whether numbers and bits of gradients are XLA's; where NaN stays; how Keras pools."""
    import jax
    import keras

    from toolnoise.engines import jax_kernels

    draw = np.random.default_rng(7)

    def agreement(shape, size, dtype):
        # Many numbers are equal, and zeros have both signs.
        images = draw.integers(-2, 3, shape).astype(np.float32) * draw.choice([1, -1, 0.5, 0, -0.0], shape)
        window = (1, *size, 1)

        def theirs(images):
            return jax.lax.reduce_window(images, -np.inf, jax.lax.max, window, window, "VALID")

        gradient = draw.normal(size=theirs(images).shape) * draw.choice([1, -1, 0, -0.0], theirs(images).shape)
        images, gradient = (jax.numpy.asarray(values, dtype) for values in (images, gradient))
        given = []
        for pool in (jax_kernels.side_by_side(jax, size), theirs):
            made, back = jax.jit(lambda images, pool=pool: jax.vjp(pool, images))(images)
            given.append((np.asarray(made), np.asarray(back(gradient)[0]).tobytes()))
        (mine, my_gradient), (wanted, its_gradient) = given
        # Equal zeros may have two signs: XLA's choice depends on the program around.
        return np.array_equal(mine, wanted) and my_gradient == its_gradient

    shapes = [((4, 8, 8, 3), (2, 2)), ((2, 7, 9, 5), (2, 2)), ((3, 9, 7, 1), (3, 2)), ((1, 4, 6, 2), (1, 3))]
    holes = np.zeros((1, 2, 4, 1), np.float32)
    holes[0, 0, 0], holes[0, 1, 3] = np.nan, np.nan
    images = jax.numpy.arange(16, dtype="float32").reshape(1, 4, 4, 1)
    theirs = keras.src.backend.nn.max_pool
    jax_kernels.install_pooling(jax, keras.src.backend)
    others = [((2, 2), (1, 1), "valid"), ((2, 2), (2, 2), "same")]
    return {
        "agreement": [agreement(shape, size, dtype) for shape, size in shapes for dtype in ("float32", "bfloat16")],
        "holes": np.isnan(jax_kernels.side_by_side(jax, (2, 2))(holes)).tolist(),
        "by it": np.asarray(keras.ops.max_pool(images, 2)).tolist(),
        "others": [np.array_equal(keras.ops.max_pool(images, *one), theirs(images, *one)) for one in others],
    }


# Layers and scans in PyTorch


def torch_layers():
    """Of networks, whether layers are called by this program, and whether the bits are Keras's; and of scans."""
    import keras

    from toolnoise.engines import torch_layers

    class Trains(keras.layers.Layer):
        """Adds 1 in training."""

        def call(self, values, training=False):
            return values + 1 if training else values

    class Around(keras.layers.Layer):
        """Has a layer inside, which learns from Keras whether it trains."""

        def __init__(self, **options):
            super().__init__(**options)
            self.inner = Trains(name="inner")

        def call(self, values):
            return self.inner(values)

    class Masked(keras.layers.Layer):
        """The mask of what it gets."""

        supports_masking = True

        def call(self, values, mask=None):
            return values if mask is None else values * keras.ops.cast(mask, "float32")[..., None]

    def usual(values):
        values = keras.layers.BatchNormalization()(keras.layers.Conv2D(4, 3, activation="relu")(values))
        left, right = keras.ops.split(values, 2, axis=-1)
        values = keras.layers.Add()([Trains()(left), keras.layers.MaxPooling2D(3, 1, padding="same")(right)])
        return keras.layers.Dense(3)(keras.layers.Flatten()(values))

    networks = {
        "usual": usual,
        "around another": lambda values: Around()(values),
        "a network inside": lambda values: keras.Sequential([keras.layers.Conv2D(4, 3), Trains()])(values),
        "half precision": lambda values: keras.layers.Flatten()(
            keras.layers.Conv2D(4, 3, dtype="mixed_bfloat16")(values)
        ),
        "masked": lambda values: Masked()(keras.layers.Embedding(4, 3, mask_zero=True)(values)),
    }
    generator = np.random.default_rng(1)
    pictures, tokens = generator.random((5, 6, 8, 2), np.float32), generator.integers(0, 4, (5, 7))
    said = {}
    for name, build in networks.items():
        values = keras.Input((7,), dtype="int32") if name == "masked" else keras.Input((6, 8, 2))
        inputs = keras.ops.convert_to_tensor(tokens if name == "masked" else pictures)
        model = keras.Model(values, build(values))
        start = model.get_weights()
        ours = torch_layers.forward(keras, model)
        with mock.patch.object(model, "_run_through_graph", wraps=model._run_through_graph) as run:
            ours(inputs, False)
            is_bare = run.call_args.kwargs["operation_fn"].__module__ == torch_layers.__name__
        bits = []
        for function in (ours, lambda images, training, model=model: model(images, training=training)):
            model.set_weights(start)
            given = [function(inputs, training) for training in (True, False, True)]
            bits.append([each.detach().numpy().tobytes() for each in (*given, *(w.value for w in model.weights))])
        said[name] = [is_bare, bits[0] == bits[1]]
    return {"layers": said, "scans": scans(keras)}


def scans(keras):
    """Of each way to scan, whether results and gradients have the bits of Keras's."""
    import torch

    from toolnoise.engines import torch_layers

    def one(scan, inputs, _, weights, start, **more):
        return scan(lambda state, given: (torch.tanh(state @ weights + given),) * 2, start, inputs, **more)

    def several(scan, inputs, others, weights, start):
        def step(state, given):
            hidden, total = state
            return (torch.tanh(hidden @ weights + given[0]), total + given[1]), (hidden * given[1], total)

        return scan(step, (start, torch.zeros_like(start)), (inputs, others))

    def bits(scan, way):
        torch.manual_seed(1)
        shape = (7, 3, 4)
        tensors = [torch.randn(size, requires_grad=True) for size in (shape, shape, (4, 4), shape[1:])]
        given = keras.tree.flatten(way(scan, *tensors))
        sum((each * each).sum() for each in given).backward()
        gradients = [tensor.grad for tensor in tensors if tensor.grad is not None]
        return [each.detach().numpy().tobytes() for each in (*given, *gradients)]

    ways = {"one": one, "several": several, "back": lambda *given: one(*given, reverse=True)}
    theirs = keras.src.backend.torch.core.scan
    torch_layers.install_scan(torch, keras)
    return {name: bits(keras.src.backend.torch.core.scan, way) == bits(theirs, way) for name, way in ways.items()}


# TensorFlow's own boxes and resizing, as the Model Garden calls them

LAW = {"min_object_covered": 0.1, "aspect_ratio_range": [0.75, 1.33], "area_range": [0.05, 1.0], "max_attempts": 100}


def model_garden(given_file, out):
    """Boxes of images of each size, top, left, height and width; and boxes of a picture, resized."""
    import tensorflow as tf

    def resized(pixels, box, side):
        top, left, height, width = map(int, box)
        part = tf.image.crop_to_bounding_box(pixels, top, left, height, abs(width))
        part = tf.image.flip_left_right(part) if width < 0 else part
        bilinear = {"method": tf.image.ResizeMethod.BILINEAR, "align_corners": False}
        return tf.compat.v1.image.resize(part, [side, side], **bilinear).numpy()

    everything = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])

    @tf.function
    def box(seed, shape):
        begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(shape, everything, [seed, 5], **LAW)
        return tf.concat([begin[:2], size[:2]], 0)

    with np.load(given_file) as given:
        pictures = [resized(given["pixels"], one, int(given["side"])) for one in given["boxes"]]
        shapes = [tf.constant([*size, 3]) for size in given["sizes"].tolist()]
        seeds = tf.range(int(given["count"]))
        drawn = [tf.map_fn(lambda seed, shape=shape: box(seed, shape), seeds).numpy() for shape in shapes]
        np.savez(out, pictures=np.stack(pictures), drawn=np.stack(drawn))


if __name__ == "__main__":
    print(json.dumps(globals()[sys.argv[1]](*sys.argv[2:])))
