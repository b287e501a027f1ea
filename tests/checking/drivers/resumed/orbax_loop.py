"""JAX: a loop with Optax, whose states Orbax keeps; the order of an epoch comes from its number."""

import time
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import optax
import orbax.checkpoint as ocp
from sklearn.datasets import load_digits

images, labels = load_digits(return_X_y=True)
images, labels = jnp.asarray(images[:320] / 16, jnp.float32), jnp.asarray(labels[:320])
key = jax.random.key(1)
state = {"net": {"a": jax.random.normal(key, (64, 32)) / 8, "b": jnp.zeros((32, 10))}}
optimiser = optax.adam(0.01)
state["optimiser"] = optimiser.init(state["net"])


def loss(net, x, y):
    return optax.softmax_cross_entropy_with_integer_labels(jax.nn.relu(x @ net["a"]) @ net["b"], y).mean()


@jax.jit
def step(state, x, y):
    value, slope = jax.value_and_grad(loss)(state["net"], x, y)
    change, moments = optimiser.update(slope, state["optimiser"])
    return {"net": optax.apply_updates(state["net"], change), "optimiser": moments}, value


manager = ocp.CheckpointManager(Path("kept").resolve())
first, kind = 0, ocp.args.StandardRestore
if manager.latest_step() is not None:
    last = manager.latest_step()
    first = last + 1
    state = manager.restore(last, args=kind(state))
for epoch in range(first, 8):
    order = jax.random.permutation(jax.random.fold_in(key, epoch), len(images))
    for batch in order.reshape(-1, 32):
        state, value = step(state, images[batch], labels[batch])
    manager.save(epoch, args=ocp.args.StandardSave(state))
    manager.wait_until_finished()
    time.sleep(0.5)  # an epoch is too short to be stopped in
    print("epoch", epoch, "loss", float(value), flush=True)
np.save("preds.npy", jax.nn.relu(images @ state["net"]["a"]) @ state["net"]["b"])
