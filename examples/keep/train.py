"""Trains a small network on two half-moons, in NumPy, and prints its loss on test points: `python train.py SEED`."""

import sys

import numpy as np

WIDTH, STEPS, RATE = 16, 300, 0.1


def moons(rng, count):
    """Points on two half-moons, with noise, and the half-moon (0 or 1) of each point."""
    which = rng.integers(0, 2, count)
    angle = rng.uniform(0, np.pi, count)
    points = np.stack([np.cos(angle), np.sin(angle)], 1)
    points[which == 1] = [1, 0.5] - points[which == 1]
    return points + rng.normal(0, 0.2, points.shape), which


def probabilities(weights, points):
    """The activations of the hidden layer, and the probability of the second half-moon."""
    hidden = np.tanh(points @ weights[0] + weights[1])
    return hidden, 1 / (1 + np.exp(-(hidden @ weights[2] + weights[3])))


# The data are the same in all runs; the seed draws initial weights and batches.
data = np.random.default_rng(0)
x, y = moons(data, 200)
others, truth = moons(data, 1000)
rng = np.random.default_rng(int(sys.argv[1]))
weights = [rng.normal(0, 1, (2, WIDTH)), np.zeros(WIDTH), rng.normal(0, 0.3, WIDTH), np.zeros(1)]

for _step in range(STEPS):
    batch = rng.integers(0, len(x), 16)
    hidden, p = probabilities(weights, x[batch])
    error = (p - y[batch]) / len(batch)
    below = np.outer(error, weights[2]) * (1 - hidden**2)
    gradients = [x[batch].T @ below, below.sum(0), hidden.T @ error, error.sum(keepdims=True)]
    weights = [weight - RATE * gradient for weight, gradient in zip(weights, gradients, strict=True)]

_, p = probabilities(weights, others)
print(f"{-np.mean(np.log(np.where(truth == 1, p, 1 - p))):.6f}")
