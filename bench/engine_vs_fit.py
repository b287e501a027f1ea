"""How fast the TensorFlow engine trains against the authors' way, in one run.

Two replicas train at once, each pinned to one core, in alternation with two replicas of the authors' way: `Model.fit`
on a `tf.data` pipeline (cache, shuffle 1024, map, batch, prefetch). Same model, data, batch, optimiser, kernels and
instruction set (the newest that the machine has of those a registry entry can pin). In the first pair of ratios `map`
scales, crops and mirrors, as the paper's protocol does on everything but CelebA, and the engine crops and mirrors as
planned; in the second neither augments.

Images per second of wall time is what a user gets. Images per CPU second is printed beside it, because much of what
`Model.fit` loses is not work: Keras makes an iterator for every epoch, and at its end TensorFlow 2.21 waits for the
thread that tunes the pipeline, which looks up only at doubling intervals (10, 20, 40 ... ms after the start). An epoch
that takes 22 s is over after 41 s, one that takes 20 s after 20.5 s: how much is lost is a matter of luck, between
nothing and as much again. So the five repetitions have epochs of five lengths, spread evenly over one such doubling,
and each ratio is the median of theirs. `options.autotune.enabled = False` ends the waiting.

    python bench/engine_vs_fit.py
"""

import contextlib
import os
import statistics
import subprocess
import sys
import time

from toolnoise.errors import BadInput

SIZE, CHANNELS, CLASSES, BATCH, EPOCHS, CROP = 32, 3, 10, 128, 2, 4
LENGTHS = [round(12_500 * 2 ** (step / 5)) for step in range(5)]


def train_with_engine(augment: bool, examples: int) -> tuple[float, float]:
    """Wall and CPU seconds of a timed training with the project's engine, its planning included."""
    from toolnoise.datasets.prepared import Split
    from toolnoise.engines import State
    from toolnoise.engines.tensorflow import Engine
    from toolnoise.models.initial import initial_weights
    from toolnoise.plans import plan_epoch

    engine = Engine()
    tooling = _spec(augment)["hardware"]
    engine.start(tooling, deterministic=False)
    from toolnoise.models.smallcnn import build

    images, labels = _data(examples)
    parameters = engine.build(build, {}, images.shape[1:], CLASSES)
    engine.compile(_spec(augment)["recipe"], Split(images, labels))
    engine.restore(State(initial_weights(parameters, 0, 1, "smallcnn"), {}, 0))

    def epoch(number: int) -> None:
        engine.epoch(plan_epoch(_spec(augment), examples, number))

    return _timed(epoch)


def train_with_fit(augment: bool, examples: int) -> tuple[float, float]:
    """Wall and CPU seconds of a timed training the authors' way."""
    from toolnoise.engines import environment
    from toolnoise.engines.tensorflow import variables

    environment.impose(variables(_spec(augment)["hardware"]))
    import keras
    import tensorflow as tf

    from toolnoise.models.smallcnn import build

    def prepare(image, label):
        image = tf.cast(image, tf.float32) / 255.0
        if augment:
            image = tf.image.resize_with_crop_or_pad(image, SIZE + 2 * CROP, SIZE + 2 * CROP)
            image = tf.image.random_crop(image, (SIZE, SIZE, CHANNELS))
            image = tf.image.random_flip_left_right(image)
        return image, label

    model = build((SIZE, SIZE, CHANNELS), CLASSES)
    model.compile(
        optimizer=keras.optimizers.Adam(4e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    data = tf.data.Dataset.from_tensor_slices(_data(examples))
    data = data.cache().shuffle(1024).map(prepare).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)
    return _timed(lambda _: model.fit(data, epochs=1, verbose=0))


def _spec(augment: bool) -> dict:
    from toolnoise import config

    recipe = {"epochs": EPOCHS + 1, "batch_size": BATCH, "learning_rate": 4e-4, "crop": CROP * augment, "flip": augment}
    return {
        "study_seed": 0,
        "recipe": {"name": "bench", **config.complete(recipe, config.schema()["$defs"]["recipe"], "bench")},
        "hardware": _tooling(),
        "variant": {"varying": ["init", "shuffle", "augment", "dropout", "impl"]},
        "seed": 1,
    }


def _tooling() -> dict:
    """The registry's entry with the newest instruction set that this machine has."""
    from toolnoise import config
    from toolnoise.engines import environment

    entries = config.registered("hardware")
    for name in ("cpu-avx512", "cpu", "cpu-sse41"):
        with contextlib.suppress(BadInput):
            environment.require_cpu({"name": name, **entries[name]})
            return {"name": name, **entries[name]}
    raise SystemExit("no instruction set of the registry's on this machine")


def _data(examples: int):
    from toolnoise import streams

    images = streams.integers(1, (examples, SIZE, SIZE, CHANNELS), 256).astype("uint8")
    return images, streams.integers(2, (examples,), CLASSES)


def _timed(epoch) -> tuple[float, float]:
    epoch(0)
    print("warm", flush=True)
    sys.stdin.readline()
    started, worked = time.perf_counter(), time.process_time()
    for number in range(EPOCHS):
        epoch(number + 1)
    return time.perf_counter() - started, time.process_time() - worked


def images_per_second(way: str, augment: bool, examples: int) -> tuple[float, float]:
    """Of wall and of CPU time, by two replicas trained at once, one on each of the first two cores."""
    command = [sys.executable, __file__, way, str(int(augment)), str(examples)]
    cores = sorted(os.sched_getaffinity(0))[:2]
    replicas = [
        subprocess.Popen(
            ["taskset", "--cpu-list", str(core), *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for core in cores
    ]
    for replica in replicas:
        if replica.stdout.readline() != "warm\n":
            raise SystemExit(f"{way} did not start: {' '.join(command)}")
    for replica in replicas:
        replica.stdin.write("go\n")
        replica.stdin.flush()
    seconds = [map(float, replica.communicate()[0].split()) for replica in replicas]
    wall, worked = (sum(examples * EPOCHS / value for value in values) for values in zip(*seconds, strict=True))
    return wall, worked


def main() -> None:
    """Print both ratios."""
    print(f"tooling: {_tooling()['name']}; epochs of {', '.join(map(str, LENGTHS))} images")
    for name, augment in (("engine_vs_fit", True), ("engine_vs_fit_without_augmentation", False)):
        speeds = [[images_per_second(way, augment, length) for way in ("engine", "fit")] for length in LENGTHS]
        for number, what in enumerate(("", "_per_cpu_second")):
            pairs = [(engine[number], fit[number]) for engine, fit in speeds]
            listed = ", ".join(f"{engine:.0f} / {fit:.0f}" for engine, fit in pairs)
            print(f"{name}{what}: images/s of two replicas, engine / Model.fit: {listed}")
            ratio = statistics.median(engine / fit for engine, fit in pairs)
            print(f"ratio {name}{what} {ratio:.2f}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        ways = {"engine": train_with_engine, "fit": train_with_fit}
        print(*ways[sys.argv[1]](bool(int(sys.argv[2])), int(sys.argv[3])))
    else:
        main()
