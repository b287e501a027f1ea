"""What a figure found, in a sentence: its title. Where the rows decide nothing, the title is the question.

A sentence says only what holds for every cell shown: values of several tasks are given from the smallest to the
largest, and two values whose intervals overlap are not called different.
"""

from collections.abc import Iterable, Mapping

import pandas as pd

from toolnoise.figures.style import variant_name
from toolnoise.study.published import VARIANTS

# The variants in which all sources, or all of the algorithm, vary.
EVERY = (*VARIANTS["algo_impl"], *VARIANTS["algo"])


def number(value: float) -> str:
    """A number with two digits that count, or as many as stand before the point."""
    if value == 0:
        return "0"
    return f"{value:#.2g}" if abs(value) < 9.95 else f"{value:.0f}"


def span(values: Iterable[float]) -> str:
    """The smallest and the largest of some values, or the one value that they share."""
    ends = [number(end) for end in (min(values), max(values))]
    return " to ".join(dict.fromkeys(ends))


def share(values: pd.Series) -> str:
    """How many answers differ: some shares in per cent."""
    return "no answers" if values.max() == 0 else f"{span(100 * values)} % of answers"


def _churn(rows: pd.DataFrame, *variants: str) -> pd.DataFrame:
    """Churn under the first of these variants that has any; under the authors' own ALGO where there is no other."""
    churn = rows[(rows["metric"] == "churn") & rows["value"].notna()]
    names = (name for variant in variants for name in VARIANTS.get(variant, (variant,)))
    return next((found for name in names if len(found := churn[churn["variant"] == name])), churn[:0])


def _hedge(both: pd.DataFrame) -> str:
    """What keeps two values of each task, the second `_other`, from being called different: nothing if they are."""
    if both.empty:
        return " (in other tasks)"
    if both[["ci_low", "ci_high", "ci_low_other", "ci_high_other"]].isna().any(axis=None):
        return " (not all with an interval)"
    apart = (both["ci_high"] < both["ci_low_other"]) | (both["ci_low"] > both["ci_high_other"])
    if apart.all():
        return ""
    return f" (intervals overlap in {(~apart).sum()} of {len(apart)} tasks)" if apart.any() else " (intervals overlap)"


def of_noise(rows: pd.DataFrame) -> str:
    """How many answers the implementation changes alone, and how many all sources change."""
    alone, whole = _churn(rows, "impl"), _churn(rows, "algo_impl", "algo")
    if alone.empty and whole.empty:
        return "How far do runs of one training end apart?"
    if alone.empty:
        return f"Two runs of one training differ in {share(whole['value'])}"
    found = f"The implementation alone changes {share(alone['value'])}"
    if whole.empty:
        return found
    every = "all sources" if whole["variant"].iloc[0] in VARIANTS["algo_impl"] else "a new seed"
    both = alone.merge(whole, on=["model", "dataset", "hardware"], suffixes=("", "_other"))
    return f"{found}, {every} {share(whole['value']).removesuffix(' of answers')}{_hedge(both)}"


def of_batch_norm(without: pd.DataFrame, beside: pd.DataFrame) -> str:
    """How churn without batch normalisation compares with churn with it, of rows with equal places."""
    every = next((name for name in EVERY if name in set(without["variant"])), "")
    numbers, pairs = ["place", "value", "ci_low", "ci_high"], {}
    for source in (every, "impl"):
        both = _churn(without, source)[numbers].merge(
            _churn(beside, source)[numbers], on="place", suffixes=("", "_other")
        )
        if len(both):
            pairs[source] = both
    if not pairs:
        return "Does batch normalisation make runs more alike?"
    if max(map(len, pairs.values())) > 1:
        source, both = next(iter(pairs.items()))
        lower, higher = both["ci_high_other"] < both["ci_low"], both["ci_low_other"] > both["ci_high"]
        counts = f"less in {lower.sum()} of {len(both)} pairs of models, more in {higher.sum()}"
        return (
            f"With batch normalisation runs differ {counts} (under {variant_name(source)}; in others intervals overlap)"
        )
    parts = [_compared(both, variant_name(source)) for source, both in pairs.items()]
    return f"Churn without and with batch normalisation: {', '.join(parts)}"


def _compared(both: pd.DataFrame, name: str) -> str:
    before, after = (number(100 * both[value].item()) for value in ("value", "value_other"))
    return f"{before} and {after} % under {name}{_hedge(both)}"


