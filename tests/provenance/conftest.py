"""A study's results without what a slim copy may lack."""

import shutil
from datetime import UTC, datetime

import pytest

from toolnoise.base import files
from toolnoise.provenance import left_out, recorder, tree
from toolnoise.provenance.statements import Artifact, Statement


@pytest.fixture(scope="session")
def slimmed():
    """Make a slim copy of results: without what it may lack, and with a stated list of that, which names the root."""

    def copy(results, out):
        study = tree.load_study(results)
        stated = {output.name: output for one in study.statements for output in one.statement.outputs}
        lacking = {path: stated[study.named(path)].sha256 for path in study.files if left_out.kind(path)}
        shutil.copytree(results, out)
        for path in lacking:
            (out / path).unlink()
        files.write_json(out / left_out.FILE, lacking)
        size = (out / left_out.FILE).stat().st_size
        listed = Artifact(study.named(left_out.FILE), files.sha256(out / left_out.FILE), size, "list")
        now = datetime.now(UTC).replace(tzinfo=None)
        statement = Statement(left_out.VERB, (listed,), (), {}, {}, now, now, recorder.programs(), chain=study.chain)
        files.write_json(out / left_out.STATEMENT, statement.as_json())

    return copy
