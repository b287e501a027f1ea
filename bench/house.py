"""The size of each part of the repository, compared with its ceiling.

    python bench/house.py

bench/ceilings.txt has a line for each part: a unit (lines, words or files), the most that the part may have, its name
and its folders. Only files that git tracks count: lines of code and rules, words of Markdown. The command fails if a
part is above its ceiling. A change that makes a part smaller lowers its ceiling.
"""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CEILINGS = ROOT / "bench/ceilings.txt"
# The suffixes of the files that count as code and as text; the Snakefiles count as code, too.
CODE, TEXT = (".py", ".smk", ".js", ".css", ".html", ".c"), (".md",)


def main() -> None:
    """Print the size and the ceiling of each part; fail if a part is above its ceiling."""
    files, above = tracked_files(), []
    for line in CEILINGS.read_text("utf-8").splitlines():
        unit, ceiling, name, *folders = line.split()
        count = size(unit, [path for path in files if is_in(path, folders)])
        print(f"{count:7,} of {int(ceiling):7,} {unit:5}  {name}")
        if count > int(ceiling):
            above.append(f"{name} has {count:,} {unit}, and may have {int(ceiling):,}")
    if above:
        sys.exit("\n".join(above))


def tracked_files() -> list[Path]:
    """The tracked files that exist, as paths in the repository."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return [Path(name) for name in listed.stdout.split("\0") if (ROOT / name).is_file()]


def is_in(path: Path, folders: list[str]) -> bool:
    """Whether a file lies in one of these folders, or is one of them."""
    return any(path.is_relative_to(folder) for folder in folders)


def size(unit: str, files: list[Path]) -> int:
    """The lines, the words or the number of some files."""
    if unit == "files":
        return len(files)
    if unit == "words":
        return sum(len((ROOT / path).read_text("utf-8").split()) for path in files if path.suffix in TEXT)
    code = [path for path in files if path.suffix in CODE or path.name == "Snakefile"]
    return sum(len((ROOT / path).read_bytes().splitlines()) for path in code)


if __name__ == "__main__":
    main()
