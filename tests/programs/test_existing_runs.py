"""Runs that are already there: what `adopt` takes, writes and refuses, and their study, measured and audited."""

import json

import numpy as np
import pytest
import yaml

from toolnoise.base import metric_files
from toolnoise.base.errors import BadInput
from toolnoise.formulas.outcomes import LOSSES, VALUES
from toolnoise.formulas.stability import STABILITY
from toolnoise.programs import existing_runs
from toolnoise.study import config

EXAMPLES = 12
SEGMENTS = np.ones((EXAMPLES, 5))
ALLOWED = "floats from 0 up, segment x token or token: each token's negative log-likelihood, NaN for padding"


@pytest.fixture
def existing_arms(tmp_path):
    """Files that another program wrote: two arms of four runs, and their labels."""
    draw, examples, classes = np.random.default_rng(1), 40, 3
    labels = draw.integers(classes, size=examples)
    labels[:classes] = range(classes)
    np.save(tmp_path / "y.npy", labels)
    found = {}
    for arm, noise in (("plain net", 1.0), ("wide", 0.5)):
        for seed in (3, 5, 8, 13):
            folder = tmp_path / "runs" / arm / f"seed{seed}"
            folder.mkdir(parents=True)
            logits = (np.eye(classes)[labels] + noise * draw.normal(size=(examples, classes))).astype(np.float32)
            np.save(folder / "preds.npy", logits)
            found.setdefault(arm, []).append(logits)
    return tmp_path, labels, found


def adopted(pattern, name, labels=None, asked=None):
    existing_runs.adopt(pattern, name, labels, existing_runs.Columns(), asked)
    folder = f"adopted/{name}/runs/1"
    return lambda file: np.load(f"{folder}/{file}.npy")


def test_adopt_takes_each_outcome_as_it_is(saved, drawn):
    truth, odds = drawn.integers(0, 2, (EXAMPLES, 3)), drawn.normal(size=(EXAMPLES, 3)).astype(np.float32)
    words = drawn.integers(0, 6, (EXAMPLES, 5))
    scores = drawn.normal(size=(EXAMPLES, 5, 6)).astype(np.float32)
    losses = np.where(np.arange(5) < 4, SEGMENTS, np.nan)
    saved(y=truth, odds1=odds, chance1=1 / (1 + np.exp(-odds.astype(float))), words=words, scores1=scores)
    saved(losses1=losses, several1=odds.astype(float), truth=truth.astype(float))
    left = adopted("odds{seed}.npy", "odds", "y.npy")
    np.testing.assert_array_equal(left("logits"), odds)
    np.testing.assert_array_equal(left("labels"), truth)
    assert adopted("chance{seed}.npy", "chance", "y.npy")("logits") == pytest.approx(odds, rel=1e-5, abs=1e-6)
    left = adopted("scores{seed}.npy", "scores", "words.npy")
    np.testing.assert_array_equal(left("logits"), scores)
    np.testing.assert_array_equal(left("labels"), words)
    np.testing.assert_array_equal(adopted("losses{seed}.npy", "losses", asked=LOSSES)("nll"), losses)
    np.testing.assert_array_equal(adopted("several{seed}.npy", "several", "truth.npy", VALUES)("predictions"), odds)
    assert config.read_configuration("several.yaml")["models"]["runs"]["outcome"] == "values"
    # Of an archive its values, and not its labels.
    np.savez("p1.npz", predictions=odds, labels=truth.astype(float))
    np.testing.assert_array_equal(adopted("p{seed}.npz", "archive", "p1.npz", VALUES)("predictions"), odds)


def test_adopt_refuses_what_a_study_cannot_measure(saved, drawn, refused):
    saved(y=drawn.integers(0, 6, (EXAMPLES, 5)), a1=drawn.integers(0, 6, (EXAMPLES, 5)), nll=SEGMENTS, b1=-SEGMENTS)

    def refuse(pattern, labels=None, asked=None):
        return refused(existing_runs.adopt, pattern, "mine", labels, existing_runs.Columns(), asked)

    assert refuse("a{seed}.npy", "y.npy").startswith("a1.npy: found predicted classes of tokens; scores, which a study")
    assert refuse("b{seed}.npy", asked=LOSSES) == f"b1.npy: [0, 0]: found -1.0; {ALLOWED}"
    assert refuse("a{seed}.npy", asked=LOSSES) == f"a1.npy: found int64 of shape (12, 5); {ALLOWED}"
    assert refuse("b{seed}.npy", "y.npy", LOSSES).endswith("found y.npy; none: a loss is no prediction of a label")
    saved(short=np.ones((EXAMPLES, 4)))
    saved(scores1=drawn.dirichlet(np.ones(10), EXAMPLES).round(1), classes=drawn.integers(0, 10, EXAMPLES))
    assert refuse("scores{seed}.npy", "classes.npy").startswith(
        "scores1.npy: found scores that are neither logits nor probabilities that sum to 1; "
    )
    assert refuse("b{seed}.npy", "short.npy", VALUES) == (
        "b1.npy: found shape (12, 5); 12 x 4 or run x 12 x 4, as the true values are"
    )


