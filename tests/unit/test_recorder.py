"""What a process looks up before it forks, its children need not look up again."""

import subprocess
import sys

# In a process of its own: this one has read sources and versions for other tests.
SCRIPT = """
import importlib.metadata
from pathlib import Path

from toolnoise.base import code_digest
from toolnoise.record import recorder

recorder.look_up()
importlib.metadata.version = Path.read_bytes = None
assert recorder.programs()["toolnoise"]
assert recorder.machine()["versions"]["numpy"]
assert len(code_digest.sources("toolnoise.training.loop", "toolnoise.engines.tensorflow")) > 20
"""


def test_after_looking_up_no_source_is_read_and_no_version_asked_for():
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
