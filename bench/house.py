"""How large the house is: lines of rooms, of the kernel and of all, tracked files, words of docs.

The kernel is the package without the rooms, the packages and the modules for training programs that stand beside it,
and without networks and readers of data: each is found by the name that an entry gives, and the kernel imports none.
`--limit N` fails if the kernel has more than N lines.

    python bench/house.py --limit 20000
"""

import argparse
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

from toolnoise.base.program import NAME, ROOT

PLUGINS = ("snakemake_logger_plugin_toolnoise", "toolnoise_grid_engine", "toolnoise_storage", "toolnoise_warm")
# The training programs of others import these, and nothing of the kernel does (import-linter).
HELPERS = ("lightning.py", "torch.py", "transformers.py")
# What entries name and nothing imports (tests/unit/test_structure.py).
NAMED = "networks and readers"
BUILDER = re.compile(r'"toolnoise\.models\.(\w+):')
READERS = "datasets/readers"
BESIDE = ("analyses", "api", "checking", "comparison", "verify", NAMED, *PLUGINS, *HELPERS)
PACKAGES = (NAME, *(f"workflow/{name}" for name in PLUGINS))
CODE = (".py", ".js", ".css", ".html")


def tracked():
    """The tracked files that are here, as paths in the repository."""
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=True)
    return [Path(name) for name in listed.stdout.split("\0") if (ROOT / name).is_file()]


def rooms(files):
    """The lines of each room, and of each helper; the other modules that lie in no room have the room ``."""
    lines, networks = Counter(), set(BUILDER.findall((ROOT / "resources/models.yaml").read_text()))
    for path in files:
        package = next((package for package in PACKAGES if path.is_relative_to(package)), None)
        if package and path.suffix in CODE:
            room, *rest = path.relative_to(package).parts if package == NAME else path.parts[1:]
            if (room == "models" and path.stem in networks) or path.is_relative_to(f"{NAME}/{READERS}"):
                room = NAMED
            lines[room if rest or room in HELPERS else ""] += len((ROOT / path).read_bytes().splitlines())
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--limit", type=int, help="the lines that the kernel may have")
    limit = parser.parse_args().limit
    files = tracked()
    lines = rooms(files)
    for room, count in lines.most_common():
        print(f"{count:6,}  {room or 'no room'}{' (beside the kernel)' if room in BESIDE else ''}")
    kernel = sum(count for room, count in lines.items() if room not in BESIDE)
    written = (path for path in files if path.suffix == ".md")
    docs = [path for path in written if path.parts[0] == "docs" or path.name == "README.md"]
    words = sum(len((ROOT / path).read_text("utf-8").split()) for path in docs)
    print(f"{kernel:6,}  the kernel\n{lines.total():6,}  all\n{len(files):6,}  tracked files")
    print(f"{words:6,}  words in {len(docs)} pages of docs")
    if limit is not None and kernel > limit:
        sys.exit(f"the kernel has {kernel:,} lines, and may have {limit:,}")


if __name__ == "__main__":
    main()
