"""What is often forgotten where runs with equal seeds differ, and a place in a program that is suspected of it."""

from collections.abc import Iterable
from typing import NamedTuple

SURE, LIKELY, POSSIBLE = 3, 2, 1


class Cause(NamedTuple):
    """Something often forgotten: what it is, what to do, the source of noise that it belongs to, if it is one."""

    says: str
    remedy: str
    source: str = ""


# In the order of likelihood where nothing else is known.
CAUSES = {
    "torch": Cause(
        "PyTorch draws from its global generator, which nothing has seeded by then",
        "call torch.manual_seed(seed) before the model is built",
        "init",
    ),
    "loader": Cause(
        "the order of examples comes from PyTorch's global generator",
        "give it generator=torch.Generator().manual_seed(seed)",
        "shuffle",
    ),
    "numpy": Cause(
        "NumPy draws from a generator that nothing seeds",
        "use one numpy.random.default_rng(seed), or call numpy.random.seed(seed) first",
        "augment",
    ),
    "random": Cause(
        "Python's random draws from a generator that nothing seeds", "use one random.Random(seed)", "augment"
    ),
    "dropout": Cause(
        "dropout draws from PyTorch's global generator", "call torch.manual_seed(seed) before training", "dropout"
    ),
    "clock": Cause(
        "a seed comes from the clock, the process or the system", "take it from the command line or TOOLNOISE_SEED_*"
    ),
    "set": Cause(
        "the order of a set differs between processes (hash seed)", "iterate over sorted(...), or over a list"
    ),
    "hash": Cause("hash() of a text differs between processes (hash seed)", "use zlib.crc32(text.encode()) or hashlib"),
    "tensorflow": Cause(
        "TensorFlow draws from a generator that nothing seeds", "call keras.utils.set_random_seed(seed) first", "init"
    ),
    "sklearn": Cause("scikit-learn draws from NumPy's global generator", "give it random_state=seed", "shuffle"),
    "workers": Cause(
        "workers of a DataLoader have generators of their own",
        "give it worker_init_fn= and generator=, and seed NumPy and random in each worker",
        "augment",
    ),
    "path": Cause("a seed comes from the folder's name", "take it from the command line or TOOLNOISE_SEED_*"),
    "parallel": Cause(
        "results of parallel work come in the order in which they are ready", "use map, or sort the results"
    ),
    "evaluation": Cause(
        "nothing switches dropout off for the evaluation", "call model.eval() before the final predictions", "dropout"
    ),
    "kernels": Cause(
        "cuDNN chooses and adds in an order of its own",
        "set torch.backends.cudnn.benchmark = False and call torch.use_deterministic_algorithms(True)",
        "impl",
    ),
    "files": Cause("a folder lists its files in no certain order", "iterate over sorted(...)", "shuffle"),
}


class Suspect(NamedTuple):
    """A place in a program, as file:line and its text, and how much it is suspected."""

    cause: str
    file: str
    line: int
    code: str
    weight: int


def ranked(suspects: Iterable[Suspect]) -> list[Suspect]:
    """The heaviest first; among equals, the cause that is more often forgotten."""
    order = list(CAUSES)
    return sorted(suspects, key=lambda each: (-each.weight, order.index(each.cause), each.file, each.line))
