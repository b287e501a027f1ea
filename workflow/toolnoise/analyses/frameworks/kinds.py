"""The figures and the table of two toolings, and of two that have other frameworks."""

from toolnoise.study.kind import TABLES, Kind, by_task

_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
KINDS = {
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (grid.paired, by_task),
        needs="two toolings with a variant of control or algo",
        takes=("width",),
        rank=5,
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks", "identical"),
        lambda grid: (grid.framed, by_task),
        needs=_FRAMEWORKS,
        takes=("width",),
    ),
    "framework_parts": Kind(
        ("frameworks", "partings", "identical"),
        lambda grid: (grid.framed, by_task),
        needs=_FRAMEWORKS,
        takes=("width",),
    ),
    "partings": Kind(
        ("partings", "identical"),
        lambda grid: (grid.framed, by_task),
        needs=_FRAMEWORKS,
        category=TABLES,
    ),
}
