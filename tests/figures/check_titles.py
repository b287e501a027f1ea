"""Whether the titles of a study's figures are true of its metric files; it imports nothing of the package.

    python tests/figures/check_titles.py results/demo

Each sentence that a title may be has its own check here, from the columns of the CSV files alone. A title that no check
knows is a fault, too.
"""

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import stats

EVERY, SEEDS, ALONE = ["algo_impl"], ["algo"], ["impl"]
UNKNOWN = "no check knows this sentence"
SHARE = r"(no|(?:up to )?[\d.]+ % of) (?:answers|next tokens)"


class Metrics:
    """The metric files of a study, cut to what a figure shows by its name."""

    def __init__(self, folder: Path, figure: str) -> None:
        self.folder, self.figure = folder, figure

    def rows(self, name: str, metric: str) -> pd.DataFrame:
        """The rows of one metric over all examples, on the figure's tooling and task if its name has them."""
        path = self.folder / f"{name}.csv"
        if not path.exists():
            return pd.DataFrame(columns=["variant", "hardware", "model", "dataset", "value", "ci_low", "ci_high"])
        table = pd.read_csv(path, comment="#")
        table = table[table["metric"] == metric]
        return self.shown(table[table["group"] == "all"] if "group" in table else table)

    def shown(self, table: pd.DataFrame) -> pd.DataFrame:
        """The rows on the tooling, and of the task, that the figure's name has."""
        named = [name for name in table["hardware"].unique() if f"-{name}" in self.figure] if len(table) else []
        if named:
            table = table[table["hardware"] == max(named, key=len)]
        if self.figure.startswith("language"):
            table = table[table["dataset"].isin(pd.read_csv(self.folder / "language.csv", comment="#")["dataset"])]
        if "dataset" in table:
            tasks = table["model"].str.cat(table["dataset"].fillna(""), "-")
            mine = [f"-{task}" in self.figure for task in tasks]
            table = table[mine] if any(mine) else table
        return table[table["value"].notna()]

    def churn(self, *variants: str, name: str = "stability") -> pd.DataFrame:
        """Churn under the first of these variants that has any."""
        table = self.rows(name, "churn")
        return next((mine for one in variants if len(mine := table[table["variant"] == one])), table[:0])


def says(shares: pd.Series, said: str) -> bool:
    """Whether "no", "5.0 % of" or "up to 5.0 % of" is true of some shares."""
    if said == "no":
        return len(shares) > 0 and shares.max() == 0
    number = float(re.search(r"[\d.]+", said)[0])
    return bool(np.isclose(100 * shares.max(), number, rtol=0.06)) and (
        said.startswith("up to") or np.ptp(100 * shares) < 0.06 * number
    )


def decides(ratios: pd.DataFrame) -> tuple[int, int, int]:
    """How many ratios lie below 1, above 1, and on neither side, by their intervals."""
    known = ratios[ratios["ci_low"].notna()]
    below, above = int((known["ci_high"] < 1).sum()), int((known["ci_low"] > 1).sum())
    return below, above, len(known) - below - above


def over(metrics: Metrics, every: str) -> tuple[int, int, int]:
    """What the ratios of IMPL's churn to that of all sources, or of a new seed, decide."""
    ratios = metrics.rows("ratios", "churn")
    variant = "algo_impl" if every == "all sources" else "algo"
    same = (ratios["model"] == ratios["over_model"]) & (ratios["over_variant"] == variant)
    return decides(ratios[same & (ratios["variant"] == "impl")])


def in_some(metrics: Metrics, word: str) -> bool:
    """Whether some ratios lie on that side of 1 and none on the other, whichever the other arm is."""
    arms = [over(metrics, every) for every in ("all sources", "a new seed")]
    below, above, neither = next(arm for arm in arms if sum(arm))
    firm, other = (below, above) if word == "fewer" else (above, below)
    return firm > 0 and other == 0 and neither > 0


def batch_norm(metrics: Metrics, said: str) -> bool:
    """What batch normalisation does to accuracy and churn, from the runs and from the ratios."""
    ratios = metrics.rows("ratios", "churn")
    ratios = ratios[ratios["model"] == ratios["over_model"] + "-bn"]
    first = next(name for name in ("algo_impl", "algo", *ratios["variant"]) if name in set(ratios["variant"]))
    below, above, neither = decides(ratios[ratios["variant"] == first])
    churn = {"lowers churn": below and not above + neither, "raises churn": above and not below + neither}
    means = (
        metrics.rows("stability", "accuracy_mean").query("variant == @first").set_index(["dataset", "model"])["value"]
    )
    tasks = set(zip(ratios["dataset"], ratios["over_model"], strict=True))
    changes = [means[dataset, f"{model}-bn"] - means[dataset, model] for dataset, model in tasks]
    accuracy = {"raises accuracy": min(changes) > 0, "lowers accuracy": max(changes) < 0}
    if said.startswith("No effect"):
        return not churn["lowers churn"] and not churn["raises churn"]
    return all((churn | accuracy)[part] for part in said.removeprefix("Batch normalisation ").split(" and "))


