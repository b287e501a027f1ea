"""The manners of the command line."""

import re
import shlex
import shutil
import subprocess

import pytest

from toolnoise import __version__, cli
from toolnoise.commands import command_line


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
    assert sorted(listed) == sorted(cli._parser("")[1].choices)
    by_hand = [verb.name for verb in cli.BY_HAND]
    assert set(listed[: len(by_hand)]) == set(by_hand)


def test_no_line_of_the_help_is_wider_than_a_terminal(capsys):
    assert max(map(len, said(capsys).splitlines())) <= 80


def test_the_help_of_each_verb_ends_with_an_example():
    for verb, one in cli._parser("")[1].choices.items():
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