def test_adopt_refuses_names_that_a_study_cannot_tell_apart(here, refused):
    one, other = "lr≤1e-3", "lr≥1e-3"
    (here / "a.csv").write_text(f"arm,acc\n{one},0.9\n{one},0.8\n{other},0.7\n{other},0.6\n")
    line = refused(existing_runs.adopt, "a.csv", "mine", None, existing_runs.Columns(metrics=("acc",)))
    assert line.startswith(f"a.csv: arm: found {one!r} and {other!r}, both ")
    (here / "a.csv").write_text(f"arm,{one},{other}\na,0.9,0.8\n")
    line = refused(existing_runs.adopt, "a.csv", "mine", None, existing_runs.Columns(metrics=(one, other)))
    assert line.startswith(f"command line: --metric: found {one!r} and {other!r}, both ")
    assert [path.name for path in here.iterdir()] == ["a.csv"]


def test_adopt_refuses_runs_with_their_examples_in_different_orders(saved, drawn, here, refused):
    truth, order = drawn.integers(0, 3, EXAMPLES), np.arange(EXAMPLES)
    saved(y=truth)
    for seed, places in ((1, order), (2, order[::-1])):
        lines = [f"image{place},{truth[place]}" for place in places]
        (here / f"p{seed}.csv").write_text("\n".join(["id,pred", *lines]) + "\n")
    line = refused(existing_runs.adopt, "p{seed}.csv", "mine", "y.npy", existing_runs.Columns())
    assert line.startswith("p2.csv: found other examples than in p1.csv, or in another order; ")
    labels = [f"image{place},{label}" for place, label in enumerate(truth)]
    (here / "y.csv").write_text("\n".join(["id,label", *labels]) + "\n")
    existing_runs.adopt("p{seed}.csv", "mine", "y.csv", existing_runs.Columns())
    for seed in (1, 2):
        np.testing.assert_array_equal(np.load(f"adopted/mine/runs/{seed}/predictions.npy"), truth)


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        (("arm,step,acc", "a,1,0.1", "a,2,0.5", "b,1,0.1", "b,2,0.6"), "step: found several in one arm, which may be"),
        (
            ("model,seed,acc", "a,1,0.1", "b,2,0.5"),
            "--arm-column: missing, and no column is named arm; one of these: model;",
        ),
        (("arm,run,acc", "a,1,0.1", "a,Std. dev,0.1"), "line 3: run: found 'Std. dev'; a finished run"),
        (("arm,seed,status,acc", "a,1,finished,0.9", "a,2,FAILED,0.5"), "line 3: status: found 'FAILED'; a finished"),
        (("arm,seed,acc", "a,1,0.9", "a,2,0.8", "b,1,91"), "acc: found 91 to 91 in b, and 0.8 to 0.9 in a; one scale"),
    ],
)
def test_adopt_refuses_lines_of_a_table_that_are_no_runs(lines, says, here, refused):
    (here / "a.csv").write_text("\n".join(lines) + "\n")
    assert says in refused(existing_runs.adopt, "a.csv", "mine", None, existing_runs.Columns(metrics=("acc",)))


def test_a_table_names_files_arms_and_seeds(existing_arms, monkeypatch, refused):
    folder, *_ = existing_arms
    monkeypatch.chdir(folder)
    lines = [f"runs/wide/seed{seed}/preds.npy,wide,{seed},y.npy" for seed in (3, 5)]
    (folder / "table.csv").write_text("\n".join(["file,arm,seed,labels", *lines]) + "\n")
    existing_runs.adopt("table.csv", "tabled", None, existing_runs.Columns())
    assert config.read_configuration("tabled.yaml")["models"]["wide"] == {
        "adopted": "adopted/tabled/wide",
        "outcome": "logits",
    }
    origin = json.loads((folder / "adopted/tabled/wide/3/origin.json").read_text())
    assert origin["adopted_from"] == "runs/wide/seed3/preds.npy"
    line = refused(existing_runs.adopt, "table.csv", "tabled", None, existing_runs.Columns())
    assert line == "tabled.yaml: already exists; another --name, or remove it first"
    (folder / "table.csv").write_text(
        "\n".join(["file,arm,seed,labels", lines[0], lines[1].replace(",5,", ",,")]) + "\n"
    )
    line = refused(existing_runs.adopt, "table.csv", "other", None, existing_runs.Columns())
    assert line == "table.csv: line 3: seed: no seed; a seed in every row, or in none"
    # A name that YAML would change stands in quotes.
    (folder / "runs/plain net").rename(folder / "runs/yes")
    existing_runs.adopt("runs/{arm}/seed{seed}/preds.npy", "010", "y.npy", existing_runs.Columns())
    study = config.read_configuration("010.yaml")
    assert (study["study"], sorted(study["models"])) == ("010", ["wide", "yes"])


