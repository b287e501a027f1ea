"""A job that is killed at any operation on files is made again with the same bits, and the audit finds nothing."""

import os
import re
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from conftest import NAME, bits, files_of, run_folder, study_of

# Of a training; of each other verb.
KILLS, FEWER = 60, 6


@pytest.fixture(scope="module")
def place(tmp_path_factory, prepared):
    """The study, with its data prepared."""
    return shutil.copytree(prepared, tmp_path_factory.mktemp("kills"), dirs_exist_ok=True)


@pytest.fixture(scope="module")
def driver(place, drive):
    return drive(place)


@pytest.fixture(scope="module")
def trained(driver, planned, drawn):
    """A training for each kill, killed and made again, two at a time; and the operations of undisturbed ones."""
    undisturbed = [driver.do(planned["train", str(seed)]) for seed in (1, 2)]
    assert [one.code for one in undisturbed] == [0, 0], undisturbed
    at = drawn(len(undisturbed[1].done), KILLS)
    cases = [(planned["train", str(seed)], number) for seed, number in enumerate(at, 3)]
    ended = {}
    for start in range(0, len(cases), 2):
        pair = cases[start : start + 2]
        killed = driver.perform(*((argv, {"fault": "kill", "at": number}) for argv, number in pair))
        again = driver.perform(*((argv, {}) for argv, _ in pair))
        ended |= {number: both for (_, number), *both in zip(pair, killed, again, strict=True)}
    return undisturbed, ended


@pytest.fixture(scope="module")
def predicted(place, trained, snakemake, planned, write_study):
    """The study of these runs alone, up to what is measured."""
    seeds = [int(seed) for verb, seed in planned if verb == "train"]
    there = [seed for seed in seeds if (run_folder(place, seed) / "run.json").exists()]
    assert len(there) > len(trained[1])
    write_study(place, study_of(max(there)))
    done = snakemake(place, "--until", "dump_predictions")
    assert done.returncode == 0, done.stdout + done.stderr
    return place


@pytest.fixture(scope="module")
def left(predicted, commands):
    """The command lines of its jobs."""
    return commands(predicted)


@pytest.fixture(scope="module")
def finished(predicted, snakemake):
    """All of it."""
    done = snakemake(predicted)
    assert done.returncode == 0, done.stdout + done.stderr
    return predicted


def test_each_rename_and_each_new_folder_is_synced(trained):
    for one in trained[0]:
        # The file before it is renamed, and its folder afterwards; the folder that a new folder lies in.
        assert one.done.count("s") == 2 * one.done.count("r") + one.done.count("m")
        assert not re.search(r"[^s]r|r[^s]|m[^s]", one.done)


def test_a_training_that_is_killed_anywhere_ends_with_the_same_bits(trained, place):
    wanted = bits(place, 1)
    for seed, (number, (killed, again)) in enumerate(trained[1].items(), 3):
        assert (number, killed.code) == (number, -signal.SIGKILL)
        assert (number, again.code) == (number, 0), again.said
        assert bits(place, seed) == wanted, number


def test_two_verbs_on_one_output_make_it_once(trained, planned, driver, place):
    argv = planned["train", str(3 + len(trained[1]))]
    ended = driver.perform((argv, {}), (argv, {}))
    assert sorted(one.code for one in ended) in ([0, 0], [0, 2])
    for one in ended:
        assert one.code == 0 or "another process is making it" in one.said
    assert bits(place, 3 + len(trained[1])) == bits(place, 1)


@pytest.mark.parametrize(("what", "make"), [("a folder", Path.mkdir), ("a pipe or a device", os.mkfifo)])
def test_what_is_in_the_way_is_found_before_a_training_starts(what, make, trained, planned, driver, place):
    seed = 4 + len(trained[1])
    record = run_folder(place, seed) / "run.json"
    record.parent.mkdir()
    make(record)
    ended = driver.do(planned["train", str(seed)])
    assert (ended.code, ended.said) == (
        2,
        f"toolnoise: {record.relative_to(place)}: {what} is in the way; a file, or nothing\n",
    )
    assert [path.name for path in record.parent.iterdir()] == ["run.json"]
    shutil.rmtree(record.parent)


