"""The command line: its manners, `toolnoise run`, and what is printed of a failure."""

import os
import re
import shlex
import shutil
import subprocess
import sys

import pytest

from snakemake_logger_plugin_toolnoise import log_tail, silent_end
from toolnoise import __version__, cli
from toolnoise.base.printing import printing_plainly, size_text, span_text
from toolnoise.base.program import PACKAGE, ROOT
from toolnoise.base.spec import Spec
from toolnoise.commands import jobs, run

# The manners of the command line


def parsers():
    """The parser of each verb."""
    return cli.parser_of_verbs(cli.declared_verbs())[1].choices


def said(capsys, *arguments):
    """What a command line prints before it ends well."""
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert not ended.value.code
    return capsys.readouterr().out


LISTED = {
    "your results": ["compare", "plan", "gate", "keep", "check"],
    "studies": ["init", "run", "summary", "estimate"],
    "trust": ["audit", "diff", "rebuild"],
    "more": ["export", "import", "sign", "adopt", "doctor", "crate"],
}


def test_the_help_has_twelve_verbs_in_three_groups_then_more_and_none_of_a_rule(capsys):
    assert said(capsys, "--version") == f"toolnoise {__version__}\n"
    text = said(capsys, "--help")
    assert text == said(capsys)
    assert max(map(len, text.splitlines())) <= 80
    _, *groups = re.split(r"^(your results|studies|trust|more):$", text, flags=re.MULTILINE)
    listed = {
        name: re.findall(r"^  ([a-z]+) ", text, re.MULTILINE)
        for name, text in zip(groups[::2], groups[1::2], strict=True)
    }
    assert listed == LISTED
    assert sorted(parsers()) == sorted(verb for verbs in LISTED.values() for verb in verbs)
    assert cli.declared_verbs("train").keys() == {"train"}, "a rule calls it all the same"


def test_the_help_of_each_verb_fits_on_a_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "200")
    for verb, one in parsers().items():
        lines = one.format_help().splitlines()
        assert len(lines) <= 40, verb
        assert max(map(len, lines)) <= cli.WIDEST, verb


def test_each_module_of_a_verb_is_in_the_table():
    paths = (path.relative_to(PACKAGE.parent) for glob in ("verbs/[!_]*.py", "verb.py") for path in PACKAGE.rglob(glob))
    there = {".".join(path.with_suffix("").parts) for path in paths}
    assert {*(place.partition(":")[0] for place in cli.VERBS.values()), "toolnoise.commands.verb"} == there


