"""The options of `compare` and `plan` for tables of metrics."""

from toolnoise.commands.verb import flag, option
from toolnoise.comparison.known_names import HIGHER, LOWER

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


def direction(names: list[str] | None) -> bool | list[str]:
    """--lower or --higher as programs say it: True for all metrics, which here are no names."""
    return names or names is not None
