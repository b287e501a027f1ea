"""TensorFlow's own boxes and resizing, as the Model Garden calls them.

The oracle of tests/engines/test_streaming.py.
"""

import sys

import numpy as np
import tensorflow as tf

LAW = {"min_object_covered": 0.1, "aspect_ratio_range": [0.75, 1.33], "area_range": [0.05, 1.0], "max_attempts": 100}


def boxes(sizes, count):
    """Top, left, height and width of this many boxes in an image of each size."""
    everything = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])

    @tf.function
    def one(seed, shape):
        begin, size, _ = tf.image.stateless_sample_distorted_bounding_box(shape, everything, [seed, 5], **LAW)
        return tf.concat([begin[:2], size[:2]], 0)

    for height, width in sizes:
        shape = tf.constant([height, width, 3])
        yield tf.map_fn(lambda seed, shape=shape: one(seed, shape), tf.range(count)).numpy()


def resized(pixels, box, side):
    """A box of an image, mirrored if its width is negative, at another size."""
    top, left, height, width = map(int, box)
    part = tf.image.crop_to_bounding_box(pixels, top, left, height, abs(width))
    part = tf.image.flip_left_right(part) if width < 0 else part
    return tf.compat.v1.image.resize(
        part, [side, side], method=tf.image.ResizeMethod.BILINEAR, align_corners=False
    ).numpy()


if __name__ == "__main__":
    with np.load(sys.argv[1]) as given:
        side = int(given["side"])
        pictures = [resized(given["pixels"], box, side) for box in given["boxes"]]
        drawn = boxes(given["sizes"].tolist(), int(given["count"]))
        np.savez(sys.argv[2], pictures=np.stack(pictures), drawn=np.stack(list(drawn)))
