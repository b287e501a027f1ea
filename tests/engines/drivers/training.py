"""Steps and epochs of a study's first run: `training.py FUNCTION STUDY DATA OUT ARGUMENT...`."""

import contextlib
import io
import itertools
import json
import os
import sys
from pathlib import Path

import numpy as np

from toolnoise import cli, epoch_plan
from toolnoise.base import arrays
from toolnoise.datasets import prepared, streaming
from toolnoise.engines import State, formulas
from toolnoise.engines.formulas import BETA_1, BETA_2
from toolnoise.models.initial import initial_weights
from toolnoise.study import grid
from toolnoise.training import checkpoints, loop, network


def opened(study_file, data_file, engine=None, **cell):
    """The engine of a study's first run, or of one of another variant, its spec and its data; `engine` has started."""
    loaded = grid.load_study(study_file)
    spec = loaded.spec(loaded.cells[0]._replace(**cell), 1)
    engine = engine or network.start_engine(spec)[0]
    return engine, spec, prepared.load(data_file, spec.recipe["normalise"])


def begin(engine, spec, data, **changes):
    """Build a spec's network and compile it for a recipe with these changes; return its initial weights."""
    parameters = network.build_model(engine, spec, data)
    engine.compile(spec.recipe | changes, data.train)
    initial = initial_weights(parameters, spec.study_seed, 0, "model")
    engine.restore(State(initial, {}, 0))
    return initial


def first_step(study_file, data_file, out, *others):
    """An engine's first step, its loss and gradients, and the logits that it gives of runs' weights."""
    engine, spec, data = opened(study_file, data_file)
    initial = begin(engine, spec, data, optimizer="sgd")
    # At a rate of one the first momentum is the gradient itself.
    first = epoch_plan.plan_epoch(spec, len(data.train.labels), 0).steps(0, 1)._replace(rates=np.ones(1, np.float32))
    found = {"loss": np.array(engine.epoch(first).loss), "order": first.order[0]}
    found |= {f"gradient/{path}": -momentum for path, momentum in engine.state().slots["momentum"].items()}
    found |= {f"after/{path}": tensor for path, tensor in engine.weights().items()}
    found |= {f"initial/{path}": tensor for path, tensor in initial.items()}
    for number, other in enumerate(others):
        engine.restore(State(arrays.read_npz(other), {}, 0))
        found[f"logits/{number}"] = engine.logits(data.test)
    arrays.write_npz(out, found)


UPDATE, RATE = 7, np.float32(0.008)


def one_update(study_file, data_file, out, given_file):
    """One update of each optimiser from given gradients, weights and slots, on the engine of a study; and losses."""
    engine, spec, data = opened(study_file, data_file)
    network.build_model(engine, spec, data)
    given, found = arrays.read_npz(given_file), {}
    powers = np.array([BETA_1**UPDATE, BETA_2**UPDATE], np.float32)
    for optimizer, slots in (("adam", ("m", "v")), ("sgd", ("momentum",))):
        engine.compile(spec.recipe | {"optimizer": optimizer}, data.train)
        weights = {path: given[f"weights/{path}"] for path in engine.tensors}
        of_slots = {slot: {path: given[f"{slot}/{path}"] for path in engine.trainable} for slot in slots}
        engine.restore(State(weights, of_slots, UPDATE - 1))
        gradients = [given[f"gradient/{path}"] for path in engine.trainable]
        apply(engine, spec.hardware.engine, gradients, powers)
        state = engine.state()
        found |= {f"{optimizer}/weights/{path}": state.weights[path] for path in engine.trainable}
        for slot in slots:
            found |= {f"{optimizer}/{slot}/{path}": tensor for path, tensor in state.slots[slot].items()}
    labels, logits = given["labels"], given["logits"]
    found["losses"] = losses(engine, spec.hardware.engine, labels, logits)
    arrays.write_npz(out, found)


def apply(engine, framework, gradients, powers):
    if framework == "tensorflow":
        engine.tf.function(lambda: engine._update(list(map(engine.tf.constant, gradients)), RATE, powers))()
    elif framework == "jax":
        trained = {path: engine.tensors[path] for path in engine.trainable}
        named = dict(zip(engine.trainable, gradients, strict=True))
        new, engine.slots = engine.jax.jit(engine._updated)(trained, engine.slots, named, RATE, *powers)
        engine.tensors |= new
    else:
        trained = [engine.tensors[path] for path in engine.trainable]
        with engine.torch.no_grad():
            engine._update(trained, tuple(map(engine.torch.tensor, gradients)), RATE, powers, UPDATE)


