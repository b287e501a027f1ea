"""Places in a program's text that may make two runs with equal seeds differ, or a seed count for nothing.

Each rule knows one thing that is often forgotten. It reads syntax trees and runs nothing, so it can be wrong either
way: a place is a suspicion, with a weight. Evidence from runs (toolnoise.checking.diagnosis) changes the weights.
"""

import ast
import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import PurePosixPath

from toolnoise.checking import seeding, threads, unrepeatable
from toolnoise.checking.causes import LIKELY, POSSIBLE, SURE, UNLIKELY, Suspect, ranked
from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reader import Reader, is_none, is_off
from toolnoise.checking.seeding import Seeded

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
# What draws unless it has a random_state; folds do only if they shuffle.
SKLEARN = re.compile(
    r"sklearn\.\w[\w.]*\.(train_test_split|shuffle|resample|\w*ShuffleSplit|Repeated\w*KFold|RandomizedSearchCV"
    r"|permutation_importance|make_\w*(blobs|moons|circles|classification|regression|friedman\d)"
    r"|MLP\w+|RandomForest\w+|ExtraTrees?\w+|DecisionTree\w+|GradientBoosting\w+|Bagging\w+|AdaBoost\w+|IsolationForest"
    r"|SGD(Classifier|Regressor)|Perceptron|PassiveAggressive\w+|\w*KMeans|\w*GaussianMixture|TSNE|TruncatedSVD|FastICA"
    r"|LatentDirichletAllocation|RBFSampler|Nystroem|\w*RandomProjection|BernoulliRBM)$"
)
# Its trees' predictions are added up by as many threads.
FOREST = re.compile(r"sklearn\.ensemble\.(\w+\.)?(RandomForest|ExtraTrees)\w+$")
FOLDS = re.compile(r"sklearn\.model_selection\.(_split\.)?\w*KFold$")
KERAS = re.compile(
    r"tensorflow\.random\.\w+|(tensorflow\.)?keras\.(initializers\.\w*(Normal|Uniform|Orthogonal)|layers\.(\w*Dense"
    r"|(\w*Conv\dD|Conv\w+)|Embedding|LSTM|GRU|SimpleRNN|ConvLSTM\w+|MultiHeadAttention|\w*Dropout\w*|Gaussian\w+|Random\w+))"
)
UNORDERED = re.compile(r"(\.imap_unordered|(concurrent\.futures|asyncio)\.as_completed)$")
WAITS = re.compile(r"(concurrent\.futures|asyncio)\.wait$")
# What interrupts the program after a time.
ALARMS = re.compile(r"(signal\.(alarm|setitimer)|threading\.Timer)$")
LISTINGS = re.compile(r"(os\.(listdir|scandir|walk)|glob\.i?glob|\.(iterdir|rglob))$")
# What draws where no seed of the program counts.
OUTSIDE = re.compile(
    r"order\s+by\s+(random|rand|newid)\(|(^|[\s/])shuf(\s|$)|\bsort\s+(-R|--random-sort)\b|^/dev/u?random$", re.I
)
ITERATES = ("list", "tuple", "enumerate", "iter", "next", "zip", "map", "filter", "array", "join", "fromkeys", "sample")


WEIGHTS = {"never": SURE, "behind": SURE, "perhaps": POSSIBLE, "before": UNLIKELY}
RESTORES = re.compile(
    r"(\.(load_state_dict|load_weights|restore\w*)|torch\.load|numpy\.load|pickle\.loads?|joblib\.load|\.?load_model)$"
)
STATES = re.compile(r"(set_rng_state\w*|setstate|set_state|bit_generator\.state)$")
EXISTS = re.compile(r"(exists|is_file|isfile|listdir|i?glob|latest_checkpoint|latest_step)$")


