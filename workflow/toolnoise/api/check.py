"""`tn.check`: is a training program reproducible?"""

import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from toolnoise.api.results import Verdict, rows_of
from toolnoise.checking import other_settings, reproducibility, trial_runs


def check(
    command: str | Sequence[str],
    *,
    sources: str | None = None,
    deterministic: str = "",
    output: Sequence[str] = (),
    metric: Sequence[str] = (),
    vary: Sequence[str] = (),
    world: str | None = None,
    higher: str = "",
    trace: bool = False,
    resume: bool = False,
    resume_command: str | None = None,
    checkpoint: Sequence[str] = (),
    stop_at: str | None = None,
    limit: float | None = None,
    keep: bool = False,
) -> Verdict:
    """Run a program as often as its verdict needs; arguments are the options of `toolnoise check`.

    >>> import sys, toolnoise as tn
    >>> found = tn.check([sys.executable, "-c", "print('accuracy 0.5')"], sources="", metric=["accuracy ([0-9.]+)"])
    >>> found.passed
    True
    """
    words = [command] if isinstance(command, str) else list(command)
    resumes = bool(resume or resume_command or stop_at)
    output, metric, vary = ([one] if isinstance(one, str) else list(one) for one in (output, metric, vary))
    places = [checkpoint] if isinstance(checkpoint, str) else list(checkpoint)
    wanted = trial_runs.wanted(output, metric, places)
    asked = reproducibility.command(words, sources, deterministic, limit, wanted)
    worlds = other_settings.worlds(world)
    asked = asked._replace(
        words=other_settings.torchrun(asked.words, worlds[0]) if worlds else asked.words,
        asked=other_settings.asked(asked.words, vary, worlds, higher),
        trace=trace,
    )
    if resumes:
        asked = asked._replace(resume=reproducibility.resuming(asked.words, resume_command, stop_at))
    with _folder(keep=keep) as place:
        try:
            checked = reproducibility.check(asked, place)
        finally:
            wanted.forget()
    values = reproducibility.as_json(checked)
    return Verdict(reproducibility.as_text(checked), values, rows_of(values), passed=checked.passed)


@contextmanager
def _folder(*, keep: bool) -> Iterator[Path]:
    """A folder for what runs leave; it stays if it is to be kept, also if there is no verdict."""
    place = Path(tempfile.mkdtemp(prefix="toolnoise-check-"))
    try:
        yield place
    finally:
        if keep:
            print(f"outcomes and logs are kept in {place}", file=sys.stderr)
        else:
            shutil.rmtree(place, ignore_errors=True)
