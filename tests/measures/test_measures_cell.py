"""Dumps of a cell's runs, read whole or refused; what is made of them; and the gate of Control."""

from types import SimpleNamespace

import numpy as np
import pytest

from toolnoise.base import arrays, files, metric_files
from toolnoise.base.job import Timings
from toolnoise.comparison import designs
from toolnoise.datasets.prepared import Data, Split
from toolnoise.dumps import prediction_dump, stacks
from toolnoise.dumps.prediction_dump import Predictor, index_of_dump
from toolnoise.formulas.per_run import FINGERPRINT, fingerprints
from toolnoise.measures import control_gate, reading
from toolnoise.papers import remedy_dump
from toolnoise.papers.identical import measure as cell
from toolnoise.papers.identical.metric import CRITERIA
from toolnoise.papers.layers import measure as layers
from toolnoise.papers.layers.dump import chosen_examples, gram_matrix
from toolnoise.papers.layers.measure import LAYERS
from toolnoise.papers.remedies import read_remedied
from toolnoise.stats import draws
from toolnoise.study import runs
from toolnoise.study.cells import Cell
from toolnoise.study.expected import METRICS
from toolnoise.study.remedies import PLAIN, SETS, remedies_of_runs

LOGITS = np.arange(24, dtype=np.float32).reshape(3, 4, 2)


def test_a_whole_dump_is_read(make_dump):
    dump = stacks.read_predictions(*make_dump(LOGITS, diverged=[False, True, False]))
    assert (dump.logits == LOGITS).all()
    assert isinstance(dump.logits, np.memmap), "it is not copied into memory"
    assert dump.seeds == [1, 2, 3]
    assert dump.finished.tolist() == [True, False, True]


@pytest.mark.parametrize(("study_seed", "way"), [(0, "paired"), (1, "independent")])
def test_runs_of_two_studies_share_draws_if_their_seeds_are_equal(study_seed, way, make_dump):
    one = stacks.read_predictions(*make_dump(LOGITS)).drawn
    other = stacks.read_predictions(*make_dump(LOGITS, spec={"study_seed": study_seed})).drawn
    assert designs.design(*draws.units_of_arms(one, other)).way == way


def spoilt(number):
    logits = LOGITS.copy()
    logits[1, 2, 0] = number
    return logits


SOFTMAX = np.exp(LOGITS) / np.exp(LOGITS).sum(axis=2, keepdims=True)
FIRST, SECOND = [True, False, False], [False, True, False]


@pytest.mark.parametrize(
    ("logits", "index", "says"),
    [
        (LOGITS.astype(np.float64), {}, "npy: found float64 of shape (3, 4, 2); float32"),
        (LOGITS, {"shape": [3, 4, 3]}, "npy: found float32 of shape (3, 4, 2); float32 of shape (3, 4, 3), as"),
        (LOGITS, {"seeds": [1, 2, "x"]}, 'json: seeds[2]: found "x"; expected an integer'),
        (LOGITS, {"seeds": [1, 2]}, "json: seeds: found 2; one for each of the 3 runs"),
        (spoilt(np.nan), {"diverged": FIRST}, "npy: [1]: found infinite or undefined"),
        (spoilt(-np.inf), {"diverged": FIRST}, "npy: [1]: found infinite or undefined"),
        (SOFTMAX, {"diverged": FIRST}, "npy: found probabilities; logits, so a network without a softmax at its end"),
    ],
)
def test_a_dump_without_logits_or_that_its_index_does_not_fit_is_one_line(logits, index, says, make_dump, refused):
    paths = make_dump(logits, **index)
    assert refused(stacks.read_predictions, *paths).startswith(f"{paths[0].with_suffix('')}.{says}")


def test_runs_that_diverged_may_have_any_numbers(make_dump):
    for logits, diverged in ((spoilt(np.nan), SECOND), (SOFTMAX[:1], [True])):
        assert stacks.read_predictions(*make_dump(logits, diverged=diverged)).logits.shape == logits.shape


