"""The rules of the workflow and the functions that do their jobs agree, in a study that has a job of every kind."""

import json
import re
from collections import Counter

import pytest

from toolnoise import cli
from toolnoise.checks.expected_jobs import expected_jobs
from toolnoise.commands import jobs
from toolnoise.provenance.statements import path_for
from toolnoise.study import grid, job_code
from toolnoise.study.expected import first_output

# What only the order of jobs follows from, by verb: a part of each path. Jobs do not read it.
BEFORE = {
    "fetch": ("mine.npz", "text.npz", "folder"),
    "prepare": (".sources.json",),
    "train": ("/models/",),
    "collect": ("/control/",),
    "render": ("/control/",),
}


@pytest.fixture(scope="module")
def folder(every_kind_of_job):
    return every_kind_of_job["folder"]


@pytest.fixture(scope="module")
def called(every_kind_of_job):
    """The jobs that call a verb: each with its verb, parameters and files, as the verb takes them from the command."""
    found = []
    for job in every_kind_of_job["jobs"]:
        if job["words"]:
            options = vars(cli.parsed(job["words"]))
            function = job_code.function_of(options["verb"])
            files = {name: options[name] if options[name] is not None else () for name in function.files}
            found.append((job, options["verb"], jobs.parameters_of(function, options), files))
    return found


def as_json(value):
    """Whatever differs as JSON differs: 1 and 1.0, too."""
    return json.dumps(value, sort_keys=True)


def test_every_verb_of_a_job_has_one_rule_and_every_rule_says_what_it_does(every_kind_of_job):
    calling = {
        name: rule for name, rule in every_kind_of_job["rules"].items() if "toolnoise " in (rule["command"] or "")
    }
    verbs = Counter(re.search(r"toolnoise ([\w-]+)", rule["command"])[1] for rule in calling.values())
    # Figures and tables.
    assert verbs.pop("render") == 2
    assert verbs == dict.fromkeys(job_code.JOBS.keys() - {"render"}, 1)
    assert [name for name, rule in calling.items() if not (rule["log"] and rule["conda"])] == []
    assert [name for name, rule in every_kind_of_job["rules"].items() if not rule["docstring"]] == []
    # Not a wildcard: a plan of many runs looks for the rule of each file by what its path begins with.
    assert {log.split("/")[1] for rule in calling.values() for log in rule["log"]} == {"fuzz"}


def test_a_command_has_what_snakemake_gives_a_job_alone(every_kind_of_job):
    """In a module, it knows no other name of these files."""
    commands = {name: rule["command"] or "" for name, rule in every_kind_of_job["rules"].items()}
    named = {(name, found) for name, command in commands.items() for found in re.findall(r"{(\w+)", command)}
    given = {"input", "output", "params", "wildcards", "threads", "log"}
    assert [one for one in named if one[1] not in given] == []


def test_a_rule_gives_every_option_of_its_verb(every_kind_of_job):
    lacking = set()
    for rule in every_kind_of_job["rules"].values():
        for verb in re.findall(r"toolnoise ([\w-]+)", rule["command"] or ""):
            if verb in job_code.JOBS:
                given = set(re.findall(r" (--[\w-]+) ", rule["command"]))
                lacking |= {(verb, option) for option in jobs.verb(verb).arguments.keys() - given}
    # Only profiles are of images and steps, and of no data set; only what is exchanged was trained elsewhere.
    assert {option for _, option in lacking} == {"--dataset", "--images", "--steps", "--trained-on"}
    assert {verb for verb, option in lacking if option == "--dataset"} == {"profile"}
    assert {verb for verb, option in lacking if option == "--trained-on"} == {"predict"}


def test_the_command_of_a_job_has_its_parameters_and_its_rule_their_code(called, folder, monkeypatch):
    """What is pasted from `snakemake --printshellcmds` is what the audit expects statements to say."""
    # Where the module of an own model lies.
    monkeypatch.chdir(folder)
    study = grid.load(folder / "study.yaml")
    expected = {job.outputs[0]: job for job in expected_jobs(study)}
    assert {job.verb for job in expected.values()} == {*job_code.JOBS, "configure"}
    for job, verb, parameters, _ in called:
        wanted = expected.pop(job["outputs"][0])
        assert (verb, as_json(parameters)) == (wanted.verb, as_json(wanted.parameters)), job["words"]
        assert job["code"] == job_code.digest(verb, parameters), job["words"]
        assert sorted(job["outputs"][:-1]) == sorted(wanted.outputs), job["words"]
        for path in wanted.outputs:
            # A notebook that was executed is nobody's input.
            assert first_output(path) == job["outputs"][0] or path.endswith(".ipynb"), path
    assert {job.verb for job in expected.values()} <= {"configure", "measure-speed"}


def test_a_rule_has_the_files_of_its_function(called):
    for job, verb, _, files in called:
        function = job_code.function_of(verb)
        read = {path for path, _ in function.read(files)}
        written = [path for path, _ in function.written(files)]
        assert read <= set(job["inputs"]), job["words"]
        assert all(any(part in path for part in BEFORE[verb]) for path in set(job["inputs"]) - read), job["words"]
        assert job["outputs"] == [*written, str(path_for(written[0]))], job["words"]
