"""Every kind of file of a study: its path, and the places of the study that have such a file.

Only a list shows which files were never made. Rules, the refusal of targets outside a study, figures, `estimate` and
the audit take their places from it.
"""

import difflib
import functools
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from operator import attrgetter
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.study import layout, places
from toolnoise.study.cells import Cell, Place, Whole
from toolnoise.study.layout import CELL, PAIR
from toolnoise.study.study import Study

Places = Callable[[Study], Iterable[Place]]


class Expected(NamedTuple):
    """The files that a kind of job writes at each of its places."""

    places: Places
    patterns: tuple[str, ...]
    needed: bool = True  # a complete study has it; if False, it is made only on request


class Metric(NamedTuple):
    """A kind of metric file: the pattern of its parts, and where its columns are defined."""

    pattern: str
    columns: str

    def places(self, study: Study) -> list[Place]:
        """The places of all jobs that write this kind."""
        return [place for job in EXPECTED.values() if self.pattern in job.patterns for place in job.places(study)]


def _metric(path: str, columns: str) -> Metric:
    return Metric(f"results/{{study}}/metrics/{path}.csv", columns)


_TASK, _NETWORK = "{model}/{dataset}/{hardware}", "{model}/{hardware}"
# Metric files by kind, in the order of measurement.
METRICS = {
    "stability": _metric(f"cells/{CELL}", "toolnoise.formulas.stability:STABILITY"),
    "runs": _metric(f"runs/{CELL}", "toolnoise.formulas.per_run:RUNS"),
    "identical": _metric(f"identical/{CELL}", "toolnoise.papers.identical.metric:IDENTICAL"),
    "convergence": _metric(f"convergence/{CELL}", "toolnoise.papers.identical.metric:CONVERGENCE"),
    "ensembles": _metric(f"ensembles/{CELL}", "toolnoise.formulas.ensembles:ENSEMBLES"),
    "ratios": _metric(f"ratios/{_TASK}", "toolnoise.measures.ratios:RATIOS"),
    "counts": _metric("data/{dataset}", "toolnoise.datasets.label_tables:COUNTS"),
    "labels": _metric("labels/{dataset}", "toolnoise.datasets.label_tables:LABELS"),
    "cross_tooling": _metric(f"pairs/{PAIR}", "toolnoise.papers.frameworks.pair:CROSS_TOOLING"),
    "frameworks": _metric(f"frameworks/{PAIR}", "toolnoise.papers.frameworks.measure:FRAMEWORKS"),
    "partings": _metric(f"partings/{PAIR}", "toolnoise.papers.frameworks.measure:PARTINGS"),
    "growth": _metric(f"growth/{_TASK}", "toolnoise.papers.growth:GROWTH"),
    "language": _metric(f"language/{CELL}", "toolnoise.papers.language.measure:LANGUAGE"),
    "layers": _metric(f"layers/{CELL}", "toolnoise.papers.layers.measure:LAYERS"),
    "overhead": _metric(f"overhead/{_NETWORK}", "toolnoise.papers.overhead.measure:OVERHEAD"),
    "kernels": _metric(f"kernels/{_NETWORK}", "toolnoise.papers.overhead.measure:KERNELS"),
    "remedies": _metric(f"remedies/{CELL}", "toolnoise.papers.remedies:REMEDIES"),
}

_RUN = (layout.WEIGHTS, layout.HISTORY, layout.RECORD)
_DUMP = (layout.LOGITS, layout.PREDICTIONS)


def _whole(_study: Study) -> list[Whole]:
    return [Whole()]


def _controls(cells: Iterable[Cell]) -> list[Cell]:
    return [cell for cell in cells if cell.variant == "control"]


def _metrics(places: Places, *kinds: str) -> Expected:
    """A job that writes parts of metric files of these kinds."""
    return Expected(places, tuple(METRICS[kind].pattern for kind in kinds))


