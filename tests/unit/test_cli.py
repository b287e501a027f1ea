"""The manners of the command line."""

import re
import shlex
import shutil
import subprocess
import sys

import pytest

from toolnoise import __version__, cli
from toolnoise.base.program import PACKAGE
from toolnoise.commands import command_line


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