class _DrawFacts:
    """What the whole program does somewhere: which generators it seeds, within which blocks, and whether it evaluates.

    Generators of `scoped` are seeded within a with-block alone; the rest of the program is not. `networks` are the
    classes with layers.
    """

    def __init__(self, readers: Sequence[Reader], words: Sequence[str], outputs: Collection[str]) -> None:
        self.outputs = {PurePosixPath(name).name for name in outputs}
        self.starts = seeding.by_kind(readers, SEEDERS, SEED_ALL, ALL)
        self.order = seeding.Calls(readers)
        self.clocks = unrepeatable.Clocks(readers)
        self.imported = {full.partition(".")[0] for reader in readers for full in reader.aliases.values()}
        self.given = seeding.Given(readers, words)
        sets = {name for reader in readers for name in reader.sets if name.endswith("()")}
        for reader in readers:
            reader.find_sets(sets)
        nodes = [(reader, node) for reader in readers for node in reader.nodes]
        calls = [(reader, call, name) for reader in readers for call, name in reader.calls]
        classes = [(reader, node) for reader, node in nodes if isinstance(node, ast.ClassDef)]
        self.networks = {node.name for reader, node in classes if any(map(LAYERS.fullmatch, reader.calls_in(node)))}
        # Whether arguments that are handed on may have a state.
        self.hands_on_states = any(getattr(node, "value", "") == "random_state" for _, node in nodes) or any(
            node.arg == "random_state" and not _is_sklearn(reader, reader.above[node])
            for reader, node in nodes
            if isinstance(node, ast.keyword)
        )
        self.on_gpu = any(
            str(getattr(node, "value", getattr(node, "attr", ""))).startswith("cuda") for _, node in nodes
        )
        scoped = [_last(name) for reader, call, name in calls if reader.scope(call)]
        self.is_scoped = bool(scoped)
        self.trains_in_scope = any(re.search("backward|train|fit", last) for last in scoped)
        self.evaluates = any(_last(name) == "eval" or (_last(name) == "train" and call.args) for _, call, name in calls)
        assigned = (target for _, node in nodes if isinstance(node, ast.Assign) for target in node.targets)
        states = (*(name for _, _, name in calls), *map(ast.unparse, assigned))
        self.restores_states = any(map(STATES.search, states))

    def seeded(self, kind: str, reader: Reader, node: ast.AST, *, later: bool = False) -> Seeded:
        """When a kind of generator is seeded, seen from a place; `later` if the place only prepares a draw."""
        owner = reader.above.get(reader.function(node))
        in_workers = self.starts.get(kind + seeding.IN_WORKERS)
        methods = [getattr(each, "name", "") for each in owner.body] if isinstance(owner, ast.ClassDef) else []
        if in_workers and "__getitem__" in methods:
            return Seeded("before", "the start of each worker")
        return seeding.seeded(self.order, self.starts.get(kind, []), reader, node, later=later)


def _is_sklearn(reader: Reader, call: ast.AST) -> bool:
    """Whether a call makes what draws unless it has a random_state; folds do only if they shuffle."""
    if not isinstance(call, ast.Call):
        return False
    shuffles = not is_off(reader.keywords(call).get("shuffle"))
    return any(SKLEARN.fullmatch(name) or (shuffles and FOLDS.fullmatch(name)) for name in reader.choices(call))


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def _text(node: ast.AST) -> object:
    return node.value if isinstance(node, ast.Constant) else None


# A cause, its place, its weight, and the end of the sentence if it is a draw.
_Hits = Iterator[tuple[str, ast.AST, int, str]]


def _hit(cause: str, node: ast.AST, order: Seeded) -> tuple[str, ast.AST, int, str]:
    return cause, node, WEIGHTS[order.order], order.says


def _draws(reader: Reader, facts: _DrawFacts) -> _Hits:
    """Draws from generators that nothing seeds, or not in time."""
    for call, name in reader.calls:
        module, _, last = name.rpartition(".")
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        # A field whose default is made anew for each object.
        factory = reader.keywords(call).get("default_factory")
        made, _, maker = reader.name(factory).rpartition(".") if factory else ("", "", "")
        if maker in OWN.get(made, ("", ()))[1]:
            yield OWN[made][0], factory, SURE, " without a seed"
        kind, objects = OWN.get(module, ("", ()))
        if kind and (last in objects or last == "SystemRandom"):
            if last == "SystemRandom" or is_none(given[0] if given else None):
                yield kind, call, SURE, " without a seed"
            elif given and facts.given.may_be_none(reader, given[0]):
                yield kind, call, POSSIBLE, " whose seed may be missing (None)"
        elif kind and last[:1].islower():
            yield from _unseeded(kind, kind, reader, call, facts)
        elif _is_sklearn(reader, call):
            rest = reader.keywords(call).get(None)
            if is_none(reader.keywords(call).get("random_state", rest)):
                yield from _unseeded("sklearn", "numpy", reader, call, facts)
            elif rest and not facts.hands_on_states and facts.seeded("numpy", reader, call).order != "before":
                yield "sklearn", call, POSSIBLE, f", if {ast.unparse(rest)} has no random_state"
        elif _samples(reader, call, last, facts):
            if is_none(reader.keywords(call).get("random_state", reader.keywords(call).get(None))):
                yield from _unseeded("numpy", "numpy", reader, call, facts)
        elif KERAS.fullmatch(name):
            yield from _unseeded("tensorflow", "tensorflow", reader, call, facts)


