"""The figures and the table of frameworks."""

from toolnoise.study.kind import TABLES, Kind, by_task

_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
KINDS = {
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
