"""Files that a program leaves in its folder and that its next run may read: noted, and put aside for one run."""

import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, Self

from toolnoise.base.errors import BadInput
from toolnoise.checking.outcome import Outcome
from toolnoise.checking.trial_runs import TrialRuns

MOST_FILES = 20_000
PASSED_OVER = ("site-packages", "node_modules", "__pycache__")


def stamps() -> dict[str, tuple[int, int]]:
    """Each file below the folder that a program is started in, with its size and time; hidden folders are left out."""
    files = {}
    for name in _files():
        try:
            status = Path(name).stat()
        except OSError:
            continue
        files[name] = status.st_size, status.st_mtime_ns
        if len(files) >= MOST_FILES:
            break
    return files


def _files() -> Iterator[str]:
    for folder, inner, names in os.walk("."):
        inner[:] = sorted(name for name in inner if not name.startswith(".") and name not in PASSED_OVER)
        yield from (str(Path(folder, name)) for name in sorted(names))


class LeftFiles(NamedTuple):
    """Files that were not there before the first run, but for those that are compared."""

    names: list[str]

    @classmethod
    def since(cls, before: dict[str, tuple[int, int]], compared: Sequence[str]) -> Self:
        """What is there now and was not before; a file that was there is the user's own."""
        outputs = {str(Path(name)) for name in compared}
        return cls([name for name in stamps() if name not in before and name not in outputs])

    def has(self, text: str) -> bool:
        """Whether a text names one of the files, or the folder that it is in."""
        path = Path(text)
        files = map(Path, self.names)
        return bool(path.name) and any(path.name == file.name or path in file.parents for file in files)

    def run_without(self, runs: TrialRuns) -> Outcome | None:
        """Run the program while the files are elsewhere, and put back those that the run has not written."""
        aside = runs.folder / "aside"
        moved = [(Path(name), aside / str(number)) for number, name in enumerate(self.names) if Path(name).is_file()]
        aside.mkdir(exist_ok=True)
        for path, place in moved:
            shutil.move(path, place)
        try:
            return runs.run("without-left-files")
        except BadInput:
            return None
        finally:
            for path, place in moved:
                if not path.exists():
                    path.parent.mkdir(parents=True, exist_ok=True)
                    shutil.move(place, path)


def named(names: Sequence[str]) -> str:
    """A few names of many."""
    more = f" and {len(names) - 2} more files" if len(names) > 2 else ""
    return f"{', '.join(names[:2])}{more}" if more else " and ".join(names)