def _samples(reader: Reader, call: ast.Call, method: str, facts: _DrawFacts) -> bool:
    """Whether pandas draws rows, or SciPy values, from NumPy's global generator."""
    of_rows = method == "sample" and "pandas" in facts.imported and {"n", "frac"} & {*reader.keywords(call)}
    return bool(of_rows) or (method == "rvs" and "scipy" in facts.imported)


def _unseeded(cause: str, kind: str, reader: Reader, call: ast.Call, facts: _DrawFacts) -> _Hits:
    order = facts.seeded(kind, reader, call)
    if order.order != "before":
        yield _hit(cause, call, order)


def _torch(reader: Reader, facts: _DrawFacts) -> _Hits:
    """Draws from PyTorch's global generator. Where that is seeded, they do not follow a seed of their own."""
    for call, name in reader.calls:
        keywords = reader.keywords(call)
        # With **rest, a generator may be given.
        if {"generator", None} & {*keywords} or reader.scope(call):
            continue
        shuffles = reader.argument(call, "shuffle", 2)
        draws = LAYERS.fullmatch(name) or DRAWS.fullmatch(name)
        order = facts.seeded("torch", reader, call)
        if order.order == "never" and facts.is_scoped:
            order = Seeded("perhaps", "a with-block")
        # A loader draws when it is iterated over, dropout in training.
        later = facts.seeded("torch", reader, call, later=True)
        if (name == LOADER and not is_off(shuffles)) or name in SAMPLERS:
            weights = {**WEIGHTS, "never": SURE if facts.is_scoped else LIKELY}
            yield "loader", call, weights[later.order], later.says
        elif DROPOUT.fullmatch(name):
            weights = {**WEIGHTS, "never": POSSIBLE if facts.trains_in_scope else LIKELY}
            yield "dropout", call, weights[later.order], later.says
            if not facts.evaluates:
                yield "evaluation", call, POSSIBLE, ""
        elif draws or (_last(name) in facts.networks and order.order == "behind"):
            yield _hit("torch", call, order)
        elif name == "torch.seed" or (_last(name) == "seed" and _is_generator(reader, call.func)):
            yield "clock", call, SURE, ""
        if name == LOADER and not is_off(keywords.get("num_workers")) and "worker_init_fn" not in keywords:
            # With a generator of the loader, each worker has a seed from it.
            yield "workers", call, POSSIBLE, ""


def _is_generator(reader: Reader, method: ast.AST) -> bool:
    """Whether a method is of one of PyTorch's generators."""
    owner = method.value if isinstance(method, ast.Attribute) else None
    made = reader.held.get(reader.handle(owner), owner) if owner else None
    return isinstance(made, ast.Call) and reader.name(made.func) == "torch.Generator"


def _orders(reader: Reader, _: _DrawFacts) -> _Hits:
    """Iteration in an order that differs between processes."""
    loops = (node.iter for node in reader.nodes if reader.iterates_over_set(node))
    yield from (("set", node, LIKELY, "") for node in loops)
    for call, name in reader.calls:
        last = _last(name)
        method = call.func.value if isinstance(call.func, ast.Attribute) else None
        if last in ITERATES and any(map(reader.is_set, call.args)) and not reader.is_orderless(call):
            yield "set", call, LIKELY, ""
        if last == "pop" and method is not None and reader.is_set(method):
            yield "set", call, LIKELY, ""
        if name == "hash" and getattr(reader.function(call), "name", "") != "__hash__":
            yield "hash", call, LIKELY, ""
        # What is waited for comes as sets.
        waited = WAITS.search(name) and not isinstance(reader.above[call], ast.Expr | ast.Await)
        unordered = UNORDERED.search(name) or "generator_unordered" in map(_text, reader.keywords(call).values())
        if (unordered or waited) and not reader.is_orderless(call):
            slots = threads.slots(reader, call)
            if slots is not True:
                yield "parallel", call, LIKELY if slots is False else POSSIBLE, ""
        jobs = reader.keywords(call).get("n_jobs")
        if FOREST.fullmatch(name) and not is_off(jobs) and _text(jobs) != 1 and ".n_jobs" not in reader.held:
            yield "forest", call, LIKELY, ""
        if LISTINGS.search(name) and not reader.is_orderless(call):
            yield "files", call, LIKELY, ""