def holm(pvalues: np.ndarray) -> np.ndarray:
    """Holm's adjustment."""
    order = np.argsort(pvalues)
    raised = np.maximum.accumulate(pvalues[order] * np.arange(len(pvalues), 0, -1))
    adjusted = np.empty(len(pvalues))
    adjusted[order] = np.minimum(raised, 1)
    return adjusted


def classes(metrics: Metrics, said: str) -> bool:
    """How many classes vary more than independent errors would make them, where all sources vary."""
    table = metrics.shown(pd.read_csv(metrics.folder / "stability.csv", comment="#", dtype={"group": str}))
    if said == "No class varies from run to run":
        of_classes = table[(table["metric"] == "accuracy_sd") & table["group"].str.isdigit()]
        return of_classes["value"].max() == 0
    variant = next(name for name in ("algo_impl", "algo") if name in set(table["variant"]))
    table = table[table["variant"] == variant]
    wide = table.pivot_table(index="group", columns="metric", values="value")
    single = wide[wide.index.str.isdigit()]
    independent = single["accuracy_sd_ratio_difficulty_null"] * wide.loc["all", "accuracy_sd_independent_null"]
    free = table["n_runs"].iloc[0] - 1
    squares = (single["accuracy_sd"] / independent) ** 2
    above = int((holm(stats.chi2.sf(squares * free, free)) < 0.05).sum())
    count = re.match(r"(\d+) classes", said)
    named = {"Every": above == len(single), "No": above == 0, "Class": above == 1}
    return above == int(count[1]) if count else named[said.split()[0]]


def sub_groups(metrics: Metrics, said: str) -> bool:
    """Which sub-groups lie outside what size explains in most of their ratios."""
    table = metrics.shown(pd.read_csv(metrics.folder / "stability.csv", comment="#", dtype={"group": str}))
    outside: dict[str, list[str]] = {}
    for rate in ("accuracy", "fpr", "fnr"):
        keys = ["model", "dataset", "hardware", "variant", "group"]
        part = {
            name: table[table["metric"] == f"{rate}_sd_ratio{name}"].set_index(keys) for name in ("", "_null", "_holm")
        }
        for key, row in part[""].iterrows():
            null, pvalue = part["_null"].loc[key], part["_holm"]["value"].get(key, np.nan)
            firm = pvalue < 0.05 and not null["ci_low"] <= row["value"] <= null["ci_high"]
            word = "noisier" if row["value"] > null["value"] else "steadier"
            outside.setdefault(key[-1], []).append(word if firm else "")
    most = {
        (group, word) for group, words in outside.items() for word in set(words) if words.count(word) > len(words) / 2
    }
    most = {(group, word) for group, word in most if word}
    if said.startswith("In most rates"):
        return not most
    return any(said.startswith(f"{group} is {word}") for group, word in most) or said[0].isdigit()


def slower(metrics: Metrics, what: str, said: str) -> bool:
    """By how much determinism slows steps or kernels."""
    ratios = metrics.rows("overhead", "wall_ratio" if what.startswith("step") else "kernel_ratio")
    if "kernel-size" in metrics.figure:
        ratios = ratios[ratios["model"].str.contains(r"-k\d+$")]
    elif "networks" in metrics.figure:
        sized = ratios["model"].str.contains(r"-k\d+$")
        ratios = ratios[~sized] if (~sized).any() else ratios
    below, above, neither = decides(ratios)
    if said.startswith("No difference"):
        return below + above == 0 < neither
    if "of some networks" in said:
        return bool(neither) and bool(above if said.endswith("slower") else below)
    if said.endswith("faster"):
        return below > 0 == above + neither
    return above > 0 == below + neither and says(ratios["value"] - 1, said.split(what)[1].strip())


