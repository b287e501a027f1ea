"""The options of `compare` and `plan` for tables of metrics."""

from collections.abc import Sequence
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.commands.verb import flag, option
from toolnoise.comparison.known_names import HIGHER, LOWER

NONE = "none"  # in place of a column: there is none
PREVIOUS = "previous"  # in place of an arm: the one before, in the order of the table
CELL = ("model", "dataset", "hardware", "variant")  # what names a cell in a metric file of a study


class Asked(NamedTuple):
    """What a user says of tables: `metrics`, columns of arms, seeds and sessions, which steps count, what is better.

    `lower` and `higher` are names of metrics; empty ones stand for all, None for none.
    """

    metrics: tuple[str, ...]
    by: str | None = None
    seed: str | None = None
    steps: str | None = None  # "last" or "best"
    lower: tuple[str, ...] | None = None
    higher: tuple[str, ...] | None = None
    paired: bool = False
    session: str | None = None


READING = {
    "--metric": option(
        "NAME",
        "read tables with a line a run, of your own or exported by a logger, and these columns; of logs of a language "
        "model the score",
        nargs="+",
    ),
    "--by": option("COLUMN", "of tables: the column that names a run's arm, such as model"),
    "--seed": option("COLUMN", "of tables: the column of seeds; runs of different arms with equal seeds are pairs"),
    "--session": option(
        "COLUMN",
        "of tables: the column of sessions, such as the machine or the day: runs of an arm in one are averaged. Times "
        "and speeds need it (host, date and such are known), or none if each run is a session of its own",
    ),
    "--last": flag("of tables with several steps a run: the last step counts"),
    "--best": flag("of tables with several steps a run: the best step counts"),
    "--lower": option(
        "NAME", f"of tables: lower is better, in all metrics or in these; known by name: {', '.join(LOWER)}", nargs="*"
    ),
    "--higher": option(
        "NAME",
        f"of tables: higher is better, in all metrics or in these; known by name: {', '.join(HIGHER)}",
        nargs="*",
    ),
}
COMPARING = {
    **READING,
    "--against": option(
        "ARM", f"of tables: compare all others with this arm (the first), or, by {PREVIOUS}, each with the one before"
    ),
    "--all-pairs": flag("of tables: compare every two arms"),
    "--figure": option("FILE", "of tables: draw the differences with their intervals: .svg, .png or .pdf"),
}


def direction(names: list[str] | None) -> bool | list[str]:
    """--lower or --higher as programs say it: True for all metrics, which here are no names."""
    return names or names is not None


def of(
    metric: Sequence[str],
    *,
    by: str | None = None,
    seed: str | None = None,
    session: str | None = None,
    last: bool = False,
    best: bool = False,
    lower: Sequence[str] | None = None,
    higher: Sequence[str] | None = None,
    paired: bool = False,
) -> Asked:
    """What is asked, as values; what contradicts itself is refused."""
    if last and best:
        raise BadInput("command line", "--last", "found --best, too", "one of them")
    if paired and session not in (None, NONE):
        raise BadInput(
            "command line", "--paired", "found --session, too", "one of them: sessions in both arms are pairs"
        )
    lower, higher = (None if names is None else tuple(names) for names in (lower, higher))
    metrics = tuple(dict.fromkeys(metric))
    for name, names in (("--lower", lower), ("--higher", higher)):
        for metric in names or ():
            if metric not in metrics:
                raise BadInput("command line", name, f"found {metric}", f"of --metric: {', '.join(metrics)}")
    steps = "last" if last else "best" if best else None
    return Asked(metrics, by, seed, steps, lower, higher, paired, session)
