"""The figures by class and by sub-group."""

from toolnoise.study.kind import SUB_GROUPS, Kind, by_place, by_tooling

KINDS = {
    "subgroups": Kind(
        ("stability",),
        lambda grid: (grid.grouped, by_tooling),
        needs=SUB_GROUPS,
        takes=("width",),
        rank=3,
    ),
    "per_class": Kind(
        ("stability", "runs"),
        lambda grid: (grid.varied, by_place),
        also=("labels",),
        takes=("class_names", "width"),
        rank=4,
    ),
}
