"""Record PyTorch's operations, forward and backward, each with a digest of its results.

The file has one operation per line: its name, place and results as JSON, and after a tab its inputs, which are not
compared. Memory from torch.empty has no digest until an operation has written all of it, since uninitialised memory
alone makes no difference. Operations of threads that the program starts are not recorded, since their order is not
fixed.
"""

import atexit
import functools
import importlib
import json
import os
import threading
import zlib
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any, NamedTuple

from toolnoise_injected import user_code
from toolnoise_injected.user_code import Place, after_import
from toolnoise_injected.values import array_of, crc_of

MOST = 1_000_000  # operations
EMPTY = ("empty", "new_empty", "resize_")
# Operations whose outputs are no results, and those of which only the first output is a result.
SILENT = ("aten.detach.", "aten.alias.", "profiler.", "prim.", "aten.is_pinned.", "aten._pin_memory.")
ONE_OUTPUT = ("_embedding_bag", "mkldnn_rnn_layer", "_cudnn_rnn", "scaled_dot_product", "_batch_norm")
UNINITIALISED = "uninitialised"
MOST_FORWARD = 200_000
SHOWN, LONGEST = 60, 1000  # characters of a value, and elements of a list that is shown


def start(task: Mapping[str, Any]) -> None:
    """Record this process if it is the program's first one that computes; ranks other than 0 are not recorded."""
    if os.environ.get("RANK", "0") == "0":
        log = _Log(task["file"])
        os.register_at_fork(before=log.flush, after_in_child=log.stop)
        atexit.register(log.end)
        after_import({"torch": functools.partial(_hook, log)})


class _Log:
    """The record of one process."""

    def __init__(self, path: str) -> None:
        self._path, self._file, self._process = path, None, os.getpid()
        self._waiting: list[str] = []
        self._lock = threading.RLock()
        self.count, self.is_on = 0, True

    def operation(self, name: str, result: str, place: Place, about: Mapping[str, Any]) -> None:
        """Record an operation, the digests of its results, and its inputs."""
        with self._lock:
            if self._file is None:
                self._claim()
            self.write("operation", name, *place, result, about=about)
            self.count += 1
            if self.count == MOST:
                self.write("note", f"only the first {MOST:,} operations are recorded")
                self.end()

    def write(self, *parts: Any, about: Any = None) -> None:
        """Write a line, or hold it back until this process has its first operation."""
        line = f"{json.dumps(parts)}\t{json.dumps(about)}\n"
        if self._file is None:
            self._waiting.append(line)
        elif self.is_on:
            self._file.write(line)

    def _claim(self) -> None:
        """Make this the recorded process if it is the first with an operation; one that only starts others has none."""
        try:
            self._file = open(self._path, "x", encoding="utf-8")  # noqa: SIM115 (until the process ends)
            self._file.writelines(self._waiting)
        except OSError:
            self.stop()

    def flush(self) -> None:
        """Write buffered lines, as before a fork, after which they would be written twice."""
        if self._file is not None and self.is_on:
            self._file.flush()

    def failed(self, what: str, error: Exception) -> None:
        """Stop recording after an error of the recorder, so that the program goes on."""
        self.write("note", f"recording stopped after {self.count:,} operations, at {what}: {error!r}")
        self.end()

    def stop(self) -> None:
        """Record nothing more, as in a forked process."""
        self.is_on = False

    def end(self) -> None:
        """End the record; without any operation, write it if no other process has."""
        if self.is_on and os.getpid() == self._process:
            if self._file is None:
                self._claim()
            self.flush()
            self.stop()


class _Operation(NamedTuple):
    """The properties of an operation; `written` are the arguments that it overwrites, by position and name."""

    name: str
    is_silent: bool = False
    is_view: bool = False
    is_draw: bool = False
    makes_empty: bool = False
    first_only: bool = False
    written: tuple[tuple[int, str], ...] = ()


