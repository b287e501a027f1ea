"""What a figure found, in a sentence: its title. Where the rows decide nothing, the title is the question.

A sentence says only what holds for every cell shown. An estimate stands with its 95 % interval, worded by `said`, and
two quantities are compared by their ratio, never by whether their intervals overlap.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from toolnoise.figures.style import variant_name
from toolnoise.stats.result import Result
from toolnoise.study.published import VARIANTS

# The variants in which all sources, or all of the algorithm, vary.
EVERY = (*VARIANTS["algo_impl"], *VARIANTS["algo"])
LEVEL = 0.05  # of a test
MOST = 3  # so many estimates are said one by one
# The ratios that the figure of batch normalisation shows, by metric.
NOISE = {"accuracy_sd": "SD of accuracy", "churn": "churn", "churn_normalised": "normalised churn"}


def number(value: float) -> str:
    """A number with two digits that count, or as many as stand before the point."""
    if value == 0:
        return "0"
    return f"{value:#.2g}" if abs(value) < 9.95 else f"{value:.0f}"


def ratio(value: float) -> str:
    """A ratio with two digits behind the point, by which 1.05 is not 1.0, or with two digits that count."""
    return f"{value:.2f}" if 0.0995 <= value < 9.95 else number(value)


def percent(value: float) -> str:
    """A share in per cent."""
    return number(100 * value)


def change(value: float) -> str:
    """A ratio as a change in per cent: 1.41 is +41."""
    return f"{100 * (value - 1):+#.2g}" if abs(value - 1) < 0.0995 else f"{100 * (value - 1):+.0f}"


def listed(parts: Sequence[str]) -> str:
    """Some things in a sentence: a, b and c."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def said(row: pd.Series, worded: Callable[[float], str], unit: str = "") -> str:
    """An estimate with its interval, such as 0.63 (0.47 to 0.83). Every estimate of a title is worded here."""
    value, low, high = row["value"], row["ci_low"], row["ci_high"]
    interval = f" ({worded(low)} to {worded(high)})" if low < high else ""
    return f"{worded(value)}{unit}{interval}" + (" (no interval)" if np.isnan(low) and value != 0 else "")


def each(rows: pd.DataFrame, worded: Callable[[float], str], unit: str = "") -> str:
    """Some estimates one by one, or, of many, the smallest and the largest."""
    if len(rows) <= MOST:
        return listed([said(row, worded, unit) for _, row in rows.iterrows()])
    ends = dict.fromkeys(worded(end) for end in (rows["value"].min(), rows["value"].max()))
    return f"{' to '.join(ends)}{unit}"


def share(rows: pd.DataFrame) -> str:
    """How many answers differ: some shares in per cent."""
    return "no answers" if rows["value"].max() == 0 else f"{each(rows, percent, ' %')} of answers"


