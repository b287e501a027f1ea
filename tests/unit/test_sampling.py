from datetime import datetime
from pathlib import Path

import pytest

from toolnoise.record.statements import Artifact, Statement
from toolnoise.verify.rebuild import sampling
from toolnoise.verify.rebuild.sampling import Made
from toolnoise.verify.tree import Tree

TREE = Tree("tiny", Path("/results/tiny"), {}, {}, (), {}, {}, None)


def made(verb, number, varying=(), output="x.csv"):
    then = datetime(2026, 1, 1)
    parameters = {"spec": {"variant": {"varying": list(varying)}}}
    name = f"results/tiny/{verb}/{number}/{output}"
    return Made(TREE, f"{name}.json", Statement(verb, (Artifact(name, "0" * 64),), (), parameters, {}, then, then, {}))


@pytest.fixture
def jobs():
    """Jobs of every kind, with many trainings."""
    return [
        *(made("train", number, ("impl",)) for number in range(40)),
        *(made("train", number) for number in range(40, 80)),
        *(made("measure", number) for number in range(3)),
        *(made("render", number, output=output) for number, output in enumerate(("a.svg", "b.html"))),
        *(made(verb, 1) for verb in ("predict", "count", "report", "prepare")),
    ]


def kinds(jobs):
    return [one.kind for one in jobs]


def test_a_small_sample_has_a_run_with_noise_figures_and_metrics(jobs):
    found = sampling.sample(jobs, 5, 0, ())
    assert kinds(found) == ["train with noise", "picture", "measure", "table", "predict"]


def test_a_sample_goes_on_in_turns_and_leaves_out_what_it_is_told_to(jobs):
    found = kinds(sampling.sample(jobs, 12, 0, ("report",)))
    assert found[5:8] == ["train", "prepare", "count"]
    assert found[8:] == ["train with noise", "measure", "train", "train with noise"]


def test_the_same_number_gives_the_same_sample_whatever_the_order_of_the_jobs(jobs):
    one = sampling.sample(jobs, 9, 4, ())
    assert sampling.sample(jobs[::-1], 9, 4, ()) == one
    assert sampling.sample(jobs, 9, 5, ()) != one


def test_a_sample_larger_than_the_jobs_is_all_of_them(jobs):
    found = sampling.sample(jobs, 1000, 0, ("report",))
    assert len(found) == len({one.path for one in found}) == len(jobs) - 1