def _seeds(reader: Reader, facts: _DrawFacts) -> _Hits:
    """Seeds from what differs between any two runs, and other values from the clock."""
    yield from (("time", call, POSSIBLE, "") for call, name in reader.calls if ALARMS.fullmatch(name))
    yield from (("speed", node, LIKELY, "") for node in unrepeatable.choices(reader))
    yield from (("memory", node, weight, "") for node, weight in unrepeatable.unfilled(reader))
    for node, is_seed in facts.clocks.uses(reader):
        yield "clock" if is_seed else "time", node, SURE if is_seed else LIKELY, ""
    for node, is_compared in facts.clocks.stamps(reader, facts.outputs):
        yield "time", node, LIKELY if is_compared else POSSIBLE, ""
    for node in reader.nodes:
        if isinstance(node, ast.Constant) and OUTSIDE.search(str(node.value)) and _draws_outside(reader, node):
            yield "outside", node, LIKELY, ""
        folder = isinstance(node, ast.Attribute) and node.attr in ("out", "out_dir", "output_dir", "output")
        if (folder or getattr(node, "value", 0) == "TOOLNOISE_OUT") and reader.in_seed(node):
            yield "path", node, LIKELY, ""


def _draws_outside(reader: Reader, node: ast.Constant) -> bool:
    """Whether a text starts what draws by itself, and does not only describe it, or give it what it draws from."""
    above = reader.above[node]
    top = reader.within(node, ast.stmt) or node
    named = node.value == "shuf" and not isinstance(above, ast.List | ast.Call)
    return not (named or isinstance(above, ast.Expr) or "--random-source" in ast.unparse(top))


def _kernels(reader: Reader, facts: _DrawFacts) -> _Hits:
    """Kernels that are chosen by their speed."""
    for node in reader.nodes:
        targets = node.targets if isinstance(node, ast.Assign) else []
        if "torch.backends.cudnn.benchmark" in map(reader.name, targets) and not is_off(node.value):
            yield "kernels", node, LIKELY if facts.on_gpu else POSSIBLE, ""


def _threads(reader: Reader, _: _DrawFacts) -> _Hits:
    """What threads share: generators that they draw from, and objects that they change."""
    for work in threads.work(reader):
        yield from (("shared", node, SURE, "") for node in threads.draws(reader, work))
        yield from (("race", node, LIKELY, "") for node in threads.changes(reader, work))
    for work in threads.work(reader, several=True):
        yield from (("parallel", node, LIKELY, "") for node in threads.deliveries(reader, work))


def _checkpoints(reader: Reader, facts: _DrawFacts) -> _Hits:
    """States that are read if they are found."""
    for call, name in reader.calls:
        above = [*reader.parents(call)]
        tests = [each.test for each in above if isinstance(each, ast.If | ast.IfExp)]
        # Without what is looked for, the function ends before it, or the error is caught.
        tests += [
            each.test
            for each in ast.walk(reader.function(call) or reader.source.tree)
            if isinstance(each, ast.If) and isinstance(each.body[-1], ast.Return) and each.lineno < call.lineno
        ]
        handlers = [each for around in above if isinstance(around, ast.Try) for each in around.handlers]
        caught = any("FileNotFound" in ast.unparse(each.type or each) for each in handlers)
        looks = any(EXISTS.search(called) for test in tests for called in reader.calls_in(test))
        if RESTORES.search(name) and (caught or looks):
            yield "checkpoint", call, POSSIBLE if facts.restores_states else LIKELY, ""


RULES = (_draws, _torch, _orders, _seeds, _kernels, _threads, _checkpoints)


def suspects(program: Sequence[SourceFile], words: Sequence[str] = (), outputs: Collection[str] = ()) -> list[Suspect]:
    """All suspicions about a program, its command line and what is compared, by weight; one for each cause and line."""
    readers = [Reader(source) for source in program]
    facts = _DrawFacts(readers, words, outputs)
    by_place: dict[tuple[str, str, int], Suspect] = {}
    for reader in readers:
        for cause, node, weight, seeded in (hit for rule in RULES for hit in rule(reader, facts)):
            found = Suspect(cause, *reader.place(node), weight, seeded)
            if by_place.setdefault(found[:3], found).weight < weight:
                by_place[found[:3]] = found
    return ranked(by_place.values())
