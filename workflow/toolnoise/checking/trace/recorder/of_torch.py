"""PyTorch's operations, forward and backward, each with its bits.

Views have no bits of their own and are recorded by name. Memory that torch.empty leaves as it was has no digest until
all of it is written: on its own it makes no difference. In threads that the program starts, only what they write is
noted.
"""

import functools
import importlib
import threading
from collections.abc import Iterator, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from toolnoise_recorder import places
from toolnoise_recorder.digests import numbers, of_memory, plain

EMPTY = ("empty", "new_empty", "resize_")
# Their outputs are not results, or only the first one is.
SILENT = ("aten.detach.", "aten.alias.", "profiler.", "prim.", "aten.is_pinned.", "aten._pin_memory.")
ONE_OUTPUT = ("_embedding_bag", "mkldnn_rnn_layer", "_cudnn_rnn", "scaled_dot_product", "_batch_norm")
UNINITIALISED = "uninitialised"
MOST_FORWARD, MOST_STORAGES = 200_000, 100_000
# Keys of a multiplicative hash on the device.
FACTOR, PIECE = 0x9E3779B1, 1 << 24


class _Operation(NamedTuple):
    name: str
    is_silent: bool = False
    is_view: bool = False
    is_draw: bool = False
    makes_empty: bool = False
    first_only: bool = False
    written: tuple[tuple[int, str], ...] = ()


class _Written(NamedTuple):
    """Who wrote a storage last: the number of the operation, or -1 in another thread."""

    index: int
    name: str
    place: places.Place
    is_uninitialised: bool = False


class _Given(NamedTuple):
    """What an operation is given, if it is recorded singly; `is_unseen` is whether it is a view of foreign memory."""

    inputs: list[Any] | None
    numbers: list[str]
    is_unseen: bool


def hook(torch: ModuleType, log: Any) -> None:
    """Record this thread's operations from now on, and what later threads write."""
    mode_kind = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
    recorder = _Recorder(torch, log)

    class Mode(mode_kind):
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return recorder.called(func, args, kwargs or {})

    log.in_threads.append(lambda: Mode().__enter__())
    if threading.current_thread() is threading.main_thread():
        Mode().__enter__()
    _hook_loader(recorder, log)


def _hook_loader(recorder: "_Recorder", log: Any) -> None:
    """Record batches in the order in which they are used, which is not that in which workers send them."""
    loader = importlib.import_module("torch.utils.data.dataloader")
    following, receive = loader._BaseDataLoaderIter.__next__, loader._MultiProcessingDataLoaderIter._try_get_data

    @functools.wraps(following)
    def batch(self: Any) -> Any:
        data = following(self)
        if log.here():
            recorder.arrived(data, "the next batch of a DataLoader")
        return data

    @functools.wraps(receive)
    def received(*args: Any, **options: Any) -> Any:
        before = log.leave_out()
        try:
            return receive(*args, **options)
        finally:
            log.leave_out(before)

    loader._BaseDataLoaderIter.__next__ = batch
    loader._MultiProcessingDataLoaderIter._try_get_data = received