def losses(engine, framework, labels, logits):
    if framework == "tensorflow":
        return np.array(engine._losses(engine.tf.constant(labels), engine.tf.constant(logits)))
    if framework == "jax":
        return np.array(engine._losses(labels, logits))
    torch = engine.torch
    targets = engine._targets(torch.tensor(labels).long(), logits.shape[1])
    return torch.nn.functional.cross_entropy(torch.tensor(logits), targets, reduction="none").numpy()


def some_steps(study_file, data_file, out):
    """Train five steps on the tooling of a study; write the state, and logits of the network."""
    engine, spec, data = opened(study_file, data_file)
    begin(engine, spec, data)
    engine.epoch(epoch_plan.plan_epoch(spec, len(data.train.labels), 0).steps(0, 5))
    arrays.write_npz(out, packed(engine.state()) | {"logits": engine.logits(data.test)})


def packed(state):
    slots = {f"{slot}:{path}": array for slot, tensors in state.slots.items() for path, array in tensors.items()}
    return {"step": state.step, **{f"weights:{path}": array for path, array in state.weights.items()}, **slots}


def unpacked(found):
    groups = {}
    for name, array in found.items():
        group, _, path = name.partition(":")
        groups.setdefault(group, {})[path] = array
    return State(groups.pop("weights"), {slot: groups[slot] for slot in groups if slot != "step"}, int(found["step"]))


def resume(study_file, data_file, out, before=None):
    """Train three epochs with each optimiser and write the states after the first and the last.

    Given such a file, train the last two epochs only, from the state in it.
    """
    engine, spec, data = opened(study_file, data_file, variant="control")
    found = {}
    for optimizer in ("adam", "sgd"):
        parameters = network.build_model(engine, spec, data)
        engine.compile(spec.recipe | {"optimizer": optimizer}, data.train)
        start = State(initial_weights(parameters, spec.study_seed, 0, "model"), {}, 0)
        if before:
            saved = arrays.read_npz(before).items()
            after_one = f"0/{optimizer}/"
            start = unpacked({name.removeprefix(after_one): array for name, array in saved if after_one in name})
        engine.restore(start)
        for epoch in range(1 if before else 0, 3):
            engine.epoch(epoch_plan.plan_epoch(spec, len(data.train.labels), epoch))
            if epoch != 1:
                found |= {f"{epoch}/{optimizer}/{name}": array for name, array in packed(engine.state()).items()}
    arrays.write_npz(out, found)


def stream(study_file, _data_file, _last, streamed_file, *part_bytes):
    """Train one run on streamed data in a folder for each number of bytes: a part of so many (or a step) at a time."""
    loaded = grid.load_study(study_file)
    spec = loaded.spec(loaded.cells[0]._replace(variant="impl"), 1)
    # An engine starts once in a process.
    started = loop.start_engine(spec)
    loop.start_engine = lambda _: started
    for size in part_bytes:
        streaming.PART_BYTES = int(size)
        outputs = {"weights": "npz", "history": "csv", "checkpoint": "checkpoint.npz"}
        paths = {part: Path(size) / f"{part}.{suffix}" for part, suffix in outputs.items()}
        loop.train(spec, streamed_file, record=Path(size) / "run.json", **paths)


STEPS = 6
CASES = {
    "sgd": {"optimizer": "sgd"},
    "regularised": {"optimizer": "sgd", "label_smoothing": 0.1, "weight_decay": 0.05},
    "by kind": {
        "optimizer": "sgd",
        "weight_decay": 0.05,
        "decay_normalisation": True,
        "bias_rate": 0.3,
        "scale_rate": 3,
    },
    "by name, without momentum": {
        "optimizer": "sgd",
        "momentum": 0,
        "weight_decay": 0.05,
        "undecayed": ["bias", "logits"],
    },
    "adam by kind": {"optimizer": "adam", "bias_rate": 0.3, "scale_rate": 3},
}


def augmented(images, plan, step, pad):
    batch = []
    for index, (row, column), flip in zip(plan.order[step], plan.offsets[step], plan.flips[step], strict=True):
        padded = np.pad(images[index], ((pad, pad), (pad, pad), (0, 0)))
        crop = padded[row : row + images.shape[1], column : column + images.shape[2]]
        batch.append(crop[:, ::-1] if flip else crop)
    return np.stack(batch)