def test_seeds_that_a_study_cannot_have_are_numbered_in_their_order(here):
    rows = ["a,0,0.9", "a,4294967295,0.8", "a,7,0.7", "b,7,0.6"]
    (here / "export.csv").write_text("\n".join(["arm,seed,accuracy", *rows]) + "\n")
    said = existing_runs.adopt("export.csv", "mine", None, existing_runs.Columns(metrics=("accuracy",)))
    assert "Their seeds are numbered from 1 in their order" in said
    assert [block["seeds"] for block in config.read_configuration("mine.yaml")["grid"]] == [[1, 2, 3], [2]]
    own = {
        f"{arm}/{number}": json.loads((here / f"adopted/mine/{arm}/{number}/origin.json").read_text())["seed"]
        for arm, number in (("a", 1), ("a", 2), ("a", 3), ("b", 2))
    }
    assert own == {"a/1": 0, "a/2": 7, "a/3": 4294967295, "b/2": 7}


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["runs/{arm}/{run}.npy"], "found {run}; allowed: {arm} and {seed}"),
        (["runs/{arm}{seed}.npy"], "a pattern such as runs/{arm}/{seed}.npy, with something between its fields"),
        (["runs/{arm}/seed{seed}/preds.npy"], "--labels: missing"),
        (["twice.csv"], "found 2 columns 'arm'"),
        (["runs/{arm}/seed{seed}/preds.npy", "--labels", "short.npy"], "39 labels"),
    ],
)
def test_what_cannot_be_adopted_is_refused_and_nothing_is_written(
    arguments, says, existing_arms, monkeypatch, refused_by_verb
):
    folder, labels, _ = existing_arms
    monkeypatch.chdir(folder)
    (folder / "y.csv").write_text("label\n1\n")
    (folder / "twice.csv").write_text("arm,file,arm\na,runs/a.npy,b\n")
    np.save(folder / "short.npy", labels[:-1])
    assert says in refused_by_verb("adopt", *arguments, "--name", "mine")
    assert not (folder / "mine.yaml").exists()
    assert not (folder / "adopted").exists()


@pytest.mark.parametrize("name", ["../evil", "", "x" * 65])
def test_a_name_that_is_no_name_writes_nothing(name, existing_arms, monkeypatch):
    folder, *_ = existing_arms
    monkeypatch.chdir(folder)
    before = sorted(folder.parent.rglob("*"))
    with pytest.raises(BadInput, match=r"^command line: --name: found .*; allowed: a name of letters, digits"):
        existing_runs.adopt("runs/{arm}/seed{seed}/preds.npy", name, "y.npy", existing_runs.Columns())
    assert sorted(folder.parent.rglob("*")) == before


# Their study, from `adopt` to an audit


def measured(folder):
    rows = metric_files.read_metrics([folder / "results/mine/metrics/stability.csv"], STABILITY)
    return {(row.model, row.metric): row.value for row in rows[rows["group"] == "all"].itertuples()}


@pytest.mark.long
def test_predictions_of_another_program_have_the_churn_and_the_sd_that_numpy_alone_computes(
    existing_arms, toolnoise, snakemake
):
    folder, labels, found = existing_arms
    done = toolnoise(folder, "adopt", "runs/{arm}/seed{seed}/preds.npy", "--labels", "y.npy", "--name", "mine")
    assert done.stdout.startswith("mine.yaml: 8 runs (plain-net 4, wide 4), copied to adopted/mine."), done.stderr
    assert yaml.safe_load((folder / "mine.yaml").read_text())["grid"][0]["seeds"] == [3, 5, 8, 13]
    done = snakemake(folder, study="mine.yaml")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = measured(folder)
    for arm, name in (("plain net", "plain-net"), ("wide", "wide")):
        predicted = np.stack(found[arm]).argmax(axis=2)
        accuracy = (predicted == labels).mean(axis=1)
        churn = [(a != b).mean() for i, a in enumerate(predicted) for b in predicted[:i]]
        assert rows[name, "accuracy_sd"] == pytest.approx(accuracy.std(ddof=1), abs=1e-12)
        assert rows[name, "churn"] == pytest.approx(np.mean(churn), abs=1e-12)
    audit = toolnoise(folder, "audit", "results/mine")
    assert audit.returncode == 0, audit.stdout
    statement = json.loads(next((folder / "results/mine/statements/runs").rglob("*.intoto.json")).read_text())
    definition = statement["predicate"]["buildDefinition"]
    assert definition["internalParameters"]["observed"]["origin"] == "adopted: how it was made is not known here"
    assert any(one["name"].startswith("adopted/mine/") for one in definition["resolvedDependencies"])
    said = toolnoise(folder, "summary", "--study", "mine.yaml").stdout
    assert "adopted, how they were made is not known here" in said
    assert "training" not in said
    # Runs of two arms with one seed share nothing that is known.
    dumps = [f"results/mine/predictions/{name}/outcome/adopted/algo_impl.npy" for name in ("plain-net", "wide")]
    compared = toolnoise(folder, "compare", *dumps)
    assert compared.returncode == 0, compared.stderr
    assert "in pairs" not in compared.stdout