class _Recorder:
    def __init__(self, torch: ModuleType, log: Any) -> None:
        self._torch, self._log = torch, log
        self._known: dict[Any, _Operation] = {}
        self._forward: dict[int, places.Place] = {}
        # By storage; a weak reference keeps its number from being used again.
        self._storages: dict[int, tuple[Any, _Written]] = {}
        self._weak = importlib.import_module("torch.multiprocessing.reductions").StorageWeakRef
        self._tensors = (torch.Tensor, torch.nn.Parameter)
        self._sequence = getattr(torch.autograd, "_get_sequence_nr", None)
        self._task = getattr(torch._C, "_current_graph_task_id", None)
        self._node = getattr(torch._C, "_current_autograd_node", None)

    def called(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run an operation and record it."""
        operation = self._known.get(func) or self._learn(func)
        if operation.is_silent or not self._log.is_on:
            return func(*args, **kwargs)
        given: _Given | None = None
        try:
            given = self._before(operation, args, kwargs) if self._log.here() else None
        except Exception as error:
            self._log.failed(operation.name, error)
        result = func(*args, **kwargs)
        try:
            outputs = list(self._in(result))
            known = {id(tensor) for tensor in outputs}
            outputs += [each for each in self._targets(operation, args, kwargs) if id(each) not in known]
            if given is not None:
                self._after(operation, given, outputs, result)
            elif operation.written or not operation.is_view:
                written = _Written(-1, operation.name, places.here(), operation.makes_empty)
                for tensor in outputs:
                    self._note(tensor, written)
        except Exception as error:
            self._log.failed(operation.name, error)
        return result

    def _before(self, operation: _Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> _Given:
        tensors = list(self._in((args, kwargs)))
        is_unseen = operation.is_view and any(self._writer(tensor) is None for tensor in tensors)
        if not self._log.in_detail:
            return _Given(None, [], is_unseen)
        # The arguments that are no tensors.
        given = numbers(value for value in [*args, *kwargs.values()] if value is not None)
        if operation.is_draw:
            given.append(f"seed {self._seed(kwargs, tensors)}")
        return _Given([self._given(tensor) for tensor in tensors], given, is_unseen)

    def _after(self, operation: _Operation, given: _Given, outputs: Sequence[Any], result: Any) -> None:
        place, forward = places.here(), None
        if self._task and self._task() != -1:
            forward = self._forward.get(self._node()._sequence_nr()) if self._node and self._node() else None
        elif self._sequence and self._torch.is_grad_enabled():
            self._remember(self._sequence() - 1, place)
        has_bits = not operation.is_view or given.is_unseen
        digests = [UNINITIALISED] if operation.makes_empty else []
        if has_bits and not operation.makes_empty:
            for tensor in outputs[: 1 if operation.first_only else None]:
                self._initialise(tensor)
                digests.append(self._digest(tensor))
            if not outputs:
                digests.append(plain(result) or "")
        written = _Written(self._log.count, operation.name, place, operation.makes_empty)
        about = {"inputs": given.inputs, "numbers": given.numbers, "draw": operation.is_draw, "forward": forward}
        self._log.event("torch", operation.name, " ".join(digests), place, lambda: about)
        for tensor in outputs if has_bits else ():
            # An operation that writes a part of what was left empty leaves the rest so.
            if not (before := self._writer(tensor)) or not before.is_uninitialised or not operation.written:
                self._note(tensor, written)

    def arrived(self, data: Any, name: str) -> None:
        """Record data that came from elsewhere."""
        tensors = list(self._in(data))
        place, index = places.here(), self._log.count
        self._log.event("torch", name, " ".join(map(self._digest, tensors)), place)
        for tensor in tensors:
            if self._writer(tensor) is None:
                self._note(tensor, _Written(index, name, place))

    def _learn(self, func: Any) -> _Operation:
        schema = getattr(func, "_schema", None)
        name = str(func)
        if schema is None:
            operation = _Operation(name)
        else:
            short_name = name.split(".")[1] if "." in name else name
            arguments = [(at, each.name, each.alias_info) for at, each in enumerate(schema.arguments)]
            written = tuple((at, each) for at, each, alias in arguments if alias and alias.is_write)
            tag = getattr(self._torch, "Tag", None)
            operation = _Operation(
                name.removesuffix(".default"),
                name.startswith(SILENT),
                not written and any(each.alias_info for each in schema.returns),
                bool(tag) and tag.nondeterministic_seeded in func.tags,
                short_name.startswith(EMPTY),
                any(part in short_name for part in ONE_OUTPUT),
                written,
            )
        self._known[func] = operation
        return operation

    def _in(self, value: Any) -> Iterator[Any]:
        if isinstance(value, self._torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            for part in value:
                yield from self._in(part)
        elif isinstance(value, dict):
            for part in value.values():
                yield from self._in(part)

    def _targets(self, operation: _Operation, args: Sequence[Any], kwargs: dict[str, Any]) -> list[Any]:
        """The arguments that an operation writes."""
        return [
            tensor
            for at, name in operation.written
            for tensor in self._in(args[at] if at < len(args) else kwargs.get(name))
        ]

    def _storage(self, tensor: Any) -> Any:
        try:
            return tensor.untyped_storage()
        except RuntimeError:
            # Sparse tensors have none, nor have tensors within torch.func.
            return None

    def _writer(self, tensor: Any) -> _Written | None:
        storage = self._storage(tensor)
        weak, written = self._storages.get(storage._cdata, (None, None)) if storage is not None else (None, None)
        return written if weak is not None and not weak.expired() else None

    def _note(self, tensor: Any, written: _Written) -> None:
        storage = self._storage(tensor)
        if storage is None:
            return
        if len(self._storages) >= MOST_STORAGES:
            alive = {key: pair for key, pair in list(self._storages.items()) if not pair[0].expired()}
            self._storages = alive if len(alive) < MOST_STORAGES / 2 else {}
        weak, _ = self._storages.get(storage._cdata, (None, None))
        self._storages[storage._cdata] = (weak or self._weak(storage), written)

    def _initialise(self, tensor: Any) -> None:
        """What is written whole is no longer uninitialised."""
        written = self._writer(tensor)
        if written and written.is_uninitialised:
            storage = self._storage(tensor)
            if tensor.numel() * tensor.element_size() >= storage.nbytes():
                self._note(tensor, written._replace(is_uninitialised=False))

    def _remember(self, number: int, place: places.Place) -> None:
        if len(self._forward) >= MOST_FORWARD:
            self._forward = {}
        self._forward[number] = place

    def _seed(self, kwargs: dict[str, Any], inputs: Sequence[Any]) -> int:
        generator = kwargs.get("generator")
        if generator is None and inputs and inputs[0].is_cuda:
            return int(self._torch.cuda.initial_seed())
        return int((generator or self._torch.default_generator).initial_seed())

    def _given(self, tensor: Any) -> list[Any]:
        """An input: its digest, who wrote it, and whether it is uninitialised."""
        written = self._writer(tensor)
        if written is None:
            return [self._digest(tensor), None, False]
        return [self._digest(tensor), [written.index, written.name, *written.place], written.is_uninitialised]

    def _digest(self, tensor: Any) -> str:
        written = self._writer(tensor)
        if written and written.is_uninitialised:
            return UNINITIALISED
        about = _shape(tensor)
        if type(tensor) not in self._tensors or tensor.layout != self._torch.strided or tensor.is_meta:
            return about
        try:
            whole = tensor.resolve_conj().resolve_neg().contiguous()
            if whole.device.type != "cpu":
                return f"{self._on_device(whole):016x}{about}"
            length = whole.numel() * whole.element_size()
            return f"{of_memory(whole.data_ptr(), length, self._log.numpy):08x}{about}"
        except RuntimeError:
            # As of tensors within torch.func.
            return about

    def _on_device(self, tensor: Any) -> int:
        torch, total = self._torch, 0
        raw = tensor.reshape(-1).view(torch.uint8)
        words = raw.view(torch.int32) if raw.numel() % 4 == 0 and raw.data_ptr() % 4 == 0 else raw
        for start in range(0, words.numel(), PIECE):
            part = words[start : start + PIECE].to(torch.int64)
            at = torch.arange(start, start + part.numel(), device=part.device)
            total = (total * 31 + int((part * (at * FACTOR | 1)).sum().item())) % (1 << 64)
        return total


def _shape(tensor: Any) -> str:
    return f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
