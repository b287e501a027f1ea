"""Verdicts on claims: on the numbers that the papers published, and on a study's own metric files."""

import collections
import itertools
import re
from pathlib import Path
from types import MappingProxyType

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from toolnoise.base.metric_files import ESTIMATE
from toolnoise.base.noise_sources import DRAWN
from toolnoise.checks import parameters
from toolnoise.datasets.label_tables import COUNTS
from toolnoise.formulas import declared
from toolnoise.formulas.per_run import RUNS
from toolnoise.formulas.stability import STABILITY
from toolnoise.papers.claims import effects, judging
from toolnoise.papers.claims.arms import FROM_ONE, Subject, of_study
from toolnoise.papers.claims.judging import CERTAIN, CLAIMS, OPEN, REFUTED, SUPPORTED
from toolnoise.papers.remedies import REMEDIES
from toolnoise.study import config, figure_files, grid, job_code
from toolnoise.study.cells import Whole
from toolnoise.study.expected import METRICS

JUDGED = {kind: METRICS[kind].columns for kind in job_code.JUDGED}


def table_of(claims, side):
    """The verdicts on some claims as a table."""
    return pd.DataFrame(judging.rows_of_verdicts(claims, side), columns=list(CLAIMS))


# Verdicts on the numbers that the papers published


CLAIMED = [{"name": name, **claim} for name, claim in config.registry_entries("claims").items()]
BY_NAME = {claim["name"]: claim for claim in CLAIMED}


@pytest.fixture(scope="module")
def published_verdicts():
    return table_of(CLAIMED, judging.by_publication())


@pytest.fixture(scope="module")
def published(published_verdicts):
    return published_verdicts[published_verdicts["part"] == "all"].set_index("claim")


def test_every_claim_is_one_of_three_papers_and_says_where_it_is_made():
    papers = collections.Counter(claim["paper"] for claim in CLAIMED)
    assert set(papers) == {"Zhuang et al.", "Summers & Dinneen", "Pham et al."}
    assert papers["Zhuang et al."] > 40
    places = [claim["source"] for claim in CLAIMED]
    assert [place for place in places if not re.match(r"sections? [1-4]|abstract|mitigation table", place)] == []
    assert max(len(claim["says"]) for claim in CLAIMED) <= 65, "a line of the figure"


def test_of_table_2s_twenty_comparisons_five_are_below_five_percent_and_two_remain_after_holm():
    about = BY_NAME["small-cnn-sd"] | {"of": {"variant": ["algo", "impl"]}, "over": {"variant": "algo_impl"}}
    about |= {"where": {}, "parts": "any"}
    parts = table_of([about], judging.by_publication()).iloc[1:]
    assert len(parts) == 20
    parts = parts.assign(either=parts[["pvalue", "against"]].min(axis=1))
    below = parts[parts["either"] < 0.05].set_index("part")
    assert below["either"].round(3).to_dict() == {
        "smallcnn/cifar10/p100: algo over algo_impl": 0.047,
        "smallcnn/cifar10/p100: impl over algo_impl": 0.007,
        "smallcnn/cifar10/rtx5000: impl over algo_impl": 0.0,
        "smallcnn/cifar10/v100: impl over algo_impl": 0.004,
        "resnet18/cifar10/v100: algo over algo_impl": 0.001,
    }
    assert list(parts[parts["verdict"] == REFUTED]["part"]) == [
        "smallcnn/cifar10/rtx5000: impl over algo_impl",
        "resnet18/cifar10/v100: algo over algo_impl",
    ]
    assert SUPPORTED not in set(parts["verdict"])


@pytest.mark.parametrize(
    ("of", "over", "model", "ratio"),
    [
        ("impl", "algo_impl", "smallcnn", 0.32),
        ("impl", "algo", "resnet18", 1.14),
    ],
)
def test_table_2_pooled_over_gpus(of, over, model, ratio):
    sides = {"of": {"variant": of}, "over": {"variant": over}, "where": {"model": model}}
    claim = BY_NAME["small-cnn-sd"] | sides | {"parts": "pooled"}
    found, parts = effects.examine_claim(claim, judging.by_publication())
    assert len(parts) == {"smallcnn": 3, "resnet18": 6}[model]
    assert found.effect.value == pytest.approx(ratio, abs=0.005)
    # The exact error of log s instead of its approximation: 5 % wider than 1 / sqrt(2 (n - 1)) at ten runs.
    half = 1.96 * np.sqrt(2 / 18 / len(parts))
    assert np.log(found.effect.high / found.effect.value) == pytest.approx(half * 1.057, rel=0.01)


