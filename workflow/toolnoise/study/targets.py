"""The files that somebody asks for by name: what a study does not have is refused before anything is planned."""

import difflib
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from toolnoise.base.errors import BadInput
from toolnoise.study import figure_files, layout
from toolnoise.study.expected import EXPECTED, METRICS
from toolnoise.study.study import Study

RESULTS = PurePosixPath(layout.STUDY).parts[0]


def require_known(study: Study, targets: Iterable[str], statements: str, file: str | Path) -> None:
    """Refuse a target among the results that is no file of the study.

    `statements` is the name of their folder: the statement of a file is as good a target as the file.
    """
    asked = [target for target in targets if PurePosixPath(target).parts[:1] == (RESULTS,)]
    if not asked:
        return
    known = set(files(study))
    for target in asked:
        parts = PurePosixPath(target).parts
        if target in known or (len(parts) > 2 and parts[1:3] == (study.name, statements)):
            continue
        near = difflib.get_close_matches(target, known, 1)
        raise BadInput(file, target, "no file of this study", f"such as {near[0] if near else study.path(layout.PAGE)}")


def files(study: Study) -> Iterator[str]:
    """Every file that rules make, but for statements."""
    made = [(pattern, each.places) for each in EXPECTED.values() for pattern in each.patterns]
    measured = [(metric.pattern, metric.places) for metric in METRICS.values()]
    for pattern, places in (*made, *measured):
        yield from (study.path(pattern, place) for place in places(study))
    yield from figure_files.collected(study).values()
    for figure in study.figures:
        yield from figure_files.files_of(study, figure)
