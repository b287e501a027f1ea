"""Runs that share a process: their blocks, what they refuse, and the job of each."""

import copy
from collections import Counter

import pytest

from toolnoise import steps
from toolnoise.analyses.replicas.study import blocks
from toolnoise.base.errors import BadInput
from toolnoise.study import config, layout

JAX = {"accelerator": "cpu", "engine": "jax", "kernels": "xla", "impl_noise": "reduction-order"}
OWN = {"many": JAX | {"replicas": 3}, "once": JAX | {"replicas": 2, "at_once": True}}


@pytest.fixture
def many(written):
    """A study on toolings whose runs share a process, beside one whose runs do not."""
    written["hardware"] = copy.deepcopy(OWN)
    block = {"hardware": ["cpu", *OWN], "variants": ["algo", "control"], "seeds": 5, "control_seeds": 3}
    written["grid"] = [written["grid"][0] | block]
    return written


def test_a_process_trains_as_many_runs_as_its_tooling_says_and_the_first_of_control_alone(many, built):
    found = {}
    for runs in blocks(built(many)):
        assert len({run.cell for run in runs}) == 1
        found.setdefault(runs[0].cell[2:], []).append([run.seed for run in runs])
    assert found == {
        ("many", "algo"): [[1, 2, 3], [4, 5]],
        ("many", "control"): [[1], [2, 3]],
        ("once", "algo"): [[1, 2], [3, 4], [5]],
        ("once", "control"): [[1], [2, 3]],
    }


def test_each_run_has_one_job_and_its_block_is_no_part_of_it(many, built):
    study = built(many)
    trained = [job for job in steps.jobs(study) if job.verb in steps.writing(layout.RECORD)]
    assert len({job.place for job in trained}) == len(trained) == 3 * (5 + 3)
    verbs = Counter((job.verb, job.place.hardware) for job in trained)
    assert verbs == {("train", "cpu"): 8, ("train-replica", "many"): 8, ("train-replica", "once"): 8}
    assert {frozenset(job.parameters) for job in trained} == {frozenset({"spec", "keys"})}


FAULTS = [
    ({"variants": ["algo_impl"]}, {}, "grid[0].variants", "'algo_impl' on 'many'", "init, shuffle, augment, dropout"),
    ({"variants": ["impl"]}, {}, "grid[0].variants", "'impl' on 'many'", "control, algo"),
    ({"variants": ["bit"]}, {}, "grid[0].variants", "'bit' on 'many'", "control, algo"),
    ({"variants": ["init+bit_1"]}, {}, "grid[0].variants", "'init+bit_1' on 'many'", "control, algo"),
    ({}, {"replicas": 1}, "hardware.many.replicas", "found 1", "from 2 to 1024"),
    ({}, {"engine": "tensorflow", "kernels": "onednn"}, "hardware.many.replicas", "'tensorflow'", "engine: jax"),
    ({}, {"precision": "mixed_float16"}, "hardware.many.replicas", "'mixed_float16'", "float32 or mixed_bfloat16"),
]


@pytest.mark.parametrize(("block", "tooling", "key", "found", "allowed"), FAULTS)
def test_what_shared_processes_do_not_offer_is_refused_in_one_line(many, block, tooling, key, found, allowed):
    many["grid"][0] |= {"hardware": ["many"], **block}
    many["hardware"]["many"] = OWN["many"] | tooling
    with pytest.raises(BadInput) as refused:
        config.resolve(many, "study.yaml")
    line = str(refused.value)
    assert "\n" not in line
    assert line.startswith(f"study.yaml: {key}: ")
    assert found in line
    assert allowed in line


@pytest.mark.parametrize(
    ("recipe", "said"),
    [({"cycles": 2, "schedule": "cosine"}, "has cycles"), ({"record_steps": True}, "has record_steps")],
)
def test_a_run_that_shares_its_process_keeps_only_its_last_weights(many, recipe, said):
    name = many["grid"][0]["recipe"]
    many["recipes"] = {
        name: config.registered("recipes")[name] | {"epochs": 2} | many.get("recipes", {}).get(name, {}) | recipe
    }
    with pytest.raises(BadInput, match=said):
        config.resolve(many, "study.yaml")


def test_at_once_needs_replicas(many):
    many["hardware"]["many"] = JAX | {"at_once": True}
    with pytest.raises(BadInput, match=r"hardware\.many\.at_once: found it without replicas"):
        config.resolve(many, "study.yaml")


def test_their_steps_are_not_timed(many):
    many["overhead"] = {"models": ["smallcnn"], "hardware": ["many"]}
    with pytest.raises(BadInput, match=r"overhead\.hardware: found 'many'"):
        config.resolve(many, "study.yaml")
