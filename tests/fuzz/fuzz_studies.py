"""Study files that are wrong on purpose: each is read and planned, and an oracle knows what may come of it.

A case takes a study with nearly all keys of the schema, changes one thing in its text, and reads, resolves and plans
it in this process. A case fails with a traceback, a refusal that is not one line with the file's name, if it takes
too long, or if the outcome is not one that the change allows: what YAML 1.1 reads as something else must be
refused, a number that is accepted must be the number in the text, and a change of form alone, such as an alias, must
change nothing.

    python tests/fuzz/fuzz_studies.py --cases 3000 --seed 1
    python tests/fuzz/fuzz_studies.py --seed 1 --only 123
"""

import argparse
import contextlib
import copy
import itertools
import json
import os
import random
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import fuzz_study_changes as changes

from toolnoise.base.errors import BadInput
from toolnoise.checks.expected_jobs import expected_jobs
from toolnoise.study import config, grid, study_files

SECONDS = 20


def case(number: int, seed: int) -> tuple[changes.Case, bool]:
    """A case, and whether its study has only what the program brings."""
    rng = random.Random(f"{seed}/{number}")
    plain = rng.random() < 0.5
    return rng.choice(changes.CHANGES)(changes.PLAIN if plain else changes.OWN, rng), plain


def outcome(file: str) -> tuple[str, dict | None]:
    """The refusal of a study, or the study as it is kept, after all of its jobs have been planned."""
    try:
        # As the Snakefile does it.
        (content,) = study_files.read_strictly([file], [])
        study = grid.build(config.resolve(content, file), file)
        kept = changes.as_kept(study.config)
        if changes.as_kept(config.resolve(copy.deepcopy(kept), "results/fuzzed/study.json")) != kept:
            raise AssertionError("the resolved study resolves to another one")
        for job in itertools.islice(expected_jobs(study), 400):
            json.dumps(job.parameters, allow_nan=False)
    except BadInput as error:
        return str(error), None
    return "", kept


def judged(one: changes.Case, file: str) -> tuple[list[str], dict | None]:
    """Why a case fails, nothing if it does not; and the study, if it was accepted."""
    try:
        with limit(SECONDS):
            refusal, kept = outcome(file)
    except TimeoutError:
        return [f"takes longer than {SECONDS} s"], None
    except Exception:
        return [traceback.format_exc()], None
    reasons = []
    if kept is None and (not refusal.startswith(file) or len(refusal.splitlines()) != 1 or len(refusal) > 2000):
        reasons.append(f"not one line about the file: {refusal[:300]}")
    if kept is None and one.sense:
        reasons.append(f"refused, and makes sense: {refusal[:300]}")
    if kept is not None and (wrong := one.allowed(kept)):
        reasons.append(wrong)
    return reasons, kept


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in a block that takes too long."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def main() -> None:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="K")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one case, with its file")
    options = parser.parse_args()
    kinds, failed, accepted = Counter(), Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("networks.py").write_text("def small(input_shape, classes, **options): ...\n")
        for base in (changes.PLAIN, changes.OWN):
            changes.resolved_of(base)
        for number in [options.only] if options.only else range(1, options.cases + 1):
            one, _ = case(number, options.seed)
            file = f"case{one.suffix}"
            Path(file).write_bytes(one.content)
            reasons, kept = judged(one, file)
            kinds[one.kind] += 1
            accepted += kept is not None
            if reasons:
                failed[one.kind] += 1
                print(f"case {number}: {one.kind}: {one.said}\n  " + "\n  ".join(reasons))
            if reasons or options.only:
                print(one.content[:6000].decode("utf-8", "backslashreplace"), flush=True)
            if number % 500 == 0:
                print(f"{number} of {options.cases}, {failed.total()} failed", flush=True)
    for kind, count in kinds.most_common():
        print(f"{count:5} {kind}: {failed[kind]} failed")
    print(f"{failed.total()} of {kinds.total()} failed, {accepted} were accepted (seed {options.seed})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
