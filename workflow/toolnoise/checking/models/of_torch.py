"""Models of .pt2 files, which torch.export.save writes: a graph of operations as JSON, and tensors.

torch.export.load unpickles what such a file wants unpickled, and evaluates texts in it. So here nothing is unpickled
but tensors, and the graph is looked at first: it may call PyTorch's own operations, and its texts hold no calls.
"""

import json
import pickle
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from loading import Input, LoadedModel, Refused

# Before it, exports were pickles, and unpickling tensors alone could run code, too (CVE-2025-32434).
OLDEST = (2, 8)
ALLOWED = "an export by torch.export.save, of PyTorch's own operations"
HOW = (
    "torch.export.save(torch.export.export(model, (x,), dynamic_shapes=({0: torch.export.Dim('batch', min=1)},)), FILE)"
)
OPERATION = re.compile(
    r"torch\.ops\.(?:aten|prims)\.(?!from_file|save|load)\w+(?:\.\w+)?"
    r"|torch\.ops\.higher_order\.(?:wrap_with_set_grad_enabled|wrap_with_autocast|cond|scan|while_loop|map_impl)"
    r"|_operator\.(?:add|sub|mul|floordiv|truediv|mod|neg|pos|pow|eq|ne|lt|le|gt|ge|and_|or_|not_|getitem)"
    r"|torch\.sym_\w+|math\.\w+"
)
# Texts that are names, shapes or arguments. Without a bracket they call nothing.
PLAIN = re.compile(r"[\w .,:;\[\]{}\"\\<>+\-*/#@|%&!?~^$]*")
# Sizes are written as sympy writes them: names in quotes, numbers, and these functions.
SIZE = re.compile(r"(?:'\w+'|[A-Za-z]\w*|\d+(?:\.\d+)?|[ ,()+\-*/<>=&|~])*")
FUNCTION = re.compile(
    "Symbol|Integer|Float|Rational|Add|Mul|Pow|Max|Min|Mod|And|Or|Not|Eq|Ne|Lt|Le|Gt|Ge|Equality|Unequality"
    "|StrictLessThan|StrictGreaterThan|LessThan|GreaterThan|Piecewise|FloorDiv|ModularIndexing|Where|PythonMod|CleanDiv"
    "|CeilToInt|CeilDiv|FloorToInt|LShift|RShift|PowByNatural|FloatPow|FloatTrueDiv|IntTrueDiv|ToFloat|TruncToInt"
    "|RoundToInt"
)
# What is never executed: where a graph comes from, for people. Guards are left out when it is run.
NOT_READ = ("metadata", "stack_trace", "guards_code")


def load(path: str, threads: int | None, double: bool) -> LoadedModel:
    """Load a model, on the device for which it was exported."""
    if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST:
        raise Refused(f"PyTorch {torch.__version__} may run code of a file", "PyTorch 2.8 or newer")
    if threads:
        torch.set_num_threads(threads)
    for graph in _graphs(path):
        require_plain(graph)
    _unpickle_tensors_alone()
    from torch.export.pt2_archive._package import load_pt2

    # torch.export.load reads an old kind of archive where this fails, from other members than those looked at.
    program = load_pt2(path).exported_programs["model"]
    shapes = {node.name: node.meta["val"] for node in program.graph.nodes if node.op == "placeholder"}
    ranges = program.range_constraints
    inputs, least, most = [], 1, float("inf")
    for name in program.graph_signature.user_inputs:
        tensor = shapes.get(name)
        if not isinstance(tensor, torch.Tensor):
            raise Refused(f"the input {name} is not a tensor", "a model that takes tensors")
        sizes = [size if isinstance(size, int) else None for size in tensor.shape]
        inputs.append(Input(name, tuple(sizes), np.dtype(str(tensor.dtype).replace("torch.", ""))))
        if sizes and sizes[0] is None and (found := ranges.get(tensor.shape[0].node.expr)):
            least, most = max(least, int(found.lower)), min(most, float(found.upper))
    module = program.module(check_guards=False)
    if double:
        _raise(module)
    device = next((value.device for value in program.state_dict.values()), torch.device("cpu"))

    def run(arrays: list[np.ndarray]) -> np.ndarray:
        with torch.no_grad():
            output = module(*(torch.from_numpy(array).to(device) for array in arrays))
        first = torch.utils._pytree.tree_leaves(output)[0].detach().cpu()
        # NumPy has no bfloat16; float32 holds each of its values.
        return (first.float() if first.dtype == torch.bfloat16 else first).numpy()

    return LoadedModel(f"torch {torch.__version__}", inputs, run, least, most)


def _graphs(path: str) -> Iterator[Any]:
    """The graphs of an archive, as the reader finds them that loads it."""
    try:
        reader = torch._C.PyTorchFileReader(path)
    except RuntimeError:
        raise Refused("is not an archive of PyTorch", ALLOWED) from None
    names = reader.get_all_records()
    if "archive_format" not in names:
        old = "serialized_exported_program.json" in names
        found = "was saved by a PyTorch whose files are pickles" if old else "is a pickle or TorchScript"
        raise Refused(f"{found}, which may run code", f"a new export: {HOW}")
    models = [name for name in names if name.startswith("models/")]
    if models != ["models/model.json"] or any(name.startswith("data/aotinductor") for name in names):
        raise Refused("holds several models, or compiled code", ALLOWED)
    # `use_pickle`, objects and opaque objects stand in the lists of weights and constants.
    for name in names:
        if name.endswith(".json") and not name.startswith("extra/"):
            yield json.loads(reader.get_record(name))


def require_plain(value: Any, key: str = "") -> None:
    """Refuse a graph that calls anything but PyTorch's own operations, or whose texts could be code."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in NOT_READ:
                require_plain(name)
                require_plain(each, name)
    elif isinstance(value, list):
        for each in value:
            require_plain(each, key)
    elif key == "target" and not OPERATION.fullmatch(value):
        raise Refused(f"calls {value}", ALLOWED)
    elif key == "expr_str":
        called = re.findall(r"([A-Za-z]\w*)\s*\(", value)
        if not SIZE.fullmatch(value) or not all(map(FUNCTION.fullmatch, called)) or "__" in value:
            raise Refused(f"has a size {value}", ALLOWED)
    elif isinstance(value, str) and not PLAIN.fullmatch(value):
        raise Refused(f"has a text {value!r}", ALLOWED)


def _unpickle_tensors_alone() -> None:
    """Have whatever loads a pickle in this process take tensors alone."""
    load, found = torch.load, "has a pickle of more than tensors, which may run code"

    def tensors(*given: Any, **named: Any) -> Any:
        try:
            return load(*given, **{**named, "weights_only": True})
        except pickle.UnpicklingError:
            raise Refused(found, ALLOWED) from None

    def refuse(*_: object) -> None:
        raise Refused(found, ALLOWED)

    torch.load = tensors
    pickle.loads = pickle.load = torch._C._pickle_load_obj = refuse


def _raise(module: Any) -> None:
    """Have a graph compute in float64: its tensors, and the types that its operations name."""
    module.double()
    for name, value in vars(module).items():
        if isinstance(value, torch.Tensor) and value.is_floating_point():
            setattr(module, name, value.double())
    smaller = (torch.float32, torch.float16, torch.bfloat16)
    for graph in (part for part in module.modules() if isinstance(part, torch.fx.GraphModule)):
        for node in graph.graph.nodes:
            node.args, node.kwargs = torch.utils._pytree.tree_map(
                lambda each: torch.float64 if each in smaller else each, (node.args, node.kwargs)
            )
        graph.recompile()
