"""What `toolnoise compare` prints: verdicts, the numbers of each comparison, and notes."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.printing import align_columns, counted, decimals_by_uncertainty, rounded_text
from toolnoise.comparison.arms import CLASSES, RIGHTS
from toolnoise.comparison.designs import UNTESTED, Compared
from toolnoise.formulas.outcomes import LOSSES, NUMBERS, OUTCOMES, VALUES
from toolnoise.stats.estimates import TOO_FEW, Estimate
from toolnoise.stats.significance import most_freedom

LEVEL = 0.05
PERCENT = 100
DECIMALS_WITHOUT_INTERVAL = {PERCENT: 2}  # decimals where no interval is known
# Columns: name, both arms, difference, its interval, and the unit of the interval.
Row = tuple[str, ...]
IN_MARKDOWN = str.maketrans({"|": r"\|"})
IN_LATEX = {sign: rf"\{sign}" for sign in "&%$#_{}"} | {"\\": r"\textbackslash{}", "~": r"\~{}", "^": r"\^{}"}
NO_NOISE = "without any noise, there is no test"
TESTS = {"paired": "paired t", "partly paired": "partly paired t", "independent": "Welch's t"}


class Words(NamedTuple):
    """The words for one kind of score: its name, JSON prefix and unit; its scale; and whether lower is better."""

    name: str
    key: str = ""
    unit: str = ""
    scale: float = 1
    lower: bool = True


ACCURACY = Words("accuracy", "accuracy_", " points", PERCENT, lower=False)
WORDS = {CLASSES: ACCURACY, RIGHTS: ACCURACY, VALUES: Words("mean absolute error"), LOSSES: Words("loss (nats)")}
# The keys that get this prefix in JSON.
SCORES = ("mean", "sd", "difference", "difference_over_examples", "difference_over_both", "sd_ratio")


class Block(NamedTuple):
    """The printed parts of a comparison: verdicts, table with heading, notes."""

    verdicts: Sequence[str]
    rows: Sequence[Row]
    notes: Sequence[str]


def laid_out(blocks: Sequence[Block]) -> str:
    """The printed text: all verdicts come first."""
    verdicts = [verdict for block in blocks for verdict in block.verdicts]
    return "\n\n".join(["\n".join(verdicts), *("\n".join([*align_columns(b.rows), "", *b.notes]) for b in blocks)])


def markdown(rows: Sequence[Row]) -> str:
    """A table in Markdown."""
    head, *lines = (" | ".join(cell.strip().translate(IN_MARKDOWN) for cell in row) for row in rows)
    return "\n".join(f"| {line} |" for line in (head, " | ".join(["---"] * len(rows[0])), *lines))


def latex(rows: Sequence[Row]) -> str:
    """A table in LaTeX, which needs no package."""
    head, *lines = (
        " & ".join(cell.strip().translate(str.maketrans(IN_LATEX)) for cell in row) + r" \\" for row in rows
    )
    begin, end = rf"\begin{{tabular}}{{{'l' * len(rows[0])}}}", r"\end{tabular}"
    return "\n".join([begin, r"\hline", head, r"\hline", *lines, r"\hline", end])


def as_json(comparisons: Sequence[Compared]) -> dict[str, Any]:
    """The comparison as plain values: accuracy, churn and flips are fractions, undefined values are None."""
    return records([(_record(each), over_what(each), _sentences(each)) for each in comparisons])


def records(found: Sequence[tuple[dict[str, Any], str, list[str]]]) -> dict[str, Any]:
    """Comparisons as plain values, with the unit of their intervals and their verdicts."""
    each = [record | {"over": over, "verdict": " ".join(said)} for record, over, said in found]
    return each[0] if len(each) == 1 else {"comparisons": each}


def _record(found: Compared) -> dict[str, Any]:
    record, prefix = as_plain_values(found), WORDS[found.kind].key
    for part in (record, record["a"], record["b"]):
        part |= {prefix + name: part.pop(name) for name in SCORES if name in part}
    return record


def blocks(comparisons: Sequence[Compared]) -> list[Block]:
    """The comparisons as printed."""
    return [_block(each, len(comparisons)) for each in comparisons]


def _block(found: Compared, tests: int) -> Block:
    a, b, words, by, examples = found.a, found.b, WORDS[found.kind], over_what(found), _examples(found)
    beats = f"{b.name} is lower" if words.lower else f"{b.name} beats {a.name}"
    rows = [
        mean_row(words.name + " %" * (words.scale == PERCENT), a.mean, b.mean, found.difference, by, words.scale),
        difference_row("  these runs", found.difference_over_examples, examples, words.scale),
        difference_row("  new runs and examples", found.difference_over_both, f"{by}, {examples}", words.scale),
        ("  in SDs", "", "", *estimate_cells(found.hedges_g, "{:+.2f}", by)),
        (f"  {beats}, % of pairs", "", "", *share_cells(found.probability_of_improvement, by)),
        ("  SD", *of_both((a.sd, b.sd), words.scale), *sd_ratio(found.sd_ratio, by)),
    ]
    rows += (_rows_of_numbers if words.lower else _rows_of_classes)(found, by, examples)
    about = [f"{arm.name}: {arm.file}, {runs_text(arm)}" for arm in (a, b)]
    about += [_units(found), *pairing_text(found), *found.notes]
    first, *says = _sentences(found)
    return block(found, tests, first, rows, [*says, *about])


def _rows_of_classes(found: Compared, by: str, examples: str) -> list[Row]:
    """The lines below accuracy."""
    a, b = found.a.name, found.b.name
    rows = [("  SD, same draw", *_of_arms(found, "accuracy_sd_same_draw"), "", "", "")]
    if found.cross_entropy_difference is not None:
        rows.append(_means_row("cross-entropy", found, "cross_entropy_mean", "cross_entropy_difference", by))
    if (exact := found.exact_match) is not None:
        of_exact = map(Estimate, (exact["a"], exact["b"]))
        rows.append(mean_row("all labels right %", *of_exact, exact["difference"], by, PERCENT))
        rows.append(difference_row("  these runs", exact["over_examples"], examples, PERCENT))
    rows += [
        _means_row("churn %", found, "churn", "churn_difference", by, PERCENT),
        (f"  {b} / {a}", "", "", *estimate_cells(found.churn_ratio, "x {:.2f}", by)),
        ("churn, same draw %", *_of_arms(found, "churn_same_draw"), "", "", ""),
    ]
    for name, of in ((f"{b} replaces {a} %", found.other_draws), (f"{b} replaces {a}, same draw %", found.same_draw)):
        rows += [
            (name, "", "", *share_cells(of["churn"], by)),
            ("  from wrong to right", "", "", *share_cells(of["good_flips"], by)),
            ("  from right to wrong", "", "", *share_cells(of["bad_flips"], by)),
        ]
    return rows


def _rows_of_numbers(found: Compared, by: str, examples: str) -> list[Row]:
    """The lines below errors or losses."""
    if found.kind == VALUES:
        rows = [_means_row("RMSE", found, "rmse", "rmse_difference", by)]
    else:
        rows = [
            (
                "perplexity",
                *_of_arms(found, "perplexity"),
                *estimate_cells(found.perplexity_ratio, "x {:.4f}", by),
            ),
            ("  these runs", "", "", *estimate_cells(found.perplexity_ratio_over_examples, "x {:.4f}", examples)),
        ]
    return [
        *rows,
        ("between runs", *_of_arms(found, "apart"), *estimate_cells(found.apart_other_draws, "{:.4g}", by)),
        ("between runs, same draw", "", "", *estimate_cells(found.apart_same_draw, "{:.4g}", by)),
    ]


def block(comparison: Compared, tests: int, first: str, rows: Sequence[Row], notes: Sequence[str]) -> Block:
    """The printed parts of one of several comparisons."""
    a, b = comparison.a.name, comparison.b.name
    heading = ("", a, b, f"{a} to {b}", "95 % CI", "over")
    holm = []
    if tests > 1 and not math.isnan(comparison.pvalue):
        by_holm = f"by Holm {comparison.pvalue_holm:.2g} ({tests} comparisons with {a})"
        holm = [f"p = {comparison.pvalue:.2g}, {by_holm}."]
    return Block([first], [heading, *with_numbers(rows)], [*notes, *holm])


def with_numbers(rows: Sequence[Row]) -> list[Row]:
    """The lines of a table that have a number."""
    return [row for row in rows if any(cell not in ("", "n/a") for cell in row[1:-1])]


def _examples(found: Compared) -> str:
    return counted(found.n_examples, (OUTCOMES | NUMBERS)[found.outcome].example)


def _units(found: Compared) -> str:
    """The number of examples, and the units counted in each."""
    unit = f"{(OUTCOMES | NUMBERS)[found.outcome].unit}s"
    if found.n_units == found.n_examples:
        return _examples(found)
    if WORDS[found.kind].lower:
        return f"{_examples(found)}, {found.n_units} {unit}"
    return f"{_examples(found)} of {found.units_each} {unit}; accuracy and churn count {unit}"


def pairing_text(comparison: Compared) -> list[str]:
    """The number of shared draws and the weight of their runs, in words."""
    both = f"{comparison.n_draws} draws{_of(comparison.same_draws)} are in both arms"
    if comparison.way == "paired":
        return [f"Paired: {both}."]
    if comparison.way != "partly paired":
        return []
    a, b = comparison.n_draws_each
    each = f"of {a} in {comparison.a.name} and {b} in {comparison.b.name}"
    return [f"Partly paired: {both}, {each}; all runs count.{weight_text(comparison.pair_weight)}"]


def weight_text(pair_weight: float) -> str:
    """Why the difference of partly paired arms is not the difference of their means, if pairs weigh more."""
    if not pair_weight:
        return ""
    pairs = round(100 * pair_weight)
    weighted = f"the mean difference of pairs by {pairs} % and that of all runs by {100 - pairs} %"
    return f" As runs of a pair are alike, the difference weighs {weighted}."


def _sentences(found: Compared) -> list[str]:
    """The verdict; without a test, the difference of these runs and why there is no test."""
    a, b, words = found.a.name, found.b.name, WORDS[found.kind]
    untested = found.way in UNTESTED
    difference = found.difference_over_examples if untested else found.difference
    size = f"{b} - {a} is {number_text(difference, words.scale, '+')}{words.unit}"
    if difference.low == difference.high == 0:
        return [f"Both have the same {words.name}."]
    if untested:
        ends = f" ({interval_text(difference, words.scale)}, 95 % over {_examples(found)})"
        here = f"{size} here{'' if math.isnan(difference.low) else ends}"
        return [f"No winner: {no_winner(found)}. {words.name[0].upper()}{words.name[1:]}: {here}."]
    if math.isnan(found.pvalue):
        return [f"{words.name}: {size}: {NO_NOISE}."]
    test = name_of_test(found.way, found.n_draws_each, found.n_draws, over_what(found).rpartition(" ")[2], "draws")
    share, ratio = found.probability_of_improvement.value, getattr(found, "perplexity_ratio", None)
    how = {"lower": words.lower, "unit": words.unit, "scale": words.scale, "ratio": ratio}
    says = verdict(found, words.name, difference, share, test, **how)
    both = found.difference_over_both
    if len(says) > 1 and not math.isnan(both.low):
        ends = other_way_round(both) if (difference.value < 0) != words.lower else both
        includes = ", which includes 0" if both.low <= 0 <= both.high else ""
        says[0] += f" Over new runs and new examples: {interval_text(ends, words.scale)}{includes}."
    return says


def verdict(
    found: Compared,
    name: str,
    difference: Estimate,
    share: float | None,
    test: str,
    *,
    lower: bool | None = False,
    unit: str = "",
    scale: float = 1,
    ratio: Estimate | None = None,
    these: str = "",
) -> list[str]:
    """Which arm is better, if any, as a paper prints it, and the share of pairs in which its run beats the other's.

    `lower` is None if the direction is unknown. `ratio` is the ratio of perplexities. `these` names the runs if the
    result holds for these runs alone and not for the methods.
    """
    winner, loser = found.b.name, found.a.name
    decided = found.pvalue_holm < LEVEL
    if decided and (difference.value < 0) != bool(lower):
        winner, loser, difference = loser, winner, other_way_round(difference)
        share = None if share is None else 1 - share
        ratio = ratio and Estimate(1 / ratio.value, 1 / ratio.high, 1 / ratio.low)
    size = f"{name} {number_text(difference, scale, '+')}{unit} (95 % CI {interval_text(difference, scale)}"
    times = "" if ratio is None else f", perplexity x {ratio.value:.4f}, {ratio.low:.4f} to {ratio.high:.4f}"
    holm = "" if found.pvalue_holm == found.pvalue else f", by Holm {_p_text(found.pvalue_holm)}"
    says = f"{size}{times}; {test}, p {_p_text(found.pvalue, '= ')}{holm})."
    if not decided:
        after = " after Holm's correction" if found.pvalue < LEVEL else ""
        return [f"No significant difference between {winner} and {loser}{these}{after}: {says}"]
    way, beats = ("higher", "is above") if lower is None else ("better", "beats")
    if share is None:
        return [f"{winner} is {way} than {loser}{these}: {says}"]
    if lower is None:
        says += " Which way is better is not known: lower or higher says it."
    percent = f"{PERCENT * share:.0f}" if share <= 0.995 else "over 99"
    pairs = f"A run of {winner} {beats} one of {loser} in {percent} % of pairs."
    return [f"{winner} is {way} than {loser}: {says}", pairs if share < 1 else _every(found, winner, beats, loser)]


def _every(found: Compared, winner: str, beats: str, loser: str) -> str:
    """The sentence that every pair (of runs, or of means) agrees; pairs with one seed are not compared."""
    each_own = all(_draws(arm) == arm.n_runs for arm in (found.a, found.b))
    pairs_are = getattr(found, "pairs_are", "draws")
    one = "run" if each_own else "session's mean" if pairs_are == "sessions" else "draw"
    apart = "" if found.way == "independent" else f" of another {'pair' if pairs_are == 'runs' else pairs_are[:-1]}"
    return f"Every {one} of {winner} {beats} every {one} of {loser}{apart}."


def _p_text(p: float, equals: str = "") -> str:
    """A p-value as papers print it, with enough digits to show on which side of the level it is."""
    digits = next(digits for digits in range(2, 18) if (float(f"{p:.{digits}g}") < LEVEL) == (p < LEVEL))
    return "< .001" if p < 0.001 else equals + f"{p:#.{digits}g}".removeprefix("0").removesuffix(".0")


def name_of_test(way: str, units: tuple[int, int], shared: int, unit: str, paired: str) -> str:
    """The name of the test with its number of units; shared units may have their own name, such as seeds."""
    a, b = units
    most = most_freedom(a, b)
    if way == "paired":
        return f"{TESTS[way]} over {shared} {paired}"
    limit = f" with at most {most:g} degrees of freedom" if way == "independent" and most < math.inf else ""
    both = f", {shared} {paired} in both" if way == "partly paired" else ""
    return f"{TESTS[way]}{limit} over {a} and {b} {unit}{both}"


def no_winner(found: Compared, unit: str = "draws") -> str:
    """Why there is no test, with the number of draws or of another unit."""
    arms = (found.a, found.b)
    if found.way == "same runs":
        return f"{counted(found.n_in_both, 'run')} {'is' if found.n_in_both == 1 else 'are'} in both arms"
    if found.way == "no sessions":
        return "the sessions of the runs are not known"
    if found.way in ("two draws", "two runs"):
        few = [arm for arm in arms if _draws(arm) == 2]
        unit = "runs" if unit == "draws" and all(arm.n_runs == 2 for arm in few) else unit
        return f"{' and '.join(f'two {unit} of {arm.name}' for arm in few)} cannot decide: make a third"
    if unit == "sessions":
        in_one = [arm.name for arm in arms if _draws(arm) == 1]
        apart = "all runs are of one session" if found.n_pairs else "the arms ran in different sessions"
        return f"{in_one[0]} ran in one session" if len(in_one) == 1 else apart
    single = " and ".join(_one_draw(arm) for arm in arms if _draws(arm) == 1)
    if shared := getattr(found, "same_draws", None):  # tables and logs record no draws but seeds
        single = f"all runs share one draw{_of(shared)}"
    reason = single or f"shared draws tie the runs of {arms[0].name} and {arms[1].name} together"
    return f"{reason}, and luck cannot be ruled out"


def _draws(arm: Compared) -> int:
    """The number of an arm's draws, sessions, or runs that are draws of their own."""
    found = vars(arm)
    return found.get("n_draws") or found.get("n_sessions") or arm.n_runs


