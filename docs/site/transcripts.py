"""Run the commands of a page of docs in a new folder, and write what they print into the page.

    python docs/site/transcripts.py docs/ten-minutes.md

A Python block is saved as `train.py`. "Change line 20 to", followed by a line of code, changes it and runs the last
command again. Indented lines that begin with `toolnoise`, and blocks of Bash, are run in the page's order. A block
without a language is what the command before it printed: it is written anew, unless it leaves lines out ("[...]").
"""

import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

BLOCK = re.compile(
    r"^```(?P<language>\w*)\n(?P<block>.*?)^```$"
    r"|Change line (?P<line>\d+) to\n\n    (?P<code>[^\n]+)$"
    r"|(?P<commands>(?:^    toolnoise [^\n]*\n)+)",
    re.MULTILINE | re.DOTALL,
)
CUT = "[...]"
# A line that names a path of this machine.
HERE = re.compile(r"^python is .*\n", re.MULTILINE)


class Transcript(NamedTuple):
    """A block of a page, where it lies in it, and what its command printed now."""

    block: str
    start: int
    end: int
    printed: str


def transcripts(page: str, folder: Path) -> Iterator[Transcript]:
    """Run a page's commands in a folder, one after the other; yield each block that shows what one printed."""
    program, commands, printed = folder / "train.py", "", ""
    for match in BLOCK.finditer(page):
        if match["language"] == "python":
            program.write_text(match["block"])
        elif match["line"]:
            lines = program.read_text().splitlines()
            lines[int(match["line"]) - 1] = match["code"]
            program.write_text("\n".join(lines) + "\n")
            printed = _run(commands, folder)
        elif match["block"] is not None and match["language"] == "":
            yield Transcript(match["block"], match.start("block"), match.end("block"), printed)
        else:
            commands = match["block"] or match["commands"]
            printed = _run(commands, folder)


def _run(commands: str, folder: Path) -> str:
    """What some lines of Bash print, as a person sees it who has this Python; an exit code of 1 is a verdict."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        ["bash", "-c", textwrap.dedent(commands)],
        cwd=folder,
        env=os.environ | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode not in (0, 1):
        sys.exit(f"{commands}ended with exit code {done.returncode}")
    return HERE.sub("", done.stdout)


def main() -> None:
    """Write the blocks of a page anew."""
    path = Path(sys.argv[1])
    page = path.read_text()
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made, "ten")
        folder.mkdir()
        for transcript in reversed(list(transcripts(page, folder))):
            if CUT not in transcript.block:
                page = page[: transcript.start] + transcript.printed.strip("\n") + "\n" + page[transcript.end :]
    path.write_text(page)


if __name__ == "__main__":
    main()
