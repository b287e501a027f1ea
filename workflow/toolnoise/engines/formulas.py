"""One specification of the optimisers, constant by constant, which every engine follows.

With g the gradient plus the L2 coefficient times the weight, r the learning rate times the tensor's factor, and every
operation rounded to float32 in this order:

    Adam    m += (g - m) * RISE_1
            v += (g * g - v) * RISE_2
            weight -= m * (r * sqrt(1 - BETA_2^t) / (1 - BETA_1^t)) / (sqrt(v) + EPSILON)
    SGD     momentum = momentum * recipe's momentum - r * g
            weight += momentum

RISE is 1 - beta, taken from the float32 nearest to beta, as TensorFlow's kernel ResourceApplyAdam does. It is not the
float32 nearest to 1 - beta: for 0.999 the two are 1.3 parts in 100,000 apart. That is far more than rounding, and
enough to make two frameworks part like two seeds (docs/frameworks.md). The powers of the betas are computed once, in
float64, and rounded.

A tooling with `formulas: shipped` uses what its framework ships instead. In PyTorch that is torch.optim's Adam, which
divides by the second bias correction before it adds epsilon, and its SGD, which multiplies by the rate after the
momentum. JAX ships no optimiser: there it is Keras's Adam, with the float32 nearest to 1 - beta; its SGD is the one
above. TensorFlow's kernels are the ones above.
"""

import numpy as np

BETA_1, BETA_2, EPSILON = 0.9, 0.999, 1e-7
RISE_1, RISE_2 = (float(np.float32(1) - np.float32(beta)) for beta in (BETA_1, BETA_2))


def smoothed(smoothing: float, classes: int) -> tuple[float, float]:
    """The target of an example's class and that of any other, with label smoothing."""
    elsewhere = smoothing / classes
    return 1 - smoothing + elsewhere, elsewhere