def test_what_the_papers_numbers_can_and_cannot_show(published):
    shown = {
        "mean-accuracy": OPEN,
        "small-sd": OPEN,
        "sd-without-impl": OPEN,
        "sd-without-algo": OPEN,
        "impl-noise": SUPPORTED,
        "resnet50-churn": OPEN,
        "algo-above-impl-churn": OPEN,
        "algo-above-impl-l2": "not published",
        "batch-norm-sd": SUPPORTED,
        "architecture-over-data": SUPPORTED,
        "class-sd-cifar10": OPEN,
        "class-sd-cifar100": OPEN,
        "groups-above-all": OPEN,
        "kernels-cost-at-most": OPEN,
        "churn-by-cores": "not published",
        "sources-alike-correlation": OPEN,
        "sources-alike-ensembles": OPEN,
        "sources-alike-cka": "not published",
        "one-bit-logits": OPEN,
        "one-bit-weights": "not published",
        "snapshots-variability": OPEN,
        "snapshots-augmented": OPEN,
        "every-library": "not published",
        "men-fnr": SUPPORTED,
        "men-fnr-beyond-size": OPEN,
        "old-accuracy": SUPPORTED,
        "rarity": SUPPORTED,
        "v100-churn": "not published",
        "snapshots-cross-entropy": SUPPORTED,
    }
    assert published.loc[list(shown), "verdict"].to_dict() == shown


def test_phams_own_numbers_are_shown(published):
    mine = published[(published["paper"] == "Pham et al.") & (published["verdict"] != "not published")]
    assert mine["value"].round(3).to_dict() == {
        "default-accuracy": 10.8,
        "impl-accuracy": 2.9,
        "impl-class-accuracy": 52.4,
        "impl-below-default": 0.269,
        "training-time": 145.3,
    }
    assert mine["verdict"].to_dict() == {
        "default-accuracy": CERTAIN,
        "impl-accuracy": SUPPORTED,
        "impl-class-accuracy": SUPPORTED,
        "impl-below-default": CERTAIN,
        "training-time": CERTAIN,
    }


def test_an_interval_agrees_with_the_p_value_beside_it_and_stands_in_the_sentence(published_verdicts):
    """It lies on the claim's side, or on the other, exactly where the adjusted p-value is below 5 %."""
    verdicts = published_verdicts
    tested = verdicts[verdicts["adjusted"].notna() & ~verdicts["note"].str.contains("only")]
    assert {"all"} < set(tested["part"])
    assert set(tested["test"]) == {"ratio", "level", "equivalence", "trend"}
    inside = (tested["claimed_low"] < tested["decides_low"]) & (tested["decides_high"] < tested["claimed_high"])
    outside = (tested["decides_high"] < tested["claimed_low"]) | (tested["decides_low"] > tested["claimed_high"])
    assert ((inside | outside) == (tested["adjusted"] < 0.05)).all()
    assert (inside == (tested["verdict"] == SUPPORTED)).all()
    assert {SUPPORTED, OPEN} <= set(tested["verdict"])
    # A ratio of two SDs whose ends are more than a factor of 20 apart has no interval: here that of five runs an arm.
    wide, shown = (tested[tested["decides_low"].isna() == missing] for missing in (True, False))
    assert set(wide["part"].str.partition(":")[0]) == {"resnet50-v15/imagenet/v100"}
    assert stats.f.isf(0.025 / 10, 4, 4) > 20, "of ten cells"
    of_sds = shown[shown["claim"].str.contains("sd-|-sd") & (shown["scale"] == "ratio")]
    assert (of_sds["decides_high"] < 20 * of_sds["decides_low"]).all() and len(of_sds)
    for row in wide.itertuples():
        assert "(no interval: too few runs to tell)" in judging.sentence_of_verdict(row)
    for row in shown.itertuples():
        ends = (row.decides_low, row.decides_high)
        found = re.search(
            r"\((\S+) to (\S+)\).*adjusted p (?:< )?([\d.]+)", judging.sentence_of_verdict(row, short=True)
        )
        assert [float(number) for number in found.groups()[:2]] == [float(f"{end:.3g}") for end in ends]
        assert float(found[3]) == pytest.approx(row.adjusted, abs=0.001)