def ensembles(metrics: Metrics, said: str) -> bool:
    """How many answers differ between averages of as many runs as have an interval in every task."""
    churn = metrics.churn(*EVERY, *SEEDS, *ALONE, name="ensembles")
    churn = churn[churn["ci_low"].notna()]
    most = churn.groupby(["model", "dataset", "hardware"])["members"].max().min()
    return says(churn["value"][churn["members"] == most], said)


def inference(metrics: Metrics, said: str) -> bool:
    """How many answers the same networks change on another framework."""
    churn = metrics.rows("frameworks", "churn_inference")
    of_algo = churn[churn["variant"] == "algo"]
    return says((of_algo if len(of_algo) else churn)["value"], said)


def growth(metrics: Metrics, said: str) -> bool:
    """The median distance of weights after the last step, of what is apart."""
    apart = metrics.rows("growth", "l2_unit").query("step > 0 and value > 0")
    return bool(np.isclose(apart["value"][apart["step"] == apart["step"].max()].median(), float(said), rtol=0.06))


def least_alike(metrics: Metrics, layer: str, variant: str) -> bool:
    """The layer and the variant of the smallest CKA."""
    least = metrics.rows("layers", "cka").set_index(["layer", "variant"])["value"].idxmin()
    return least[0] == layer and least[1] in (variant, variant.lower().replace("+", "_"))


CHECKS = {
    rf"(?:The implementation|Emulated noise|IMPL) alone changes {SHARE}": lambda m, said: says(
        m.churn(*ALONE)["value"], said
    ),
    r"(?:The implementation|Emulated noise) alone changes (fewer|more) answers than (all sources|a new seed)": (
        lambda m, word, every: (
            over(m, every)[word == "more"] > 0 == sum(over(m, every)) - over(m, every)[word == "more"]
        )
    ),
    r"No difference seen between (?:the implementation|emulated noise) and (all sources|a new seed)": (
        lambda m, every: over(m, every)[:2] == (0, 0) != over(m, every)[1:]
    ),
    r"In some tasks, (?:the implementation|emulated noise) changes (fewer|more) answers": in_some,
    rf"Two runs differ in {SHARE}": lambda m, said: says(m.churn(*EVERY, *SEEDS)["value"], said),
    r"With every source fixed, runs give the same answers": lambda m: m.churn("control")["value"].max() == 0,
    r"((?:Batch normalisation|No effect of batch normalisation) .*)": batch_norm,
    r"((?:Every|No|\d+|Class \S+) class(?:es)?.* (?:vary|varies).*|Class \S+ varies .*)": classes,
    r"(.*(?:noisier|steadier) than size explains|In most rates, no sub-group .*)": sub_groups,
    # The full set in one batch, of which less is left to change, is not in this title.
    rf"The order of the data changes {SHARE}": lambda m, said: says(
        m.rows("stability", "churn").query("variant == 'shuffle'")["value"].nlargest(1), said
    ),
    rf"The tooling alone changes {SHARE}": lambda m, said: says(
        m.churn(*SEEDS, "control", name="cross_tooling")["value"], said
    ),
    rf"Averages of runs still differ in {SHARE}": ensembles,
    rf"Inference alone changes {SHARE}(?:; training does)?": inference,
    r"Weights that start equal end ([\d.e-]+) apart": growth,
    r"Runs are least alike in (.+) under (.+)": least_alike,
    r"Runs represent the examples equally in every layer": lambda m: set(m.rows("layers", "cka")["value"]) == {1},
    r"Determinism makes (steps|kernels) (.*)": lambda m, what, _: slower(m, what, m.title),
    r"No difference in (step|kernel) time seen": lambda m, what: slower(m, what, m.title),
}


def fault(metrics: Metrics, title: str) -> str:
    """Why a title is not true, or an empty text; a question claims nothing."""
    title = re.sub(r" \((partly )?synthetic\)$", "", title)
    metrics.title = title
    for pattern, check in CHECKS.items():
        if found := re.fullmatch(pattern, title):
            return "" if check(metrics, *found.groups()) else "not true of the metric files"
    return "" if title.endswith("?") else UNKNOWN


def main(results: Path) -> int:
    """Check every figure of a study's results."""
    drawings = sorted((results / "figures").glob("*.svg"))
    wrong = 0
    for drawing in drawings:
        title = re.search("<dc:description>([^\n<]*)", drawing.read_text())[1]
        why = fault(Metrics(results / "metrics", drawing.stem), title)
        wrong += bool(why)
        print(f"{'WRONG' if why else 'true'}  {drawing.stem}: {title}{f' ({why})' * bool(why)}")
    return 1 if wrong or not drawings else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
