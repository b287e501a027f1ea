"""Which runs of two studies are one training on two toolings, and in how many epochs their weights are bit-equal.

    python bench/equal_runs.py evidence/gpu-h100.tar.xz evidence/gpu-h200.tar.xz

Two runs are one training if data set, network, variant and seed are equal, and so are the draws of every epoch. Weights
are compared by the digests of the histories.
"""

import argparse
from pathlib import Path

from toolnoise.base.errors import errors_in_one_line
from toolnoise.base.printing import aligned
from toolnoise.record import unpacked
from toolnoise.training import runs

Runs = dict[tuple[str, str, str, int], dict[str, list[dict[str, str]]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs=2, type=Path, metavar="RESULTS", help="a study's folder or archive")
    options = parser.parse_args()
    with errors_in_one_line(), unpacked.opened(*options.studies) as (one, other):
        print("\n".join(aligned([HEADS, *rows(histories(one), histories(other))])))


HEADS = ("data set", "network", "variant", "toolings", "the same training", "equal in all epochs", "in none")


def histories(folder: Path) -> Runs:
    """The histories of a study's runs by data set, network, variant and seed, then by tooling."""
    found: Runs = {}
    for record in sorted(folder.glob("runs/**/run.json")):
        run = runs.read(record)
        spec = run.spec
        key = spec.dataset.name, spec.model.name, spec.variant.name, spec.seed
        found.setdefault(key, {})[spec.hardware.name] = run.history()
    return found


def rows(some: Runs, others: Runs) -> list[tuple[str, ...]]:
    """By data set, network, variant and pair of toolings: how many runs are comparable, and how many are equal."""
    shares: dict[tuple[str, ...], list[float]] = {}
    for key in (key for key in some if key in others):
        for tooling, history in some[key].items():
            for other, its in others[key].items():
                if [row["draws_sha256"] for row in history] == [row["draws_sha256"] for row in its]:
                    equal = [a["weights_sha256"] == b["weights_sha256"] for a, b in zip(history, its, strict=True)]
                    place = (*key[:3], f"{tooling}, {other}")
                    shares.setdefault(place, []).append(sum(equal) / len(equal))
    return [(*place, str(len(found)), str(found.count(1.0)), str(found.count(0.0))) for place, found in shares.items()]


if __name__ == "__main__":
    main()
