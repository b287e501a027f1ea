"""The checkpoints that a program leaves: where its framework puts them, as its text says, and when it writes them."""

import ast
import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from toolnoise.checking.program_text import SourceFile
from toolnoise.checking.reader import Reader

# The argument, the first one too, that names the folder or file of a framework's checkpoints.
NAMED = {
    "TrainingArguments": "output_dir",
    "Seq2SeqTrainingArguments": "output_dir",
    "BackupAndRestore": "backup_dir",
    "CheckpointManager": "directory",
}
CALLBACK, LIGHTNING, KERAS = "ModelCheckpoint", "dirpath", "filepath"
TRAINER, ROOT = "Trainer", "default_root_dir"


class Saves:
    """The times at which a program has finished to write its checkpoints, as far as one look after the other shows."""

    def __init__(self, places: Sequence[Path]) -> None:
        self.places = places
        self._seen: dict[Path, tuple[int, int]] = {}
        self._kept: dict[Path, tuple[int, int]] = {}
        self._times: list[float] = []

    def times(self) -> list[float]:
        """Look, and return all times. A save is over when two looks see the same files, and something has changed."""
        seen = stamps(self.places)
        # What is only removed, such as the checkpoint before the last, is no save.
        if seen == self._seen and any(self._kept.get(path) != stamp for path, stamp in seen.items()):
            self._kept = seen
            self._times.append(time.monotonic())
        self._seen = seen
        return self._times


def stamps(places: Sequence[Path]) -> dict[Path, tuple[int, int]]:
    """Every file of some checkpoints, with when it was last written and its size."""
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in _files(places)}


def _files(places: Sequence[Path]) -> Iterator[tuple[Path, os.stat_result]]:
    for place in places:
        # Unlike Path.rglob, os.walk bears that a folder vanishes meanwhile.
        within = (Path(folder, name) for folder, _, names in os.walk(place) for name in names)
        for path in (place, *within):
            with suppress(OSError):
                if path.is_file():
                    yield path, path.stat()


def places(program: Sequence[SourceFile]) -> list[str]:
    """Where a program's framework leaves its checkpoints, as far as its text says it in plain words."""
    calls = [(reader, call, name) for reader in map(Reader, program) for call, name in reader.calls]
    named = [place for call in calls if (place := _named(*call))]
    return list(dict.fromkeys(named or [place for call in calls if (place := _default(*call))]))


def _named(reader: Reader, call: ast.Call, name: str) -> str:
    """The folder or file that a call names."""
    last = name.rpartition(".")[2]
    of_callback = LIGHTNING if "lightning" in name else KERAS
    keyword = of_callback if last == CALLBACK else NAMED.get(last, "")
    first = call.args[0] if call.args else None
    place = _path(reader, reader.keywords(call).get(keyword, first)) if keyword else ""
    # A file's name may have the number of its epoch in it.
    return str(Path(place).parent) if "{" in place else place


def _default(reader: Reader, call: ast.Call, name: str) -> str:
    """The folder of a trainer of Lightning that names none."""
    if name.rpartition(".")[2] != TRAINER or "lightning" not in name:
        return ""
    given = reader.keywords(call)
    plain = isinstance(logger := given.get("logger"), ast.Constant) and logger.value is False
    return str(Path(_path(reader, given.get(ROOT))) / ("checkpoints" if plain else "lightning_logs"))


def _path(reader: Reader, node: ast.AST | None) -> str:
    """A text, or what a name was given, also within os.path.abspath('kept') or Path('kept').resolve(); else nothing."""
    if isinstance(node, ast.Name):
        node = reader.assigned.get(node.id)
    if isinstance(node, ast.Call):
        part = node.args[0] if len(node.args) == 1 else getattr(node.func, "value", None)
        return _path(reader, part) if len(node.args) < 2 else ""
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else ""