def largest_classes(ratios: pd.DataFrame, nulls: pd.DataFrame) -> pd.DataFrame:
    """Each variant's class with the largest ratio to all classes, the range by size alone, and whether it is beyond."""
    defined = ratios[ratios["value"].notna()]
    found = defined.loc[defined.groupby("variant", sort=False)["value"].idxmax()]
    found = found.set_index("variant")[["group", "value"]].rename(columns={"value": "ratio"})
    found = found.join(nulls.set_index("variant")[["ci_low", "ci_high"]])
    return found.assign(beyond=found["ratio"] > found["ci_high"])


def of_classes(largest: pd.DataFrame) -> str:
    """Which variants have a class whose noise the size of classes does not explain."""
    if largest.empty or largest["ci_high"].isna().all():
        return "Is a class noisier than its size explains?"
    beyond = largest[largest["beyond"]]
    if beyond.empty:
        return "No class is shown to be noisier than its size explains"
    cases = [
        f"class {row['group']} under {variant_name(name)} ({number(row['ratio'])} times all; size explains "
        f"up to {number(row['ci_high'])})"
        for name, row in beyond.iterrows()
    ]
    return f"Noisier than size explains: {', '.join(cases)}"


def outside(ratios: pd.DataFrame, nulls: pd.DataFrame) -> pd.DataFrame:
    """The rows of ratios that lie outside the range of their null, of those whose null has one."""
    key = ["place", "metric", "variant"]
    both = ratios.merge(nulls[[*key, "ci_low", "ci_high"]], on=key, suffixes=("", "_null"))
    both = both[both["value"].notna() & both["ci_low_null"].notna()]
    return both.assign(outside=(both["value"] < both["ci_low_null"]) | (both["value"] > both["ci_high_null"]))


def of_groups(told: pd.DataFrame) -> str:
    """How many ratios of sub-groups their size does not explain."""
    if told.empty:
        return "Is a sub-group noisier than its size explains?"
    count = int(told["outside"].sum())
    if not count:
        return f"Size alone can explain the noise of every sub-group: {len(told)} of {len(told)} ratios"
    return f"{count} of {len(told)} ratios lie outside what the size of the sub-group explains; chance gives 1 in 20"


def of_cost(rows: pd.DataFrame) -> str:
    """By how much determinism changes the time of a step, by the clock or at least in kernels, where the runs tell."""
    rows = rows[rows["ci_low"].notna()]
    if rows.empty:
        return "What does determinism cost?"
    clock, kernels = (rows[rows["metric"] == name] for name in ("wall_ratio", "kernel_ratio"))
    if found := _times(clock):
        unknown = len(clock) - len(_told(clock))
        rest = f"; for {unknown} of {len(clock)} it cannot be told" if unknown else ""
        return f"With determinism a step takes {found}{rest}"
    if found := _times(kernels):
        return f"With determinism kernels take {found}; by the clock it cannot be told"
    return "What determinism costs cannot be told from these runs"


def _told(ratios: pd.DataFrame) -> pd.DataFrame:
    """The ratios that are known to be another number than 1."""
    return ratios[(ratios["ci_low"] > 1) | (ratios["ci_high"] < 1)]


def _times(ratios: pd.DataFrame) -> str:
    told = _told(ratios)
    return f"{span(told['value'])} times as long" if len(told) else ""


def of_control(fixed: pd.DataFrame, varying: pd.DataFrame) -> str:
    """How much of churn `y` determinism removes, with the seeds fixed or varying, and how many times `x` it takes."""
    if fixed.empty and varying.empty:
        return "What does determinism cost, and what does it remove?"
    rows = fixed if len(fixed) else varying
    times = rows[["x", "x_low", "x_high"]].set_axis(["value", "ci_low", "ci_high"], axis=1)
    cost = f"a step then takes {_times(times)}" if len(_told(times)) == len(times) else "the cost cannot be told"
    part = f"{span(rows['y'])} % of the churn of all sources"
    bare = " (not all with an interval)" if rows["y_low"].isna().any() else ""
    if fixed.empty:
        return f"With varying seeds determinism removes {part}{bare}; {cost}"
    return f"With fixed seeds determinism removes the churn of IMPL, {part}{bare}; {cost}"


def of_kernels(longest: Mapping[str, Iterable[float]]) -> str:
    """How much of a step the longest kernel takes in each mode."""
    parts = [f"{span([100 * share for share in shares])} % ({mode})" for mode, shares in longest.items()]
    return f"One kernel takes {' and '.join(parts)} of the time of a step"