@pytest.mark.parametrize(
    ("recipe", "margin", "dropout", "unused"),
    [
        ({"crop": 0, "flip": False}, 0, False, ["augment", "dropout"]),
        ({"crop": 0, "flip": False, "resized_crop": {}}, 0, True, []),
        ({"crop": 0, "flip": False}, 8, True, []),  # windows of larger images are chosen by the same draws
    ],
)
def test_sources_without_effect_are_unused_and_have_no_draw(recipe, margin, dropout, unused, make_spec):
    engine = SimpleNamespace(dropouts=[SimpleNamespace(rate=0.2 * dropout)])
    dataset = SimpleNamespace(train=SimpleNamespace(margin=margin))
    assert Predictor(engine, (), dataset, {}).unused(recipe) == unused
    # Such a source has no draw in the index.
    cell = [SimpleNamespace(seed=seed, diverged=False) for seed in (1, 2)]
    index = index_of_dump(make_spec("init", 1, "noisy"), cell, (2, 5, 3), {}, Timings(), unused)
    assert index.get("unused", []) == unused
    assert [source for source in ("augment", "dropout") if index["draws"][source] is None] == unused
    assert index["draws"]["shuffle"] == [0, 0]


def test_examples_are_drawn_once_for_a_data_set_and_stand_in_their_order_and_no_more_than_there_are(refused):
    found = chosen_examples(7, "digits", 40, 300)
    assert len(set(found)) == 40
    assert (np.diff(found) > 0).all()
    assert (found == chosen_examples(7, "digits", 40, 300)).all()
    assert found.max() > 200 > 100 > found.min()
    for other in (chosen_examples(8, "digits", 40, 300), chosen_examples(7, "faces", 40, 300)):
        assert (found != other).any()
    assert chosen_examples(0, "digits", 30, 30).tolist() == list(range(30))
    line = refused(chosen_examples, 0, "digits", 31, 30)
    assert line == "study: layers: found 31; from 4 to the 30 test examples of digits"


LAYERED = Cell("m", "d", "h", "algo")


def test_a_diverged_run_is_left_out_and_counted_as_missing(tmp_path):
    draws = np.random.Generator(np.random.Philox(3))
    stack = np.stack([[gram_matrix(draws.normal(size=(6, columns))) for columns in (4, 9)] for _ in range(4)])
    stack[1] = np.nan
    grams, index = tmp_path / "algo.npy", tmp_path / "algo.json"
    arrays.write_npy(grams, stack)
    about = {"layers": ["a", "b"], "seeds": [1, 2, 3, 4], "diverged": [False, True, False, False]}
    files.write_json(index, about | {"shape": list(stack.shape)})
    layers.measure(LAYERED, grams, index, out=tmp_path / "out.csv")
    rows = metric_files.read_metrics(tmp_path / "out.csv", LAYERS)
    assert rows[["layer", "metric"]].to_numpy().tolist() == [
        [layer, metric] for layer in ("a", "b") for metric in ("cka", "cka_debiased")
    ]
    assert set(rows["examples"]) == {6}
    assert set(rows["n_runs"]) == {3}
    assert set(rows["n_missing"]) == {1}
    assert rows[["value", "ci_low", "ci_high"]].notna().all(axis=None)


PICTURES, KINDS, SNAPSHOTS, MARGIN = 23, 3, 3, 2
PIXEL_DRAWS = np.random.Generator(np.random.Philox(3))
PIXELS = PIXEL_DRAWS.integers(0, 256, (PICTURES, 8, 7, 2), np.uint8)
TEST = Split(PIXELS, np.arange(PICTURES) % KINDS, normalise="per-image", margin=MARGIN)
NAMES = list(remedies_of_runs(SETS, SNAPSHOTS))


class Dense:
    """An engine whose network is one dense layer."""

    def restore(self, state):
        self.kernel = state.weights["kernel"]

    def logits(self, split):
        images = split.middle(slice(None))
        return np.einsum("nhwc,hwck->nk", images, self.kernel).astype(np.float32)