def against_keras(study_file, data_file, out, kept_study_file):
    """Runs of a study beside a plain Keras loop in eager mode, and one of a study that keeps the incomplete batch."""
    engine, spec, data = opened(study_file, data_file)
    found = {}
    for case, changes in CASES.items():
        found |= beside_keras(engine, spec, data, case, changes)
    _, spec, data = opened(kept_study_file, data_file, engine)
    arrays.write_npz(out, found | beside_keras(engine, spec, data, "kept", {"optimizer": "sgd"}))


def beside_keras(engine, spec, data, case, changes):
    """An engine beside a plain Keras loop: the same initial weights, the same batches, step by step."""
    # Frameworks are imported when the engine has made its settings.
    import keras
    import own_models
    import tensorflow as tf

    found = {}
    whole = epoch_plan.plan_epoch(spec, len(data.train.labels), 0)
    plan = whole.steps(0, STEPS)._replace(rest=whole.rest)
    batches = [(part, step) for part in plan.parts() for step in range(len(part.order))]
    recipe = spec.recipe | changes
    parameters = network.build_model(engine, spec, data)
    engine.compile(recipe, data.train)
    initial = initial_weights(parameters, spec.study_seed, 0, "model")
    engine.restore(State(initial, {}, 0))
    held = engine.weights()
    result = engine.epoch(plan)
    ours = engine.weights()

    model = own_models.smooth(data.train.images.shape[1:], len(data.classes))
    for variable in model.weights:
        variable.assign(initial[variable.path])
    make = {
        "adam": lambda: keras.optimizers.Adam(0.0, beta_1=0.9, beta_2=0.999, epsilon=1e-7),
        "sgd": lambda momentum=recipe["momentum"]: keras.optimizers.SGD(0.0, momentum=float(momentum)),
    }[recipe["optimizer"]]
    # Keras has one rate for all: an optimiser for each kind of variable.
    factors = {"bias": recipe["bias_rate"], "beta": recipe["bias_rate"], "gamma": recipe["scale_rate"], "kernel": 1}
    theirs = {kind: make() for kind in factors}
    loss_of = keras.losses.CategoricalCrossentropy(from_logits=True, label_smoothing=recipe["label_smoothing"])
    # Half the decay of the sum of squares has the decay times the weight for its gradient.
    decay = keras.regularizers.L2(recipe["weight_decay"] / 2)
    spared = () if recipe["decay_normalisation"] else ("gamma", "beta")
    decayed = [variable for variable in model.trainable_variables if variable.name not in spared]
    left_alone = recipe.get("undecayed", ())
    decayed = [variable for variable in decayed if not any(part in left_alone for part in variable.path.split("/"))]
    losses, right = [], []
    for part, step in batches:
        labels = data.train.labels[part.order[step]]
        with tf.GradientTape() as tape:
            logits = model(augmented(data.train.images, part, step, recipe["crop"]), training=True)
            loss = loss_of(keras.ops.one_hot(labels, len(data.classes)), logits)
            whole = loss + sum(decay(variable) for variable in decayed)
        trained = model.trainable_variables
        gradients = tape.gradient(whole, [variable.value for variable in trained])
        for kind, optimizer in theirs.items():
            optimizer.learning_rate = float(part.rates[step]) * factors[kind]
            some = [place for place, variable in enumerate(trained) if variable.name == kind]
            optimizer.apply([gradients[place] for place in some], [trained[place] for place in some])
        losses.append(float(loss))
        right.extend(np.argmax(logits, -1) == labels)
    found[f"{case}/loss"] = np.array([result.loss, np.mean(losses)])
    found[f"{case}/accuracy"] = np.array([result.accuracy, np.mean(right)])
    for variable in model.weights:
        found[f"{case}/held/{variable.path}"] = held[variable.path]
        found[f"{case}/engine/{variable.path}"] = ours[variable.path]
        found[f"{case}/keras/{variable.path}"] = np.array(variable.value)
    # Keras names the parameters of a model in the order that the engine does.
    assert [parameter.path for parameter in parameters] == [variable.path for variable in model.weights]
    return found


# Half precision, beside Keras


SCALED_STEPS, DOUBLINGS = 8, 9
# Beside Keras: a scale from which fewer steps overflow, and so few steps in a row that it grows among them.
FEWER, GROW = 5, 2


