"""The manners of the command line, and `toolnoise run`."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from toolnoise import __version__, cli
from toolnoise.base.program import PACKAGE, ROOT
from toolnoise.commands import command_line, run

# The manners of the command line


def parsers():
    """The parser of each verb."""
    return command_line.parser(command_line.verbs(cli.VERBS))[1].choices


def said(capsys, *arguments):
    """What a command line prints before it ends well."""
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert not ended.value.code
    return capsys.readouterr().out


def test_without_a_verb_it_shows_its_help(capsys):
    assert said(capsys) == said(capsys, "--help")


def test_it_prints_its_version(capsys):
    assert said(capsys, "--version") == f"toolnoise {__version__}\n"


def test_the_help_has_every_verb_once_those_for_people_first(capsys):
    listed = re.findall(r"^  ([a-z][a-z-]*)  ", said(capsys), re.MULTILINE)
    assert sorted(listed) == sorted(parsers())
    assert listed[: len(cli.VERBS)] == list(cli.VERBS)


def test_each_module_of_a_verb_is_in_the_table():
    paths = (path.relative_to(PACKAGE.parent) for glob in ("verbs/[!_]*.py", "verb.py") for path in PACKAGE.rglob(glob))
    there = {".".join(path.with_suffix("").parts) for path in paths}
    assert {*cli.VERBS.values(), "toolnoise.commands.verb"} == there


def test_a_verb_imports_no_other_and_the_help_nothing_that_a_verb_works_with():
    script = (
        "import sys\n"
        "from toolnoise import cli\n"
        "cli.parsed(['compare', 'a.npy', 'b.npy'])\n"
        "verbs = {name for name in sys.modules if name in cli.VERBS.values()}\n"
        "assert verbs == {'toolnoise.comparison.verbs.compare'}, verbs\n"
        "assert not {'numpy', 'toolnoise.steps'} & set(sys.modules)\n"
        "try:\n"
        "    cli.main(['--help'])\n"
        "finally:\n"
        "    assert not {'numpy', 'pandas', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=True)


def test_no_line_of_the_help_is_wider_than_a_terminal(capsys):
    assert max(map(len, said(capsys).splitlines())) <= 80


def test_the_help_of_each_verb_ends_with_an_example():
    for verb, one in parsers().items():
        example = one.format_help().partition("\nexample:\n")[2].splitlines()[0]
        program, *arguments = shlex.split(example)
        assert (program, arguments[0]) == ("toolnoise", verb)
        if arguments[-1] != "...":
            assert cli.parsed(arguments).verb == verb


@pytest.mark.parametrize("shell", command_line.SHELLS)
def test_completion_knows_verbs_and_options(shell, capsys):
    pytest.importorskip("shtab", reason="shtab is not installed")
    script = said(capsys, "--print-completion", shell)
    for word in ("compare", "require-signatures", "synthesise"):
        assert word in script
    if shutil.which(shell):
        assert not subprocess.run([shell, "-n"], input=script, capture_output=True, text=True, check=True).stderr


# `toolnoise run`


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
