"""The jobs of bench/gpu_matrix.py, each in a process of its own: `python bench/gpu_matrix_jobs.py TASK FOUND`.

TASK is a JSON file with the job's name and its arguments; what was found is written to FOUND, a JSON file, as often as
there is more. A job needs PyTorch, NumPy and Pillow alone.
"""

import copy
import hashlib
import io
import itertools
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tarfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image
from torch import nn
from torch.nn import functional
from torch.nn.attention import SDPBackend, sdpa_kernel

Write = Callable[[dict[str, Any]], None]
# The type of weights and inputs, and whether float32 products may be computed in TF32.
PRECISIONS = {
    "float32": (torch.float32, False),
    "tf32": (torch.float32, True),
    "bfloat16": (torch.bfloat16, False),
    "float16": (torch.float16, False),
}
SIZES = (1, 2, 3, 4, 7, 8, 16, 32, 64, 128, 256)
DECODED_AT = (1, 8, 64)
ATTENTION = ("MATH", "EFFICIENT_ATTENTION", "FLASH_ATTENTION", "CUDNN_ATTENTION")
# Whether cuDNN times its algorithms, and whether all algorithms must be deterministic. The last is control with the
# last bit of one weight changed before one step, another weight in every run.
MODES = {
    "control": (False, True),
    "benchmark": (True, True),
    "atomics": (False, False),
    "default": (True, False),
    "one-bit": (False, True),
}
HASHED_STEPS = 50
CHANGED_BEFORE = 10  # the step before which `one-bit` changes a weight
BIT_TYPES = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def main(task: str, found: str) -> None:
    arguments = json.loads(Path(task).read_text("utf-8"))
    job = JOBS[arguments.pop("job")]
    # One thread for each process: as many processes as processors run at a time.
    torch.set_num_threads(1)

    def write(value: dict[str, Any]) -> None:
        beside = Path(f"{found}.new")
        beside.write_text(json.dumps(value), "utf-8")
        beside.replace(found)

    job(write=write, **arguments)


# Networks


class Mean(nn.Module):
    """The mean over height and width."""

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Pool globally; adaptive pooling has no deterministic gradient."""
        return values.mean((2, 3))


def smallcnn(batch_norm: bool) -> nn.Module:
    """The layers of workflow/toolnoise/models/smallcnn.py, with Keras's constants."""
    layers: list[nn.Module] = []
    for before, filters in itertools.pairwise((3, 16, 32, 32)):
        layers.append(nn.Conv2d(before, filters, 3, padding=1))
        layers += [nn.BatchNorm2d(filters, eps=1e-3, momentum=0.01)] if batch_norm else []
        layers += [nn.ReLU(), nn.MaxPool2d(2)]
    network = nn.Sequential(*layers, Mean(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 10))
    for name, tensor in network.named_parameters():
        if tensor.ndim > 1:
            nn.init.xavier_uniform_(tensor)
        elif name.endswith("bias"):
            nn.init.zeros_(tensor)
    return network


class Block(nn.Module):
    """A residual block of two 3x3 convolutions."""

    def __init__(self, before: int, width: int, stride: int) -> None:
        super().__init__()
        first, second = nn.Conv2d(before, width, 3, stride, 1, bias=False), nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.body = nn.Sequential(first, nn.BatchNorm2d(width), nn.ReLU(), second, nn.BatchNorm2d(width))
        self.short = nn.Sequential()
        if stride > 1 or before != width:
            self.short = nn.Sequential(nn.Conv2d(before, width, 1, stride, bias=False), nn.BatchNorm2d(width))

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """The sum of both ways."""
        return functional.relu(self.body(values) + self.short(values))


