"""What the next minutes on a GPU are for, in order: `python bench/gpu.py queue`.

An item leaves the list when its results are in the repository. An item whose study or script is not written yet is
listed, and skipped.
"""

from pathlib import Path
from typing import NamedTuple

from toolnoise.base.printing import aligned

PICTURES = "--pictures data/cifar10-jpeg.tar.xz"
RUN = "python3 bench/gpu.py run --minutes 9"
MATRIX = f"python3 bench/gpu_matrix.py {PICTURES} --out matrix"


class Item(NamedTuple):
    """A question, the file that its command needs, the command, its pieces in minutes, and where its results land.

    `pieces` are estimates, at most nine minutes each.
    """

    asks: str
    needs: str
    command: str
    pieces: tuple[float, ...]
    lands: str


STUDIES = "workflow/studies"
ITEMS = (
    Item(
        # On an H200, five are done: unpack evidence/gpu-cost-h200.tar.xz before `pack`, and only the rest runs.
        "what determinism costs PyTorch: figures 8 and 9, on an H100",
        f"{STUDIES}/gpu-cost.yaml",
        f"{RUN} --study {STUDIES}/gpu-cost.yaml --parts cost --jobs 10 --toolings torch",
        (9, 9, 9),
        "evidence/gpu-cost-h100.tar.xz",
    ),
    Item(
        # On an H200, three networks are done. Each process takes the GPU's memory that its network needs.
        "what determinism costs JAX: figures 8 and 9, on an H100",
        f"{STUDIES}/gpu-cost.yaml",
        f"{RUN} --study {STUDIES}/gpu-cost.yaml --parts cost --jobs 5 --toolings jax",
        (9, 9, 9),
        "evidence/gpu-cost-h100.tar.xz",
    ),
    Item(
        "the noise of a second accelerator, an H200",
        f"{STUDIES}/gpu-h200.yaml",
        f"{RUN} --study {STUDIES}/gpu-h200.yaml --parts control noise --jobs 16",
        (9, 3),
        "evidence/gpu-h200.tar.xz",
    ),
    Item(
        "which part of a GPU changes bits: batches, attention, the two halves of IMPL",
        "bench/gpu_matrix.py",
        f"{MATRIX} --minutes 3.5",
        (3.5,),
        "docs/tables/gpu-matrix.json",
    ),
    Item(
        "does torch.compile's search for kernels change bits",
        "bench/gpu_matrix.py",
        f"{MATRIX} --parts compiled --minutes 6",
        (6,),
        "docs/tables/gpu-compiled.json",
    ),
    Item(
        "JAX's own noise, on the same study",
        f"{STUDIES}/gpu-jax.yaml",
        f"{RUN} --study {STUDIES}/gpu-jax.yaml --parts control noise --jobs 16",
        (9, 9),
        "evidence/gpu-jax-h100.tar.xz",
    ),
    Item(
        "language models: IMPL, seeds and dropout",
        f"{STUDIES}/gpu-language.yaml",
        f"{RUN} --study {STUDIES}/gpu-language.yaml --parts control noise --jobs 8",
        (9, 9),
        "evidence/gpu-language-h100.tar.xz",
    ),
    Item(
        "ResNet-18 on pictures",
        f"{STUDIES}/gpu-resnet18.yaml",
        f"{RUN} --study {STUDIES}/gpu-resnet18.yaml --parts control noise --jobs 6",
        (9, 9, 9),
        "evidence/gpu-resnet18-h100.tar.xz",
    ),
    Item(
        "how the GPU's own noise grows, beside emulated noise and a bit",
        f"{STUDIES}/gpu-growth.yaml",
        f"{RUN} --study {STUDIES}/gpu-growth.yaml --parts control noise --jobs 16",
        (9,),
        "evidence/gpu-growth-h100.tar.xz",
    ),
    Item(
        "images per second, against Model.fit",
        f"{STUDIES}/gpu.yaml",
        f"{RUN} --parts throughput",
        (9,),
        "docs/tables/gpu-throughput.txt",
    ),
)


def listed(root: Path) -> list[str]:
    """The items that are left, in order, with their commands; those that have landed in one line."""
    landed = [item for item in ITEMS if (root / item.lands).exists()]
    left = [item for item in ITEMS if item not in landed]
    rows, commands, place = [("", "minutes", "asks", "lands in")], [], 0
    for item in left:
        written = (root / item.needs).exists()
        place += written
        minutes = f"{sum(item.pieces):g} in {len(item.pieces)}"
        rows.append((str(place) if written else "-", minutes, item.asks, item.lands))
        commands.append(f"{place}  {item.command}" if written else f"-  skipped: {item.needs} is not written yet")
    total = sum(sum(item.pieces) for item in left if (root / item.needs).exists())
    return [*aligned(rows), "", *commands, "", f"{total:g} minutes are queued; landed: {len(landed)}"]
