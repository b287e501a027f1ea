"""What the audit reads: names in statements and how much is behind them, and digests that an earlier audit made."""

import contextlib
import hashlib
import io
import os
import re
from datetime import datetime
from pathlib import Path
from types import SimpleNamespace

import pytest
from toolnoise.provenance.audit.digests import Stamp
from toolnoise.provenance.audit.evidence import Evidence
from toolnoise.provenance.audit.rules import chains, code_origins

from toolnoise.base import code_digest, files, program
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.provenance import tree
from toolnoise.provenance.audit import beside, digests, examine
from toolnoise.provenance.statements import CODE, Artifact, Statement

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
    stated = (Artifact("adopted/huge.py", "0" * 64, kind=CODE),)
    assert code_origins._judged.__wrapped__(stated, None, False, root, frozenset()) == (code_origins.UNKNOWN,)
    assert read == []


def test_of_a_file_that_grows_no_more_is_read_than_its_size(root):
    with (root.parents[1] / "adopted/logits.npy").open("rb") as file:
        assert beside.digest(file, 3) == beside.digest(io.BytesIO(b"log"), 9)


def test_the_modules_of_a_job_are_found_without_reading_where_the_audit_runs(tmp_path, monkeypatch):
    module = "toolnoise.measures.collect"
    # What only messages import may have come after the result.
    names = code_digest.sources(module).keys() - (code_digest.uncounted(module) - {*code_digest.UNCOUNTED})
    known = {name for name in names if not code_digest.is_docstring(program.path_of(name))}
    monkeypatch.chdir(tmp_path)
    (tmp_path / "json.py").write_text("import toolnoise.warm.template")
    code_origins._in_repository.cache_clear()
    assert code_origins._in_repository((module,), ("README.md",)) == known | {"README.md"}


def test_a_result_of_another_size_than_the_stated_is_neither_hashed_nor_opened(root, monkeypatch):
    sparse(root / "weights.npz")
    monkeypatch.setattr(digests, "open_plain", lambda path: pytest.fail(f"opened {path}"))
    found = examine.examine(tree.load(root), 1)
    assert ("every-file-is-stated", "results/study/weights.npz") in {one[:2] for one in found.findings}
    with pytest.raises(BadInput, match=f"has {HUGE} bytes; stated: nothing"):
        Evidence(tree.load_study(root), {}, found.now).path("results/study/weights.npz")


NAMES = ("one.npz", "runs/two.npz")


