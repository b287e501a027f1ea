"""Did any number change? Runs one study with a commit's workflow and with this checkout's, and compares bit by bit.

    .venv/bin/python bench/golden.py COMMIT [--study workflow/studies/golden.yaml] [--before FOLDER]

The commit is checked out into build/golden/, with its own environment; both workflows run on this machine. Prepared
data, weights, histories, logits, and every value of the metric files except times must be equal bit by bit. The
comparison only reads files and imports nothing from the package, so it also works for a rewritten package. It prints a
line for each file and column that differs, and exits with 1 if any does. With `--before`, it uses existing results of
the study and runs nothing for the commit.
"""

import argparse
import fnmatch
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

ROOT = Path(__file__).resolve().parents[1]
ARRAYS = ("data/**/*.npz", "runs/**/weights.npz", "predictions/**/*.npy", "layers/**/*.npy", "remedies/**/*.npy")
TABLES = ("metrics/*.csv", "runs/**/history.csv")
# Measured times, as file:column.
TIMES = (
    "metrics/overhead.csv:*",
    "metrics/kernels.csv:*",
    "runs/*/history.csv:seconds",
    "metrics/convergence.csv:convergent",
    "metrics/convergence.csv:*_average",
    *(f"metrics/identical.csv:*_{time}" for time in ("convergent", "per_epoch", "first_epoch", "training")),
    *(f"metrics/identical.csv:*_{time}_diff" for time in ("convergent", "per_epoch", "first_epoch", "training")),
    "metrics/identical.csv:training_relative_diff",
)


def main() -> None:
    """Run the study with both workflows, compare the results and print the differences."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commit")
    parser.add_argument("--study", type=Path, default=ROOT / "workflow/studies/golden.yaml")
    parser.add_argument("--before", type=Path, help="results of the study by the commit, if they exist")
    options = parser.parse_args()
    study = options.study.resolve()
    results = Path("results") / yaml.safe_load(study.read_text())["study"]
    before = options.before or run_study(checked_out(options.commit), study) / results
    after = run_study(ROOT, study) / results
    differences = list(differences_of_results(before, after))
    print(*differences, sep="\n")
    compared = len(files_of(after, ARRAYS)), len(files_of(after, TABLES))
    print(f"{options.commit} and this checkout, {compared[0]} files of arrays and {compared[1]} tables: ", end="")
    print(f"{len(differences)} differences" if differences else "bit-equal")
    sys.exit(1 if differences else 0)


def checked_out(commit: str) -> Path:
    """A checkout of the commit, with the environment that its Makefile installs."""
    folder = ROOT / "build/golden" / commit
    if not folder.exists():
        subprocess.run(["git", "-C", ROOT, "worktree", "add", "--detach", folder, commit], check=True)
    subprocess.run(["make", "-C", folder, ".venv/cpu"], check=True)
    return folder


def run_study(checkout: Path, study: Path) -> Path:
    """Run the study with the workflow of a checkout, in its folder; returns that folder."""
    # Earlier commits need the option: there, Snakemake does not find the profile itself.
    profile = ["--workflow-profile", "workflow/profiles/default"]
    subprocess.run([checkout / ".venv/bin/snakemake", *profile, "--configfile", study], cwd=checkout, check=True)
    return checkout


def files_of(results: Path, patterns: tuple[str, ...]) -> set[str]:
    """The paths, relative to the results, of the files that match."""
    return {path.relative_to(results).as_posix() for pattern in patterns for path in results.glob(pattern)}


def differences_of_results(before: Path, after: Path) -> Iterator[str]:
    """A line for each file that only one of the results has, and for each array or column that differs."""
    for patterns, differences in ((ARRAYS, differences_of_arrays), (TABLES, differences_of_tables)):
        old, new = (files_of(results, patterns) for results in (before, after))
        if not new:
            raise SystemExit(f"{after} has no file that matches {', '.join(patterns)}")
        yield from (f"only before: {name}" for name in sorted(old - new))
        yield from (f"only after: {name}" for name in sorted(new - old))
        for name in sorted(old & new):
            yield from (f"{name}: {line}" for line in differences(before / name, after / name, name))


def differences_of_arrays(before: Path, after: Path, name: str) -> Iterator[str]:
    """The arrays of two files that differ in a bit; NaN equals a NaN of the same bits."""
    old, new = (arrays_of(path) for path in (before, after))
    for key in sorted(old.keys() | new.keys()):
        a, b = old.get(key), new.get(key)
        if a is None or b is None or (a.dtype, a.shape, a.tobytes()) != (b.dtype, b.shape, b.tobytes()):
            yield f"{key or name} differs"


def arrays_of(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an .npz or .npy file by name."""
    loaded = np.load(path, allow_pickle=False)
    return {"": loaded} if isinstance(loaded, np.ndarray) else dict(loaded)


def differences_of_tables(before: Path, after: Path, name: str) -> Iterator[str]:
    """The columns that differ between two tables, with the number of cells that differ and the first such row.

    Rows are matched by their texts and whole numbers, and then by their order.
    """
    # Cells are read as text and converted by `float`, because pandas may round a number.
    old, new = (pd.read_csv(path, comment="#", dtype=str, keep_default_na=False) for path in (before, after))
    yield from (f"only before: column {column}" for column in old.columns.difference(new.columns))
    yield from (f"only after: column {column}" for column in new.columns.difference(old.columns))
    shared = [column for column in new.columns if column in old.columns]
    shared = [column for column in shared if not any(fnmatch.fnmatch(f"{name}:{column}", times) for times in TIMES)]
    numbers = [column for column in shared if any(has_fractions(table[column]) for table in (old, new))]
    keys = [column for column in shared if column not in numbers]
    old, new = (by_key(table[shared], keys) for table in (old, new))
    for place, missing in (("before", old.index.difference(new.index)), ("after", new.index.difference(old.index))):
        if len(missing):
            yield f"only {place}: {len(missing)} rows, such as {missing[0]}"
    rows = old.index.intersection(new.index)
    for column in numbers:
        pairs = zip(rows, old.loc[rows, column], new.loc[rows, column], strict=True)
        unequal = [(row, a, b) for row, a, b in pairs if a != b and not (a and b and float(a) == float(b))]
        if unequal:
            row, a, b = unequal[0]
            example = f"{a or 'nothing'} -> {b or 'nothing'} in {row}"
            yield f"{column}: {len(unequal)} of {len(rows)} differ, such as {example}"


def has_fractions(cells: pd.Series) -> bool:
    """Whether a column has only numbers, and one of them is not whole."""
    try:
        return any(not float(cell).is_integer() for cell in cells if cell)
    except ValueError:
        return False


def by_key(table: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """The table with a name for each row: its keys, and its number among the rows with the same keys."""
    names = [",".join(map(str, row)) for row in table[keys].itertuples(index=False)]
    repeated = table.groupby(names).cumcount()
    return table.set_axis([f"{name} #{number}" for name, number in zip(names, repeated, strict=True)])


if __name__ == "__main__":
    main()
