"""The first step's loss and gradients and some runs' logits, as an engine has them and in float64; and its kernels.

In float64 the same builder makes the network again, and the engine's framework differentiates it.
"""

import sys

import numpy as np

from toolnoise import arrays, plans, study, training
from toolnoise.datasets import prepared
from toolnoise.engines import State
from toolnoise.models.initial import initial_weights


def differentiated(engine, keras, model, images, labels):
    """Loss and gradients, by path."""
    ops, trained = keras.ops, model.trainable_variables
    wanted = ops.convert_to_tensor(np.eye(model.output.shape[-1])[labels])

    def loss():
        logits = model(images, training=True)
        return -ops.mean(ops.sum(wanted * ops.log_softmax(logits), axis=-1))

    if engine.framework == "tensorflow":
        with engine.tf.GradientTape() as tape:
            value = loss()
        gradients = tape.gradient(value, [variable.value for variable in trained])
    elif engine.framework == "torch":
        value = loss()
        gradients = engine.torch.autograd.grad(value, [variable.value for variable in trained])
    else:

        def of(values):
            with keras.StatelessScope(state_mapping=list(zip(trained, values, strict=True))):
                return loss()

        value, gradients = engine.jax.value_and_grad(of)([variable.value for variable in trained])
    return value, {variable.path: gradient for variable, gradient in zip(trained, gradients, strict=True)}


def main(study_file, data_file, out, *others):
    loaded = study.load(study_file)
    spec = loaded.spec(loaded.cells[0], 1)
    data = prepared.load(data_file, spec["recipe"]["normalise"])
    engine, _ = training.start_engine(spec)
    import keras

    parameters = training.build_model(engine, spec, data)
    initial = initial_weights(parameters, spec["study_seed"], 0, "model")
    # At a rate of one the first momentum is the gradient itself.
    engine.compile(spec["recipe"] | {"optimizer": "sgd"}, data.train)
    engine.restore(State(initial, {}, 0))
    whole = plans.plan_epoch(spec, len(data.train.labels), 0)
    plan = whole.steps(0, 1)._replace(rates=np.ones(1, np.float32))
    found = {"loss": np.array(engine.epoch(plan).loss)}
    for path, momentum in engine.state().slots["momentum"].items():
        found[f"gradient/{path}"] = -momentum
    kernels = engine.profile(whole)
    found["microseconds"] = np.array([kernel.microseconds for kernel in kernels])
    found["calls"] = np.array([kernel.calls for kernel in kernels])
    for number, other in enumerate(others):
        engine.restore(State(arrays.read_npz(other), {}, 0))
        found[f"logits/{number}"] = engine.logits(data.test)

    if engine.framework == "jax":
        engine.jax.config.update("jax_enable_x64", True)
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    shape, classes = data.train.shape, len(data.classes)
    model = training._builder(spec["model"])(shape, classes, **spec["model"]["options"])

    def take(weights):
        for variable in model.weights:
            variable.assign(weights[variable.path].astype(np.float64))

    take(initial)
    chosen = plan.order[0]
    images = keras.ops.convert_to_tensor(data.train.images[chosen].astype(np.float64))
    loss, gradients = differentiated(engine, keras, model, images, data.train.labels[chosen])
    found["loss in float64"] = keras.ops.convert_to_numpy(loss)
    for path, gradient in gradients.items():
        found[f"gradient in float64/{path}"] = keras.ops.convert_to_numpy(gradient)
    for number, other in enumerate(others):
        take(arrays.read_npz(other))
        logits = model(keras.ops.convert_to_tensor(data.test.images.astype(np.float64)), training=False)
        found[f"logits in float64/{number}"] = keras.ops.convert_to_numpy(logits)
    arrays.write_npz(out, found)


main(*sys.argv[1:])