def of_pairs(within: pd.DataFrame, across: pd.DataFrame, what: str) -> str:
    """How many answers change with the tooling or framework alone, and how many with a new seed."""
    same, seeds = _churn(across, "algo", "control"), _churn(within, "algo", "algo_impl")
    if same.empty:
        return f"How far does the same run differ between {what}s?"
    found = f"The {what} alone changes {share(same['value'])}"
    if seeds.empty:
        return found
    widest = {"ci_low": same["ci_low"].min(), "ci_high": same["ci_high"].max()}
    widest |= {"ci_low_other": seeds["ci_low"].min(), "ci_high_other": seeds["ci_high"].max()}
    return f"{found}, a new seed {share(seeds['value']).removesuffix(' of answers')}{_hedge(pd.DataFrame([widest]))}"


def of_order(rows: pd.DataFrame, full: pd.Series) -> str:
    """How many answers the order of the data changes; with the full set in one batch, rounding is all that is left."""
    ordered, rounded = _churn(rows[~full], "shuffle"), _churn(rows[full], "shuffle")
    if ordered.empty and rounded.empty:
        return "How many answers does the order of the data change?"
    if rounded.empty:
        return f"The order of the data changes {share(ordered['value'])}"
    found = f"ith the full set in one batch, rounding alone changes {share(rounded['value'])}"
    return f"W{found}" if ordered.empty else f"The order of the data changes {share(ordered['value'])}; w{found}"


def of_parts(rows: pd.DataFrame) -> str:
    """How much of the churn between two frameworks is inference's and how much is training's."""
    rows = rows[rows["value"].notna()]
    # As in the figure `frameworks`.
    rows = rows[rows["source"] == "algo"] if "algo" in set(rows["source"]) else rows
    inference = rows[rows["variant"].str.startswith("inference")]["value"]
    training = rows[rows["variant"] == "training"]["value"]
    if inference.empty or training.empty:
        return "Do frameworks part in inference or in training?"
    return f"Inference alone changes {share(inference)}, training {span(100 * training)} %"


def of_ensembles(rows: pd.DataFrame) -> str:
    """How many answers differ between single runs, and between averages of as many as there are in every cell."""
    churn = _churn(rows, "algo_impl", "algo", "impl")
    most = int(churn.groupby(["model", "dataset", "hardware"])["members"].max().min()) if len(churn) else 1
    if most == 1:
        return "How much noise is left after averaging the logits of k runs?"
    single, several = (churn[churn["members"] == size] for size in (1, most))
    bare = " (too few for an interval)" if several["ci_low"].isna().any() else ""
    return (
        f"Single runs differ in {share(single['value'])}, averages of {most} in {span(100 * several['value'])} %{bare}"
    )


def of_layers(rows: pd.DataFrame) -> str:
    """In which layer runs are least alike, and how much under each variant in which they differ there."""
    alike = rows[(rows["metric"] == "cka") & rows["value"].notna()]
    if alike.empty:
        return "In which layers do runs represent the same examples differently?"
    where = alike.sort_values("value", kind="stable")["place"].iloc[0]
    there = alike[(alike["place"] == where) & (alike["value"] < 1)]["value"]
    if there.empty:
        return "Runs represent the examples equally in every layer"
    return f"Runs are least alike in {where}: CKA {span(there)}"


def of_bit(moved: pd.DataFrame) -> str:
    """How many answers one changed bit changes, by the `epoch` after which it is changed: the first and the last."""
    churn = moved[(moved["metric"] == "churn") & moved["value"].notna()]
    if churn.empty:
        return "What does one changed bit do?"
    ends = {epoch: share(churn[churn["epoch"] == epoch]["value"]) for epoch in sorted(set(churn["epoch"]))}
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
    return f"From equal starts, weights are {near} apart after step {first} and {far} after {last} (medians of lines)"


def of_atlas(factors: pd.DataFrame, whole: str) -> str:
    """How many answers two toolings change, beside a new seed; `whole` is the row of all pairs of toolings."""
    rows = factors[(factors["metric"] == "churn_to_seeds") & (factors["factor"] == whole) & factors["value"].notna()]
    if rows.empty:
        return "Which part of the tooling matters?"
    value, low, high = (number(rows[name].iloc[0]) for name in ("value", "ci_low", "ci_high"))
    return f"Churn between two toolings is {value} ({low} to {high}) times the churn between two seeds"


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
            parts.append(f"{null} at {inside} of {len(both)} points")
    return (
        f"The group's SD is what follows from {', from '.join(parts)}"
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