def resnet18(width: int) -> nn.Module:
    """ResNet-18 for 32x32 pictures, of which the first stage has `width` channels (64 in the paper)."""
    layers: list[nn.Module] = [nn.Conv2d(3, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU()]
    before = width
    for stage in range(4):
        for stride in (1 if stage == 0 else 2, 1):
            layers.append(Block(before, width * 2**stage, stride))
            before = width * 2**stage
    return nn.Sequential(*layers, Mean(), nn.Linear(before, 10))


class Layer(nn.Module):
    """A layer of a decoder: causal attention, then two dense layers."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm, self.norm_after = nn.LayerNorm(width), nn.LayerNorm(width)
        self.mixed, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, values: torch.Tensor) -> torch.Tensor:
        """Attention and dense layers, each added to its input."""
        rows, length, width = values.shape
        of_heads = self.mixed(self.norm(values)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = functional.scaled_dot_product_attention(of_heads[0], of_heads[1], of_heads[2], is_causal=True)
        values = values + self.out(attended.transpose(1, 2).reshape(rows, length, width))
        return values + self.down(functional.gelu(self.up(self.norm_after(values))))


class Decoder(nn.Module):
    """A causal transformer, which gives the logits of the next token."""

    def __init__(self, width: int, layers: int, heads: int, length: int, vocabulary: int) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.layers = nn.Sequential(*(Layer(width, heads) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits after the last token."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        values = self.layers(self.tokens(tokens) + self.places(places))
        return self.head(self.norm(values[:, -1]))


def decoder(small: bool, layers: int) -> Decoder:
    """About 11 million weights with 6 layers."""
    return Decoder(32, 1, 2, 32, 50) if small else Decoder(384, layers, 6, 128, 1000)


# Bits


def bits(tensor: torch.Tensor) -> torch.Tensor:
    """The same memory as integers."""
    return tensor.contiguous().view(BIT_TYPES[tensor.element_size()])


def equal(some: list[torch.Tensor], others: list[torch.Tensor]) -> bool:
    """Whether no bit differs."""
    return all(torch.equal(bits(one), bits(other)) for one, other in zip(some, others, strict=True))


def digest(tensors: list[torch.Tensor]) -> str:
    """A hash of all bits."""
    made = hashlib.sha256()
    for tensor in tensors:
        made.update(bits(tensor.detach()).cpu().numpy().tobytes())
    return made.hexdigest()[:16]


def largest(some: torch.Tensor, others: torch.Tensor) -> float:
    """The largest absolute difference."""
    return float((some.double() - others.double()).abs().max())


def allow_tf32(allowed: bool) -> None:
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {' '.join(str(error).split())}"[:400]


# What the machine is


def about(device: str, write: Write) -> None:
    """The GPU and the versions; this fails where the GPU does not work."""
    on_gpu = device == "cuda"
    asked = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
    try:
        driver = subprocess.run(asked, capture_output=True, text=True, timeout=20, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        driver = one_line(error)
    found = {
        "gpu": torch.cuda.get_device_name() if on_gpu else "",
        "capability": list(torch.cuda.get_device_capability()) if on_gpu else [],
        "driver": driver,
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "cudnn": torch.backends.cudnn.version(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "processors": len(os.sched_getaffinity(0)),
        "system": platform.release(),
        "multi_process_service": Path(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"), "control").exists(),
    }
    write(found | {"sum": float(torch.ones(4, device=device).sum())})


def pictures(archive: str, at_most: dict[str, int], folder: str, write: Write) -> None:
    """Decode an archive of SPLIT/CLASS/PICTURE to arrays in a folder; each class gives equally many, the first."""
    began = time.monotonic()
    found: dict[str, list[tuple[str, int, np.ndarray]]] = {"train": [], "test": []}
    taken: dict[tuple[str, str], int] = {}
    with tarfile.open(archive) as opened:
        for member in opened:
            if not member.isfile():
                continue
            split, of_class, _ = member.name.split("/")
            number = taken.get((split, of_class), 0)
            if number < at_most[split]:
                taken[split, of_class] = number + 1
                picture = Image.open(io.BytesIO(opened.extractfile(member).read())).convert("RGB")
                found[split].append((of_class, number, np.asarray(picture)))
    classes = sorted({of_class for of_class, *_ in found["train"]})
    for split, read in found.items():
        read.sort(key=lambda each: each[:2])
        np.save(Path(folder, f"{split}-images.npy"), np.stack([picture for *_, picture in read]))
        np.save(Path(folder, f"{split}-labels.npy"), np.array([classes.index(name) for name, *_ in read]))
    counts = {split: len(read) for split, read in found.items()}
    write({"classes": len(classes), "pictures": counts, "seconds": time.monotonic() - began})


# Part 1: the same rows in batches of other sizes


def batches(device: str, small: bool, precision: str, write: Write) -> None:
    """Rows of three networks in batches of each size, against the largest; then greedy decoding."""
    dtype, tf32 = PRECISIONS[precision]
    allow_tf32(tf32)
    sizes = [size for size in SIZES if size <= 16] if small else list(SIZES)
    rows, found = sizes[-1], {}
    torch.manual_seed(1)
    images = torch.rand(rows, 3, 32, 32)
    language = decoder(small, 6)
    tokens = torch.randint(len(language.tokens.weight), (rows, len(language.places.weight)))
    nets = {
        "smallcnn": (smallcnn(batch_norm=False), images),
        "resnet18": (resnet18(8 if small else 64), images),
        "transformer": (language, tokens),
    }
    for name, (network, inputs) in nets.items():
        began = time.monotonic()
        with torch.no_grad():
            if name == "resnet18":
                # The statistics of its own inputs, by the CPU: values keep their size from layer to layer.
                for layer in network.modules():
                    if isinstance(layer, nn.BatchNorm2d):
                        layer.momentum = None
                network(inputs[:16])
            network, inputs = network.to(device).eval(), inputs.to(device)
            exact = copy.deepcopy(network).double()(_typed(inputs, torch.float64))
            network, inputs = network.to(dtype), _typed(inputs, dtype)
            whole = network(inputs)
            by_size = {size: _against(whole, network, inputs, size) for size in sizes[:-1]}
            found[name] = {
                "weights": sum(tensor.numel() for tensor in network.parameters()),
                "rows": rows,
                "again": equal([whole], [network(inputs)]),
                "error": largest(whole, exact),
                "spread": float(exact.std()),
                "sizes": by_size,
                "seconds": time.monotonic() - began,
            }
            write(found)
    found["decoding"] = _decoding(network, inputs, small)
    write(found)


def _typed(inputs: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Token ids stay as they are."""
    return inputs.to(dtype) if inputs.is_floating_point() else inputs


def _starts(rows: int, size: int) -> Iterator[int]:
    """Where batches begin: all have one size, so the last begins earlier if rows are too few."""
    return (min(start, rows - size) for start in range(0, rows, size))


def _against(whole: torch.Tensor, network: nn.Module, inputs: torch.Tensor, size: int) -> dict[str, Any]:
    """What differs where the rows come in batches of a size."""
    parts = torch.empty_like(whole)
    for start in _starts(len(inputs), size):
        parts[start : start + size] = network(inputs[start : start + size])
    return {
        "rows": int((bits(parts) != bits(whole)).any(1).sum()),
        "changed": int((parts.argmax(1) != whole.argmax(1)).sum()),
        "largest": largest(parts, whole),
    }


def _decoding(network: nn.Module, tokens: torch.Tensor, small: bool) -> dict[str, Any]:
    """How many sequences part from those of the largest batch, and at which new token first."""
    began, sizes = time.monotonic(), DECODED_AT[:2] if small else DECODED_AT
    rows, length = sizes[-1], tokens.shape[1] // 2
    prompts = tokens[:rows, :length]

    def greedy(size: int) -> torch.Tensor:
        made = []
        for start in _starts(rows, size):
            sequence = prompts[start : start + size]
            for _ in range(length):
                sequence = torch.cat([sequence, network(sequence).argmax(-1, keepdim=True)], 1)
            made.append(sequence[:, length:])
        return torch.cat(made)

    with torch.no_grad():
        whole, again = greedy(rows), greedy(rows)
        by_size = {}
        for size in sizes[:-1]:
            differs = greedy(size) != whole
            first = [int(row.nonzero()[0]) + 1 for row in differs if row.any()]
            by_size[size] = {"parted": len(first), "first": sorted(first)}
    return {
        "sequences": rows,
        "new_tokens": length,
        "again": bool(torch.equal(whole, again)),
        "distinct_tokens": len(whole.unique()),
        "sizes": by_size,
        "seconds": time.monotonic() - began,
    }


# Part 2: kernels of attention


def attention(device: str, small: bool, write: Write) -> None:
    """Each backend in each precision: its distance from float64, and whether its outputs and gradients repeat."""
    allow_tf32(False)
    torch.set_warn_always(True)
    # Many short sequences, and few long ones, over which a kernel may split the keys.
    shapes = [(2, 2, 32, 16)] if small else [(16, 8, 128, 64), (1, 4, 2048, 64)]
    found: list[dict[str, Any]] = []
    backends = {name: getattr(SDPBackend, name, None) for name in ATTENTION}
    for shape, precision in itertools.product(shapes, ("float32", "bfloat16", "float16")):
        torch.manual_seed(2)
        drawn = [torch.randn(shape).to(device, PRECISIONS[precision][0]) for _ in range(4)]
        exact = _attended(SDPBackend.MATH, [tensor.double() for tensor in drawn])
        plain = None
        for (name, backend), strict in itertools.product(backends.items(), (False, True)):
            row = {"shape": shape, "precision": precision, "backend": name, "deterministic_algorithms": strict}
            torch.use_deterministic_algorithms(strict)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                try:
                    if backend is None:
                        raise RuntimeError("unknown to this PyTorch")
                    runs = [_attended(backend, drawn) for _ in range(3 if small else 10)]
                    plain = runs[0] if name == "MATH" else plain
                    row |= _compared(runs, plain, exact)
                except Exception as error:
                    reasons = dict.fromkeys(" ".join(str(each.message).split())[:200] for each in caught)
                    row["unsupported"] = " | ".join([one_line(error), *reasons])[:900]
            found.append(row)
            write({"rows": found})
    torch.use_deterministic_algorithms(False)


def _attended(backend: SDPBackend, drawn: list[torch.Tensor]) -> list[torch.Tensor]:
    """The output of causal attention, and the gradients of queries, keys and values."""
    inputs = [tensor.clone().requires_grad_() for tensor in drawn[:3]]
    with sdpa_kernel([backend]):
        output = functional.scaled_dot_product_attention(*inputs, is_causal=True)
        gradients = torch.autograd.grad(output, inputs, drawn[3])
    return [output.detach(), *gradients]


def _compared(
    runs: list[list[torch.Tensor]], plain: list[torch.Tensor] | None, exact: list[torch.Tensor]
) -> dict[str, Any]:
    errors = [largest(one, other) / float(other.abs().max()) for one, other in zip(runs[0], exact, strict=True)]
    return {
        "equals_math": equal(runs[0][:1], plain[:1]) if plain else None,
        "error": errors[0],
        "gradient_error": max(errors[1:]),
        "runs": len(runs),
        "distinct_outputs": len({digest(run[:1]) for run in runs}),
        "distinct_gradients": {
            name: len({digest([run[place]]) for run in runs})
            for place, name in enumerate(("queries", "keys", "values"), 1)
        },
    }


# Part 3: compiled programs


def compiled(device: str, small: bool, way: str, write: Write) -> None:
    """One step's gradients by a compiled network: hashes, to compare with those of other processes."""
    allow_tf32(False)
    found = {}
    torch.manual_seed(3)
    width, rows, language = (32, 8, decoder(small=True, layers=1)) if small else (1024, 512, decoder(False, 2))
    dense = [nn.Linear(width, width), nn.GELU(), nn.Linear(width, width), nn.GELU(), nn.Linear(width, 10)]
    vectors, images, classes = torch.randn(rows, width), torch.rand(rows, 3, 32, 32), torch.randint(10, (rows,))
    tokens = torch.randint(len(language.tokens.weight), (rows // 8, len(language.places.weight)))
    tried = {
        "dense float32": (nn.Sequential(*dense), vectors, torch.float32),
        "dense bfloat16": (nn.Sequential(*dense), vectors, torch.bfloat16),
        "smallcnn-bn float32": (smallcnn(batch_norm=True), images, torch.float32),
        "transformer float32": (language, tokens, torch.float32),
    }
    if small:
        del tried["smallcnn-bn float32"], tried["dense bfloat16"], tried["transformer float32"]
    elif way.startswith("max-autotune"):
        # It has 15 products of other shapes: tuning it takes too long.
        del tried["transformer float32"]
    for name, (started, inputs, dtype) in tried.items():
        began, plain = time.monotonic(), copy.deepcopy(started).to(device, dtype)
        inputs, targets = _typed(inputs.to(device), dtype), classes[: len(inputs)].to(device)
        exact = _stepped(copy.deepcopy(plain).double(), _typed(inputs, torch.float64), targets)
        eager = _stepped(copy.deepcopy(plain), inputs, targets)
        step = plain if way == "eager" else torch.compile(plain, mode=None if way == "default" else way)
        made = _stepped(step, inputs, targets)
        found[name] = {
            "loss": digest(made[:1]),
            "gradients": digest(made[1:]),
            "again": equal(made, _stepped(step, inputs, targets)),
            "equals_eager": equal(made, eager),
            "to_eager": _apart(made, eager),
            "error": _apart(made, exact),
            "seconds": time.monotonic() - began,
        }
        write(found)


def _stepped(network: nn.Module, inputs: torch.Tensor, classes: torch.Tensor) -> list[torch.Tensor]:
    """The loss and the gradients of all weights."""
    loss = functional.cross_entropy(network(inputs), classes)
    gradients = torch.autograd.grad(loss, list(network.parameters()))
    return [loss.detach(), *gradients]


def _apart(some: list[torch.Tensor], others: list[torch.Tensor]) -> float:
    """The largest difference of gradients, relative to the largest gradient of all."""
    most = max(float(other.abs().max()) for other in others[1:])
    return max(largest(one, other) for one, other in zip(some[1:], others[1:], strict=True)) / most


# Part 4: what changes in training


def training(
    device: str, small: bool, network: str, mode: str, run: int, seed: int, epochs: int, folder: str, write: Write
) -> None:
    """Train on pictures, with hashes of gradients and weights after the first steps and each epoch."""
    began = time.monotonic()
    benchmark, deterministic = MODES[mode]
    allow_tf32(False)
    torch.use_deterministic_algorithms(deterministic)
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = benchmark, deterministic
    data = {name: np.load(Path(folder, f"{name}.npy")) for name in ("train-images", "test-images", "train-labels")}
    images, unseen, labels = (torch.from_numpy(array).to(device) for array in data.values())
    order = torch.Generator().manual_seed(1000 + seed)
    torch.manual_seed(seed)
    # Memory as the study has it, channels last.
    net = smallcnn(network == "smallcnn-bn").to(device, memory_format=torch.channels_last).train()
    optimizer = torch.optim.Adam(net.parameters(), lr=0.002, eps=1e-7)
    batch = 32 if small else 128
    steps = epochs * (len(images) // batch)
    made: dict[str, Any] = {"gradients": [], "weights": [], "epochs": [], "losses": []}
    step = 0
    for _ in range(epochs):
        plan = torch.randperm(len(images), generator=order)
        offsets = torch.randint(0, 9, (len(images), 2), generator=order).to(device)
        flips = torch.randint(0, 2, (len(images),), generator=order).bool().to(device)
        plan = plan.to(device)
        total = torch.zeros((), device=device)
        for start in range(0, len(images) - batch + 1, batch):
            step += 1
            if mode == "one-bit" and step == CHANGED_BEFORE:
                _change_bit(net, run)
            share = slice(start, start + batch)
            taken = plan[share]
            logits = net(_planes(_augmented(images[taken], offsets[share], flips[share])))
            loss = functional.cross_entropy(logits, labels[taken])
            # The schedule of the study: a tenth after 10 of 16 epochs, a hundredth after 14.
            optimizer.param_groups[0]["lr"] = 0.002 * 0.1 ** sum(16 * step > epoch * steps for epoch in (10, 14))
            optimizer.zero_grad()
            loss.backward()
            if step <= HASHED_STEPS:
                made["gradients"].append(digest([tensor.grad for tensor in net.parameters()]))
            optimizer.step()
            total += loss.detach()
            if step <= HASHED_STEPS:
                made["weights"].append(digest(list(net.state_dict().values())))
        made["epochs"].append(digest(list(net.state_dict().values())))
        made["losses"].append(float(total) / (len(images) // batch))
    net.eval()
    # All modes answer by the same kernels: answers differ only where weights do.
    torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = False, True
    with torch.no_grad():
        answers = torch.cat([net(_planes(part)).argmax(1) for part in unseen.split(1000)]).cpu().numpy()
    right = np.load(Path(folder, "test-labels.npy"))
    made |= {"steps": step, "accuracy": float(np.mean(answers == right)), "answers": answers.tolist()}
    made["seconds"] = time.monotonic() - began
    write(made)
    if device == "cuda" and seed == 1 and mode != "one-bit":
        # A profiler that hangs ends this process, whose results are written.
        signal.alarm(15)
        torch.backends.cudnn.benchmark, torch.backends.cudnn.deterministic = benchmark, deterministic
        made["kernels"] = _kernels(net.train(), _planes(images[:batch]), labels[:batch])
        write(made)


def _planes(pixels: torch.Tensor) -> torch.Tensor:
    """Pictures of bytes as float32, with axes in PyTorch's order and memory as it is."""
    return pixels.permute(0, 3, 1, 2).float().div(255)


def _augmented(pixels: torch.Tensor, offsets: torch.Tensor, flips: torch.Tensor) -> torch.Tensor:
    """Crop pictures padded by 4, and mirror some: pixels are moved and never computed."""
    rows, height, width, _ = pixels.shape
    padded = functional.pad(pixels, (0, 0, 4, 4, 4, 4))
    across = torch.arange(width, device=pixels.device)
    down = torch.arange(height, device=pixels.device) + offsets[:, :1]
    across = torch.where(flips[:, None], across.flip(0), across) + offsets[:, 1:]
    return padded[torch.arange(rows, device=pixels.device)[:, None, None], down[:, :, None], across[:, None, :]]


def _change_bit(net: nn.Module, run: int) -> None:
    """Change the last bit of a weight of the last layer, another in every run."""
    weights = bits(net[-1].weight.data).view(-1)
    weights[7 * run % len(weights)] ^= 1


def _kernels(net: nn.Module, inputs: torch.Tensor, classes: torch.Tensor) -> list[str]:
    """The names of the kernels of one step, as this process has chosen them; no calls of CUDA's own functions."""
    try:
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            functional.cross_entropy(net(inputs), classes).backward()
            torch.cuda.synchronize()
        names = {event.key for event in profile.key_averages()}
        return sorted(name for name in names if not re.match(r"cu(da)?[A-Z]|Mem(cpy|set)|Activity", name))
    except Exception as error:
        return [one_line(error)]


JOBS = {
    "about": about,
    "pictures": pictures,
    "batches": batches,
    "attention": attention,
    "compiled": compiled,
    "training": training,
}

if __name__ == "__main__":
    main(*sys.argv[1:])
