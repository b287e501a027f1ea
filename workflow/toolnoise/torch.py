"""Seeds and outcome of a PyTorch training whose noise toolnoise measures: for training programs, not for toolnoise.

    from toolnoise.torch import save, seeds

    with seeds.init():
        model = Net()
    loader = DataLoader(data, shuffle=True, **seeds.loader())
    for images, labels in loader:
        with seeds.dropout():
            ...  # a step of training
    save(logits, labels, model, history)

Each source of noise has a seed and random numbers of its own, so that one can vary while the others stay as they are.
toolnoise sets the seeds by environment variables; without them the seeds are 0 to 3. Importing this module turns on
PyTorch's deterministic algorithms if toolnoise asks for them.

This file needs only PyTorch and NumPy: you may copy it into your project, under any name but torch.py.
"""

import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch

OUT = Path(os.environ.get("TOOLNOISE_OUT", "outcome"))
DETERMINISTIC = os.environ.get("TOOLNOISE_DETERMINISTIC") == "1"
MOST_WORKERS = 1024

if DETERMINISTIC:
    # cuBLAS reads it when the first CUDA context is made.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.deterministic = True
    torch.backends.cudnn.benchmark = False


class Source:
    """The random numbers of one source of noise."""

    def __init__(self, name: str, default: int) -> None:
        """Take the seed from the environment, or the default."""
        self.restart(int(os.environ.get(f"TOOLNOISE_SEED_{name.upper()}", default)))

    def restart(self, seed: int) -> None:
        """Begin anew, with another seed."""
        self.seed, self.generators = seed, 0
        self.state: tuple[Any, ...] | None = None

    @contextmanager
    def __call__(self) -> Iterator[None]:
        """Inside, the global generators of PyTorch, NumPy and Python draw from this source; afterwards, as before.

        The next `with` goes on where this one ended, so each step of a training has other dropout masks.
        """
        outside = _states()
        if self.state is None:
            _seed(self.seed)
        else:
            _restore(self.state)
        try:
            yield
        finally:
            self.state = _states()
            _restore(outside)

    def generator(self, device: str = "cpu") -> torch.Generator:
        """A generator for functions that take one; every call returns another, with its own numbers."""
        self.generators += 1
        return torch.Generator(device).manual_seed(_mixed(self.seed, self.generators))


class Seeds:
    """The algorithmic sources of noise: `init`, `shuffle`, `augment` and `dropout`."""

    def __init__(self) -> None:
        self.init, self.shuffle, self.augment, self.dropout = (
            Source(name, default) for default, name in enumerate(("init", "shuffle", "augment", "dropout"))
        )

    def loader(self) -> dict[str, Any]:
        """Arguments of a DataLoader: its order is drawn from `shuffle`, everything in its workers from `augment`.

        Without workers, draw augmentations inside `with seeds.augment():`, for example in the data set. It works in
        workers, too.
        """
        return {"generator": self.shuffle.generator(), "worker_init_fn": Workers()}


class Workers:
    """Seeds each worker of a DataLoader, in each epoch, from the augmentation's seed."""

    def __init__(self) -> None:
        seeds.augment.generators += 1
        self.seed, self.loader = seeds.augment.seed, seeds.augment.generators
        # New workers may start in each epoch. They count the epochs here: each in its own place, in shared memory.
        self.starts = torch.zeros(MOST_WORKERS, dtype=torch.int64).share_memory_()

    def __call__(self, worker: int) -> None:
        """Seed the process of this worker."""
        epoch = int(self.starts[worker])
        self.starts[worker] += 1
        _seed(_mixed(self.seed, self.loader, worker, epoch, 0))
        seeds.augment.restart(_mixed(self.seed, self.loader, worker, epoch, 1))


def save(
    outputs: Any, labels: Any, model: torch.nn.Module | None = None, history: Sequence[dict[str, Any]] | None = None
) -> None:
    """Write the outcome of a training, each file whole or not at all.

    `outputs` are logits [examples, classes], or predictions [examples]: classes or, in a regression, numbers. `history`
    has one dictionary per epoch, such as `{"loss": 0.3}`.
    """
    OUT.mkdir(parents=True, exist_ok=True)
    outputs, labels = _array(outputs), _array(labels)
    if outputs.ndim == 2:
        outputs = outputs.astype(np.float32)
    if outputs.ndim not in (1, 2) or labels.shape != outputs.shape[:1]:
        raise ValueError(f"outputs {outputs.shape}, labels {labels.shape}: not [examples, classes] and [examples]")
    if model is not None:
        tensors = {name: _array(value) for name, value in model.state_dict().items() if torch.is_tensor(value)}
        _write("weights.npz", lambda file: np.savez(file, **tensors))
    if history:
        rows = [{"epoch": epoch, **row} for epoch, row in enumerate(history, 1)]
        lines = [list(rows[0]), *([row["epoch"], *map(float, list(row.values())[1:])] for row in rows)]
        text = "".join(",".join(map(str, line)) + "\n" for line in lines)
        _write("history.csv", lambda file: file.write(text.encode()))
    _write("labels.npy", lambda file: np.save(file, labels, allow_pickle=False))
    _write(
        "logits.npy" if outputs.ndim == 2 else "predictions.npy",
        lambda file: np.save(file, outputs, allow_pickle=False),
    )


def _array(values: Any) -> np.ndarray:
    if torch.is_tensor(values):
        values = values.detach().cpu()
        # NumPy has no bfloat16; every bfloat16 is a float32.
        values = values.float() if values.dtype == torch.bfloat16 else values
    return np.asarray(values)


def _write(name: str, write: Callable[[Any], None]) -> None:
    part = OUT / f".{name}.part"
    with part.open("wb") as file:
        write(file)
    part.replace(OUT / name)


def _mixed(*numbers: int) -> int:
    return int(np.random.SeedSequence(numbers).generate_state(1)[0])


def _seed(seed: int) -> None:
    torch.manual_seed(seed)  # of every device
    np.random.seed(seed)  # noqa: NPY002 (it is this generator that libraries draw from)
    random.seed(seed)


def _states() -> tuple[Any, ...]:
    devices = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else []
    return torch.get_rng_state(), devices, np.random.get_state(), random.getstate()  # noqa: NPY002


def _restore(states: tuple[Any, ...]) -> None:
    cpu, devices, of_numpy, of_python = states
    torch.set_rng_state(cpu)
    if devices:
        torch.cuda.set_rng_state_all(devices)
    np.random.set_state(of_numpy)  # noqa: NPY002
    random.setstate(of_python)


seeds = Seeds()
