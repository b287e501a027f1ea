"""The training speed of each engine relative to Keras's `Model.fit` on the same framework, in one run.

Two replicas train at once, each pinned to one core, in alternation with two replicas of `Model.fit`. Model, data, batch
size, optimiser, kernels and instruction set are the same (the newest set on this machine that a registry entry can
pin). `Model.fit` gets its data as usual in each framework: TensorFlow from a `tf.data` pipeline (cache, shuffle 1024,
map, batch, prefetch), like the paper's authors; PyTorch from its DataLoader; JAX from Keras's PyDataset, which makes
batches with NumPy. For the first pair of ratios, images are scaled, cropped and mirrored, as in the paper's protocol
except on CelebA; the engine crops and mirrors as planned. For the second pair, neither side augments.

Users care about images per second of wall time. Images per CPU second are printed, too, because much of the loss in
TensorFlow's `Model.fit` is waiting, not work: Keras makes an iterator for every epoch, and at its end TensorFlow 2.21
waits for the thread that tunes the pipeline, which wakes up only at doubling intervals (10, 20, 40 ... ms after the
start). A 22 s epoch ends after 41 s, a 20 s epoch after 20.5 s, so the loss is between nothing and 100 %, by chance.
The repetitions therefore have epochs of several lengths, spread evenly over one such doubling, and each ratio is the
median over them. `options.autotune.enabled = False` avoids the waiting.

    python bench/engine_vs_fit.py [tensorflow] [jax] [torch]

With the name of a GPU's registry entry, such as h100-jax, the comparison runs on that GPU: one replica at a time, on
all cores, and `Model.fit` with the precision and the switches of the entry.

    python bench/engine_vs_fit.py h100-jax
"""

import contextlib
import importlib.util
import os
import statistics
import subprocess
import sys
import time

from toolnoise import engines, streams
from toolnoise.base import environment
from toolnoise.base.errors import BadInput
from toolnoise.base.spec import Spec
from toolnoise.study import config

SIZE, CHANNELS, CLASSES, BATCH, EPOCHS, CROP = 32, 3, 10, 128, 2, 4
# TensorFlow: from one doubling to the next; the others do not depend on the length.
LENGTHS = {
    "tensorflow": [round(12_500 * 2 ** (step / 5)) for step in range(5)],
    "jax": [5_120, 6_400, 7_680],
    "torch": [5_120, 6_400, 7_680],
}
# The newest instruction set first.
TOOLINGS = {
    "tensorflow": ({"isa": "avx512"}, {"isa": "avx2"}, {"isa": "sse41"}),
    "jax": ({"isa": "avx512"}, {"isa": "avx2"}),
    "torch": ({"isa": "avx512"}, {"isa": "avx2"}),
}
ENTRIES = {"tensorflow": "cpu", "jax": "cpu-jax", "torch": "cpu-torch"}
ON_GPU = [50_000] * 3


def train_with_engine(name: str, augment: bool, examples: int) -> tuple[float, float]:
    """Wall and CPU seconds of a timed training with the project's engine, including its planning."""
    from toolnoise.datasets.prepared import Split
    from toolnoise.engines import State
    from toolnoise.epoch_plan import plan_epoch
    from toolnoise.models.initial import initial_weights

    spec = _spec(name, augment)
    engine = engines.load(spec.hardware.engine)
    engine.start(spec.hardware.json, deterministic=False)
    from toolnoise.models.smallcnn import build

    images, labels = _data(examples)
    parameters = engine.build(build, {}, images.shape[1:], CLASSES)
    engine.compile(spec.recipe, Split(images, labels))
    engine.restore(State(initial_weights(parameters, 0, 1, "smallcnn"), {}, 0))
    return _timed(lambda number: engine.epoch(plan_epoch(spec, examples, number)))


