"""`toolnoise run`: Snakemake with this workflow, a study and a profile, and then the study's summary.

Snakemake makes all results: this module prints the command that it runs, and passes further options to Snakemake.
Signals reach Snakemake and its jobs as if Snakemake had been started by hand.
"""

import contextlib
import functools
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.base.program import end_with
from toolnoise.study import config, grid, layout, study_files

SNAKEFILE = program.path_of_snakefile()
# With these options, Snakemake makes no results here, so that no summary follows. Letters can be joined.
_NO_RESULTS = re.compile(
    r"-[a-zA-Z]*n[a-zA-Z]*|-[hvlDd]|--(dry-?run|help|version|unlock|lint|list|list-.*|dag|d3dag|rulegraph|filegraph|"
    r"summary|detailed-summary|report|archive|delete-.*|cleanup-.*|directory)(=.*)?"
)
# The signals that Snakemake and its jobs get, by the signals that a terminal sends to its foreground. On a hangup
# Snakemake would leave its lock behind, and a group that no shell watches would ignore SIGTSTP.
_OF_TERMINALS = {
    signal.SIGINT: signal.SIGINT,
    signal.SIGHUP: signal.SIGINT,
    signal.SIGTSTP: signal.SIGSTOP,
    signal.SIGCONT: signal.SIGCONT,
}
_ENDING = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM)


def run(profile: str | None, words: Sequence[str]) -> int:
    """Run the study that the words name, or else this folder's study; return Snakemake's exit code."""
    study, snakemake = snakemake_command(profile, words)
    study_files.require_readable(snakemake[1:])
    kept = Path(".snakemake")
    # Snakemake would end in a traceback, even in a dry run.
    if not os.access(kept if kept.exists() else kept.parent, os.W_OK):
        raise BadInput(kept, "", "no permission to write", "a folder of your own")
    print(shlex.join(snakemake), file=sys.stderr, flush=True)
    code, received = _followed(snakemake)
    if code and received:
        again = shlex.join(["toolnoise", "run", *(["--profile", profile] if profile else []), *words])
        print(f"toolnoise: ended by {received[0].name}; the same command goes on: {again}", file=sys.stderr)
    elif code == 0 and not any(map(_NO_RESULTS.fullmatch, words)):
        _sum_up(study, words)
    return code


def snakemake_command(profile: str | None, words: Sequence[str]) -> tuple[str, list[str]]:
    """The study's file, and Snakemake's command line."""
    snakemake = Path(sys.executable).with_name("snakemake")
    if not snakemake.exists():
        raise BadInput(snakemake, "", "no such program", "Snakemake; pip install 'toolnoise[run]'")
    # A profile's folder is a path or belongs to this workflow; Snakemake finds other profiles itself.
    places = [Path(profile), program.path_of_profile(profile)] if profile else []
    folder = next((place for place in places if place.is_dir()), None)
    file = folder and folder / "config.yaml"
    settings = (config.read_yaml(file) if file and file.is_file() else None) or {}
    path = settings.get("configfile", "")
    study, further = _study(words, _shown(Path(os.path.realpath(folder / path))) if path else study_files.DEFAULT)
    chosen = [] if _names(words, "--configfile", "--configfiles") else ["--configfile", study]
    if "config" in settings and study and not _names(words, "--config", "-C"):
        chosen = [*_only(settings["config"], study), *chosen]
    if profile:
        chosen += ["--profile", _shown(folder) if folder else profile]
        chosen += [] if _names(words, "--logger") else ["--logger", "toolnoise"]
    # `--snakefile` comes last, because it takes one value: the next word may be a target.
    return study, [_shown(snakemake), *chosen, "--snakefile", _shown(SNAKEFILE), *further]


def _only(profiles: config.Config, study: str) -> list[str]:
    """A profile's `only`, which is for its own study, as options for another study, without toolings that it lacks."""
    only = profiles.get("only", [])
    known = config.read_configuration(study)["hardware"]
    kept = [name for name in only if name in known]
    if kept == only:
        return []
    return ["--config", *([f"only=[{', '.join(kept)}]"] if kept else [])]


def _study(words: Sequence[str], otherwise: str) -> tuple[str, list[str]]:
    """The study's file, and the words without it."""
    if _names(words, "--configfile", "--configfiles"):
        values = [word.rpartition("=")[2] for word in words]
        return next(filter(study_files.is_study, reversed(values)), ""), list(words)
    for place, word in enumerate(words):
        if study_files.is_study(word) or (place == 0 and Path(word).suffix in study_files.SUFFIXES):
            return word, [*words[:place], *words[place + 1 :]]
    return study_files.to_run(otherwise), list(words)


def _names(words: Sequence[str], *options: str) -> bool:
    return any(word.partition("=")[0] in options for word in words)


def _shown(path: Path) -> str:
    """A path as a person would type it in this folder."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _followed(snakemake: Sequence[str]) -> tuple[int, list[signal.Signals]]:
    """Run Snakemake to its end; return its exit code, and the signals that were to end it.

    Snakemake has a process group of its own. So it gets each signal once, whether a terminal sends the signal to all
    processes or a user sends it only to this process.
    """
    # If this process is killed, Snakemake finishes its running jobs and ends, as on SIGTERM.
    end_in_order = functools.partial(end_with, os.getpid(), signal.SIGTERM)
    child = subprocess.Popen(snakemake, process_group=0, preexec_fn=end_in_order)
    received: list[signal.Signals] = []

    def forward(number: int, _frame: FrameType | None) -> None:
        # A lost terminal may send SIGHUP twice.
        if number == signal.SIGHUP and signal.SIGHUP in received:
            return
        received.extend(one for one in _ENDING if one == number)
        with contextlib.suppress(ProcessLookupError):
            if number == signal.SIGTERM:
                # Snakemake lets the running jobs finish.
                child.terminate()
            else:
                os.killpg(child.pid, _OF_TERMINALS[signal.Signals(number)])
        if number == signal.SIGTSTP:
            os.kill(os.getpid(), signal.SIGSTOP)

    for number in {*_OF_TERMINALS, *_ENDING}:
        # Under nohup, SIGHUP stays ignored.
        if signal.getsignal(number) != signal.SIG_IGN:
            signal.signal(number, forward)
    code = child.wait()
    # A shell uses this exit code for a program that a signal has ended.
    return (128 - code if code < 0 else code), received


def _sum_up(study: str, words: Sequence[str]) -> None:
    """Print the summary of a study, once it has its page."""
    renamed = [word.removeprefix("study=") for word in words if word.startswith("study=")]
    name = renamed[-1] if renamed else config.read_yaml(study)["study"]
    # Imported here, because its packages take as long to import as Snakemake takes to start.
    from toolnoise.commands import summary

    kept, page = (Path(pattern.format(study=name)) for pattern in (layout.STUDY, layout.PAGE))
    if kept.is_file() and page.is_file():
        print(summary.as_text(grid.load_study(kept)))
