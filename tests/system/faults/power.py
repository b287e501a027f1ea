"""What a power cut leaves of the files of a job: a journal of its operations, replayed on a disk that keeps the least.

A disk keeps the content that a file had when it was last synced. It keeps a name if its folder was synced since. What
was not synced may be kept, too, in any order. So each moment has several disks: one that kept all names before any
content, one that kept nothing that was not synced, and one that kept nothing else than the names of statements.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

KEPT = {"every name": lambda _: True, "no name": lambda _: False, "statements": lambda path: "/statements/" in path}


@dataclass(eq=False)
class File:
    """A file: its content on disk, and the whole content that it got its last name with."""

    content: bytes = b""
    whole: bytes | None = None


@dataclass
class Disk:
    """The files and folders of a job by name: those that its process sees, and those that a power cut leaves."""

    live: dict[str, File | None] = field(default_factory=dict)
    synced: dict[str, File | None] = field(default_factory=dict)

    def do(self, kind, path, before, copy):
        """Perform one operation; `copy` is what the shim copied of the file."""
        match kind:
            case "m":
                self.live[path] = None
            case "u":
                self.live.pop(path, None)
            case "r":
                self.live[path] = self.live.pop(before)
                self.live[path].whole = copy.read_bytes()
            case "d":
                others = {name: file for name, file in self.synced.items() if Path(name).parent != Path(path)}
                self.synced = others | {n: file for n, file in self.live.items() if Path(n).parent == Path(path)}
            case "s":
                self.live.setdefault(path, File()).content = copy.read_bytes()
            case _:
                self.live.setdefault(path, File())

    def left(self, kept):
        """The names that are left if those were kept which were not synced, by their rule."""
        names = {name: file for name, file in self.synced.items() if not kept(name)}
        return names | {name: file for name, file in self.live.items() if kept(name)}


def moments(journal: Path) -> Iterator[Disk]:
    """The disk after each operation of a journal; it is the same object, which changes."""
    disk = Disk()
    for number, line in enumerate((journal / "lines").read_text().splitlines(), 1):
        disk.do(*line.split("\t"), journal / str(number))
        yield disk


def lay(names: dict[str, File | None], start: Path, folder: Path) -> None:
    """Put what is left of the files below `start` into a folder."""
    for name, file in names.items():
        target = folder / Path(name).relative_to(start)
        (target if file is None else target.parent).mkdir(parents=True, exist_ok=True)
        if file is not None:
            target.write_bytes(file.content)
