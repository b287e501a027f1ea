"""What has run where: trainings, and processes that timed a step, by processor or GPU and framework.

Counted are the statements in `evidence/`.

python bench/has_run.py --write     # docs/tables/has-run.txt
"""

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from toolnoise import steps
from toolnoise.base import program
from toolnoise.base.files import write_text
from toolnoise.base.printing import aligned
from toolnoise.record import statements, unpacked
from toolnoise.study import layout, programs

TABLE = program.ROOT / "docs/tables/has-run.txt"
HEAD = "What has run where, by the statements in evidence/: `python bench/has_run.py --write`.\n\n"
HEADS = ("device", "framework", "trainings", "steps timed", "studies")
# The jobs that compute on a device, by column; adopted runs were trained elsewhere.
TRAINED, TIMED = set(steps.writing(layout.RECORD)) - {"adopt-run"}, set(steps.writing(layout.PROFILE_RECORD))
COUNTED = dict.fromkeys(TRAINED, "trainings") | dict.fromkeys(TIMED, "steps timed")
Place = tuple[str, str]


def main() -> None:
    """Print the table, or write it where the docs have it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help=f"write {TABLE.relative_to(program.ROOT)}")
    options = parser.parse_args()
    with unpacked.opened(*sorted((program.ROOT / "evidence").glob("*.tar.xz"))) as folders:
        text = table(folders)
    write_text(TABLE, text) if options.write else print(text, end="")


def table(folders: Sequence[Path]) -> str:
    """The rows of studies' folders, the most trainings first."""
    counts: dict[Place, Counter[str]] = {}
    studies: dict[Place, set[str]] = {}
    for folder in folders:
        for place, column in _computed(folder):
            counts.setdefault(place, Counter())[column] += 1
            studies.setdefault(place, set()).add(folder.name)
    rows = [
        (*place, str(count["trainings"]), str(count["steps timed"]), ", ".join(sorted(studies[place])))
        for place, count in sorted(counts.items(), key=lambda row: (-row[1]["trainings"], row[0]))
    ]
    return HEAD + "\n".join(aligned([HEADS, *rows])) + "\n"


def _computed(folder: Path) -> Iterator[tuple[Place, str]]:
    """Where each job of a study computed, device and framework, and the column that counts it."""
    for path in sorted((folder / "statements").rglob("*.json")):
        statement = statements.read(path)
        if statement.verb in COUNTED:
            observed = statement.observed
            framework = statement.parameters["spec"]["hardware"]["engine"]
            device = observed.get("device", "cpu")
            # A training program says which device it uses, not which framework.
            framework = "own program" if framework == programs.ENGINE else framework
            yield (observed["cpu"] if device == "cpu" else device, framework), COUNTED[statement.verb]


if __name__ == "__main__":
    main()
