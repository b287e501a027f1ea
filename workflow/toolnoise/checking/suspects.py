"""Places in a program's text that may make two runs with equal seeds differ, or a seed count for nothing.

Each rule knows one thing that is often forgotten. It reads syntax trees and runs nothing, so it can be wrong either
way: a place is a suspicion, with a weight. Evidence from runs (toolnoise.checking.diagnosis) changes the weights.
"""

import ast
import re
from collections.abc import Iterator, Sequence

from toolnoise.checking.causes import LIKELY, POSSIBLE, SURE, Suspect, ranked
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reader import Reader, is_none, is_off

SEEDERS = {
    "numpy.random.seed": ("numpy",),
    "random.seed": ("random",),
    "torch.manual_seed": ("torch",),
    "torch.random.manual_seed": ("torch",),
    "tensorflow.random.set_seed": ("tensorflow",),
}
ALL = ("numpy", "random", "torch", "tensorflow")
SEED_ALL = ("seed_everything", "set_seed", "set_random_seed")
# By module with a global generator: its name here, and the objects that have a seed as their first argument.
OWN = {
    "numpy.random": (
        "numpy",
        ("seed", "default_rng", "RandomState", "SeedSequence", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64"),
    ),
    "random": ("random", ("seed", "Random")),
}
LOADER = "torch.utils.data.DataLoader"
SAMPLERS = tuple(
    f"torch.utils.data.{name}"
    for name in ("RandomSampler", "SubsetRandomSampler", "WeightedRandomSampler", "random_split")
)
DROPOUT = re.compile(r"torch\.nn\.(functional\.\w*dropout\w*|\w*Dropout\w*)")
LAYERS = re.compile(
    r"torch\.nn\.(init\.\w+_|(Lazy)?(Linear|Conv\w+)|Bilinear|Embedding\w*|LSTM|GRU|RNN|Transformer\w*|MultiheadAttention)"
)
DRAWS = re.compile(r"torch\.(rand|randn|randint|randperm|normal|bernoulli|multinomial|rand_like|randn_like)")
SKLEARN = re.compile(
    r"sklearn\.\w[\w.]*\.(train_test_split|shuffle|resample|ShuffleSplit|MLP\w+|RandomForest\w+|ExtraTrees\w+|SGD\w+)$"
)
KERAS = re.compile(r"(tensorflow\.random|(tensorflow\.)?keras\.(layers|initializers))\.")
UNORDERED = re.compile(r"(\.imap_unordered|concurrent\.futures\.as_completed|asyncio\.as_completed)$")
LISTINGS = re.compile(r"(os\.(listdir|scandir|walk)|glob\.i?glob|\.(iterdir|rglob))$")
ITERATES = ("list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "array", "join", "fromkeys", "sample")


class _Facts:
    """What the whole program does somewhere: which generators it seeds, within which blocks, and whether it evaluates.

    Generators of `scoped` are seeded within a with-block alone; the rest of the program is not. `starts` are the calls
    that seed PyTorch for the whole program, `networks` the classes with layers, `calls` all calls by the called name.
    """

    def __init__(self, readers: Sequence[Reader]) -> None:
        self.seeded: set[str] = set()
        self.starts: list[tuple[Reader, ast.Call]] = []
        self.calls: dict[str, list[tuple[Reader, ast.Call]]] = {}
        self.networks = {
            node.name
            for reader in readers
            for node in reader.nodes
            if isinstance(node, ast.ClassDef)
            and any(isinstance(part, ast.Call) and LAYERS.fullmatch(reader.name(part.func)) for part in ast.walk(node))
        }
        self.scoped: set[str] = set()
        self.trains_in_scope = self.evaluates = self.on_gpu = False
        for reader in readers:
            values = (getattr(node, "value", getattr(node, "attr", "")) for node in reader.nodes)
            self.on_gpu |= any(isinstance(value, str) and value.startswith("cuda") for value in values)
            for call, name in reader.calls:
                last = _last(name)
                self.calls.setdefault(last, []).append((reader, call))
                given, scope = call.args or call.keywords, reader.scope(call)
                kinds = SEEDERS.get(name) or (ALL if last in SEED_ALL else ())
                if given and kinds:
                    (self.scoped if scope else self.seeded).update(kinds)
                    self.starts += [(reader, call)] if "torch" in kinds and not scope else []
                if scope:
                    self.scoped.add("torch")
                    self.trains_in_scope |= bool(re.search("backward|train|fit", last))
                self.evaluates |= last == "eval" or (last == "train" and bool(call.args))

    def is_early(self, reader: Reader, call: ast.Call) -> bool:
        """Whether all that seeds PyTorch stands behind a call: in its function, or in functions called there alone."""
        here = reader.function(call)

        def is_behind(other: Reader, node: ast.Call) -> bool:
            return other is reader and reader.function(node) is here and node.lineno > call.lineno

        def seeds_behind(other: Reader, start: ast.Call) -> bool:
            callers = self.calls.get(getattr(other.function(start), "name", ""), [])
            return is_behind(other, start) or (bool(callers) and all(is_behind(*caller) for caller in callers))

        return bool(self.starts) and all(seeds_behind(*start) for start in self.starts)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


_Found = Iterator[tuple[str, ast.AST, int]]


def _draws(reader: Reader, facts: _Facts) -> _Found:
    """Draws from generators that nothing seeds."""
    for call, name in reader.calls:
        module, _, last = name.rpartition(".")
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        unseeded = is_none(given[0] if given else None)
        if module in OWN:
            kind, objects = OWN[module]
            draws = last == "SystemRandom" or (last[:1].islower() and kind not in facts.seeded)
            if unseeded if last in objects else draws:
                yield kind, call, SURE
        elif SKLEARN.fullmatch(name) and "numpy" not in facts.seeded:
            if is_none(reader.keywords(call).get("random_state")):
                yield "sklearn", call, SURE
        elif KERAS.match(name) and "tensorflow" not in facts.seeded:
            yield "tensorflow", call, SURE


def _torch(reader: Reader, facts: _Facts) -> _Found:
    """Draws from PyTorch's global generator. Where that is seeded, they do not follow a seed of their own."""
    seeded = "torch" in facts.seeded
    for call, name in reader.calls:
        keywords = reader.keywords(call)
        # With **rest, a generator may be given.
        if {"generator", None} & {*keywords} or reader.scope(call):
            continue
        shuffles = keywords.get("shuffle", call.args[2] if len(call.args) > 2 else None)
        if (name == LOADER and not is_off(shuffles)) or name in SAMPLERS:
            yield "loader", call, POSSIBLE if seeded else SURE if "torch" in facts.scoped else LIKELY
        elif DROPOUT.fullmatch(name):
            yield "dropout", call, POSSIBLE if seeded or facts.trains_in_scope else LIKELY
            if not facts.evaluates:
                yield "evaluation", call, POSSIBLE
        elif (LAYERS.fullmatch(name) or _last(name) in facts.networks) and facts.is_early(reader, call):
            yield "torch", call, SURE
        elif LAYERS.fullmatch(name):
            # A class may be instantiated before the seed is set, or within a block that sets one, wherever it stands.
            yield "torch", call, POSSIBLE if seeded or "torch" in facts.scoped else SURE
        elif name == "torch.seed" or (DRAWS.fullmatch(name) and not seeded):
            yield "torch", call, SURE
        if name == LOADER and not is_off(keywords.get("num_workers")) and "worker_init_fn" not in keywords:
            # With a generator of the loader, each worker has a seed from it.
            yield "workers", call, POSSIBLE


def _orders(reader: Reader, _: _Facts) -> _Found:
    """Iteration in an order that differs between processes."""
    yield from (("set", node.iter, LIKELY) for node in reader.nodes if reader.iterates_over_set(node))
    for call, name in reader.calls:
        last = _last(name)
        method = call.func.value if isinstance(call.func, ast.Attribute) else None
        if last in ITERATES and any(map(reader.is_set, call.args)) and not reader.is_orderless(call):
            yield "set", call, LIKELY
        if last == "pop" and method is not None and reader.is_set(method):
            yield "set", call, LIKELY
        if name == "hash":
            yield "hash", call, LIKELY
        if UNORDERED.search(name):
            yield "parallel", call, LIKELY
        if LISTINGS.search(name) and not reader.is_orderless(call):
            yield "files", call, POSSIBLE


def _seeds(reader: Reader, _: _Facts) -> _Found:
    """Seeds from what differs between any two runs."""
    for node in reader.nodes:
        tainted = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in reader.clocked
        if (tainted or reader.is_clock(node)) and reader.in_seed(node):
            yield "clock", node, SURE
        folder = isinstance(node, ast.Attribute) and node.attr in ("out", "out_dir", "output_dir", "output")
        if (folder or getattr(node, "value", 0) == "TOOLNOISE_OUT") and reader.in_seed(node):
            yield "path", node, LIKELY


def _kernels(reader: Reader, facts: _Facts) -> _Found:
    """Kernels that are chosen by their speed."""
    for node in reader.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if "torch.backends.cudnn.benchmark" in map(reader.name, targets) and not is_off(node.value):
            yield "kernels", node, LIKELY if facts.on_gpu else POSSIBLE


RULES = (_draws, _torch, _orders, _seeds, _kernels)


def suspects(program: Sequence[SourceFile]) -> list[Suspect]:
    """All suspicions about a program, by weight and likelihood; one for each cause and line."""
    readers = [Reader(source) for source in program]
    facts = _Facts(readers)
    by_place: dict[tuple[str, str, int], Suspect] = {}
    for reader in readers:
        for cause, node, weight in (hit for rule in RULES for hit in rule(reader, facts)):
            place = (cause, reader.source.file, node.lineno)
            if place not in by_place or by_place[place].weight < weight:
                by_place[place] = Suspect(*place, reader.source.lines[node.lineno - 1].strip(), weight)
    return ranked(by_place.values())
