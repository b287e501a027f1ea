"""A study's results without what a slim copy may lack."""

import shutil
from datetime import UTC, datetime

import pytest
from forging import Folder

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


@pytest.fixture(scope="module")
def both(small_study, other_study, tmp_path_factory):
    """Copies of both studies' results, for those who put right what they change."""
    folders = {"small": small_study, "other": other_study}
    return {name: Folder(of / "results" / name, tmp_path_factory.mktemp(name)) for name, of in folders.items()}


@pytest.fixture
def forged(both):
    """Copies of both studies' results, to be changed."""
    yield both
    for folder in both.values():
        folder.restore()


@pytest.fixture
def small(forged):
    """That of the small study."""
    return forged["small"]