def remade(driver, argv, folder, at):
    """Kill a job at some of its operations, and make it again each time: its files must be the same."""
    undisturbed = driver.do(argv)
    assert undisturbed.code == 0, undisturbed.said
    wanted = results_of(folder)
    for number in at(len(undisturbed.done), FEWER):
        assert driver.do(argv, fault="kill", at=number).code == -signal.SIGKILL
        again = driver.do(argv)
        assert again.code == 0, again.said
        found = results_of(folder)
        assert found.keys() == wanted.keys()
        assert [name for name in wanted if found[name] != wanted[name]] == []


def results_of(folder):
    """Every file but statements, which have times."""
    found = files_of(folder / f"results/{NAME}")
    return {name: content for name, content in found.items() if not name.startswith("statements/")}


def test_a_measure_that_is_killed_anywhere_is_made_again(predicted, left, driver, drawn):
    remade(driver, left["measure", ""], predicted, drawn)


def test_killed_trainings_and_measures_leave_nothing_that_an_audit_finds(finished, is_clean):
    is_clean(finished)


def test_a_figure_that_is_killed_anywhere_is_made_again(finished, left, driver, drawn, is_clean):
    remade(driver, left["render", "table2"], finished, drawn)
    assert driver.do(left["report", ""]).code == 0
    is_clean(finished)


def test_an_audit_repairs_what_is_damaged_or_missing_and_removes_what_is_left(finished, toolnoise, is_clean):
    results = finished / f"results/{NAME}"
    wanted = results_of(finished)
    (results / "figures/table2.csv").write_text("damaged")
    (results / "figures/table2.md").unlink()
    (results / "statements/figures/table2.html.intoto.json").unlink()
    (results / "figures/.table2.csv.13gkcno8.csv").write_text("half")
    untouched = {path: path.stat().st_mtime_ns for path in (results / "runs").rglob("*")}
    done = toolnoise(finished, "audit", results, "--clean", "--repair")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "removed: " in done.stderr
    assert "running: " in done.stderr
    found = results_of(finished)
    assert found.keys() == wanted.keys()
    assert [name for name in wanted if found[name] != wanted[name]] == []
    assert {path: path.stat().st_mtime_ns for path in (results / "runs").rglob("*")} == untouched
    is_clean(finished)


@pytest.fixture(scope="module")
def key(tmp_path_factory):
    """A signing key, and the file that allows it."""
    folder = tmp_path_factory.mktemp("key")
    made = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / "key"]
    subprocess.run(made, check=True)
    (folder / "allowed").write_text("me@example.org " + (folder / "key.pub").read_text())
    return folder


def test_a_signing_that_is_killed_goes_on(finished, key, driver, drawn, is_clean, tmp_path):
    before, argv = tmp_path / "before", ["sign", f"results/{NAME}", "--key", str(key / "key")]
    shutil.copytree(finished / "results", before)
    undisturbed = driver.do(argv)
    assert undisturbed.code == 0, undisturbed.said
    wanted = files_of(finished / "results")
    for number in drawn(len(undisturbed.done), FEWER):
        shutil.rmtree(finished / "results")
        shutil.copytree(before, finished / "results")
        assert driver.do(argv, fault="kill", at=number).code == -signal.SIGKILL
        assert driver.do(argv).code == 0
        assert files_of(finished / "results").keys() == wanted.keys()
    is_clean(finished, "--require-signatures", str(key / "allowed"))


def test_an_import_that_is_killed_is_made_again(finished, driver, drawn, is_clean, toolnoise, tmp_path):
    archive = tmp_path / "runs.tar"
    results = finished / f"results/{NAME}"
    done = toolnoise(finished, "export", results, "--out", archive, "--no-predictions")
    assert done.returncode == 0, done.stderr
    # What another site has: the study and its data.
    kept = {name: results / name for name in ("study.json", "data/digits.npz")}
    argv = ["import", str(archive), "--into", f"results/{NAME}"]
    original = finished / "original"
    results.rename(original)

    def bare():
        shutil.rmtree(results, ignore_errors=True)
        for name in [*kept, *(f"statements/{name}.intoto.json" for name in kept)]:
            (results / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(original / name, results / name)

    bare()
    undisturbed = driver.do(argv)
    assert undisturbed.code == 0, undisturbed.said
    wanted = files_of(results)
    assert any(name.startswith("runs/") for name in wanted)
    for number in drawn(len(undisturbed.done), FEWER):
        bare()
        assert driver.do(argv, fault="kill", at=number).code == -signal.SIGKILL
        again = driver.do(argv)
        assert again.code == 0, again.said
        assert files_of(results) == wanted
    is_clean(finished, complete=False)
    shutil.rmtree(results)
    original.rename(results)