def _hook(log: _Log, torch: ModuleType) -> None:
    """Record the main thread's operations from now on."""
    log.write("version", f"torch {torch.__version__}")
    try:
        # Without NumPy, there are no bits to compare.
        importlib.import_module("numpy")
        kind = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
        recorder = _Recorder(torch, log)
        _hook_loader(recorder, log)
    except Exception as error:
        log.write("note", f"torch {torch.__version__} is not recorded: {error!r}")
        return

    class Mode(kind):
        def __torch_dispatch__(self, func: Any, _types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return recorder.called(func, args, kwargs or {})

    if threading.current_thread() is threading.main_thread():
        Mode().__enter__()


def _hook_loader(recorder: "_Recorder", log: _Log) -> None:
    """Record batches in the order in which they are used, not in the order in which workers send them."""
    loader = importlib.import_module("torch.utils.data.dataloader")
    following = loader._BaseDataLoaderIter.__next__

    @functools.wraps(following)
    def batch(self: Any) -> Any:
        before = recorder.is_left_out
        recorder.is_left_out = before or isinstance(self, loader._MultiProcessingDataLoaderIter)
        try:
            data = following(self)
        finally:
            recorder.is_left_out = before
        if log.is_on and threading.current_thread() is threading.main_thread():
            digests = map(recorder.digest, recorder.tensors_in(data))
            log.operation("the next batch of a DataLoader", " ".join(digests), user_code.current_place(), {})
        return data

    loader._BaseDataLoaderIter.__next__ = batch


class _Recorder:
    def __init__(self, torch: ModuleType, log: _Log) -> None:
        self._torch, self._log, self.is_left_out = torch, log, False
        self._known: dict[Any, _Operation] = {}
        self._forward: dict[int, Place] = {}
        # Uninitialised storages by address; a weak reference keeps the address from being used again.
        self._empty: dict[int, Any] = {}
        self._weak = importlib.import_module("torch.multiprocessing.reductions").StorageWeakRef
        self._sequence, self._task = torch.autograd._get_sequence_nr, torch._C._current_graph_task_id
        self._node = torch._C._current_autograd_node

    def called(self, func: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Run an operation and record it."""
        operation = self._known.get(func) or self._learn(func)
        if operation.is_silent or self.is_left_out or not self._log.is_on:
            return func(*args, **kwargs)
        about: dict[str, Any] = {}
        try:
            # Arguments that are no tensors are recorded as texts.
            texts = [text for value in [*args, *kwargs.values()] if (text := _text(value)) is not None]
            inputs = [self.digest(tensor) for tensor in self.tensors_in((args, kwargs))]
            about = {"inputs": inputs, "numbers": texts, "draw": operation.is_draw}
        except Exception as error:
            self._log.failed(operation.name, error)
        result = func(*args, **kwargs)
        try:
            self._record(operation, about, args, kwargs, result)
        except Exception as error:
            self._log.failed(operation.name, error)
        return result

    def _record(
        self, operation: _Operation, about: dict[str, Any], args: Sequence[Any], kwargs: dict[str, Any], result: Any
    ) -> None:
        place, forward = user_code.current_place(), None
        if self._task() != -1:
            forward = self._forward.get(self._node()._sequence_nr()) if self._node() else None
        elif self._torch.is_grad_enabled():
            self._forward = {} if len(self._forward) >= MOST_FORWARD else self._forward
            self._forward[self._sequence() - 1] = place
        outputs = list(self.tensors_in(result))
        known = {id(tensor) for tensor in outputs}
        written = (args[at] if at < len(args) else kwargs.get(name) for at, name in operation.written)
        outputs += [each for value in written for each in self.tensors_in(value) if id(each) not in known]
        for tensor in outputs if not operation.is_view else ():
            self._note(tensor, is_empty=operation.makes_empty, is_new=not operation.written)
        digests = [self.digest(each) for each in outputs[: 1 if operation.first_only else None]]
        digests += [] if outputs else [_text(result) or ""]
        self._log.operation(operation.name, " ".join(digests), place, {**about, "forward": forward})

    def _learn(self, func: Any) -> _Operation:
        schema, name = getattr(func, "_schema", None), str(func)
        operation = _Operation(name)
        if schema is not None:
            short_name = name.split(".")[1] if "." in name else name
            arguments = [(at, each.name, each.alias_info) for at, each in enumerate(schema.arguments)]
            written = tuple((at, each) for at, each, alias in arguments if alias and alias.is_write)
            operation = _Operation(
                name.removesuffix(".default"),
                name.startswith(SILENT),
                not written and any(each.alias_info for each in schema.returns),
                self._torch.Tag.nondeterministic_seeded in func.tags,
                short_name.startswith(EMPTY),
                any(part in short_name for part in ONE_OUTPUT),
                written,
            )
        self._known[func] = operation
        return operation

    def tensors_in(self, value: Any) -> Iterator[Any]:
        """The tensors among some values."""
        if isinstance(value, self._torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple, dict)):
            for part in value.values() if isinstance(value, dict) else value:
                yield from self.tensors_in(part)

    def _note(self, tensor: Any, *, is_empty: bool, is_new: bool) -> None:
        """Note whether memory is uninitialised; it stays so if an operation writes only a part of it."""
        storage = self._storage(tensor)
        if storage is None:
            return
        if is_empty:
            self._empty = {number: weak for number, weak in self._empty.items() if not weak.expired()}
            self._empty[storage._cdata] = self._weak(storage)
        elif is_new or tensor.numel() * tensor.element_size() >= storage.nbytes():
            self._empty.pop(storage._cdata, None)

    def _storage(self, tensor: Any) -> Any:
        try:
            return tensor.untyped_storage()
        except RuntimeError:
            # Sparse tensors and tensors within torch.func have no storage.
            return None

    def digest(self, tensor: Any) -> str:
        """The digest of a tensor."""
        storage = self._storage(tensor)
        weak = self._empty.get(storage._cdata) if storage is not None and self._empty else None
        if weak is not None and not weak.expired():
            return UNINITIALISED
        about = f"{str(tensor.dtype).removeprefix('torch.')}{list(tensor.shape)}"
        if storage is None or type(tensor) not in (self._torch.Tensor, self._torch.nn.Parameter):
            return about
        try:
            if tensor.numel() * tensor.element_size() > storage.nbytes():
                # An expanded tensor is read with each element once.
                tensor = tensor[tuple(slice(1) if step == 0 else slice(None) for step in tensor.stride())]
            array = array_of(tensor, float("inf"))
        except RuntimeError:
            # Tensors within torch.func raise it, for example.
            return about
        return about if array is None else f"{crc_of(array):08x}{about}"


def _text(value: Any) -> str | None:
    """The text of a number, a string or a list of them, in full precision; None if it is anything else."""
    if value is None or isinstance(value, (bool, int, float, complex, str)):
        text = repr(value)
        return text if len(text) <= SHOWN else f"{text[:SHOWN]}#{zlib.crc32(text.encode()):08x}"
    if isinstance(value, (list, tuple)) and len(value) <= LONGEST:
        parts = [_text(part) for part in value]
        return f"[{', '.join(parts)}]" if None not in parts else None
    return None
