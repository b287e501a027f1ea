"""The metric files that figures and tables are rendered from, and the files of a figure: all follow from the study."""

from collections.abc import Collection, Iterable, Sequence
from pathlib import PurePosixPath

from toolnoise.base.errors import BadInput
from toolnoise.study import layout
from toolnoise.study.expected import METRICS
from toolnoise.study.figure_kinds import KINDS
from toolnoise.study.study import Figure, Study

# The kinds of metric files that do not come from runs: they do not wait for the control gate.
WITHOUT_RUNS = {"counts", "labels", "overhead", "kernels"}
# The kinds of metric files by the folder of their parts.
_KIND_IN = {PurePosixPath(metric.pattern).parts[3]: kind for kind, metric in METRICS.items()}


def metric_files(study: Study, figure: Figure | None = None) -> dict[str, list[str]]:
    """The metric files of all parts of the study, or of the parts that a figure shows, by kind."""
    return {
        kind: [
            study.path(metric.pattern, place) for place in metric.places(study) if figure is None or figure.shows(place)
        ]
        for kind, metric in METRICS.items()
    }


def collected_files(study: Study) -> dict[str, str]:
    """The metric files of the study as a whole, by kind."""
    kinds = (kind for kind, files in metric_files(study).items() if files)
    return {kind: study.path(layout.COLLECTED, file=layout.FILE_OF.get(kind, kind)) for kind in kinds}


def summary_files(study: Study) -> list[str]:
    """Every metric file of the study as a whole, and the verdicts on claims."""
    return [*collected_files(study).values(), study.path(layout.CLAIMS)]


def gate_files(study: Study, figure: Figure | None = None) -> list[str]:
    """The verdicts on the control cells of the study, or on those that a figure shows."""
    return [study.path(layout.GATE, cell) for cell in study.controls if figure is None or figure.shows(cell)]


def gates_before(study: Study, kinds: Iterable[str], figure: Figure | None = None) -> list[str]:
    """The verdicts that must exist before metric files of these kinds are shown; none for kinds that use no runs.

    Claims need none here, because they were judged after the verdicts.
    """
    return gate_files(study, figure) if (METRICS.keys() - WITHOUT_RUNS).intersection(kinds) else []


def files_read_by(study: Study, figure: Figure) -> dict[str, list[str]]:
    """The metric files that a figure is rendered from, by kind."""
    kind, by_kind = KINDS[figure.notebook], metric_files(study, figure)
    # Claims are judged for the whole study, even if a figure shows only a part.
    by_kind["claims"] = [study.path(layout.CLAIMS)]
    return {name: by_kind[name] for name in (*kind.reads, *kind.also) if by_kind[name]}


def by_kind(paths: Iterable[str]) -> dict[str, list[str]]:
    """Metric files by kind; the kind follows from the path."""
    found: dict[str, list[str]] = {}
    for path in paths:
        parts = PurePosixPath(path).parts
        folder = parts[parts.index("metrics") + 1] if "metrics" in parts[:-1] else ""
        kind = _KIND_IN.get(folder, PurePosixPath(path).stem)
        found.setdefault(kind, []).append(path)
    return found


def files_of(study: Study, figure: Figure) -> list[str]:
    """The files of a figure: one in every format, and its executed notebook."""
    stem = study.path(layout.FIGURE, figure=figure.name)
    formats = [f"{stem}.{suffix}" for suffix in KINDS[figure.notebook].suffixes]
    return [*formats, study.path(layout.NOTEBOOK, figure=figure.name)]


def synthetic_datasets(study: Study, datasets: Iterable[str]) -> dict[str, list[str]]:
    """The data sets with generated images among these, under the key `synthetic`; empty if there are none."""
    among = set(datasets)
    names = [name for name in study.synthetic() if name in among]
    return {"synthetic": names} if names else {}


def require_fitting(figure: str, notebook: str, read: Collection[str], out: Sequence[str]) -> None:
    """Refuse outputs that are not one file per suffix under one name, and kinds of metric files that do not fit."""
    kind = KINDS[notebook]
    if {f"{out[0].rpartition('.')[0]}.{suffix}" for suffix in kind.suffixes} != set(out):
        wanted = f"one path with each of {', '.join(kind.suffixes)}"
        raise BadInput("command line", "--out", f"found {', '.join(out)}", wanted)
    if not set(kind.reads) <= set(read) <= {*kind.reads, *kind.also}:
        wanted = f"it reads {', '.join(kind.reads)}" + (f", and may read {', '.join(kind.also)}" if kind.also else "")
        raise BadInput("command line", "--metrics", f"{figure} given {', '.join(read)}", wanted)
