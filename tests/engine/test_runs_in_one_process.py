"""Runs that share a process: each has the bits of the same run in other company, and in turn those of a run alone."""

import csv
import shutil

import pytest

from toolnoise.base import files
from toolnoise.study import layout

JAX = {"accelerator": "cpu", "engine": "jax", "kernels": "xla", "impl_noise": "none"}
OWN = {
    "alone": JAX,
    "in-turn": JAX | {"replicas": 8},
    "at-once": JAX | {"replicas": 4, "at_once": True},
}
MODEL = "smallcnn-dropout"
# With a rest of a batch: a step of another size.
KEPT = {"epochs": 2, "batch_size": 128, "learning_rate": 0.01, "schedule": "cosine", "warmup_epochs": 1}
KEPT |= {"normalise": "per-image", "crop": 2, "flip": True, "last_batch": "kept"}
BLOCK = {"models": [MODEL], "datasets": ["digits"], "recipe": "here", "hardware": list(OWN), "seeds": 3}
BLOCK |= {"control_seeds": 3}


class Company:
    """A study whose runs are trained in the company that a test chooses."""

    def __init__(self, here):
        self.here = here
        data = here.folder / here.study.path(layout.DATA, dataset="digits")
        data.parent.mkdir(parents=True)
        shutil.copy(here.folder / here.data, data)

    def attempt(self, hardware, variant, *seeds):
        """Train runs in one process; return the finished process."""
        cell = {"model": MODEL, "dataset": "digits", "hardware": hardware, "variant": variant}
        names = [word for name, value in cell.items() for word in (f"--{name}", value)]
        words = ["train-replicas", "--study", "study.yaml", *names, "--seeds", *map(str, seeds)]
        return self.here.toolnoise(self.here.folder, *words)

    def train(self, hardware, variant, *seeds):
        """Train runs in one process; return the weights, the history without times and the record of each."""
        done = self.attempt(hardware, variant, *seeds)
        assert done.returncode == 0, done.stderr
        cell = self.here.cell._replace(hardware=hardware, variant=variant)
        return [self.read(self.here.folder / self.here.study.path(layout.RUN, cell, seed=seed)) for seed in seeds]

    def read(self, folder):
        """What a run left."""
        with (folder / "history.csv").open(newline="") as file:
            history = [row | {"seconds": ""} for row in csv.DictReader(file)]
        return (folder / "weights.npz").read_bytes(), history, files.read_json(folder / "run.json")


@pytest.fixture(scope="module")
def company(workshop_of):
    return Company(workshop_of(KEPT))


@pytest.fixture(scope="module")
def workshop_of(tmp_path_factory, write_study, workshop_in):
    """Open a workshop on the toolings of this module."""

    def make(recipe):
        grid = [BLOCK | {"variants": ["algo", "control"]}]
        written = {"study": "company", "grid": grid, "recipes": {"here": recipe}, "hardware": OWN}
        return workshop_in(write_study(tmp_path_factory.mktemp("company"), written))

    return make


@pytest.fixture(scope="module")
def three(company):
    """Three runs at once, in a program for four."""
    return company.train("at-once", "algo", 1, 2, 3)


def test_a_run_in_turn_has_the_bits_of_a_run_alone(company):
    (_, (weights, history, record)) = company.train("in-turn", "algo", 1, 2)
    alone = company.here.train("algo", 2, hardware="alone")
    assert weights == alone.weight_bytes
    assert history == [row | {"seconds": ""} for row in alone.history]
    same = (
        "data_sha256",
        "initial_sha256",
        "status",
        "epochs",
        "emulated_noise",
        "moved_bit",
        "resumed_after",
        "trainable",
    )
    assert {key: record[key] for key in same} == {key: alone.record[key] for key in same}
    assert record["shared"] == {"seeds": [1, 2], "place": 2}
    assert "shared" not in alone.record


def test_a_run_at_once_has_the_same_bits_in_any_place_and_company(company, three):
    (_, second, third) = three
    (third_again, second_again) = company.train("at-once", "algo", 3, 2)
    assert second_again[:2] == second[:2]
    assert third_again[:2] == third[:2]
    (by_itself,) = company.train("at-once", "algo", 2)
    assert by_itself[:2] == second[:2]
    assert [run[2]["shared"]["place"] for run in (second, second_again, by_itself)] == [2, 2, 1]


def test_runs_at_once_have_draws_of_their_own(company, three):
    assert len({weights for weights, *_ in three}) == 3
    alone = company.here.train("algo", 2, hardware="alone")
    second = three[1]
    assert [row["draws_sha256"] for row in second[1]] == [row["draws_sha256"] for row in alone.history]
    assert second[2]["initial_sha256"] == alone.record["initial_sha256"]
    # Rounding alone parts them: they are one training, in two programs.
    first = [float(history[0]["train_loss"]) for history in (second[1], alone.history)]
    assert first[0] == pytest.approx(first[1], rel=1e-4)


def test_control_at_once_is_equal_beside_itself_and_in_other_processes(company):
    (first,) = company.train("at-once", "control", 1)
    second, third = company.train("at-once", "control", 2, 3)
    assert first[:2] == second[:2] == third[:2]


def test_each_run_is_stated_as_a_job_of_its_own(company, three):
    assert len(three) == 3
    folder = company.here.folder / "results/company/statements"
    stated = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("at-once/algo/*/*.json"))
    assert [path.split("/")[-2] for path in stated] == ["1", "2", "3"]


def test_a_seed_that_the_study_does_not_have_is_refused_in_one_line(company, refusal):
    line = refusal(company.attempt("in-turn", "algo", 1, 9))
    assert "no seed 9 of smallcnn-dropout/digits/in-turn/algo" in line


def test_runs_that_diverge_end_as_they_do_alone(workshop_of):
    here = Company(workshop_of({"epochs": 3, "batch_size": 128, "learning_rate": 1e30}))
    for hardware in ("in-turn", "at-once"):
        for weights, history, record in here.train(hardware, "algo", 1, 2):
            assert record["status"] == "diverged"
            assert len(history) == record["epochs"] == 1
            assert weights
