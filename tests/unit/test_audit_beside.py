"""Names in statements: what of theirs the audit opens, and how much of it it reads."""

import io
import os
from types import SimpleNamespace

import pytest

from toolnoise.base import code_digest, program
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.record import tree
from toolnoise.record.statements import CODE, Artifact
from toolnoise.steps import STEPS
from toolnoise.verify.audit import beside, examine
from toolnoise.verify.audit.evidence import Evidence
from toolnoise.verify.audit.rules import chains, code_origins

HUGE = 4 << 40


@pytest.fixture
def root(tmp_path):
    """The results of a study, in the folder that it ran in; beside that lies what is nobody's business."""
    (tmp_path / "secret.txt").write_text("secret")
    root = tmp_path / "ran/results/study"
    root.mkdir(parents=True)
    (tmp_path / "ran/adopted").mkdir()
    (tmp_path / "ran/adopted/logits.npy").write_bytes(b"logits")
    (tmp_path / "ran/inside").symlink_to("adopted")
    (tmp_path / "ran/outside").symlink_to(tmp_path)
    (tmp_path / "ran/circle").symlink_to("circle")
    os.mkfifo(tmp_path / "ran/pipe")
    return root


def judged(root, name, digest="0" * 64, size=6):
    """What the audit says of a run that is said to be adopted from a file."""
    statement = SimpleNamespace(name="run", made_of=lambda kind: [Artifact(name, digest, size, kind=kind)])
    return list(chains._as_adopted(SimpleNamespace(tree=SimpleNamespace(root=root)), statement))


def sparse(path):
    with path.open("wb") as file:
        file.truncate(HUGE)


OUTSIDE = ("/etc/passwd", "/proc/kmsg", "../secret.txt", "adopted/../../secret.txt", "outside/secret.txt", "pipe")


@pytest.mark.parametrize("name", [*OUTSIDE, "circle", "adopted", "absent", "a\0b", ".", ""])
def test_what_lies_elsewhere_or_is_no_plain_file_is_not_opened(name, root, monkeypatch):
    # From here, too, every relative name leads nowhere.
    monkeypatch.chdir(root.parents[1])
    assert judged(root, name) == []
    assert code_origins._here.__wrapped__(name, root) is None


@pytest.mark.parametrize("name", ["adopted/logits.npy", "inside/logits.npy"])
def test_what_lies_beside_the_results_is_compared(name, root):
    digest = sha256(root.parents[1] / "adopted/logits.npy")
    assert judged(root, name, digest) == []
    told = f"was adopted from another {name} than the one here, which differs"
    assert judged(root, name) == judged(root, name, digest, 7) == [("run", told)]


def test_results_that_were_moved_have_nothing_beside_them(root, tmp_path, monkeypatch):
    moved = root.rename(tmp_path / "ran/received")
    assert beside.folder(moved) is None
    assert judged(moved, "secret.txt") == judged(moved, "ran/adopted/logits.npy") == []
    # An audit in the folder that a slim copy was made in finds the study's own modules.
    slim = tmp_path / "ran/evidence/study"
    slim.mkdir(parents=True)
    assert beside.folder(slim) is None
    monkeypatch.chdir(tmp_path / "ran")
    assert beside.folder(slim) == tmp_path / "ran"


def test_a_file_of_another_size_and_a_huge_module_are_not_read(root, monkeypatch):
    """A file of 4 TiB takes an hour to read, and no room on the disk."""
    huge = root.parents[1] / "adopted/huge.py"
    sparse(huge)
    read = []
    monkeypatch.setattr(beside, "digest", lambda *given: read.append(given) or "")
    assert judged(root, "adopted/huge.py")
    assert code_origins._judged.__wrapped__((Artifact("adopted/huge.py", "0" * 64, kind=CODE),), None, False, root) == (
        code_origins.UNKNOWN,
    )
    assert read == []


def test_of_a_file_that_grows_no_more_is_read_than_its_size(root):
    with (root.parents[1] / "adopted/logits.npy").open("rb") as file:
        assert beside.digest(file, 3) == beside.digest(io.BytesIO(b"log"), 9)


def test_the_modules_of_a_job_are_found_without_reading_where_the_audit_runs(tmp_path, monkeypatch):
    module = STEPS["collect"].module
    known = {name for name in code_digest.sources(module) if not code_digest.is_docstring(program.path_of(name))}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("import toolnoise_warm.server")
    code_origins._in_repository.cache_clear()
    assert code_origins._in_repository((module,), ("README.md",)) == known | {"README.md"}


def test_a_result_of_another_size_than_the_stated_is_neither_hashed_nor_opened(root, monkeypatch):
    sparse(root / "weights.npz")
    monkeypatch.setattr(examine, "open_plain", lambda path: pytest.fail(f"opened {path}"))
    found = examine.examine(tree.load(root), 1)
    assert ("every-file-is-stated", "results/study/weights.npz") in {one[:2] for one in found.findings}
    with pytest.raises(BadInput, match=f"has {HUGE} bytes; stated: nothing"):
        Evidence(tree.load_study(root), {}, found.now).path("results/study/weights.npz")