class SnapshotRun(SimpleNamespace):
    """A run that left three snapshots, or diverged."""

    def snapshots(self):
        draws = np.random.Generator(np.random.Philox(self.seed))
        shape = (*TEST.shape, KINDS)
        return [{"kernel": draws.normal(size=shape).astype(np.float32)} for _ in range(SNAPSHOTS)]


ALL_RUNS = {
    "1": SnapshotRun(seed=1, diverged=False),
    "2": SnapshotRun(seed=2, diverged=True),
    "5": SnapshotRun(seed=5, diverged=False),
}


def plainly(run, name):
    """The logits of a run under a remedy: a loop over snapshots and views (tests/papers/test_remedies.py), one mean."""
    snapshots, sets = run.snapshots(), name.removeprefix("snapshots").removeprefix("+")
    engine, found = Dense(), []
    for weights in snapshots if name.startswith("snapshots") else snapshots[-1:]:
        engine.kernel = weights["kernel"]
        for _, images in remedy_dump.each_view(TEST.images, MARGIN, SETS[sets] if sets else [PLAIN]):
            # In the parts that the dump was made in: einsum may add in another order for another number of images.
            parts = [TEST.showing(images).chosen(slice(start, start + 8)) for start in range(0, PICTURES, 8)]
            found.append(np.concatenate([engine.logits(part) for part in parts]))
    return np.mean(np.array(found, np.float64), axis=0).astype(np.float32)


def test_every_remedy_is_a_plain_mean_over_its_snapshots_and_views_bit_for_bit(tmp_path, monkeypatch, make_spec):
    data = Data(TEST, TEST, tuple("abc"), (), "")
    network = prediction_dump.Predictor(Dense(), (), data, {"device": "none"})
    monkeypatch.setattr(prediction_dump, "build", lambda *_: network)
    monkeypatch.setattr(runs, "read_run", ALL_RUNS.get)
    monkeypatch.setattr(remedy_dump, "PART", 8)  # three parts
    logits, index = tmp_path / "cell.npy", tmp_path / "cell.json"
    remedy_dump.dump(make_spec("impl", 1, "noisy"), NAMES, "", list(ALL_RUNS), logits=logits, index=index)
    found = read_remedied(logits)
    assert found.remedies == NAMES
    assert found.logits.shape == (len(NAMES), 3, PICTURES, KINDS)
    assert (found.seeds, found.diverged) == ([1, 2, 5], [False, True, False])
    assert np.isnan(found.logits[:, 1]).all(), "a diverged run is there as nothing"
    for name, remedied in zip(NAMES, found.logits, strict=True):
        for run, layer in zip(ALL_RUNS.values(), remedied, strict=True):
            if not run.diverged:
                assert np.array_equal(layer, plainly(run, name)), name


CELL = Cell("smallcnn", "digits", "cpu", "control")
CLASSES, EXAMPLES = 3, 60
ALL = {"criteria": list(CRITERIA), "weak": {"reference": "zero", "margin": 0}}


def observed(parts):
    parts["record"]["observed"] = {"versions": {"tensorflow": "2.21.0"}}