def test_a_verb_imports_no_other_and_the_help_nothing_that_a_verb_works_with():
    script = (
        "import sys\n"
        "from toolnoise import cli\n"
        "cli.parse_options(['compare', 'a.npy', 'b.npy'])\n"
        "verbs = {place.partition(':')[0] for place in cli.VERBS.values()} & set(sys.modules)\n"
        "assert verbs == {'toolnoise.verbs.gain'}, verbs\n"
        "assert not {'numpy', 'toolnoise.checks'} & set(sys.modules)\n"
        "try:\n"
        "    cli.main(['--help'])\n"
        "finally:\n"
        "    assert not {'numpy', 'pandas', 'scipy'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], stdout=subprocess.DEVNULL, check=True)


def test_the_help_of_each_verb_begins_with_an_example_that_works():
    for verb, one in parsers().items():
        usage, example = re.fullmatch(r"(.*)\n\n.*\n\nexample:\n  (.*?)\n.*", one.format_help(), re.DOTALL).groups()
        assert "\n" not in usage
        program, *arguments = shlex.split(example)
        assert (program, arguments[0]) == ("toolnoise", verb)
        if arguments[-1] != "...":
            assert cli.parse_options(arguments).verb == verb


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
    study, command = run.snakemake_command(profile, words)
    assert command[0].endswith("snakemake")
    return study, command[1:]


SNAKEFILE = ["--snakefile", str(ROOT / "Snakefile")]


@pytest.mark.parametrize(
    ("words", "study", "expected"),
    [
        ([], "study.yaml", ["--configfile", "study.yaml", *SNAKEFILE]),
        (["other.yaml", "--cores", "2"], "other.yaml", ["--configfile", "other.yaml", *SNAKEFILE, "--cores", "2"]),
        (["--cores", "2", "other.yaml"], "other.yaml", ["--configfile", "other.yaml", *SNAKEFILE, "--cores", "2"]),
        # Snakemake's own option may name it.
        (["--configfile", "study.yaml", "-p"], "study.yaml", [*SNAKEFILE, "--configfile", "study.yaml", "-p"]),
    ],
)
def test_the_named_study_runs_or_that_of_the_folder_and_other_words_are_passed_on(words, study, expected, folder):
    if "other.yaml" in words:
        shutil.copyfile("study.yaml", folder / "other.yaml")
    assert started(*words) == (study, expected)


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


@pytest.mark.parametrize(
    ("option", "nothing"), [("-np", True), ("--unlock", True), ("--list-rules", True), ("-p", False)]
)
def test_options_under_which_there_is_nothing_to_sum_up_are_known(option, nothing):
    assert bool(run._NO_RESULTS.fullmatch(option)) == nothing


def test_spans_and_sizes_are_told_in_a_person_s_unit():
    assert [span_text(seconds) for seconds in (0.2, 89, 90, 5399, 5400)] == ["1 s", "89 s", "2 min", "90 min", "1.5 h"]
    assert [size_text(count) for count in (0, 999, 1000, 2.5e9)] == ["0 B", "999 B", "1.0 kB", "2.5 GB"]


def test_nothing_that_a_terminal_obeys_is_printed(capsys):
    with printing_plainly():
        print("\x1b[2Jred\a\r\u202e\udc80\tnext", file=sys.stdout)
        print("\x9b1m café", file=sys.stderr)
    assert capsys.readouterr() == ("\\x1b[2Jred\\x07\\r\\u202e\\udc80\tnext\n", "\\x9b1m café\n")


# What a log says of a failure


@pytest.mark.parametrize("line", ["toolnoise: x: refused", "numpy.linalg.LinAlgError: singular"])
def test_a_refusal_or_an_exception_at_the_end_says_why(line):
    assert silent_end(f"epoch 1 of 2\n{line}\n\n") == ""
    # A greeting is no reason.
    assert silent_end("I0000 oneDNN custom operations are on.\n").startswith("it ended without a message")
    assert silent_end(" \n").startswith("its log is empty")


def test_a_pipe_in_the_place_of_a_log_is_refused_at_once(tmp_path, refused):
    os.mkfifo(tmp_path / "log")
    assert refused(log_tail, tmp_path / "log") == f"{tmp_path}/log: a pipe or a device; expected a file"
    (tmp_path / "large").write_text("x" * 10**6 + "end")
    assert len(log_tail(tmp_path / "large")) < 10**4
    assert log_tail(tmp_path / "large").endswith("end")


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ("comparee", "no verb 'comparee'; did you mean compare? see toolnoise --help"),
        ("xyzzy", "no verb 'xyzzy'; see toolnoise --help"),
    ],
)
def test_a_verb_with_a_slip_is_one_line_with_the_verb_that_was_meant(typed, says, capsys):
    with pytest.raises(SystemExit) as ended:
        cli.main([typed])
    assert ended.value.code == 2
    assert capsys.readouterr().err == f"toolnoise: command line: {says}\n"


# The command lines of jobs: what is no spec, place or value is refused in one line


FILES = ["--grams", "g.npy", "--index", "g.json", "--out", "o.csv"]


@pytest.mark.parametrize("cell", ["a", "a/b/c", "a/b/c/d/e", "a//c/d", ""])
def test_a_cell_has_all_of_its_names(cell, refused_by_verb):
    line = refused_by_verb("measure-layers", "--cell", cell, *FILES)
    assert line == f"toolnoise: command line: --cell: found {cell!r}; model/dataset/hardware/variant"


@pytest.mark.parametrize(
    ("options", "found"),
    [
        (["--model", "name"], "--model: found 'name'; key=value"),
        (["--model", "name=a", "--seed", "1"], "--seed: found '1'; key=value"),
        (["--model", "name=a"], "no spec ("),
    ],
)
def test_what_is_no_spec_is_one_line(options, found, refused_by_verb):
    spec = {"--model": "name=a", "--recipe": "", "--tooling": "name=cpu", "--variant": "name=impl", "--seed": "seed=1"}
    spec |= dict(zip(options[::2], options[1::2], strict=True))
    words = [word for pair in spec.items() for word in pair]
    assert found in refused_by_verb("profile", *words, "--out", "o.csv", "--record", "o.json")


def test_what_is_no_json_is_one_line(refused_by_verb):
    place = ["--model", "a", "--dataset", "b", "--hardware", "c", "--records", "r.json", "--out", "o.csv"]
    line = refused_by_verb("measure-growth", *place, "--references", "[[")
    assert line == "toolnoise: command line: --references: found '[['; JSON"


def test_a_recipe_that_lacks_what_a_job_asks_of_it_is_one_line_and_another_fault_is_none(monkeypatch, refused_by_verb):
    spec = {"--model": "name=a", "--recipe": "name=b", "--tooling": "name=cpu", "--variant": "name=impl"}
    words = [word for pair in (spec | {"--seed": "study_seed=0 seed=1"}).items() for word in pair]
    words = [*words, "--out", "o.csv", "--record", "o.json"]
    monkeypatch.setattr(Spec, "read", staticmethod(lambda value: value))

    def asks(key):
        monkeypatch.setattr(jobs, "recorded_job", lambda *_: {}[key])

    asks("normalise")
    assert "--recipe: lacks the key 'normalise'" in refused_by_verb("profile", *words)
    asks("anything")
    with pytest.raises(KeyError):
        cli.main(["profile", *words])