def _one_draw(arm: Compared) -> str:
    if arm.n_runs == 1:
        return f"{arm.name} is one run"
    if not arm.one_draw_of:
        return f"the {arm.n_runs} runs of {arm.name} are one draw"
    return f"the {arm.n_runs} runs of {arm.name} share one draw{_of(arm.one_draw_of)}"


def counted_once(name: str, contents: Sequence[Hashable], alike: str) -> list[str]:
    """The sentence on equal runs in an arm, if there are any."""
    runs, different = len(contents), len(set(contents))
    if different == runs:
        return []
    some = f"Of the {runs} runs of {name}, {different} differ; runs that are {alike} count as one."
    return [f"The {runs} runs of {name} are {alike} and count as one." if different == 1 else some]


def over_what(comparison: Compared) -> str:
    """The unit of the intervals over draws."""
    if comparison.way == "paired":
        return f"{comparison.n_draws} paired draws"
    if comparison.way == "one draw":
        return ""
    return "runs" if all(arm.n_draws == arm.n_runs for arm in (comparison.a, comparison.b)) else "draws"


def runs_text(arm: Compared) -> str:
    """How many runs and draws an arm has."""
    missing = f" ({arm.n_missing} diverged)" if arm.n_missing else ""
    draws = "" if arm.n_draws == arm.n_runs else f" of {counted(arm.n_draws, 'draw')}"
    return f"{counted(arm.n_runs, 'run')}{draws}{missing}"


