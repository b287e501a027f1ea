import shutil

import pytest

from toolnoise.base.program import ROOT
from toolnoise.commands import run

STUDY = """
study: mine
grid:
  - { models: [smallcnn], datasets: [digits], recipe: digits, hardware: [cpu, v100], variants: [algo], seeds: 2 }
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a study, which is not the clone."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "study.yaml").write_text(STUDY)
    return tmp_path


def started(*words, profile=None):
    """The study, and the words of Snakemake's command line after the program."""
    study, command = run.command(profile, words)
    assert command[0].endswith("snakemake")
    return study, command[1:]


LOCAL = ["--workflow-profile", str(ROOT / "workflow/profiles/default")]
SNAKEFILE = ["--snakefile", str(ROOT / "Snakefile")]


@pytest.mark.usefixtures("folder")
def test_the_study_of_the_folder_runs_with_this_machines_profile():
    assert started() == ("study.yaml", ["--configfile", "study.yaml", *LOCAL, *SNAKEFILE])


@pytest.mark.parametrize("words", [["other.yaml", "--cores", "2"], ["--cores", "2", "other.yaml"]], ids=str)
def test_a_named_study_runs_and_other_words_are_passed_on_in_their_order(folder, words):
    shutil.copyfile("study.yaml", folder / "other.yaml")
    expected = ["--configfile", "other.yaml", *LOCAL, *SNAKEFILE, "--cores", "2"]
    assert started(*words) == ("other.yaml", expected)


@pytest.mark.usefixtures("folder")
def test_the_first_word_is_the_study_even_if_there_is_no_such_file():
    assert started("absent.yaml", "-n") == ("absent.yaml", ["--configfile", "absent.yaml", *LOCAL, *SNAKEFILE, "-n"])


@pytest.mark.usefixtures("folder")
def test_a_target_follows_an_option_of_one_value():
    _, words = started("speed")
    assert words[-3:] == [*SNAKEFILE, "speed"]


@pytest.mark.usefixtures("folder")
def test_snakemakes_own_option_may_name_the_study_and_the_profile():
    words = ["--configfile", "study.yaml", "--workflow-profile", "elsewhere"]
    assert started(*words) == ("study.yaml", [*SNAKEFILE, *words])


@pytest.mark.usefixtures("folder")
def test_a_profile_of_the_workflow_is_found_from_any_folder_and_shows_progress():
    _, words = started(profile="slurm-v100")
    assert words[2:] == ["--profile", str(ROOT / "workflow/profiles/slurm-v100"), "--logger", "toolnoise", *SNAKEFILE]


@pytest.mark.parametrize(
    ("profile", "tooling", "config"),
    [
        ("slurm-v100", "v100", []),
        ("slurm", "v100", ["--config", "only=[v100]"]),
        ("slurm-t4", "v100", ["--config"]),
    ],
)
@pytest.mark.usefixtures("folder")
def test_of_a_profiles_toolings_those_that_the_study_has_remain(profile, tooling, config):
    assert tooling in STUDY
    _, words = started(profile=profile)
    assert words[: words.index("--configfile")] == config


def test_without_a_study_file_a_profile_runs_its_own(folder):
    (folder / "study.yaml").unlink()
    study, words = started(profile="slurm-v100")
    assert study == str(ROOT / "workflow/studies/paper.yaml")
    assert "--config" not in words


@pytest.mark.usefixtures("folder")
def test_a_profile_of_ones_own_is_snakemakes_to_find():
    _, words = started(profile="mine")
    assert words[2:4] == ["--profile", "mine"]


@pytest.mark.parametrize(
    ("option", "nothing"),
    [("-n", True), ("-np", True), ("--dry-run", True), ("--unlock", True), ("--list-rules", True), ("-p", False)],
)
def test_options_under_which_there_is_nothing_to_sum_up_are_known(option, nothing):
    assert bool(run._NO_RESULTS.fullmatch(option)) == nothing