def test_one_sd_is_compared_with_a_number_by_chi_squared(published_verdicts):
    (found,) = published_verdicts.query(
        "part == 'smallcnn/cifar10/v100/algo_impl' and claim == 'small-sd'"
    ).itertuples()
    assert (found.value, found.scale) == (pytest.approx(0.91), "points")
    ends = 0.91 * np.sqrt(9 / stats.chi2.ppf([0.975, 0.025], 9))
    assert (found.ci_low, found.ci_high) == pytest.approx(tuple(ends))
    assert found.pvalue == pytest.approx(2 * stats.chi2.cdf(9 * 0.91**2, 9))


def test_no_two_claims_contradict_each_other_on_one_contrast():
    assert contradictions(CLAIMED, judging.by_publication()) == []


def test_nor_do_they_on_a_finished_study(evidence):
    folder = evidence("gpu-h100")
    study = grid.load_study(folder / "study.json")
    files = {kind: folder / "metrics" / Path(name).name for kind, name in figure_files.collected_files(study).items()}
    read = judging.read_tables({kind: files[kind] for kind in JUDGED if kind in files}, JUDGED)
    assert len(read) >= 2
    judged = parameters.claims(study, Whole())
    claims = job_code.claims_with_those_of_papers(judged["claims"], config.registry_entries("claims"))
    assert contradictions(claims, judging.by_study(read, judged["toolings"])) == []


def contradictions(claims, side):
    """The contrasts of arms of which two claims have opposite verdicts, where one may be the other's reciprocal."""
    rows = table_of(claims, side)
    verdicts = rows[rows["part"] == "all"].set_index("claim")["verdict"]
    told = collections.defaultdict(set)
    for claim in claims:
        whole, each = effects.examine_claim(claim, side)
        if whole and "direction" in claim and verdicts[claim["name"]] in (SUPPORTED, REFUTED):
            terms = [
                {subject: weight for (weight, _), subject in zip(part.terms, part.subjects, strict=True)}
                for shown in each
                for part in shown.parts
            ]
            sign = np.sign(min(terms[0].items())[1])
            compared = frozenset(frozenset((name, sign * weight) for name, weight in one.items()) for one in terms)
            is_above = (claim["direction"] in ("above", "rising")) == (verdicts[claim["name"]] == SUPPORTED)
            told[claim["measure"], claim.get("reference", 1), claim["parts"], compared].add(is_above == (sign > 0))
    assert told
    return [key for key, sides in told.items() if len(sides) > 1]


def test_a_mean_says_which_of_its_parts_disagree_and_what_is_for_every_tooling_is_refuted_by_one(evidence):
    """On an H200 the cost of determinism rises with the kernel's size in PyTorch, and falls in JAX."""
    folder = evidence("gpu-cost-h200")
    read = judging.read_tables({kind: [folder / f"metrics/{kind}.csv"] for kind in ("overhead", "kernels")}, JUDGED)
    toolings = parameters.claims(grid.load_study(folder / "study.json"), Whole())["toolings"]
    side = judging.by_study(read, toolings)
    found = table_of(CLAIMED, side).set_index(["claim", "part"])
    assert found.loc[("kernel-skew", "all"), "verdict"] == "supported"
    assert found.loc[("kernel-skew", "all"), "note"] == "of 8 parts, 4 supported and 4 refuted"
    assert found.loc[("cost-by-kernel-size", "all"), "verdict"] == "refuted"
    assert found.loc["cost-by-kernel-size"]["verdict"].tolist() == ["refuted", "supported", "refuted"]
    assert found.loc[("determinism-costs", "all"), "note"] == ""


