"""What is often forgotten where runs with equal seeds differ, and a place in a program that is suspected of it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

# What is unlikely is not shown as a cause; it may still be the place that an ignored seed belongs to.
SURE, LIKELY, POSSIBLE, UNLIKELY = 3, 2, 1, 0
# The end of what is said of a draw, if its generator is not seeded anywhere.
UNSEEDED = ", which nothing seeds"
MOST_PLACES = 3  # of one cause, that are shown


class Cause(NamedTuple):
    """Something often forgotten: what it is, what to do, the source of noise that it belongs to, if it is one.

    If it is a draw, a place in a program adds to `says` when its generator is seeded. A program that imports none of
    `modules`, if there are any, cannot have it.
    """

    says: str
    remedy: str
    source: str = ""
    draws: bool = False
    modules: tuple[str, ...] = ()


TORCH = ("torch", "lightning", "pytorch_lightning", "transformers")
THREADS = ("threading", "concurrent", "multiprocessing", "joblib", "asyncio")
# In the order of likelihood where nothing else is known.
CAUSES = {
    "torch": Cause(
        "PyTorch draws from its global generator",
        "call torch.manual_seed(seed) before the model is built",
        "init",
        draws=True,
        modules=TORCH,
    ),
    "loader": Cause(
        "the order of examples comes from PyTorch's global generator",
        "give it generator=torch.Generator().manual_seed(seed)",
        "shuffle",
        draws=True,
        modules=TORCH,
    ),
    "numpy": Cause(
        "NumPy draws from a generator",
        "use one numpy.random.default_rng(seed), or call numpy.random.seed(seed) first",
        "augment",
        draws=True,
        modules=("numpy",),
    ),
    "random": Cause(
        "Python's random draws from a generator",
        "use one random.Random(seed)",
        "augment",
        draws=True,
        modules=("random",),
    ),
    "dropout": Cause(
        "dropout draws from PyTorch's global generator",
        "call torch.manual_seed(seed) before training",
        "dropout",
        draws=True,
        modules=TORCH,
    ),
    "clock": Cause(
        "a seed comes from the clock, the process or the system", "take it from the command line or TOOLNOISE_SEED_*"
    ),
    "time": Cause(
        "a value comes from the clock, the process or the system",
        "leave it out of what is trained on or compared, and end the training after a number of steps",
    ),
    "outside": Cause(
        "a database or another program draws, and no seed of this one counts there",
        "take all in a fixed order, and draw here from a generator with a seed",
        "shuffle",
    ),
    "speed": Cause(
        "a choice falls on what was fastest in this run", "choose once, and give the choice to every run as an option"
    ),
    "shared": Cause(
        "threads, or coroutines, draw from one generator, in the order in which they come to it",
        "give each thread, or each piece of work, a generator with a seed of its own",
        "augment",
        modules=THREADS,
    ),
    "race": Cause(
        "threads, or coroutines, change one object, in the order in which they come to it",
        "let each return its part, and add the parts in a fixed order",
        modules=THREADS,
    ),
    "checkpoint": Cause(
        "a run reads what an earlier run left, if it finds it: a checkpoint, or a cache",
        "keep a checkpoint in TOOLNOISE_CHECKPOINT, with the state of every generator; keep in a cache the very values "
        "that the first run goes on with",
        "shuffle",
    ),
    "set": Cause(
        "the order of a set differs between processes (hash seed, or addresses of objects)",
        "iterate over sorted(...), or over a list",
    ),
    "hash": Cause("hash() of a text differs between processes (hash seed)", "use zlib.crc32(text.encode()) or hashlib"),
    "tensorflow": Cause(
        "Keras or TensorFlow draws from a global generator",
        "call keras.utils.set_random_seed(seed) first",
        "init",
        draws=True,
        modules=("keras", "tensorflow"),
    ),
    "sklearn": Cause(
        "scikit-learn draws from NumPy's global generator",
        "give it random_state=seed",
        "shuffle",
        draws=True,
        modules=("sklearn",),
    ),
    "workers": Cause(
        "workers of a DataLoader have generators of their own",
        "give it worker_init_fn= and generator=, and seed NumPy and random in each worker",
        "augment",
        modules=TORCH,
    ),
    "memory": Cause("an array begins with what was in memory before", "use zeros, or fill all of it before it is read"),
    "path": Cause("a seed comes from the folder's name", "take it from the command line or TOOLNOISE_SEED_*"),
    "parallel": Cause(
        "results of parallel work come in the order in which they are ready",
        "use map, or put the results in order",
        modules=THREADS,
    ),
    "forest": Cause(
        "the threads of a forest add up its trees' predictions in the order in which they are ready",
        "set its n_jobs = 1 before it predicts",
        "impl",
        modules=("sklearn",),
    ),
    "evaluation": Cause(
        "nothing switches dropout off for the evaluation",
        "call model.eval() before the final predictions",
        "dropout",
        modules=TORCH,
    ),
    "kernels": Cause(
        "cuDNN chooses and adds in an order of its own",
        "set torch.backends.cudnn.benchmark = False and call torch.use_deterministic_algorithms(True)",
        "impl",
        modules=TORCH,
    ),
    "files": Cause("a folder lists its files in no certain order", "iterate over sorted(...)", "shuffle"),
}


class Suspect(NamedTuple):
    """A place in a program, as file:line and its text, how much it is suspected, and when it is seeded, if it draws."""

    cause: str
    file: str
    line: int
    code: str
    weight: int
    seeded: str = ""

    @property
    def says(self) -> str:
        """What is often forgotten, of this place."""
        return CAUSES[self.cause].says + self.seeded


def ranked(suspects: Iterable[Suspect]) -> list[Suspect]:
    """The heaviest first; among equals, the cause that is more often forgotten."""
    order = list(CAUSES)
    return sorted(suspects, key=lambda each: (-each.weight, order.index(each.cause), each.file, each.line))


def places(found: Sequence[Suspect]) -> Iterable[str]:
    """Places that may be at fault, by cause, with what to do."""
    for cause, says in dict.fromkeys((place.cause, place.says) for place in found):
        alike = [place for place in found if (place.cause, place.says) == (cause, says)]
        yield from (f"  {place.file}:{place.line}: {place.code}" for place in alike[:MOST_PLACES])
        if len(alike) > MOST_PLACES:
            yield f"  and {len(alike) - MOST_PLACES} more places"
        yield f"    {says}: {CAUSES[cause].remedy}"


def place(suspect: Suspect) -> dict[str, Any]:
    """A place for programs."""
    about = CAUSES[suspect.cause]
    return {**suspect._asdict(), "says": suspect.says, "remedy": about.remedy, "source": about.source}