@pytest.fixture
def measured(tmp_path, make_run, make_dump):
    """Measure a cell of so many runs, of which some diverged; returns the rows of the three files."""
    labels = np.arange(EXAMPLES) % CLASSES
    images = np.zeros((EXAMPLES, 2, 2, 1), np.uint8)
    about = {"maximum": np.array(255), "classes": np.array(list("abc"))}
    splits = [{f"{part}_images": images, f"{part}_labels": labels} for part in ("train", "test")]
    arrays.write_npz(tmp_path / "digits.npz", splits[0] | splits[1] | about)

    def measure(runs, diverged=(), block=ALL, change=observed, spoil=lambda: None):
        draws = np.random.Generator(np.random.Philox(3))
        logits = draws.normal(size=(runs, EXAMPLES, CLASSES)) + 1.5 * np.eye(CLASSES)[labels]
        failed = [seed in diverged for seed in range(1, runs + 1)]
        logits[failed] = np.nan
        paths = make_dump(logits.astype(np.float32), diverged=failed)
        records = [make_run(seed, change) for seed in range(1, runs + 1)]
        spoil()
        kinds = ("stability", "runs", "identical", "convergence", "ensembles")
        stability, *others = (tmp_path / f"{kind}.csv" for kind in kinds)
        beside = {f"out_{path.stem}": path for path in others}
        cell.measure(CELL, 7, block, tmp_path / "digits.npz", *paths, records, out=stability, **beside)
        return [
            metric_files.read_metrics(path, metric_files.columns_at(METRICS[path.stem].columns))
            for path in (stability, *others)
        ]

    return measure


def test_each_run_has_a_number_that_only_equal_bits_share(measured):
    _, of_runs, *_ = measured(4, (2,))
    found = of_runs[of_runs["metric"] == FINGERPRINT].set_index("seed")["value"]
    assert list(found.index) == [1, 3, 4]
    logits = np.random.Generator(np.random.Philox(3)).normal(size=(4, EXAMPLES, CLASSES))
    logits = (logits + 1.5 * np.eye(CLASSES)[np.arange(EXAMPLES) % CLASSES]).astype(np.float32)
    assert found.tolist() == fingerprints(logits[[0, 2, 3]]).tolist()  # the file keeps every digit
    assert len(set(found)) == 3
    changed = logits[:1].copy()
    changed[0, -1, -1] = np.nextafter(changed[0, -1, -1], np.float32(9))
    assert fingerprints(np.concatenate([logits[:1], changed, logits[:1]])).tolist().count(found[1]) == 2


@pytest.mark.parametrize(
    ("runs", "diverged", "sizes"),
    [
        (7, (), {1: 7, 2: 3, 3: 2}),  # the seventh is left over
        (2, (1, 2), {1: 0}),
    ],
)
def test_ensembles_are_of_up_to_half_as_many_members_as_there_are_runs(measured, runs, diverged, sizes):
    _, _, identical, _, ensembles = measured(runs, diverged)
    assert dict(zip(ensembles["members"], ensembles["n_runs"], strict=True)) == sizes
    for rows in (identical, ensembles):
        assert set(rows["n_missing"]) == {len(diverged)}
    accuracy = ensembles[ensembles["metric"] == "accuracy_mean"].set_index("members")["value"]
    assert accuracy.notna().all() == (runs > len(diverged))


def test_each_run_has_a_row_for_each_criterion_whether_it_counts_or_not(measured):
    weak = ALL | {"weak": {"reference": "best", "margin": 0}}
    _, _, identical, convergence, _ = measured(5, (2,), block=weak)
    assert list(convergence["try"]) == [1, 3, 4, 5, 2] * len(CRITERIA)
    assert convergence["status"].value_counts().to_dict() == {"counted": 5, "weak": 15, "missing": 5}
    assert convergence[convergence["status"] == "missing"]["accuracy"].isna().all()
    counted = convergence[convergence["status"] == "counted"]
    for name, values in {"accuracy": "accuracy", "convergent": "convergent", "per_epoch": "per_epoch_average"}.items():
        assert counted[values].reset_index(drop=True).equals(identical[f"mean_{name}"])
    _, _, _, diverged, _ = measured(2, (1, 2))
    assert set(diverged["status"]) == {"missing"}


def test_records_of_fewer_runs_or_of_other_runs_are_one_line(make_run, make_dump, refused, tmp_path):
    dump = stacks.read_predictions(*make_dump(np.zeros((2, 4, 3), np.float32) + np.arange(3, dtype=np.float32)))
    paths = [make_run(1), make_run(2)]
    assert [run.seed for run in reading.finished_runs(paths, dump)] == [1, 2]
    assert "records: found 1; 2, one for each run of the dump" in refused(reading.finished_runs, paths[:1], dump)
    line = refused(reading.finished_runs, paths[::-1], dump)
    assert line == f"{tmp_path}/runs/2/run.json: spec.seed: found 2; 1, as the dump has"