def decided(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios whose interval leaves 1 out."""
    return ratios[(ratios["ci_low"] > 1) | (ratios["ci_high"] < 1)]


def times(ratios: pd.DataFrame, than: str) -> str:
    """Some ratios to `than`, one by one, or how many of them are below and above 1."""
    if len(ratios) <= MOST:
        return f"{each(ratios, ratio)} times {than}"
    firm = decided(ratios)["value"]
    counts = f"less than {than} in {(firm < 1).sum()} of {len(ratios)} tasks, more in {(firm > 1).sum()}"
    return counts + (f", undecided in {len(ratios) - len(firm)}" if len(firm) < len(ratios) else "")


def _churn(rows: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Churn under the first of these variants that has any; under the authors' own ALGO where there is no other."""
    churn = rows[(rows["metric"] == "churn") & rows["value"].notna()]
    names = (name for variant in variants for name in VARIANTS.get(variant, (variant,)))
    return next((found for name in names if len(found := churn[churn["variant"] == name])), churn[:0])


def of_noise(rows: pd.DataFrame, ratios: pd.DataFrame, emulated: bool = False) -> str:
    """How many answers the implementation changes alone, and how many times the churn of all sources that is."""
    alone, whole = _churn(rows, "impl"), _churn(rows, "algo_impl", "algo")
    if alone.empty and whole.empty:
        fixed = _churn(rows, "control")["value"]
        if len(fixed) and fixed.max() == 0:
            return "With every source fixed, runs give the same answers"
        return "How far do runs of one training end apart?"
    if alone.empty:
        return f"Two runs of one training differ in {share(whole)}"
    found = f"{'Emulated implementation noise' if emulated else 'The implementation'} alone changes {share(alone)}"
    if whole.empty:
        return found
    every = "all sources" if whole["variant"].iloc[0] in VARIANTS["algo_impl"] else "a new seed"
    over = _churn(ratios[ratios["over_variant"] == whole["variant"].iloc[0]], "impl")
    if alone["value"].max() == 0 or over["ci_low"].isna().all():
        return f"{found}, {every} {share(whole).removesuffix(' of answers')}"
    return f"{found}: {times(over, f'the churn of {every}')}"


def of_batch_norm(ratios: pd.DataFrame, accuracies: Sequence[Result]) -> str:
    """By how much batch normalisation changes noise where all sources vary, with the change of accuracy of each pair.

    `ratios` are those of M-bn over M, in the order of the variants shown. The title says one variant, chosen before
    any is seen: the one of many intervals that leaves 1 out would be the luck of the others.
    """
    ratios = ratios[ratios["metric"].isin(NOISE) & ratios["value"].notna()]
    if ratios.empty:
        return "Does batch normalisation make runs more alike?"
    variants = list(dict.fromkeys(ratios["variant"]))
    first = next((name for name in EVERY if name in variants), variants[0])
    main = ratios[ratios["variant"] == first]
    by_name = {name: main[main["metric"] == metric] for metric, name in NOISE.items() if metric in set(main["metric"])}
    under = f", under {variant_name(first)}"
    if main["metric"].value_counts().max() > 1:
        changes = f"{'; '.join(_counted(*part) for part in by_name.items())}{under}"
    else:
        found = listed([f"{each(rows, ratio)} times the {name}" for name, rows in by_name.items()])
        shown = "" if len(decided(main)) else ": no change is shown"
        changes = f"runs have {found} of those without{under}{shown}"
    return f"With batch normalisation {'; '.join(filter(None, [_accuracy(accuracies), changes]))}"


def _counted(name: str, rows: pd.DataFrame) -> str:
    """In how many pairs of models a measure falls and rises."""
    firm = decided(rows)["value"]
    return f"{name} falls in {(firm < 1).sum()} of {len(rows)} pairs and rises in {(firm > 1).sum()}"


def _accuracy(changes: Sequence[Result]) -> str:
    """By how many points accuracy changes, where it does."""
    firm = [found.effect for found in changes if found.pvalue < LEVEL]
    higher = sum(effect.value > 0 for effect in firm)
    if len(changes) > 1 and firm:
        return f"accuracy rises in {higher} of {len(changes)} pairs of models and falls in {len(firm) - higher}"
    if not firm:
        return ""
    ends = firm[0] if higher else (-firm[0].value, -firm[0].high, -firm[0].low)
    row = pd.Series(dict(zip(("value", "ci_low", "ci_high"), ends, strict=True)))
    return f"accuracy {'rises' if higher else 'falls'} by {said(row, percent)} points"


def of_classes(ranges: pd.DataFrame, judged: pd.DataFrame) -> str:
    """Between which shares the most variable class is right, and all are, and how its variant's classes are `judged`.

    `ranges` has the lowest and highest accuracy over runs of all and of each class (`classes.ranges`).
    """
    if ranges.empty:
        still = len(judged) and judged["value"].max() == 0
        return "No class varies from run to run" if still else "Are classes noisier than independent errors explain?"
    single, every = ranges[ranges["group"] != "all"], ranges[ranges["group"] == "all"]
    widest = single.loc[[(single["high"] - single["low"]).idxmax()]]
    (name, runs, variant), *_ = widest[["name", "runs", "variant"]].to_numpy()
    count = int(judged["above"].sum())
    above = f"{count} of {len(judged)} classes vary" if count else "No class is shown to vary"
    unlike = listed([f"{names} {_is(names)} {word}" for word, names in unlike_all(judged).items()])
    given = f"{'their' if ' and ' in unlike else 'its'} errors"
    last = f"{unlike} than all classes together, given {given}" if unlike else "none is shown to be unlike the others"
    return (
        f"Accuracy on class {name} runs from {_between(widest)}, on all classes from {_between(every)} ({runs} runs, "
        f"{variant_name(variant)}). {above} more than independent errors would; {last}"
    )


def _between(rows: pd.DataFrame) -> str:
    return f"{100 * rows['low'].item():.1f} to {100 * rows['high'].item():.1f} %"


def _is(names: str) -> str:
    return "are" if " and " in names else "is"


def unlike_all(judged: pd.DataFrame) -> dict[str, str]:
    """The names of the classes that are noisier, for their errors, than all classes together, and of the steadier."""
    words = {word: judged[judged["unlike"] == word]["name"] for word in ("noisier", "steadier")}
    return {word: listed(list(names)) for word, names in words.items() if len(names)}


def of_groups(judged: pd.DataFrame) -> str:
    """Which sub-groups are noisier or steadier than their size explains, in which rate and under which sources.

    `judged` has a row per ratio: its `place`, the `name` of its rate, its range by size from `null_low` to `null_high`,
    and `unlike`, the word if it is outside after adjustment.
    """
    if judged.empty:
        return "Is a sub-group noisier than its size explains?"
    firm = judged[judged["unlike"] != ""]
    if firm.empty:
        return f"No sub-group is shown to be noisier or steadier than its size explains ({len(judged)} ratios)"
    found = firm.groupby(["place", "unlike", "name"], sort=False)
    if found.ngroups > 2:
        words = {word: listed(list(dict.fromkeys(rows["place"]))) for word, rows in firm.groupby("unlike", sort=False)}
        return "; ".join(f"{names} {_is(names)} {word} than size explains" for word, names in words.items())
    return ". ".join(_of_group(*key, rows) for key, rows in found)


def _of_group(place: str, word: str, name: str, rows: pd.DataFrame) -> str:
    """The ratios of one rate of a sub-group, with the range that decides, which is not the interval of the ratio."""
    values = [f"{ratio(row.value)} ({variant_name(row.variant)})" for row in rows.itertuples()]
    by_size = [f"{ratio(low)} to {ratio(high)}" for low, high in zip(rows["null_low"], rows["null_high"], strict=True)]
    by_size = " and ".join(dict.fromkeys(by_size))
    return (
        f"{place} is {word} than its size explains: {name} is {listed(values)} times that of all; size gives {by_size}"
    )


def _changes(ratios: pd.DataFrame) -> str:
    """Ratios of times as changes, each with its `name`; of many, those that are decided, and bounds of the rest."""
    runs = " to ".join(dict.fromkeys(str(end) for end in (ratios["n_runs"].min(), ratios["n_runs"].max())))
    if len(ratios) <= MOST:
        names = [f" for {name}" if len(ratios) > 1 else "" for name in ratios["name"]]
        parts = [said(row, change, " %") + name for (_, row), name in zip(ratios.iterrows(), names, strict=True)]
        return f"{listed(parts)}, n = {runs}"
    firm = decided(ratios)
    rest = ratios.drop(firm.index)
    parts = [f"{each(firm, change, ' %')} in {len(firm)} of {len(ratios)} cases"] if len(firm) else []
    if len(rest):
        bounds = f"{change(rest['ci_low'].min())} and {change(rest['ci_high'].max())} %"
        parts.append(f"a number between {bounds} in {'the others' if parts else f'all {len(rest)} cases'}")
    return f"{', by '.join(parts)}, n = {runs}"


def of_cost(rows: pd.DataFrame) -> str:
    """By how much determinism changes the time of a step, by the clock, and in kernels where that is known."""
    rows = rows[rows["ci_low"].notna()]
    clock, kernels = (rows[rows["metric"] == name] for name in ("wall_ratio", "kernel_ratio"))
    if clock.empty:
        return "What does determinism cost?"
    found = f"Determinism changes the time of a step by {_changes(clock)}"
    return f"{found}; that in kernels by {_changes(kernels)}" if len(decided(kernels)) else found


def of_kernels(ratios: pd.DataFrame, appeared: Mapping[str, float]) -> str:
    """By how much determinism changes the time in kernels, and which kernels appear with it, each with its seconds."""
    if ratios["ci_low"].isna().all():
        return "Which kernels take the time of a step?"
    found = f"eterminism changes the time in kernels by {_changes(ratios)}"
    if decided(ratios).empty or not appeared:
        return f"D{found}"
    named = listed([f"{name} ({number(1e3 * seconds)} ms)" for name, seconds in appeared.items()])
    return f"{named} appear{'s' if len(appeared) == 1 else ''}: d{found}"


def of_control(fixed: pd.DataFrame, varying: pd.DataFrame, cost: pd.DataFrame) -> str:
    """How many per cent of churn determinism removes, with the seeds fixed or varying, and how it changes the time."""
    rows = fixed if len(fixed) else varying
    if rows.empty:
        return "What does determinism cost, and what does it remove?"
    seeds = "fixed" if len(fixed) else "varying"
    removed = f"determinism removes {each(rows, number, ' %')} of the churn of all sources"
    return f"With {seeds} seeds {removed} and changes the time of a step by {_changes(cost)}"


def of_pairs(within: pd.DataFrame, across: pd.DataFrame, what: str) -> str:
    """How many answers change with the tooling or framework alone, and how many with a new seed."""
    same, seeds = _churn(across, "algo", "control"), _churn(within, "algo", "algo_impl")
    if same.empty:
        return f"How far does the same run differ between {what}s?"
    found = f"The {what} alone changes {share(same)}"
    return found if seeds.empty else f"{found}, a new seed {share(seeds).removesuffix(' of answers')}"


def of_order(rows: pd.DataFrame, full: pd.Series) -> str:
    """How many answers the order of the data changes; with the full set in one batch, rounding is all that is left."""
    ordered, rounded = _churn(rows[~full], "shuffle"), _churn(rows[full], "shuffle")
    if ordered.empty and rounded.empty:
        return "How many answers does the order of the data change?"
    if rounded.empty:
        return f"The order of the data changes {share(ordered)}"
    found = f"ith the full set in one batch, rounding alone changes {share(rounded)}"
    return f"W{found}" if ordered.empty else f"The order of the data changes {share(ordered)}; w{found}"


def of_parts(rows: pd.DataFrame) -> str:
    """How much of the churn between two frameworks is inference's and how much is training's."""
    rows = rows[rows["value"].notna()]
    # As in the figure `frameworks`.
    rows = rows[rows["source"] == "algo"] if "algo" in set(rows["source"]) else rows
    inference, training = rows[rows["variant"].str.startswith("inference")], rows[rows["variant"] == "training"]
    if inference.empty or training.empty:
        return "Do frameworks part in inference or in training?"
    most = percent(inference["ci_high"].max())
    bound = f" (intervals up to {most} %)" if inference["value"].max() == 0 and inference["ci_high"].max() > 0 else ""
    return f"Inference alone changes {share(inference)}{bound}, training {share(training).removesuffix(' of answers')}"


def of_ensembles(rows: pd.DataFrame) -> str:
    """How many answers differ between single runs, and between averages of as many as have an interval."""
    churn = _churn(rows, "algo_impl", "algo", "impl")
    churn = churn[churn["ci_low"].notna()]
    most = int(churn.groupby(["model", "dataset", "hardware"])["members"].max().min()) if len(churn) else 1
    if most == 1:
        return "How much noise is left after averaging the logits of k runs?"
    single, several = (share(churn[churn["members"] == size]) for size in (1, most))
    return f"Single runs differ in {single}, averages of {most} in {several.removesuffix(' of answers')}"


def of_layers(rows: pd.DataFrame) -> str:
    """In which layer and under which variant runs are least alike."""
    alike = rows[(rows["metric"] == "cka") & rows["value"].notna()]
    if alike.empty:
        return "In which layers do runs represent the same examples differently?"
    least = alike.loc[alike["value"].idxmin()]
    if least["value"] == 1:
        return "Runs represent the examples equally in every layer"
    return f"Runs are least alike in {least['place']} under {variant_name(least['variant'])}: CKA {said(least, number)}"


def of_bit(moved: pd.DataFrame) -> str:
    """How many answers one changed bit changes, by the `epoch` after which it is changed: the first and the last."""
    churn = moved[(moved["metric"] == "churn") & moved["value"].notna()]
    if churn.empty:
        return "What does one changed bit do?"
    ends = {epoch: share(churn[churn["epoch"] == epoch]) for epoch in sorted(set(churn["epoch"]))}
    (first, early), *_, (last, late) = [*ends.items()] * 2
    when = f"after {first} epochs" if first else "at the start"
    found = f"One bit changed {when} changes {early}"
    return found if first == last else f"{found}; changed after {last} epochs, {late}"


def of_growth(rows: pd.DataFrame) -> str:
    """How far runs from one start are apart after the first recorded step, and after the last."""
    apart = rows[(rows["metric"] == "l2_unit") & (rows["step"] > 0) & (rows["value"] > 0)]
    if apart.empty:
        return "How do differences from equal starts grow?"
    first, last = apart["step"].min(), apart["step"].max()
    near, far = (number(apart[apart["step"] == step]["value"].median()) for step in (first, last))
    lines = len(apart.drop_duplicates(["hardware", "variant"]))
    ends = f"{near} apart after step {first} and {far} after {last}"
    return f"From equal starts, weights are {ends} (medians of {lines} lines)"


def of_atlas(factors: pd.DataFrame, whole: str) -> str:
    """How many answers two toolings change, beside a new seed; `whole` is the row of all pairs of toolings."""
    rows = factors[(factors["metric"] == "churn_to_seeds") & (factors["factor"] == whole) & factors["value"].notna()]
    if rows.empty:
        return "Which part of the tooling matters?"
    pairs, found = rows["pairs"].iloc[0], said(rows.iloc[0], ratio)
    return f"Churn between two toolings, mean of {pairs} pairs, is {found} times the churn between two seeds"


def of_rarity(rows: pd.DataFrame, nulls: Iterable[str]) -> str:
    """In how many cells the SD of the group lies in the range that each null gives it."""
    cell = ["model", "dataset", "hardware", "variant"]
    found = rows[rows["quantity"] == "sd"].set_index(cell)["value"].dropna()
    parts = []
    for null in nulls:
        ranges = rows[rows["quantity"] == f"sd by {null}"].set_index(cell)[["ci_low", "ci_high"]].dropna()
        both = ranges.join(found, how="inner")
        if len(both):
            inside = int(both["value"].between(both["ci_low"], both["ci_high"]).sum())
            parts.append(f"from {null} at {inside} of {len(both)} points")
    return (
        f"The group's SD is in the 95 % range expected {', '.join(parts)}"
        if parts
        else "Is a rare group noisier, or only smaller?"
    )


def of_claims(supported: int, refuted: int, untold: int, every: int) -> str:
    """How many of all claims a study supports, refutes and leaves open, and how many it has no runs for."""
    judged = supported + refuted + untold
    if not judged:
        return "Which claims hold?"
    rest = f", {every - judged} were not run" if judged < every else ""
    found = f"This study supports {supported or 'none'} of {every} claims and refutes {refuted or 'none'}"
    return f"{found}; {untold or 'none'} cannot be told{rest}"