def _of(sources: Sequence[str]) -> str:
    *others, last = sources or [""]
    return f" of {', '.join(others)}{' and ' if others else ''}{last}" if last else ""


def _of_arms(found: Compared, name: str) -> list[str]:
    return of_both([getattr(arm, name) for arm in (found.a, found.b)], WORDS[found.kind].scale)


def of_both(arms: Sequence[Estimate], scale: float = 1) -> list[str]:
    """A quantity of both arms: in percent, or in its own unit."""
    form = "{:.2f}" if scale == PERCENT else "{:.4g}"
    return ["n/a" if math.isnan(of.value) else form.format(scale * of.value) for of in arms]


def _means_row(name: str, found: Compared, of_arm: str, difference: str, over: str, scale: float = 1) -> Row:
    a, b = (getattr(arm, of_arm) for arm in (found.a, found.b))
    return mean_row(name, a, b, getattr(found, difference), over, scale)


def decimals_of_line(scale: float, difference: Estimate, *means: Estimate) -> int | None:
    """The decimals for means and their difference: by the difference's interval, else by the narrowest mean's.

    Without any, numbers in percent have two.
    """
    own, *others = (decimals_by_uncertainty(scale * (each.high - each.low) / 2) for each in (difference, *means))
    if own is not None:
        return own
    known = [each for each in others if each is not None]
    return max(known, default=DECIMALS_WITHOUT_INTERVAL.get(scale))