# Jobs by verb, in the order of the data flow. Metric files of the whole study and the files of figures and
# tables are not listed here: figure_files.py derives them.
EXPECTED = {
    "configure": Expected(_whole, (layout.STUDY,)),
    "fetch": Expected(places.from_files, (layout.SOURCES,)),
    "prepare": Expected(places.prepared_places, (layout.DATA,)),
    "gather-labels": Expected(places.left_by_programs, (layout.DATA,)),
    "count": _metrics(places.prepared_places, "counts"),
    "name-classes": _metrics(places.with_named_classes, "labels"),
    # Runs that were made elsewhere have no such file.
    "check-model": Expected(places.own_models, (layout.CHECKED,), needed=False),
    "train": Expected(lambda study: places.runs_of(study, places.built_places(study)), _RUN),
    "run-program": Expected(places.runs_of_programs, _RUN),
    "adopt-run": Expected(lambda study: places.runs_of_programs(study, adopted=True), _RUN),
    "predict": Expected(places.built_places, _DUMP),
    "dump-outcomes": Expected(places.of_programs, _DUMP),
    "remedy": Expected(lambda study: filter(study.remedies_of, study.views), (layout.REMEDIED, layout.REMEDIED_INDEX)),
    "predict-elsewhere": Expected(attrgetter("exchanged"), (layout.EXCHANGED, layout.EXCHANGED_INDEX)),
    "dump-layers": Expected(attrgetter("layers"), (layout.GRAMS, layout.LAYERS_INDEX)),
    "dump-continuations": Expected(places.of_language, (layout.TEXTS, layout.TEXTS_INDEX)),
    "check-control": Expected(lambda study: _controls(places.built_places(study)), (layout.GATE,)),
    "check-program": Expected(lambda study: _controls(places.of_programs(study)), (layout.GATE,)),
    "measure": _metrics(places.built_places, "stability", "runs", "identical", "convergence", "ensembles"),
    "measure-program": _metrics(places.scored_by_programs, "stability", "runs", "ensembles"),
    "measure-outcomes": _metrics(lambda study: places.scored_by_programs(study, scored=False), "stability", "runs"),
    "measure-ratios": _metrics(attrgetter("compared"), "ratios"),
    "measure-pair": _metrics(attrgetter("pairs"), "cross_tooling"),
    "measure-frameworks": _metrics(attrgetter("frameworks"), "frameworks", "partings"),
    "measure-growth": _metrics(Study.growing, "growth"),
    "measure-language": _metrics(places.of_language, "language"),
    "measure-layers": _metrics(attrgetter("layers"), "layers"),
    "measure-overhead": _metrics(attrgetter("networks"), "overhead", "kernels"),
    "measure-remedies": _metrics(attrgetter("views"), "remedies"),
    "measure-speed": Expected(places.built_places, (layout.SPEED,), needed=False),
    "profile": Expected(attrgetter("profiles"), (layout.PROFILE_TABLE, layout.PROFILE_RECORD)),
    "judge-claims": Expected(_whole, (layout.CLAIMS,)),
    "show-cell": Expected(attrgetter("cells"), (layout.PAGE_CELL, layout.PAGE_EXAMPLES)),
    "write-page": Expected(_whole, (layout.PAGE,)),
    "report": Expected(_whole, (layout.REPORT,), needed=False),
}
# Maps the pattern of each file to the first pattern of its job. Some jobs, such as train and run-program, share them.
_FIRST = {pattern: kind.patterns[0] for kind in EXPECTED.values() for pattern in kind.patterns}
_FIRST |= {layout.COLLECTED: layout.COLLECTED}
_FIRST |= {f"{layout.FIGURE}.{suffix}": f"{layout.FIGURE}.svg" for suffix in ("svg", "pdf", "png")}
_FIRST |= {f"{layout.FIGURE}.{suffix}": f"{layout.FIGURE}.html" for suffix in ("html", "csv", "md", "tex")}


def first_output(path: str) -> str | None:
    """The first output of the job that makes a file; the job's statement is named after it."""
    for compiled, pattern in _patterns_in()[_folder_in(path)]:
        if matched := compiled.fullmatch(path):
            return _FIRST[pattern].format(**matched.groupdict())
    return None


@functools.cache
def _patterns_in() -> Mapping[str, list[tuple[re.Pattern, str]]]:
    """The patterns of files by the folder that contains them."""
    found = defaultdict(list)
    for pattern in _FIRST:
        escaped = re.escape(pattern).replace(r"\{", "{").replace(r"\}", "}")
        found[_folder_in(pattern)].append((re.compile(re.sub(r"{(\w+)}", r"(?P<\1>[^/.]+)", escaped)), pattern))
    return found


def _folder_in(path: str) -> str:
    """The folder or file directly below the folder of a study."""
    return "".join(path.split("/")[2:3])


def places_of(study: Study, kind: str) -> set[tuple[str, ...]]:
    """The places of a kind of file, each as the names in its path."""
    places = METRICS[kind].places if kind in METRICS else EXPECTED[kind].places
    in_path = _names_in_path(kind)
    return {tuple(str(getattr(place, name)) for name in in_path) for place in places(study)}


def _names_in_path(kind: str) -> list[str]:
    pattern = METRICS[kind].pattern if kind in METRICS else EXPECTED[kind].patterns[0]
    return [name for name in re.findall(r"{(\w+)}", pattern) if name != "study"]


def require_place(known: set[tuple[str, ...]], kind: str, names: Mapping[str, str], file: str) -> None:
    """Refuse a file of this kind if its path does not name a known place."""
    # Snakemake orders the names as the requesting job does.
    asked = tuple(names[name] for name in _names_in_path(kind))
    if asked not in known:
        near = difflib.get_close_matches("/".join(asked), sorted(map("/".join, known)), 1, 0)
        raise BadInput(
            file, f"{kind} of its grid", f"found {'/'.join(asked)}", f"such as {near[0]}" if near else "none"
        )