# Verdicts on a study's own metric files


CLAIM = {
    "says": "Mine",
    "measure": "accuracy_sd",
    "test": "ratio",
    "of": {"variant": "algo_impl"},
    "over": {"variant": "impl"},
    "direction": "above",
}


def claimed(**changed):
    """One claim, complete."""
    rules = config.study_schema()["properties"]["claims"]
    claim = {key: value for key, value in (CLAIM | changed).items() if value is not None}
    return [{"name": "mine", **config.complete_and_check({"mine": claim}, rules, "f")["mine"]}]


def runs_of(variant, values, draw=lambda seed: seed, metric="accuracy", hardware="cpu", model="small"):
    """Rows of runs of a cell; `draw` is the algorithmic draw of a run."""
    for seed, value in enumerate(values, 1):
        drawn = [str(draw(seed)) if source not in ("impl", "bit") else str(seed) for source in DRAWN]
        yield (model, "digits", hardware, variant, str(seed), *drawn, metric, "all", value)


def verdicts(claims, rows, toolings=MappingProxyType({}), label_of=MappingProxyType({}), **tables):
    """The rows of verdicts on a study of these runs, and of other tables."""
    tables = {"runs": pd.DataFrame(list(rows), columns=list(RUNS)), **tables}
    return table_of(claims, judging.by_study(tables, toolings, label_of))


def judged(claims, *rows, toolings=MappingProxyType({})):
    """The verdict on a claim as a whole, and those on its parts."""
    found = verdicts(claims, itertools.chain(*rows), toolings)
    return found[found["part"] == "all"].iloc[0], found[found["part"] != "all"]


def as_wholes(claims, rows):
    """The verdicts on several claims as wholes."""
    return verdicts(claims, rows).query("part == 'all'").set_index("claim")


NOISY, QUIET = np.random.default_rng(1).normal(0.9, 0.02, 20), np.random.default_rng(2).normal(0.9, 0.002, 20)


def test_a_larger_sd_is_supported_and_its_reverse_refuted():
    rows = [list(runs_of("algo_impl", NOISY)), list(runs_of("impl", QUIET, lambda seed: 100 + seed))]
    whole, parts = judged(claimed(), *rows)
    assert whole["verdict"] == SUPPORTED
    logs = [np.log([np.std(np.delete(values, run), ddof=1) for run in range(20)]) for values in (NOISY, QUIET)]
    half = stats.t.ppf(0.975, 19) * np.sqrt(19 / 20 * sum(np.sum((each - each.mean()) ** 2) for each in logs))
    ratio = np.std(NOISY) / np.std(QUIET)
    assert [whole["ci_low"], whole["ci_high"]] == pytest.approx([ratio / np.exp(half), ratio * np.exp(half)])
    assert whole["hardware"] == "cpu"
    assert list(parts["part"]) == ["small/digits/cpu: algo_impl over impl"]
    assert judged(claimed(direction="below"), *rows)[0]["verdict"] == REFUTED


