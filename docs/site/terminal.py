"""Draw the terminal of README: what `compare` and `check` print of the examples, as docs/gallery/terminal.svg.

.venv/bin/python docs/site/terminal.py
"""

import html
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMPARE = "toolnoise compare examples/batch-norm.csv --metric accuracy"
CHECK = "toolnoise check --resume --checkpoint last.npz --output preds.npy -- python examples/forgets_its_order.py"
COLUMNS, LINE, SIGN = 96, 19, 8.0  # of the terminal; pixels from line to line, and of a sign
PROMPT, TEXT = "#8ab4f8", "#e8eaed"


def printed(command: str, folder: str) -> list[str]:
    """What a command prints in a folder."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    around = {**os.environ, "PATH": path}
    done = subprocess.run(shlex.split(command), cwd=folder, env=around, capture_output=True, text=True)
    return done.stdout.splitlines()


def shown() -> list[str]:
    """The verdict of compare, and of check what differs, where and why."""
    with tempfile.TemporaryDirectory() as folder:
        # The program leaves its checkpoint where it runs.
        shutil.copytree(ROOT / "examples", Path(folder) / "examples")
        verdict, *_ = printed(COMPARE, folder)
        found = printed(CHECK, folder)
    reason = next(
        place for place, line in enumerate(found) if line.strip().startswith("examples/forgets_its_order.py:")
    )
    differs = next(line for line in found if line.startswith("  preds.npy: "))
    lines = [
        f"$ {COMPARE}",
        verdict,
        "",
        f"$ {CHECK}",
        found[0],
        "[...]",
        differs,
        "[...]",
        *found[reason : reason + 2],
    ]
    return [part for line in lines for part in textwrap.wrap(line, COLUMNS, subsequent_indent="    ") or [""]]


def drawing(lines: list[str]) -> str:
    """The lines on a dark screen."""
    wide, high = round(SIGN * COLUMNS + 40), LINE * len(lines) + 32
    texts = [
        f'<text x="20" y="{30 + LINE * place}" fill="{PROMPT if line[:1] == "$" else TEXT}">{html.escape(line)}</text>'
        for place, line in enumerate(lines)
    ]
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide} {high}" width="{wide}" role="img" '
            'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="13" xml:space="preserve">',
            "<title>What toolnoise compare and toolnoise check print</title>",
            f'<rect width="{wide}" height="{high}" rx="8" fill="#202124"/>',
            *texts,
            "</svg>\n",
        ]
    )


if __name__ == "__main__":
    (ROOT / "docs/gallery/terminal.svg").write_text(drawing(shown()), "utf-8")