def mean_row(name: str, a: Estimate, b: Estimate, difference: Estimate, over: str, scale: float = 1) -> Row:
    """A line of two means and their difference, which are rounded alike."""
    digits = decimals_of_line(scale, difference, a, b)
    return (
        name,
        *(rounded_text(scale * mean.value, digits) for mean in (a, b)),
        *_difference(difference, digits, over, scale),
    )


def difference_row(name: str, difference: Estimate, over: str, scale: float = 1) -> Row:
    """A line of a difference alone."""
    return (name, "", "", *_difference(difference, decimals_of_line(scale, difference), over, scale))


def _difference(difference: Estimate, digits: int | None, over: str, scale: float) -> Row:
    return _cells([rounded_text(scale * end, digits, "+") for end in difference], over)


def number_text(estimate: Estimate, scale: float = 1, sign: str = "-") -> str:
    """A value, rounded to its interval."""
    return rounded_text(scale * estimate.value, decimals_of_line(scale, estimate), sign)


def interval_text(estimate: Estimate, scale: float = 1) -> str:
    """The ends of an interval, rounded to its width."""
    low, high = (rounded_text(scale * end, decimals_of_line(scale, estimate)) for end in estimate[1:])
    return f"{low} to {high}"


def other_way_round(difference: Estimate) -> Estimate:
    """The difference with the arms swapped."""
    return Estimate(-difference.value, -difference.high, -difference.low)


