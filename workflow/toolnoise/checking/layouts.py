"""Places in a program's text that may make it another program with other processes, workers, threads or batches."""

import ast
import re
from collections.abc import Iterator, Sequence

from toolnoise.checking import suspects
from toolnoise.checking.causes import LIKELY, POSSIBLE, SURE, Suspect, ranked
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reader import Reader, is_off

# By what is turned: causes of the two kinds of rules that fit it.
LAYOUT = {
    "world": ("sampler", "padding", "start", "norm", "scale", "accumulated", "mean"),
    "accumulation": ("accumulated", "norm", "mean"),
    "workers": ("drawn",),
}
OTHERS = {
    "workers": ("workers", "numpy", "random"),
    "threads": ("shared", "race", "parallel"),
    "evaluation batch": ("evaluation",),
    "hash seed": ("set", "hash"),
}
LOSS = re.compile(r"(\.|^)(cross_entropy|nll_loss|mse_loss|l1_loss|binary_cross_entropy\w*|\w+Loss)$")
WRAPPED = re.compile(r"(DistributedDataParallel|FullyShardedDataParallel|fully_shard)$")
SENT = re.compile(r"(^|\.)(broadcast\w*|all_reduce_params)$")
# What a worker calls, and what draws there from the global generator of its process.
BY_WORKER = ("__getitem__", "__getitems__", "__iter__")
GLOBAL = re.compile(
    rf"(numpy\.random|random)\.(?!seed|default_rng|RandomState|Random\b|Generator)\w+|{suspects.DRAWS.pattern}"
)
NORM = re.compile(r"torch\.nn\.(Lazy)?BatchNorm\dd$")
SHARDED = re.compile(r"DistributedSampler$")

_Hits = Iterator[tuple[str, ast.AST, int]]


class _LayoutFacts:
    """What the whole program has: wrappers that average gradients, what is sent, names of the process and the world."""

    def __init__(self, readers: Sequence[Reader]) -> None:
        names = [name for reader in readers for _, name in reader.calls]
        self.wraps = any(map(WRAPPED.search, names))
        self.sends = any(map(SENT.search, names))
        self.samples = any(map(SHARDED.search, names))
        self.syncs = any(name.endswith("convert_sync_batchnorm") for name in names)
        nodes = [node for reader in readers for node in reader.nodes]
        self.slices = any(isinstance(node, ast.Slice) and _mentions(node, "rank") for node in nodes)
        self.scales = any(
            isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult) and _mentions(node, "world") for node in nodes
        )
        divisors = [node.right for node in nodes if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
        divisors += [node.value for node in nodes if isinstance(node, ast.AugAssign) and isinstance(node.op, ast.Div)]
        self.averages = self.wraps or any(_mentions(node, "world") for node in divisors)


def faults(program: Sequence[SourceFile], knob: str) -> list[Suspect]:
    """The places that may be at fault if a way that turns this knob is another program, the likeliest first."""
    readers = [Reader(source) for source in program]
    facts = _LayoutFacts(readers)
    found = ranked(
        Suspect(cause, *reader.place(node), weight)
        for reader in readers
        for rule in (_data, _start, _loss, _accumulation, _drawn)
        for cause, node, weight in rule(reader, facts)
        if cause in LAYOUT.get(knob, ())
    )
    if found or knob not in OTHERS:
        return found
    return [place for place in suspects.suspects(program) if place.cause in OTHERS[knob] and place.weight]


def _mentions(node: ast.AST, word: str) -> bool:
    """Whether an expression has a name, an attribute or a text with a word in it."""
    return any(word in str(getattr(part, field, "")) for part in ast.walk(node) for field in ("id", "attr"))


def _data(reader: Reader, facts: _LayoutFacts) -> _Hits:
    """Loaders that give each process all examples, samplers that repeat some, and batch normalisation."""
    for call, name in reader.calls:
        keywords = reader.keywords(call)
        if name == suspects.LOADER and not ({"sampler", "batch_sampler", None} & {*keywords}):
            if not is_off(keywords.get("shuffle")) and not facts.samples and not facts.slices:
                yield "sampler", call, SURE
        elif SHARDED.search(name):
            rank = reader.argument(call, "rank", 2)
            if isinstance(rank, ast.Constant) and rank.value is not None:
                yield "sampler", call, SURE
            if is_off(keywords.get("drop_last")):
                yield "padding", call, LIKELY
        elif NORM.match(name) and not facts.syncs:
            yield "norm", call, SURE


def _start(reader: Reader, facts: _LayoutFacts) -> _Hits:
    """Seeds that depend on the process, if no other comes first, where no process sends its weights to the others."""
    seeded = [call for call, name in reader.calls if name.endswith("torch.manual_seed")]
    alike = [call.lineno for call in seeded if not any(_mentions(given, "rank") for given in call.args)]
    for call in seeded:
        if call.lineno not in alike:
            harmless = facts.wraps or facts.sends or min(alike, default=call.lineno) < call.lineno
            yield "start", call, POSSIBLE if harmless else SURE


def _loss(reader: Reader, facts: _LayoutFacts) -> _Hits:
    """Losses that are no mean over the examples of all processes."""
    for call, name in reader.calls:
        if not LOSS.search(name):
            continue
        reduction = reader.keywords(call).get("reduction")
        if getattr(reduction, "value", "mean") == "mean":
            yield "mean", call, LIKELY if facts.averages else SURE
            if not facts.averages:
                yield "scale", call, LIKELY
        elif facts.wraps and not facts.scales:
            yield "scale", call, SURE


def _accumulation(reader: Reader, _: _LayoutFacts) -> _Hits:
    """Gradients of several batches that are added, with a loss that nothing divides."""
    for call in (node for node, _ in reader.calls if getattr(node.func, "attr", "") == "backward"):
        loop = reader.within(call, ast.For | ast.While)
        if loop and not _steps_always(reader, loop) and not _is_scaled(reader, call.func.value, loop):
            yield "accumulated", call, SURE


def _drawn(reader: Reader, _: _LayoutFacts) -> _Hits:
    """Draws from a global generator where a loader's worker makes an example."""
    for call, name in reader.calls:
        drawn = GLOBAL.fullmatch(name) and "generator" not in reader.keywords(call)
        if drawn and getattr(reader.function(call), "name", "") in BY_WORKER:
            yield "drawn", call, SURE


def _steps_always(reader: Reader, loop: ast.AST) -> bool:
    """Whether an optimiser takes a step each time that a loop goes round."""
    for call in (node for node, name in reader.calls if name.endswith(".step")):
        above = list(reader.parents(call))
        if loop in above and not any(isinstance(each, ast.If) for each in above[: above.index(loop)]):
            return True
    return False


def _is_scaled(reader: Reader, loss: ast.AST, loop: ast.AST) -> bool:
    """Whether a loss is divided or multiplied, where it is made, in place, or where its gradients begin."""
    if isinstance(loss, ast.Name):
        scaled = (part.target for part in ast.walk(loop) if isinstance(part, ast.AugAssign))
        if any(isinstance(target, ast.Name) and target.id == loss.id for target in scaled):
            return True
        loss = reader.assigned.get(loss.id, loss)
    return any(isinstance(part, ast.BinOp) and isinstance(part.op, ast.Div | ast.Mult) for part in ast.walk(loss))