def test_runs_of_one_draw_are_judged_for_that_draw_and_said_to_be():
    whole, _ = judged(claimed(), runs_of("algo_impl", NOISY), runs_of("impl", QUIET, lambda _: 0))
    assert whole["note"] == "for one draw of what the runs share"
    several, _ = judged(claimed(), runs_of("algo_impl", NOISY), runs_of("impl", QUIET, lambda seed: 1 + seed // 6))
    assert several["note"] == ""
    assert (whole["n_units"], several["n_units"]) == ("20", "20 and 4"), "draws are the units, not runs"


def test_too_few_runs_say_how_many_would_be_needed_for_which_verdict():
    # The jackknife's error of these four is that of normal runs.
    four = NOISY[[7, 8, 9, 10]]
    rows = runs_of("algo_impl", four), list(runs_of("impl", 0.5 * four, lambda seed: 100 + seed))
    whole, _ = judged(claimed(), *rows)
    assert whole["verdict"] == OPEN
    assert (whole["n_needed"], whole["needed_to"]) == (20, "support"), "80 % power at the ratio 2 takes 17 to 18 runs"
    assert "about 20 would be needed to support it" in judging.sentence_of_verdict(whole)


def test_the_algo_of_the_authors_code_is_judged_as_algo_where_there_is_no_other():
    quiet, noisy = list(runs_of("impl", QUIET)), list(runs_of("init+shuffle+impl", NOISY))
    whole, parts = judged(claimed(), quiet, noisy)
    assert whole["verdict"] == SUPPORTED
    assert list(parts["part"]) == ["small/digits/cpu: algo_impl over impl"]
    alike = list(runs_of("algo_impl", QUIET[::-1]))
    assert judged(claimed(), quiet, noisy, alike)[0]["verdict"] == judged(claimed(), quiet, alike)[0]["verdict"] == OPEN


def test_equal_churns_are_equivalent_within_a_margin_only():
    rows = [
        list(runs_of("algo", 0.1 + 0.001 * NOISY, metric="churn")),
        list(runs_of("impl", 0.1 + 0.001 * NOISY[::-1], lambda seed: 100 + seed, metric="churn")),
    ]
    equal = claimed(measure="churn", test="equivalence", direction=None, margin=1.1, of={"variant": "algo"})
    assert judged(equal, *rows)[0]["verdict"] == SUPPORTED
    far = [rows[0], list(runs_of("impl", 0.2 + 0.001 * NOISY, metric="churn"))]
    assert judged(equal, *far)[0]["verdict"] == REFUTED


def jackknife(without):
    """How far each unit moves the logarithm, from the values without each."""
    logarithms, count = np.log(without), len(without)
    return np.sqrt((count - 1) / count) * (logarithms.mean() - logarithms)


def mean_churns(predicted):
    """The mean churn of each run with the others."""
    return np.mean(predicted[:, np.newaxis] != predicted, axis=2).sum(axis=1) / (len(predicted) - 1)


def test_a_run_moves_churn_by_all_its_pairs():
    predicted = np.random.default_rng(3).integers(0, 3, (5, 40))
    rows = list(runs_of("algo", mean_churns(predicted), metric="churn"))
    arm = of_study("churn", {"runs": pd.DataFrame(rows, columns=list(RUNS))})[Subject("small", "digits", "cpu", "algo")]
    assert arm.value == pytest.approx(mean_churns(predicted).mean())
    without = [mean_churns(np.delete(predicted, run, axis=0)).mean() for run in range(5)]
    assert list(arm.moves.values()) == pytest.approx(jackknife(without).tolist())


def test_distances_of_weights_are_judged_from_those_of_each_run():
    """With values of runs, ALGO and IMPL share units; a file with the mean over all pairs alone decides nothing."""
    l2 = {"measure": "l2_unit", "direction": "above", "of": {"variant": "algo"}, "over": {"variant": "impl"}}
    rows = [
        list(runs_of("algo", 1.4 + 0.001 * NOISY, metric="l2_unit")),
        list(runs_of("impl", 0.1 + 0.001 * NOISY, metric="l2_unit")),
    ]
    assert judged(claimed(**l2), *rows)[0]["verdict"] == SUPPORTED
    row = ("small", "digits", "cpu", "algo", "l2_unit", "all", 1.4, 1.3, 1.5, 5, 0)
    arm = of_study("l2_unit", {"stability": pd.DataFrame([row], columns=list(STABILITY))})
    (found,) = arm.values()
    assert (found.value, found.units, found.moves) == (1.4, 5, {})
    assert np.isnan(found.error)


def test_a_trend_follows_the_size_in_the_models_name():
    rows = [
        list(runs_of("algo", 0.01 * size + 0.0005 * NOISY, model=f"net-k{size}", metric="churn")) for size in (1, 2, 4)
    ]
    trend = claimed(measure="churn", test="trend", over=None, of={}, along={"model": "net-k{size}"}, direction="rising")
    whole, _ = judged(trend, *rows)
    assert whole["verdict"] == SUPPORTED
    assert whole["value"] == pytest.approx(1, abs=0.05)


def test_a_trend_follows_the_training_examples_of_groups():
    rows, counts = [], []
    for count in (25, 100, 400):
        of_all = runs_of("algo", 0.2 * count**-0.25 + 0.0005 * NOISY, metric="churn")
        rows += [(*row[:-2], f"deer-{count}", row[-1]) for row in of_all]
        # Of two classes the positive ones count.
        by_label = {"1": count, "all": 1000}
        counts += [("digits", "train", f"deer-{count}", label, number) for label, number in by_label.items()]
    trend = claimed(
        measure="churn",
        test="trend",
        over=None,
        of={"group": "deer-*"},
        along={"group": "positives"},
        direction="falling",
    )
    found = verdicts(trend, rows, counts=pd.DataFrame(counts, columns=list(COUNTS))).iloc[0]
    assert found["verdict"] == SUPPORTED
    assert found["value"] == pytest.approx(-0.25, abs=0.02)


@pytest.mark.parametrize(
    ("about", "ratio"),
    [
        ({"of": {"group": "Male"}, "over": {"group": "all"}}, 0.02 / 0.01),
        # A claim on no sub-group is one on all labels together.
        ({"of": {"variant": "algo"}, "over": {"variant": "impl"}}, 0.1 / 0.025),
    ],
    ids=["of a sub-group", "of all"],
)
def test_of_many_labels_a_claim_on_sub_groups_is_about_one(about, ratio):
    spread = np.random.default_rng(8).normal(0, 1, 12)
    spread = (spread - spread.mean()) / spread.std(ddof=1)
    sds = {"all": 0.1, "Male": 0.3, "Blond:all": 0.01, "Blond:Male": 0.02, "Bald:all": 0.01, "Bald:Male": 0.09}
    rows = []
    for group, sd in sds.items():
        for variant, factor in (("algo", 1), ("impl", 0.25)):
            of_all = runs_of(variant, 0.5 + factor * sd * spread, lambda seed, variant=variant: (variant, seed))
            rows += [(*row[:1], "faces", *row[2:-2], group, row[-1]) for row in of_all]
    where = {"variant": "algo"} if "group" in about["of"] else {}
    found = verdicts(claimed(**about, where=where), rows, label_of={"faces": "Blond"})
    assert found.iloc[0]["value"] == pytest.approx(ratio)
    assert (found["part"] != "all").sum() == 1


@pytest.mark.parametrize(
    ("noisy", "quiet", "reason"),
    [
        (NOISY, NOISY, "the runs of both sides have equal values"),
        (NOISY, [0.5, 0.5, 0.5], "a value of 0"),
        (NOISY, [0.5], "too few runs"),
    ],
)
def test_a_claim_without_an_error_says_which_reason_it_has(noisy, quiet, reason):
    whole, parts = judged(claimed(), runs_of("algo_impl", noisy), runs_of("impl", quiet))
    assert whole["verdict"] == OPEN
    assert all(reason in note.split("; ") for note in (whole["note"], *parts["note"]))


@pytest.mark.parametrize("measure", ["presence", "level"])
def test_one_network_is_not_every_network(measure):
    reference = {"reference": 0.1, "direction": "below"} if measure == "level" else {"direction": None}
    present = claimed(test=measure, over=None, of={"variant": "impl"}, parts="every", **reference)
    one, other = (list(runs_of("impl", QUIET, model=name)) for name in ("small", "large"))
    whole, _ = judged(present, one, runs_of("impl", QUIET, hardware="other"))
    assert (whole["verdict"], whole["note"].partition(";")[0]) == (OPEN, "one network only")
    assert np.isnan(whole["n_needed"]), "more runs do not help"
    assert judged(present, one, other)[0]["verdict"] == SUPPORTED
    libraries = claimed(
        test="presence", over=None, direction=None, of={"variant": "impl", "hardware": "any"}, parts="every"
    )
    assert "one tooling only" in judged(libraries, one, other)[0]["note"]
    assert judged(libraries, one, runs_of("impl", QUIET, hardware="other"))[0]["verdict"] == SUPPORTED
    alike = claimed(parts="every")
    noisy = list(runs_of("algo_impl", NOISY))
    assert "one comparison only" in judged(alike, noisy, list(runs_of("impl", QUIET)))[0]["note"]
    # One counterexample is enough.
    reverse = claimed(parts="every", direction="below")
    assert judged(reverse, noisy, list(runs_of("impl", QUIET, lambda seed: 100 + seed)))[0]["verdict"] == REFUTED


CPU = {"accelerator": "cpu", "device": "", "engine": "tensorflow", "kernels": "onednn", "impl_noise": "reduction-order"}


def test_noise_that_was_put_in_is_there_by_construction_and_no_finding():
    present = claimed(test="presence", over=None, direction=None, of={"variant": "impl"}, parts="any")
    rows = list(runs_of("impl", QUIET))
    whole, parts = judged(present, rows, toolings={"cpu": CPU})
    assert whole["verdict"] == parts["verdict"].iloc[0] == CERTAIN
    assert "emulated" in whole["note"]
    # Native noise on another tooling can be absent: it alone decides.
    native = {"cpu": CPU, "gpu": CPU | {"accelerator": "gpu", "impl_noise": "native"}}
    assert judged(present, rows, runs_of("impl", QUIET, hardware="gpu"), toolings=native)[0]["verdict"] == SUPPORTED
    assert judged(present, rows, runs_of("impl", [0.5] * 3, hardware="gpu"), toolings=native)[0]["verdict"] == REFUTED


def test_what_cannot_fail_is_shown_and_neither_judged_nor_counted():
    rows = list(runs_of("algo_impl", NOISY)) + list(runs_of("impl", QUIET, lambda seed: 100 + seed))
    one = claimed()[0]
    certain = one | {"name": "certain", "over": {"variant": "imp*"}, "cannot_fail": "a tautology"}
    alone = judged([one], rows)[0]
    found = as_wholes([one, certain], rows)
    assert found.loc["mine", "adjusted"] == alone["adjusted"]
    assert found.loc["certain", "verdict"] == CERTAIN
    assert np.isnan(found.loc["certain", "adjusted"])
    assert found.loc["certain", "value"] == found.loc["mine", "value"]
    assert judging.count_verdicts(found) == {SUPPORTED: 1}
    few = [*runs_of("algo_impl", NOISY[:2]), *runs_of("impl", QUIET[:2], lambda seed: 100 + seed)]
    assert list(as_wholes([one, certain], few)["note"]) == ["too few runs", "a tautology"]


def test_a_verdict_on_synthetic_data_says_so():
    sides = [(*row[:1], dataset, *row[2:]) for dataset in ("digits", "faces") for row in runs_of("algo_impl", NOISY)]
    sides += [
        (*row[:1], dataset, *row[2:])
        for dataset in ("digits", "faces")
        for row in runs_of("impl", QUIET, lambda seed: 100 + seed)
    ]
    tables = {"runs": pd.DataFrame(sides, columns=list(RUNS))}
    side = judging.by_study(tables, {}, synthetic=["faces"])
    found = table_of(claimed(), side).set_index("part")
    assert found.loc["all", "note"] == "on digits and synthetic faces"
    assert found.loc["small/faces/cpu: algo_impl over impl", "note"] == "on synthetic faces"
    assert found.loc["small/digits/cpu: algo_impl over impl", "note"] == ""
    assert "on digits and synthetic faces" in judging.sentence_of_verdict(found.reset_index().iloc[0])
    assert [judging.on_synthetic(row, ["faces"]) for row in found.itertuples()] == [True, False, True]


def test_means_are_compared_by_their_difference_in_points():
    equal = claimed(measure="accuracy_mean", test="equivalence", direction=None, margin=0.84, of={"variant": "algo"})
    shift = [list(runs_of("algo", QUIET + 0.004)), list(runs_of("impl", QUIET, lambda seed: 100 + seed))]
    whole, _ = judged(equal, *shift)
    assert (whole["verdict"], whole["scale"]) == (SUPPORTED, "points apart")
    assert whole["value"] == pytest.approx(0.4)
    error = 100 * np.sqrt(2 * QUIET.var(ddof=1) / 20)
    assert whole["ci_high"] - whole["value"] == pytest.approx(stats.t.ppf(0.975, 19) * error, rel=0.001)
    far = [list(runs_of("algo", QUIET + 0.02)), shift[1]]
    assert judged(equal, *far)[0]["verdict"] == REFUTED, "2 points are 2.2 % of 90 %"
    assert whole["claimed_high"] == pytest.approx(0.84)


def test_a_contrast_and_its_reciprocal_have_one_p_value_and_one_verdict_within_a_paper():
    rows = list(runs_of("algo_impl", NOISY[:6])) + list(runs_of("impl", 0.3 * NOISY[6:12], lambda n: 100 + n))
    one = claimed()[0]
    turned = one | {"name": "turned", "of": one["over"], "over": one["of"], "direction": "below"}
    denied = turned | {"name": "denied", "direction": "above"}
    found = as_wholes([one, turned, denied], rows)
    assert found.loc["mine", "adjusted"] == found.loc["turned", "adjusted"] == found.loc["denied", "adjusted"]
    assert found.loc["mine", "verdict"] == found.loc["turned", "verdict"]
    assert found.loc["mine", "value"] == pytest.approx(1 / found.loc["turned", "value"])


@pytest.mark.parametrize(
    ("measure", "kind"),
    [("correlation_distance", "stability"), ("variability_left", "remedies")],
)
def test_what_files_have_as_a_likeness_with_an_interval_is_judged_as_its_distance_from_one(measure, kind):
    """A correlation of 0.93 from 0.9 to 0.96 is a distance of 0.07 from 0.04 to 0.1."""
    metrics = {"stability": declared.METRICS, "remedies": {"variability_reduction"}}[kind]
    assert FROM_ONE[measure] in metrics
    columns = {"stability": STABILITY, "remedies": REMEDIES}[kind]
    about = {"model": "small", "dataset": "digits", "hardware": "cpu", "metric": FROM_ONE[measure], "group": "all"}
    about |= {"n_runs": 8, "n_missing": 0, "remedy": "flip"}
    values = {"algo": (0.93, 0.9, 0.96), "impl": (0.99, 0.985, 0.995)}
    rows = [about | {"variant": name, **dict(zip(ESTIMATE, value, strict=False))} for name, value in values.items()]
    arms = of_study(measure, {kind: pd.DataFrame([{name: row[name] for name in columns} for row in rows])})
    assert {subject.variant: arm.value for subject, arm in arms.items()} == pytest.approx({"algo": 0.07, "impl": 0.01})
    (arm,) = [arm for subject, arm in arms.items() if subject.variant == "algo"]
    assert (arm.units, arm.freedom) == (8, 7)
    assert arm.error == pytest.approx(np.log(0.1 / 0.07) / stats.t.ppf(0.975, 7))


def test_a_study_may_name_the_claims_that_it_judges_and_no_others(written, built, tmp_path, refused):
    tiny = built(written | {"claims": {"mine": CLAIM}, "judged": ["rarity", "mine"]})
    job_code.perform_job("judge-claims", parameters.claims(tiny, Whole()), {"out": str(tmp_path / "claims.csv")})
    assert set(judging.read_verdicts(tmp_path / "claims.csv")["claim"]) == {"rarity", "mine"}
    line = refused(config.resolve, written | {"judged": ["rareness"]}, "mine.yaml")
    assert line.startswith("mine.yaml: judged: unknown claim 'rareness'")


@pytest.mark.parametrize(
    ("changed", "problem"),
    [
        ({"measure": "acuracy_sd"}, 'claims.mine.measure: found "acuracy_sd"; allowed: accuracy_mean, accuracy_sd'),
        (
            {"test": "equivalence", "direction": None},
            "claims.mine: lacks the key 'margin' with test 'equivalence'; required: over, margin",
        ),
        ({"direction": "rising"}, "claims.mine.direction: found \"rising\" with test 'ratio'; allowed: above, below"),
        ({"of": {"varaint": "algo"}}, "claims.mine.of: unknown key 'varaint' (did you mean 'variant'?); allowed: "),
    ],
)
def test_a_claim_that_cannot_be_judged_is_refused_in_one_line(written, changed, problem, refused):
    claim = {key: value for key, value in (CLAIM | changed).items() if value is not None}
    assert problem in refused(config.resolve, written | {"claims": {"mine": claim}}, "mine.yaml")