def train_with_fit(name: str, augment: bool, examples: int) -> tuple[float, float]:
    """Wall and CPU seconds of a timed training with Model.fit."""
    tooling = _tooling(name)
    engine = engines.load(tooling["engine"])
    environment.impose(engine.variables(tooling, deterministic=False))
    if _on_gpu(tooling):
        # The settings of precision and autotuning that have no environment variable.
        engine.start(tooling, deterministic=False)
    import keras

    from toolnoise.models.smallcnn import build

    model = build((SIZE, SIZE, CHANNELS), CLASSES)
    model.compile(
        optimizer=keras.optimizers.Adam(4e-4),
        loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    data = {"tensorflow": _tf_data, "jax": _py_dataset, "torch": _data_loader}[tooling["engine"]](augment, examples)
    return _timed(lambda _: model.fit(data, epochs=1, verbose=0))


def _tf_data(augment: bool, examples: int):
    import tensorflow as tf

    def prepare(image, label):
        image = tf.cast(image, tf.float32) / 255.0
        if augment:
            image = tf.image.resize_with_crop_or_pad(image, SIZE + 2 * CROP, SIZE + 2 * CROP)
            image = tf.image.random_crop(image, (SIZE, SIZE, CHANNELS))
            image = tf.image.random_flip_left_right(image)
        return image, label

    data = tf.data.Dataset.from_tensor_slices(_data(examples))
    return data.cache().shuffle(1024).map(prepare).batch(BATCH, drop_remainder=True).prefetch(tf.data.AUTOTUNE)


def _py_dataset(augment: bool, examples: int):
    import keras
    import numpy as np

    generator, (images, labels) = np.random.default_rng(0), _data(examples)

    def one(image, row, column, mirrored):
        image = image[row : row + SIZE, column : column + SIZE]
        return image[:, ::-1] if mirrored else image

    class Batches(keras.utils.PyDataset):
        order = generator.permutation(examples)

        def __len__(self):
            return examples // BATCH

        def on_epoch_begin(self):
            self.order = generator.permutation(examples)

        def __getitem__(self, number):
            chosen = self.order[number * BATCH : (number + 1) * BATCH]
            batch = images[chosen].astype(np.float32) / 255.0
            if augment:
                batch = np.pad(batch, ((0, 0), (CROP, CROP), (CROP, CROP), (0, 0)))
                places = generator.integers(0, 2 * CROP + 1, (BATCH, 2))
                batch = np.stack(list(map(one, batch, *places.T, generator.random(BATCH) < 0.5)))
            return batch, labels[chosen]

    return Batches()


def _data_loader(augment: bool, examples: int):
    import torch

    torch.set_num_threads(1)
    images, labels = _data(examples)

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return examples

        def __getitem__(self, number):
            image = torch.from_numpy(images[number]).float() / 255.0
            if augment:
                image = torch.nn.functional.pad(image, (0, 0, CROP, CROP, CROP, CROP))
                row, column = torch.randint(0, 2 * CROP + 1, (2,)).tolist()
                image = image[row : row + SIZE, column : column + SIZE]
                image = image.flip(1) if torch.rand(()) < 0.5 else image
            return image, int(labels[number])

    return torch.utils.data.DataLoader(Pictures(), batch_size=BATCH, shuffle=True, drop_last=True)


def _spec(name: str, augment: bool, batch: int = BATCH) -> Spec:
    recipe = {"epochs": EPOCHS + 1, "batch_size": batch, "learning_rate": 4e-4, "crop": CROP * augment, "flip": augment}
    asked = {
        "study_seed": 0,
        "model": {"name": "bench"},
        "recipe": {"name": "bench", **config.complete(recipe, config.schema()["$defs"]["recipe"], "bench")},
        "hardware": _tooling(name),
        "variant": {"name": "algo_impl", "varying": ["init", "shuffle", "augment", "dropout", "impl"]},
        "seed": 1,
    }
    return Spec.read(asked)


def _tooling(name: str) -> dict:
    """The registry's entry; for a framework, its CPU entry with the newest instruction set of this machine."""
    entries = config.registered("hardware")
    if name in entries and entries[name]["accelerator"] == "gpu":
        return {"name": name, **entries[name]}
    if name not in ENTRIES:
        raise SystemExit(f"neither a framework nor a GPU's entry in the registry: {name}")
    for isa in TOOLINGS[name]:
        tooling = {"name": ENTRIES[name], **entries[ENTRIES[name]], **isa}
        with contextlib.suppress(BadInput):
            environment.require_cpu(tooling)
            return tooling
    raise SystemExit("this machine has no instruction set from the registry")


def _on_gpu(tooling: dict) -> bool:
    return tooling["accelerator"] == "gpu"


def _data(examples: int):
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


def images_per_second(way: str, name: str, augment: bool, examples: int) -> tuple[float, float]:
    """Images per second of wall and of CPU time: two replicas on the first two cores, or one on a GPU."""
    command = [sys.executable, __file__, way, name, str(int(augment)), str(examples)]
    cores = sorted(os.sched_getaffinity(0))
    places = [",".join(map(str, cores))] if _on_gpu(_tooling(name)) else map(str, cores[:2])
    replicas = [
        subprocess.Popen(
            ["taskset", "--cpu-list", place, *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for place in places
    ]
    for replica in replicas:
        if replica.stdout.readline() != "warm\n":
            raise SystemExit(f"{way} did not start: {' '.join(command)}")
    for replica in replicas:
        replica.stdin.write("go\n")
        replica.stdin.flush()
    outputs = [replica.communicate()[0] for replica in replicas]
    for replica in replicas:
        if replica.returncode:
            raise SystemExit(f"{way} ended with {replica.returncode} while it was timed: {' '.join(command)}")
    seconds = [map(float, text.split()) for text in outputs]
    wall, worked = (sum(examples * EPOCHS / value for value in values) for values in zip(*seconds, strict=True))
    return wall, worked


def compare(name: str) -> None:
    """Print the ratios for a framework, or for a GPU's entry in the registry."""
    tooling = _tooling(name)
    lengths = ON_GPU if _on_gpu(tooling) else LENGTHS[name]
    pinned = "one replica" if _on_gpu(tooling) else f"two replicas, {tooling['isa']}"
    print(f"tooling: {tooling['name']}, {pinned}; epochs of {', '.join(map(str, lengths))} images")
    for kind, augment in ((f"{name}_vs_fit", True), (f"{name}_vs_fit_without_augmentation", False)):
        speeds = [[images_per_second(way, name, augment, length) for way in ("engine", "fit")] for length in lengths]
        for number, what in enumerate(("", "_per_cpu_second")):
            pairs = [(engine[number], fit[number]) for engine, fit in speeds]
            listed = ", ".join(f"{engine:.0f} / {fit:.0f}" for engine, fit in pairs)
            print(f"{kind}{what}: images/s, engine / Model.fit: {listed}")
            ratio = statistics.median(engine / fit for engine, fit in pairs)
            print(f"ratio {kind}{what} {ratio:.2f}", flush=True)


def main(names: list[str]) -> None:
    """Compare the named frameworks or entries, or all installed frameworks."""
    for name in names or [name for name in engines.FRAMEWORKS if importlib.util.find_spec(name)]:
        compare(name)


if __name__ == "__main__":
    ways = {"engine": train_with_engine, "fit": train_with_fit}
    if sys.argv[1:2] and sys.argv[1] in ways:
        way, name, augment, examples = sys.argv[1:]
        print(*ways[way](name, bool(int(augment)), int(examples)))
    else:
        main(sys.argv[1:])
