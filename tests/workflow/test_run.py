"""`toolnoise run` from a folder that is not the clone: Snakemake's results and exit code, and the summary.

tests/system/faults/test_ended_runs.py sends it signals.
"""

import shlex


def test_a_finished_study_is_summed_up_and_the_command_can_be_pasted(copied, toolnoise, run):
    done = toolnoise(copied, "run", "--cores", "1")
    assert done.returncode == 0, done.stderr
    assert "the page: results/small/index.html" in done.stdout
    assert "bit-equal" in done.stdout
    command = next(line for line in done.stderr.splitlines() if "--configfile study.yaml" in line)
    again = run(copied, *shlex.split(command))
    assert again.returncode == 0
    assert "Nothing to be done" in again.stdout + again.stderr


def test_a_dry_run_shows_what_is_planned_and_no_summary(copied, toolnoise):
    (copied / "results/small/index.html").unlink()
    done = toolnoise(copied, "run", "-n")
    assert done.returncode == 0, done.stderr
    assert "write_page" in done.stderr + done.stdout
    assert "the page:" not in done.stdout


def test_the_verbs_that_read_a_study_find_that_of_the_folder(small_study, printed_by_verb, monkeypatch):
    monkeypatch.chdir(small_study)
    for verb, word in (("summary", "bit-equal"), ("estimate", "trainings")):
        assert word in printed_by_verb(verb)
