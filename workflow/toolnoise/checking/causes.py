"""What makes two runs differ, by the kind of call in which the difference arises, and what to do about each."""

import re
from typing import NamedTuple


class Cause(NamedTuple):
    """A kind of cause: what it is, and the remedy."""

    says: str
    remedy: str


# By the name of a global generator, as it is seeded.
GENERATORS = {
    "random": Cause(
        "it draws from the global generator of Python's random, which nothing has seeded",
        "call random.seed(seed) first, or use one random.Random(seed)",
    ),
    "numpy.random": Cause(
        "it draws from NumPy's global generator, which nothing has seeded",
        "call numpy.random.seed(seed) first, use one numpy.random.default_rng(seed), or pass random_state=seed",
    ),
    "keras": Cause(
        "Keras draws the seed of a layer from Python's random, which nothing has seeded",
        "call keras.utils.set_random_seed(seed) first",
    ),
    "torch": Cause(
        "it draws from PyTorch's global generator, which nothing has seeded",
        "call torch.manual_seed(seed) before the model is built, or give it generator=",
    ),
}
CAUSES = {
    "generator": Cause("a generator is made or seeded without a seed", "give it a seed"),
    "entropy": Cause(
        "a value comes from the system's source of randomness, which has no seed",
        "draw it from a generator with a seed",
    ),
    "clock": Cause(
        "a value comes from the clock",
        "keep it out of what is trained on and compared, and end the training after a number of steps",
    ),
    "process": Cause(
        "a value is the number of a process or a thread", "take it from the command line, or from TOOLNOISE_SEED_*"
    ),
    "address": Cause("a value is the address of an object in memory", "use a number of its own for each object"),
    "hash": Cause("hash() of a text differs between processes", "use zlib.crc32(text.encode()) or hashlib"),
    "set": Cause(
        "a set has another order in each process (hash seed, or addresses of objects)",
        "iterate over sorted(...), or over a list",
    ),
    "files": Cause("a folder lists its files in no certain order", "iterate over sorted(...)"),
    "name": Cause("a temporary name is random", "keep it out of what is trained on, or name the file yourself"),
    "folder": Cause(
        "a value comes from the name of the run's own folder", "take it from the command line or TOOLNOISE_SEED_*"
    ),
    "read": Cause("a file that is read has another content in each run", "look at what writes it"),
    "memory": Cause(
        "an array begins with what was in memory before", "use zeros, or fill all of it before it is read"
    ),
    "machine": Cause(
        "a value is the state of the machine, such as its free memory or load", "take it from an option"
    ),
    "ready": Cause(
        "results of parallel work come in the order in which they are ready", "use map, or put the results in order"
    ),
    "program": Cause(
        "another program gives another output, and no seed of this one counts there",
        "give it a seed of its own, or draw here",
    ),
    "database": Cause(
        "a query gives its rows in no certain order, or draws them", "order the rows by a key, and draw here"
    ),
    "shared": Cause(
        "threads, or coroutines, come to one object in another order in each run",
        "give each piece of work its own object and seed, and put the parts together in a fixed order",
    ),
    "order": Cause("it gets the same things in another order in each run", "put them in a fixed order first"),
    "left": Cause(
        "a run reads what an earlier run left",
        "remove it first, or keep a checkpoint in TOOLNOISE_CHECKPOINT, with the state of every generator",
    ),
    "turns": Cause(
        "a loop ends when something outside of it says so", "end it after a number of steps"
    ),
    "fixed": Cause("a generator has a seed that nothing changes", "give it the seed of the source"),
    "shell": Cause("the shell, or one of its commands, draws without a seed", "give it a seed, or draw elsewhere"),
    "draw": Cause(
        "a framework draws from its own generator, which nothing has seeded",
        "call keras.utils.set_random_seed(seed) or tensorflow.random.set_seed(seed) first",
    ),
    "operation": Cause(
        "it gives another result for equal inputs",
        "use one thread, or the deterministic way of this operation if it has one",
    ),
}  # fmt: skip
# The first pattern that is in the name of what is called says what kind it is.
NAMES = tuple(
    (kind, re.compile(pattern))
    for kind, pattern in (
        ("entropy", r"^uuid\.|urandom|^secrets\.|SystemRandom|getrandom|getentropy|random_bytes"),
        ("generator", r"(default_rng|RandomState|SeedSequence|PCG64|MT19937|Philox|SFC64|random\.Random)$"),
        ("generator", r"(^|\.)(seed|manual_seed|set_seed|PRNGKey|key|SeedGenerator|set_random_seed)$"),
        ("clock", r"^time\.|datetime|perf_counter|monotonic|^timeit\.|Event\.(is_set|wait)|strftime"),
        ("process", r"getpid|getppid|get_ident|get_native_id|current_process|gettid"),
        ("address", r"^builtins\.(id|repr)$"),
        ("hash", r"\bhash\b"),
        ("name", r"tempfile|mkdtemp|mkstemp|gettemp"),
        ("files", r"listdir|scandir|iterdir|r?glob\b|\bos\.walk|Path\.walk"),
        ("memory", r"\bempty(_like|_strided)?$|new_empty"),
        ("ready", r"as_completed|imap_unordered|IMapUnordered|[Qq]ueue.*\.get|\bwait\b|^awaited$|Future|Task"),
        ("program", r"^subprocess\.|Popen|os\.popen|check_output|communicate"),
        ("database", r"sqlite|Cursor|fetch(one|all|many)|read_sql"),
        ("draw", r"^(tensorflow|keras|jax)\..*(random|initializers)"),
        (
            "machine",
            r"sysconf|psutil|getloadavg|cpu_count|disk_usage|gethostname|environ|getenv|mem_get_info|getmtime|\.l?stat$",
        ),
    )
)
# What differs between any two runs, and hardly ever matters.
USUAL = ("clock", "name", "process")


class Place(NamedTuple):
    """A place in a program, as file:line and its text, what is wrong there, and how that is known.

    `evidence` is the sentence about an experiment that proves it, or about what was seen; none if the text alone is.
    """

    cause: str
    file: str
    line: int
    code: str
    says: str
    remedy: str
    evidence: str = ""


def kind_of(name: str) -> str:
    """The kind of cause that a call is, by what is called."""
    return next((kind for kind, pattern in NAMES if pattern.search(name)), "operation")


def place(kind: str, file: str, line: int, code: str, evidence: str = "", generator: str = "") -> Place:
    """A place with what there is to say of its kind."""
    cause = GENERATORS[generator] if generator else CAUSES[kind]
    return Place(kind, file, line, code, cause.says, cause.remedy, evidence)


def as_lines(places: list[Place]) -> list[str]:
    """Places for people."""
    lines = []
    for each in places:
        where = f"{each.file}:{each.line}: {each.code}" if each.line else f"{each.file}"
        lines.append(f"  {where}")
        if each.evidence:
            lines.append(f"    {each.evidence}")
        lines.append(f"    {each.says[0].upper()}{each.says[1:]}: {each.remedy}.")
    return lines
