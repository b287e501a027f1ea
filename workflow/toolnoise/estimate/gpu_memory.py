"""What planning says of memory: a training that cannot fit the GPU of its tooling, before it is queued.

A lower bound. Training keeps, for every convolution, its output and that of the ReLU after it until the gradient is
computed. Weights, the gradient and the libraries' own memory come on top. Only networks whose outputs were counted are
judged (tests/engines/test_models.py counts them again).
"""

from collections.abc import Iterator

from toolnoise.study.cells import Cell
from toolnoise.study.study import Study

# The numbers in the outputs of all convolutions for one image of 224x224 pixels.
OUTPUTS = {"resnet50-v15": 11_113_984, "resnet50": 10_587_136, "resnet18-imagenet": 2_483_712}
KEPT = 2  # the output of a convolution, and that of its ReLU
BYTES = {"float32": 4, "mixed_float16": 2, "mixed_bfloat16": 2}
# GB of the smallest card of that name, by the tooling's `device`.
MEMORY = {"P100": 16, "V100": 16, "Quadro RTX 5000": 16, "T4": 16, "A100": 40, "H100": 80, "H200": 141}


def needed(study: Study, cell: Cell) -> float:
    """At least so many GB does a run of the cell need on its GPU; 0 if the network was not counted."""
    if cell.model not in OUTPUTS:
        return 0.0
    share = (study.config["datasets"][cell.dataset].get("image_size", 224) / 224) ** 2
    each = BYTES[study.tooling(cell.hardware)["precision"]] * KEPT * OUTPUTS[cell.model] * share
    return study.batch_size(*cell.task) * each / 1e9


def warnings(study: Study) -> Iterator[str]:
    """A line for each task and GPU that cannot fit."""
    for cell in dict.fromkeys(cell._replace(variant="") for cell in study.seeds):
        device = study.tooling(cell.hardware)["device"]
        if device in MEMORY and (least := needed(study, cell)) > MEMORY[device]:
            task, batch = "/".join(cell.task), study.batch_size(*cell.task)
            yield (
                f"{task} on {cell.hardware} needs {least:.1f} GB or more for batches of {batch}; the smallest {device} "
                f"has {MEMORY[device]} GB"
            )
