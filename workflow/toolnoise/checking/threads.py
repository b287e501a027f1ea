"""What a program gives to threads, and what these share: generators that they draw from, objects that they change."""

import ast
import re
from collections.abc import Iterator

from toolnoise.checking.reader import GROWS, Reader, own_names
from toolnoise.checking.unrepeatable import SHOWS

STARTS = re.compile(r"(^|\.)(Thread|Timer)$")
PROCESSES = re.compile(r"(^|\.)(Process|Pool|ProcessPoolExecutor)$")
LOOPS = (ast.For, ast.While, ast.ListComp, ast.GeneratorExp, ast.SetComp, ast.DictComp)
POOLS = re.compile(r"(ThreadPoolExecutor|ThreadPool|dummy\.Pool)$")
HANDS_OUT = ("submit", "map", "imap", "imap_unordered", "apply_async", "starmap")
GENERATORS = re.compile(r"(numpy\.random|random|torch)\.[a-z]\w*$")
DRAWS = re.compile(
    r"\.(random|rand|randn|randint|integers|normal|standard_normal|uniform|choice|choices|shuffle|sample|permutation"
    r"|permuted|binomial|poisson|gauss)$"
)
TORCH_DRAWS = re.compile(r"torch\.(rand\w*|normal|bernoulli|multinomial|nn\.functional\.\w*dropout\w*)$")
CHANGES = (*GROWS, "add_", "sub_", "mul_")


def work(reader: Reader, *, several: bool = False) -> list[ast.AST]:
    """The functions, and lambdas, that threads run; `several`: that more than one thread, or process, runs at once."""
    given = []
    pools = any(POOLS.search(name) or (several and PROCESSES.search(name)) for _, name in reader.calls)
    for call, name in reader.calls:
        if STARTS.search(name) or (several and PROCESSES.search(name)):
            if several and not reader.within(call, LOOPS):
                continue
            given.append(reader.argument(call, "target", 1))
        elif pools and name.rpartition(".")[2] in HANDS_OUT and "." in name and call.args:
            given.append(call.args[0])
    names = {name for node in given if node is not None for name in reader.called(node)}
    functions = [node for node in reader.nodes if isinstance(node, ast.FunctionDef)]
    made = {name for call, name in reader.calls if reader.within(call, LOOPS)}
    defined = [
        node
        for node in functions
        if {node.name, _method(reader, node)} & names
        or (_is_thread(reader, node) and not (several and reader.above[node].name not in made))
    ]
    return [*defined, *_coroutines(reader), *(node for node in given if isinstance(node, ast.Lambda))]


def _coroutines(reader: Reader) -> list[ast.AsyncFunctionDef]:
    """The coroutines that run side by side, and wait for something."""
    gathered = [call for call, name in reader.calls if re.search(r"(^|\.)(gather|create_task|ensure_future)$", name)]
    names = {name.rpartition(".")[2] for call in gathered for name in reader.calls_in(call)}
    functions = [node for node in reader.nodes if isinstance(node, ast.AsyncFunctionDef) and node.name in names]
    return [node for node in functions if any(isinstance(part, ast.Await) for part in ast.walk(node))]


def _method(reader: Reader, function: ast.AST) -> str:
    return f"{getattr(reader.above[function], 'name', '')}.{function.name}"


def _is_thread(reader: Reader, function: ast.AST) -> bool:
    """Whether it is what a class of threads runs."""
    owner = reader.above[function]
    return (
        isinstance(owner, ast.ClassDef)
        and getattr(function, "name", "") == "run"
        and any(STARTS.search(reader.name(base)) for base in owner.bases)
    )