def share_cells(estimate: Estimate, over: str) -> tuple[str, str, str]:
    """A share in percent, its interval, and the interval's unit."""
    return estimate_cells(Estimate(*(100 * number for number in estimate)), "{:.2f}", over)


def estimate_cells(estimate: Estimate, form: str, over: str) -> tuple[str, str, str]:
    """A value, its interval, and the interval's unit."""
    return _cells(["n/a" if math.isnan(number) else form.format(number) for number in estimate], over)


def _cells(estimate: Sequence[str], over: str) -> tuple[str, str, str]:
    value, low, high = estimate
    return (value, "n/a", "") if low == high == "n/a" else (value, f"{low} to {high}", over)


def sd_ratio(estimate: Estimate, over: str) -> tuple[str, str, str]:
    """A ratio of SDs, its interval and the interval's unit, or the reason for none."""
    value, interval, over = estimate_cells(estimate, "x {:.2f}", over)
    return value, TOO_FEW if interval == "n/a" != value else interval, over


def as_plain_values(value: object) -> Any:
    """A value for JSON: null if it is not finite."""
    if isinstance(value, Estimate):
        return dict(zip(("value", "ci_low", "ci_high"), map(as_plain_values, value), strict=True))
    if isinstance(value, Compared | dict):
        return {
            name: as_plain_values(part) for name, part in (value if isinstance(value, dict) else vars(value)).items()
        }
    if isinstance(value, list | tuple):
        return [as_plain_values(part) for part in value]
    return None if isinstance(value, float) and not np.isfinite(value) else value
