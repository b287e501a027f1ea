"""Tables of results as Markdown, LaTeX and HTML, in the same words and with fixed bytes."""

import html
import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from toolnoise.base.files import write_text
from toolnoise.stats.estimates import Estimate


class Entry(NamedTuple):
    """One entry of a table: its number and, in smaller type, the runs behind it or its interval."""

    text: str
    detail: str = ""

    def __str__(self) -> str:
        """Both on one line."""
        return f"{self.text} ({self.detail})" if self.detail else self.text


def units_text(runs: int, missing: int, draws: float) -> str:
    """The independent units of an interval: runs or, if several runs share a draw, draws; NaN draws are unknown."""
    counted = f"{runs} of {runs + missing}" if missing else f"{runs}"
    return f"n = {draws:.0f} draws, {counted} runs" if 1 < draws < runs else f"n = {counted}"


def runs_and_draws(runs: int, missing: int, draws: float, *, bit_equal: bool = False) -> Entry:
    """A number of runs; in smaller type their draws if runs share draws, the missing runs, and "bit-equal"."""
    of_draws = [f"{draws:.0f} draws"] * (1 < draws < runs)
    details = [*of_draws, *[f"{missing:.0f} missing"] * bool(missing), *["bit-equal"] * bit_equal]
    return Entry(f"{runs:.0f}", ", ".join(details))


def mean_and_sd(mean: float, sd: float, runs: int, missing: int, draws: float) -> Entry:
    """Mean ± SD of accuracy in percent, or a remark if one run, no run, or too few runs exist."""
    detail = units_text(runs, missing, draws)
    if runs == 0 or np.isnan(mean):
        return Entry("no run" if runs == 0 else "n/a", detail)
    if runs == 1:
        return Entry(f"{100 * mean:.2f}", f"one run of {1 + missing}" if missing else "one run")
    if np.isnan(sd):
        return Entry(f"{100 * mean:.2f} (SD n/a)", detail)
    # A bare 0 is exact: all runs are equal. A small SD that rounds to zero is written as 0.00.
    return Entry(f"{100 * mean:.2f} ± {'0' if sd == 0 else f'{100 * sd:.2f}'}", detail)


def with_interval(estimate: Estimate, scale: float, digits: int) -> Entry:
    """A number and, in smaller type, its interval; `n/a` if it is undefined."""
    if np.isnan(estimate.value):
        return Entry("n/a")
    # A bare 0 is exact, as above. A negative number that rounds to zero loses its sign.
    value, low, high = (
        "0" if number == 0 else f"{round(scale * number, digits) + 0.0:.{digits}f}" for number in estimate
    )
    return Entry(value) if np.isnan(estimate.low) else Entry(value, f"{low} to {high}")


def save_table(
    stem: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str | Entry]], notes: Sequence[str]
) -> None:
    """Write stem.md, stem.tex (booktabs) and stem.html (one file, no scripts) with the same words."""
    write_text(f"{stem}.md", _markdown(title, columns, rows, notes))
    write_text(f"{stem}.tex", _latex(title, columns, rows, notes))
    write_text(f"{stem}.html", _html(title, columns, rows, notes))


def _markdown(title: str, columns: Sequence[str], rows: Sequence, notes: Sequence[str]) -> str:
    def plain(text: object) -> str:
        """Escape a text for Markdown, where tags and entities are HTML, and the end of a line ends a row."""
        return " ".join(re.sub(r"&(?=#?\w+;)", "&amp;", str(text)).replace("<", "&lt;").split())

    rule = ["---" if entries_are_names else "--:" for entries_are_names in _names(rows, columns)]
    body = [columns, rule, *rows]
    lines = ["| " + " | ".join(plain(entry).replace("|", r"\|") for entry in row) + " |" for row in body]
    return "\n".join([f"**{plain(title)}**", "", *lines, "", *(f"* {plain(note)}" for note in notes)]) + "\n"


def _latex(title: str, columns: Sequence[str], rows: Sequence, notes: Sequence[str]) -> str:
    def entry(value: str | Entry) -> str:
        if not isinstance(value, Entry) or not value.detail:
            return _escaped(value if isinstance(value, str) else value.text)
        return rf"{_escaped(value.text)} {{\scriptsize ({_escaped(value.detail)})}}"

    layout = "".join("l" if names else "r" for names in _names(rows, columns))
    lines = [" & ".join(entry(value) for value in row) + r" \\" for row in rows]
    head = " & ".join(_escaped(name) for name in columns) + r" \\"
    return "\n".join(
        [
            r"% needs \usepackage{booktabs}",
            r"\begin{table}",
            r"\centering",
            rf"\caption{{{_escaped(title)}}}",
            rf"\begin{{tabular}}{{{layout}}}",
            *(r"\toprule", head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"),
            *(rf"\par\smallskip{{\footnotesize {_escaped(note)}}}" for note in notes),
            r"\end{table}",
            "",
        ]
    )


_LATEX = {sign: f"\\{sign}" for sign in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
    "—": "---",
    "†": r"$^{\dagger}$",
}


def _escaped(text: str) -> str:
    return text.translate(str.maketrans(_LATEX))


def _names(rows: Sequence, columns: Sequence[str]) -> list[bool]:
    """Whether each column holds names, which are left-aligned, rather than numbers."""
    return [all(not isinstance(row[index], Entry) for row in rows) for index in range(len(columns))]


_CSS = """
:root { color-scheme: light dark; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 80rem; margin: 2rem auto; padding: 0 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; border-block: 2px solid; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .6rem; }
th, td { padding: .4rem .9rem; text-align: left; white-space: nowrap; vertical-align: top; }
thead th { border-bottom: 1px solid; }
tbody th { font-weight: 500; white-space: normal; min-width: 4.5rem; }
tbody tr + tr { border-top: 1px solid color-mix(in srgb, currentColor 15%, transparent); }
.number { text-align: right; }
small { display: block; opacity: .7; }
footer { margin-top: .8rem; font-size: .85rem; opacity: .85; }
footer p { margin: .15rem 0; }
"""


def _html(title: str, columns: Sequence[str], rows: Sequence, notes: Sequence[str]) -> str:
    def entry(value: str | Entry) -> str:
        if not isinstance(value, Entry):
            return f'<th scope="row">{html.escape(value)}</th>'
        detail = f"<small>{html.escape(value.detail)}</small>" if value.detail else ""
        return f'<td class="number">{html.escape(value.text)}{detail}</td>'

    kinds = ["" if names else ' class="number"' for names in _names(rows, columns)]
    head = "".join(f'<th scope="col"{kind}>{html.escape(name)}</th>' for kind, name in zip(kinds, columns, strict=True))
    body = "\n".join("<tr>" + "".join(entry(value) for value in row) + "</tr>" for row in rows)
    foot = "\n".join(f"<p>{html.escape(note)}</p>" for note in notes)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{html.escape(title)}</title>
<style>{_CSS}</style>
</head>
<body>
<div class="wide">
<table>
<caption>{html.escape(title)}</caption>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table>
</div>
<footer>
{foot}
</footer>
</body>
</html>
"""
