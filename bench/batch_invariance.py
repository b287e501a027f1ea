"""Does an answer depend on the other rows of its batch, and what does it cost to prevent that? This needs only PyTorch.

    python3 bench/batch_invariance.py --out batch-invariance.json            # on a GPU: less than four minutes
    python3 bench/batch_invariance.py --width 256 --rows 64 --repeats 3      # on a CPU, to try it

A network of four dense layers answers the same rows in batches of 1, 2, 4 and so on. The library picks a kernel for
each size, so the order of its sums may depend on the size. The fixed split multiplies tiles of 16 rows, padded with
zeros, one after the other: each product has the same shape for every batch size. Each line has the number of rows whose
bits differ from those in the largest batch, the number of answers (largest logits) that change, both for the library
and for the fixed split, and the ratio of their times (fixed split over library).
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import torch

TILE = 16
Layer = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def library(rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The product as the library computes it for this number of rows."""
    return rows @ weights


def fixed_split(rows: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """The product in tiles of one shape."""
    padded = torch.nn.functional.pad(rows, (0, 0, 0, -len(rows) % TILE))
    return torch.cat([tile @ weights for tile in padded.split(TILE)])[: len(rows)]


def answer(layer: Layer, rows: torch.Tensor, network: list[torch.Tensor]) -> torch.Tensor:
    """The logits of a network of dense layers with ReLU between them."""
    for weights in network[:-1]:
        rows = torch.relu(layer(rows, weights))
    return layer(rows, network[-1])


def in_batches(layer: Layer, rows: torch.Tensor, network: list[torch.Tensor], size: int) -> torch.Tensor:
    """The logits of all rows, computed in batches of this size."""
    return torch.cat([answer(layer, batch, network) for batch in rows.split(size)])


def milliseconds(run: Callable[[], torch.Tensor], repeats: int) -> float:
    """The median time of a call, without the first call."""
    times = []
    for _ in range(repeats + 1):
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        began = time.perf_counter()
        run()
        if torch.cuda.is_available():
            torch.cuda.synchronize()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times[1:])


def measured(device: str, width: int, count: int, repeats: int, precision: torch.dtype) -> list[dict[str, object]]:
    """A line for each size of batch."""
    generator = torch.Generator().manual_seed(1)
    shapes = [(width, width)] * 3 + [(width, 10)]
    scales = [(2 / shape[0]) ** 0.5 for shape in shapes]
    network = [
        (torch.randn(shape, generator=generator) * scale).to(device, precision)
        for shape, scale in zip(shapes, scales, strict=True)
    ]
    rows = torch.randn((count, width), generator=generator).to(device, precision)
    whole = {layer: in_batches(layer, rows, network, count) for layer in (library, fixed_split)}
    lines = []
    for size in (2**power for power in range(count.bit_length() - 1)):
        line: dict[str, object] = {"precision": str(precision).removeprefix("torch."), "batch": size, "rows": count}
        for layer, expected in whole.items():
            logits = in_batches(layer, rows, network, size)
            line[f"{layer.__name__}_rows_that_differ"] = int((logits != expected).any(1).sum())
            line[f"{layer.__name__}_answers_changed"] = int((logits.argmax(1) != expected.argmax(1)).sum())
        batch = rows[:size]
        price = milliseconds(lambda batch=batch: answer(fixed_split, batch, network), repeats)
        line["milliseconds_ratio"] = price / milliseconds(lambda batch=batch: answer(library, batch, network), repeats)
        lines.append(line)
    return lines


def main() -> None:
    """Measure each precision, print the lines and write them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--width", type=int, default=4096, help="of the layers (4096)")
    parser.add_argument("--rows", type=int, default=256, help="that are answered (256)")
    parser.add_argument("--repeats", type=int, default=20, help="of each timed call (20)")
    parser.add_argument(
        "--out", type=Path, help="a JSON file for the lines, with the device and the version of PyTorch"
    )
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    lines = []
    with torch.inference_mode():
        for precision in (torch.float32, torch.bfloat16):
            for line in measured(device, options.width, options.rows, options.repeats, precision):
                lines.append(line)
                print(" ".join(f"{key}={value}" for key, value in line.items()), flush=True)
    if options.out:
        name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
        options.out.write_text(json.dumps({"device": name, "torch": torch.__version__, "lines": lines}, indent=1))


if __name__ == "__main__":
    main()