@pytest.fixture
def results(tmp_path, monkeypatch):
    """A results folder; the files of this test count as old enough."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(digests, "TICK", 0)
    folder = tmp_path / "results/study"
    (folder / "statements").mkdir(parents=True)
    (folder / "runs").mkdir()
    for name in NAMES:
        (folder / name).write_bytes(name.encode())
        state(folder, name)
    return folder


def state(folder, name):
    """A statement with the size of a file: the audit reads no other."""
    made = Artifact(f"results/study/{name}", "0" * 64, (folder / name).stat().st_size)
    statement = Statement("train", (made,), (), {}, {}, datetime(2026, 1, 31), datetime(2026, 1, 31), {})
    files.write_json(folder / "statements" / f"{name}.intoto.json", statement.as_json())


def audited(results, strict=False):
    with digests.opened(results, trusted=not strict) as known:
        return examine.examine(tree.load(results), rules=(), cache=known)


def digests_in(audit):
    return {name: found.sha256 for name, found in audit.evidence[0].hashed.items()}


def now(results):
    return {name: hashlib.sha256((results / name).read_bytes()).hexdigest() for name in NAMES}


def kept(results):
    (file,) = (results.parents[1] / "cache/toolnoise/audit").iterdir()
    return file


def test_a_second_audit_has_the_digests_of_the_first(results):
    first, second = audited(results), audited(results)
    assert (first.cached, second.cached) == (0, 2)
    assert digests_in(first) == digests_in(second) == now(results)
    assert {name: one.size for name, one in second.evidence[0].hashed.items()} == {name: len(name) for name in NAMES}


def test_a_changed_file_is_read_although_its_size_and_time_are_as_before(results):
    audited(results)
    file, before = results / NAMES[0], (results / NAMES[0]).stat()
    file.write_bytes(b"another"[: before.st_size])
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert (file.stat().st_size, file.stat().st_mtime_ns) == (before.st_size, before.st_mtime_ns)
    again = audited(results)
    assert again.cached == 1
    assert digests_in(again) == now(results)


def test_another_file_in_its_place_is_read(results):
    audited(results)
    (results / "new").write_bytes(b"another")
    (results / "new").rename(results / NAMES[0])
    assert digests_in(audited(results)) == now(results)


def test_a_strict_audit_reads_everything(results):
    # A cache that lies, in a line that is whole.
    with digests.opened(results, trusted=True) as known:
        for name in NAMES:
            file = results / name
            known.keep(file, digests.Hashed("0" * 64), Stamp.of(file.stat()))
    assert set(digests_in(audited(results)).values()) == {"0" * 64}
    strict = audited(results, strict=True)
    assert strict.cached == 0
    assert digests_in(strict) == now(results)
    # It leaves what it found.
    assert digests_in(audited(results)) == now(results)


@pytest.mark.parametrize(
    "damage",
    [
        (rb"(?s).*", b""),
        (rb"(?s).*", b"\xff{"),
        (rb'"file"', b'"fale"'),
        # The end of every line is gone; all but the start of the first line is; a digit of every digest is another.
        (rb"(?m).{9}$", b""),
        (rb"(?s)^(.{100}).*", rb"\1"),
        (rb'"([0-9a-f]{63})[0-9a-f]"', rb'"\g<1>x"'),
    ],
)
def test_damaged_lines_are_not_used(results, damage):
    audited(results)
    file = kept(results)
    file.write_bytes(re.sub(*damage, file.read_bytes()))
    again = audited(results)
    assert again.cached == 0
    assert digests_in(again) == now(results)
    assert audited(results).cached == 2


def test_an_interrupted_audit_leaves_what_it_has_read(results):
    def interrupted():
        with digests.opened(results, trusted=True) as known:
            file = results / NAMES[0]
            known.keep(file, digests.Hashed(now(results)[NAMES[0]]), Stamp.of(file.stat()))
            # As if killed here: nothing is closed.
            assert kept(results).read_bytes().endswith(b"\n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert audited(results).cached == 1


def test_a_file_that_changed_just_now_is_not_kept(results, monkeypatch):
    monkeypatch.setattr(digests, "TICK", 3600 * 10**9)
    assert (audited(results).cached, audited(results).cached) == (0, 0)


def test_lines_of_files_that_are_gone_do_not_pile_up(results):
    for number in range(20):
        (results / NAMES[0]).write_bytes(b"%d" % number)
        state(results, NAMES[0])
        audited(results)
    assert len(kept(results).read_bytes().splitlines()) <= 4


def test_a_second_audit_knows_the_weights_in_a_file_of_the_same_bytes(results):
    with digests.opened(results, trusted=True) as known:
        known.keep_weights("1" * 64, "2" * 64)
    with digests.opened(results, trusted=True) as known:
        assert known.weights_in("1" * 64) == "2" * 64
        assert known.weights_in("2" * 64) is None
    with digests.opened(results, trusted=False) as known:
        assert known.weights_in("1" * 64) is None


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
def test_a_full_disk_under_the_cache_is_told_with_its_path(tmp_path):
    place = tmp_path / "full.jsonl"
    with pytest.raises(OSError, match=re.escape(str(place))), contextlib.closing(digests.Cache(place, True)) as known:
        place.symlink_to("/dev/full")
        known.keep_weights("0" * 64, "1" * 64)