def deliveries(reader: Reader, function: ast.AST) -> Iterator[ast.AST]:
    """Where it hands results on as soon as it has them: into a queue, or to the end of a file."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = reader.name(node.func)
            mode = reader.argument(node, "mode", 1)
            appends = isinstance(mode, ast.Constant) and str(mode.value).startswith("a")
            # The end of all results is a constant.
            puts = name.endswith((".put", ".put_nowait")) and not isinstance(next(iter(node.args), None), ast.Constant)
            if puts or (name == "open" and appends):
                yield node


def draws(reader: Reader, function: ast.AST) -> Iterator[ast.AST]:
    """Where it draws from a generator that is not its own."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = reader.name(node.func)
            is_global = TORCH_DRAWS.match(name) if name.startswith("torch.") else GENERATORS.match(name)
            if (is_global and "default_rng" not in name and not name.endswith("seed")) or (
                DRAWS.search(name) and _is_shared(reader, function, node.func.value)
            ):
                yield node


def changes(reader: Reader, function: ast.AST) -> Iterator[ast.AST]:
    """Where it changes an object that is not its own by what the object was before, and the order shows."""
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES:
            target = node.func.value
            if reader.is_sorted(reader.handle(target)):
                continue
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            if ast.unparse(target) not in ast.unparse(node.value):
                continue
        else:
            continue
        if _is_shared(reader, function, target):
            yield node


def slots(reader: Reader, call: ast.Call) -> bool | None:
    """Whether a loop over results puts each into its own place alone; None if the places are a dictionary's.

    A dictionary has its keys in the order in which they came.
    """
    loop = reader.above[call]
    if isinstance(loop, ast.Call) and reader.name(loop.func).endswith("tqdm"):
        loop = reader.above[loop]
    if not isinstance(loop, ast.For):
        return False
    filled = []
    for node in (part for each in loop.body for part in ast.walk(each)):
        called = node.value if isinstance(node, ast.Expr) else None
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            filled.append(reader.held.get(reader.handle(node.value)))
        elif isinstance(called, ast.Call):
            method = called.func if isinstance(called.func, ast.Attribute) else None
            sorts = method and method.attr in GROWS and reader.is_sorted(reader.handle(method.value))
            if not (sorts or SHOWS.search(reader.name(called.func))):
                return False
            filled += [None] if sorts else []
        elif isinstance(node, ast.AugAssign | ast.Return | ast.Break | ast.Yield):
            return False
    tables = any(isinstance(value, ast.Dict) or "dict(" in ast.unparse(value) for value in filled if value)
    return (None if tables else True) if filled else False


def _is_shared(reader: Reader, function: ast.AST, node: ast.AST) -> bool:
    """Whether an expression begins with a name that is not the function's own: `self`, or one from outside."""
    base = _base(node)
    if not base or base.id in own_names(function) - {"self"} or base.id in reader.aliases:
        return False
    if base.id != "self" or not _is_thread(reader, function):
        return True
    # A thread has attributes of its own.
    attribute = next((part for part in ast.walk(node) if getattr(part, "value", None) is base), None)
    return _is_handed_out(reader, reader.above[function], reader.held.get(reader.handle(attribute)))


def _is_handed_out(reader: Reader, owner: ast.ClassDef, value: ast.AST | None) -> bool:
    """Whether all objects of a class that a loop makes are given the one that they hold as this argument."""
    start = next((each for each in owner.body if getattr(each, "name", "") == "__init__"), None)
    names = [each.arg for each in start.args.args[1:]] if start else []
    if not isinstance(value, ast.Name) or value.id not in names:
        return False
    place = names.index(value.id)
    for call, name in reader.calls:
        loop = reader.within(call, LOOPS)
        if name == owner.name and loop:
            given = reader.argument(call, value.id, place)
            parts = [part for part in ast.walk(loop) if isinstance(part, ast.Name)]
            own = {part.id for part in parts if isinstance(part.ctx, ast.Store)}
            base = _base(given) if given else None
            if base and not isinstance(given, ast.Subscript) and base.id not in own:
                return True
    return False


def _base(node: ast.AST) -> ast.Name | None:
    """The name that an expression such as a.b[0].c begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None