def test_weights_of_another_number_and_a_record_without_versions_are_one_line(make_run, measured, refused, tmp_path):
    more = make_run(2, lambda parts: parts["final"].update({"a/bias": np.zeros(4, np.float32)}))
    both = [runs.read_run(record) for record in (make_run(1), more)]
    line = refused(lambda: reading.TrainedVectors(both)[:])
    assert line == f"{tmp_path}/runs/2/weights.npz: found 10 trained weights; 9, as {tmp_path}/runs/1 has"
    line = refused(measured, 2, (), ALL, None)
    assert line.startswith(f"{tmp_path}/runs/1/run.json: observed: no versions of the engine")


CHECKED = "smallcnn/digits/cpu/control"


@pytest.fixture
def check(make_run, make_dump, tmp_path):
    """Check three control runs, of which `change` edits the third, and their logits; returns the verdict."""

    def call(change=None, logits=None, runs=3, **index):
        records = [make_run(seed, change if seed == 3 else None) for seed in range(1, runs + 1)]
        dump = make_dump(np.ones((runs, 4, 2), np.float32) if logits is None else logits, **index)
        control_gate.check(CHECKED.split("/"), *dump, records, out=tmp_path / "gate.json")
        return files.read_json(tmp_path / "gate.json")

    return call


def test_bit_equal_runs_pass_and_those_that_diverged_alike_and_one_is_no_verdict(check):
    verdict = check()
    assert (verdict["cell"], verdict["seeds"], verdict["bit_equal"]) == (CHECKED, [1, 2, 3], True)
    assert len(verdict["weights_sha256"]) == 64
    assert check(logits=np.full((3, 4, 2), np.nan, np.float32), diverged=[True] * 3)["bit_equal"] is True
    assert check(runs=1)["bit_equal"] is None


def in_epoch(epoch, tensor, amount=1e-7):
    def change(parts):
        for weights in parts["epochs"][epoch - 1 :]:
            weights[tensor] = weights[tensor] + np.float32(amount)
        parts["final"] = dict(parts["epochs"][-1])

    return change


def both(*changes):
    return lambda parts: [change(parts) for change in changes]


def negative_zero(parts):
    parts["final"]["a/bias"] = -parts["final"]["a/bias"]


DIFFERENCES = {
    "late, in a later layer": (in_epoch(2, "a/bias"), "they part in epoch 2, first in a/bias"),
    "in the first epoch that differs": (
        both(in_epoch(3, "a/kernel", 1), in_epoch(1, "a/bias")),
        "they part in epoch 1, first in a/bias",
    ),
    "a stopped run": (lambda parts: (parts["epochs"].pop(), parts["record"].update(epochs=2)), "3 and 2 epochs"),
    "the sign of a zero": (negative_zero, "their final weights are not, first in a/bias"),
}


@pytest.mark.parametrize(("change", "found"), DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_runs_that_differ_are_one_line_naming_seeds_epoch_and_layer(change, found, check, tmp_path, refused):
    line = refused(check, change)
    assert line.startswith(f"{CHECKED}: seeds 1 and 3: ")
    assert found in line
    assert line.endswith("; replicates must be bit-equal")
    assert not (tmp_path / "gate.json").exists(), "no verdict may be left behind"


def test_equal_weights_with_different_logits_are_one_line(check, refused):
    logits = np.ones((3, 4, 2), np.float32)
    logits[2, 3, 1] = np.nextafter(np.float32(1), np.float32(2))
    line = refused(check, None, logits)
    assert line == f"{CHECKED}: seeds 1 and 3: equal weights give different logits; replicates must be bit-equal"
