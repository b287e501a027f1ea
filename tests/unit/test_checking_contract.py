"""What an existing training program is given: seeds, variables, a job, a command line."""

import json
import subprocess
import sys

import jsonschema
import pytest
import yaml

from toolnoise.base import command_words, files, program
from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.checking import contract


@pytest.fixture
def job(make_spec):
    return lambda variant, seed: contract.job(make_spec(variant, seed), "tiny", "out put", "check")


def test_a_source_that_may_not_vary_has_the_same_seed_in_every_run(job):
    for variant, varying in (("control", ()), ("algo_impl", ALGORITHMIC), ("shuffle", ("shuffle",))):
        one, other = (job(variant, seed)["seeds"] for seed in (1, 2))
        assert {source for source in ALGORITHMIC if one[source] != other[source]} == set(varying)
    # A source has the same seed whatever else varies, so that variants can be compared run by run.
    assert job("shuffle", 2)["seeds"]["shuffle"] == job("algo_impl", 2)["seeds"]["shuffle"]
    assert job("impl", 1)["seeds"] == job("control", 3)["seeds"]


def test_seeds_are_of_32_bits_and_differ(job):
    seeds = [seed for number in range(1, 200) for seed in job("algo_impl", number)["seeds"].values()]
    assert len(set(seeds)) == len(seeds)
    assert max(seeds) < 2**32
    assert max(seeds) >= 2**31


def test_only_where_impl_may_vary_is_nothing_deterministic(job):
    found = {variant: job(variant, 1)["deterministic"] for variant in ("control", "algo", "impl", "algo_impl")}
    assert found == {"control": True, "algo": True, "impl": False, "algo_impl": False}


def test_a_program_finds_its_job_in_its_environment(job, tmp_path):
    mine = job("algo_impl", 2)
    variables = contract.variables(mine, tmp_path / "job.json")
    assert variables["TOOLNOISE_OUT"].endswith("/out put")
    assert variables["TOOLNOISE_JOB"] == str(tmp_path / "job.json")
    assert variables["TOOLNOISE_DETERMINISTIC"] == "0"
    assert int(variables["TOOLNOISE_SEED_AUGMENT"]) == mine["seeds"]["augment"]
    assert len(variables) == 8


def test_the_job_is_as_its_schema_says(job, tmp_path):
    rules = yaml.safe_load((program.ROOT / "workflow/schemas/outcome.schema.yaml").read_text())
    for variant in ("control", "algo_impl"):
        files.write_json(tmp_path / "job.json", job(variant, 3))
        written = json.loads((tmp_path / "job.json").read_text())
        jsonschema.validate(written, {"$ref": "#/$defs/job", **rules})
        assert (written["model"], written["hardware"], written["seed"]) == ("smallcnn", "cpu", 3)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(written | {"seeds": {"init": 1}}, {"$ref": "#/$defs/job", **rules})


def test_values_stay_within_their_words(job):
    words = command_words.words("""train --seed={init} --out "{out}" --json '{"a": 1}' ${HOME} {A}""")
    mine = job("control", 1)
    filled = command_words.filled(words, contract.values(mine))
    assert filled[1:4] == [f"--seed={mine['seeds']['init']}", "--out", mine["out"]]
    assert filled[4:] == ["--json", '{"a": 1}', "${HOME}", "{A}"]
    assert command_words.placeholders(words) == ["init", "out"]
    said = subprocess.run([sys.executable, "-c", "import sys; print(sys.argv[1])", filled[3]], stdout=-1, text=True)
    assert said.stdout == f"{mine['out']}\n"


@pytest.mark.parametrize(
    ("command", "line"),
    [
        ("", "command: no program; such as: python train.py --seed {init} --out {out}"),
        ("train 'it", "command: train 'it: cannot be split (No closing quotation); a command line with closed quotes"),
        (
            "train {seed}",
            "command: unknown placeholder {seed}; "
            "allowed: {init}, {shuffle}, {augment}, {dropout}, {out}, {checkpoint}, {env:NAME}",
        ),
    ],
)
def test_bad_commands_are_refused(command, line, refused):
    assert refused(command_words.words, command) == line
