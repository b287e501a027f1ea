"""What a program gives to threads, and what these share: generators that they draw from, objects that they change."""

import ast
import re
from collections.abc import Iterator

from toolnoise.checking.reader import Reader, own_names

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
GROWS = ("append", "extend", "add", "update", "add_", "insert", "sub_", "mul_")


def work(reader: Reader, *, several: bool = False) -> list[ast.AST]:
    """The functions, and lambdas, that threads run; `several`: that more than one thread, or process, runs at once."""
    given = []
    pools = any(POOLS.search(name) or (several and PROCESSES.search(name)) for _, name in reader.calls)
    for call, name in reader.calls:
        if STARTS.search(name) or (several and PROCESSES.search(name)):
            if several and not any(isinstance(above, LOOPS) for above in reader.parents(call)):
                continue
            given.append(reader.keywords(call).get("target") or (call.args[1] if len(call.args) > 1 else None))
        elif pools and name.rpartition(".")[2] in HANDS_OUT and "." in name and call.args:
            given.append(call.args[0])
    names = {node.id for node in given if isinstance(node, ast.Name)}
    names |= {node.attr for node in given if isinstance(node, ast.Attribute)}
    defined = [node for node in reader.nodes if isinstance(node, ast.FunctionDef) and node.name in names]
    return [*defined, *(node for node in given if isinstance(node, ast.Lambda))]


def deliveries(reader: Reader, function: ast.AST) -> Iterator[ast.AST]:
    """Where it hands results on as soon as it has them: into a queue, or to the end of a file."""
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name = reader.name(node.func)
            modes = [node.args[1] if len(node.args) > 1 else None, reader.keywords(node).get("mode")]
            appends = any(isinstance(mode, ast.Constant) and str(mode.value).startswith("a") for mode in modes)
            if name.endswith((".put", ".put_nowait")) or (name == "open" and appends):
                yield node


def draws(reader: Reader, function: ast.AST) -> Iterator[ast.AST]:
    """Where it draws from a generator that is not its own."""
    own = _own(function)
    for node in ast.walk(function):
        if isinstance(node, ast.Call):
            name, base = reader.name(node.func), _base(node.func)
            is_global = TORCH_DRAWS.match(name) if name.startswith("torch.") else GENERATORS.match(name)
            if (is_global and "default_rng" not in name and not name.endswith("seed")) or (
                DRAWS.search(name) and base and base.id not in own and base.id not in reader.aliases
            ):
                yield node


def changes(reader: Reader, function: ast.AST) -> Iterator[ast.AST]:
    """Where it changes an object that is not its own by what the object was before."""
    own = _own(function)
    for node in ast.walk(function):
        if isinstance(node, ast.AugAssign):
            target = node.target
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in GROWS:
            target = node.func.value
        elif isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
            target = node.targets[0]
            if ast.unparse(target) not in ast.unparse(node.value):
                continue
        else:
            continue
        base = _base(target)
        if base and base.id not in own and base.id not in reader.aliases:
            yield node


def _own(function: ast.AST) -> set[str]:
    """The names that a function gives to objects of its own; its arguments too, but for `self`."""
    return own_names(function) - {"self"}


def _base(node: ast.AST) -> ast.Name | None:
    """The name that an expression such as a.b[0].c begins with."""
    while isinstance(node, ast.Attribute | ast.Subscript):
        node = node.value
    return node if isinstance(node, ast.Name) else None