def begin_at_scale(study_file, data_file, doublings=DOUBLINGS):
    """The engine of a study's first run, its spec, data and initial weights, and the plan of its first steps."""
    engine, spec, data = opened(study_file, data_file)
    parameters = network.build_model(engine, spec, data)
    engine.compile(spec.recipe, data.train)
    start = {"doublings": doublings, "steps_in_a_row": 0, "left_out": 0}
    scaled = spec.hardware.json["precision"] == "mixed_float16"
    initial = initial_weights(parameters, spec.study_seed, 0, "model")
    engine.restore(State(initial, {}, 0))
    if scaled:
        state = engine.state()
        counts = {name: np.array(value, np.int32) for name, value in start.items()}
        engine.restore(state._replace(slots=state.slots | {"loss_scale": counts}))
    return engine, spec, data, initial, epoch_plan.plan_epoch(spec, len(data.train.labels), 0).steps(0, SCALED_STEPS)


def overflow(study_file, data_file, out):
    """Eight steps in float16 from a loss scale so high that the first ones overflow: the state that they end in."""
    engine, *_, plan = begin_at_scale(study_file, data_file)
    engine.epoch(plan)
    state = engine.state()
    arrays.write_npz(out, {**state.slots["loss_scale"], **state.weights})


def training_beside_keras(study_file, data_file, out):
    """The engine beside a plain Keras loop, from a loss scale so high that the first steps overflow."""
    formulas.STEPS_TO_GROW = GROW
    engine, spec, data, initial, plan = begin_at_scale(study_file, data_file, FEWER)
    import keras
    import own_models
    import tensorflow as tf

    float16 = spec.hardware.json["precision"] == "mixed_float16"
    result = engine.epoch(plan)
    state = engine.state()

    model = own_models.smooth(data.train.images.shape[1:], len(data.classes))
    model.layers[-1].dtype_policy = "float32"
    for variable in model.weights:
        variable.assign(initial[variable.path])
    adam = keras.optimizers.Adam(spec.recipe["learning_rate"])
    exponent = formulas.INITIAL_EXPONENT + FEWER
    options = {"initial_scale": 2.0**exponent, "dynamic_growth_steps": GROW}
    theirs = keras.optimizers.LossScaleOptimizer(adam, **options) if float16 else adam
    theirs.build(model.trainable_variables)
    losses = []
    for step in range(SCALED_STEPS):
        images, labels = (array[plan.order[step]] for array in (data.train.images, data.train.labels))
        with tf.GradientTape() as tape:
            logits = model(images, training=True)
            loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)(labels, logits)
            scaled = theirs.scale_loss(loss)
        theirs.apply(tape.gradient(scaled, [v.value for v in model.trainable_variables]), model.trainable_variables)
        losses.append(float(loss))

    found = {"loss": np.array([result.loss, np.mean(losses)]), "logits": engine.logits(data.test)}
    found["computes_in"] = np.array([layer.compute_dtype for layer in engine.model.layers])
    for variable in model.weights:
        found[f"ours/{variable.path}"] = state.weights[variable.path]
        found[f"keras/{variable.path}"] = np.array(variable.value)
    if float16:
        scale = {name: int(value) for name, value in state.slots["loss_scale"].items()}
        found["ours scale"] = np.array([2.0 ** (exponent - FEWER + scale["doublings"]), scale["steps_in_a_row"]])
        found["keras scale"] = np.array([float(theirs.dynamic_scale), int(theirs.step_counter)])
        found["updates"] = np.array([SCALED_STEPS - scale["left_out"], int(theirs.iterations)])
    arrays.write_npz(out, found)


# `toolnoise` as tests change it


def always_keeping(*arguments):
    """`toolnoise` that keeps a checkpoint after every epoch."""
    checkpoints.SECONDS_BETWEEN = 0
    cli.main(list(arguments))


def several(*arguments):
    """Train in one folder after the other: `several FOLDER ARGUMENT... [-- FOLDER ARGUMENT...]`.

    Prints a line of JSON for each, with the exit code and what was said. Their tooling has to be the same one.
    """
    start, started = loop.start_engine, []

    def start_once(spec):
        """An engine starts once in a process."""
        settings = spec.hardware.json, spec.varies("impl")
        if not started:
            started.append((settings, start(spec)))
        assert settings == started[0][0]
        return started[0][1]

    loop.start_engine = start_once
    for alone, words in itertools.groupby(arguments, "--".__eq__):
        if not alone:
            folder, *command = words
            os.chdir(folder)
            said, code = io.StringIO(), 0
            with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
                try:
                    cli.main(command)
                except SystemExit as end:
                    code = end.code
            print(json.dumps({"code": code, "said": said.getvalue()}))


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
