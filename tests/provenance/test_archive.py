"""An archive in the place of a results folder: what is refused, what it is called, and that nothing of it stays."""

import gzip
import json
import lzma
import tarfile
import tempfile
from types import SimpleNamespace

import pytest
from forging import said

from toolnoise.base import files
from toolnoise.base.errors import BadInput, as_given
from toolnoise.base.program import ROOT
from toolnoise.provenance import archive

PLAIN = "results/mine/study.json"
PACKED = ROOT / "evidence/outside-small.tar.xz"


@pytest.fixture
def room(tmp_path, monkeypatch):
    """Where archives are unpacked."""
    room = tmp_path / "room"
    room.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(room))
    return room


@pytest.fixture
def packed(tmp_path):
    """Write an archive of these files, in their order; each may have what no archive of ours has."""

    def write(*members, name="mine.tar.xz", **about):
        path = tmp_path / name
        with lzma.open(path, "wb") as file:
            for member in members:
                info = tarfile.TarInfo(member)
                info.size = 2
                for key, value in about.items():
                    setattr(info, key, value)
                file.write(info.tobuf(tarfile.USTAR_FORMAT))
                file.write(b"{}".ljust(tarfile.BLOCKSIZE, b"\0") if info.size else b"")
            file.write(bytes(2 * tarfile.BLOCKSIZE))
        return path

    return write


def read(path):
    with archive.opened(path) as (folder,):
        return sorted(one.relative_to(folder).as_posix() for one in folder.rglob("*") if one.is_file())


def test_an_archive_is_unpacked_for_as_long_as_it_is_read(packed, room):
    path = packed(PLAIN, "results/mine/metrics/runs.csv")
    with archive.opened(path, path / "metrics", room) as (folder, inside, other):
        assert (folder / "study.json").read_text() == "{}"
        assert inside == folder / "metrics"
        assert other == room
        assert len(list(room.iterdir())) == 1
        assert (as_given(folder), as_given(f"{inside}: odd")) == (str(path), f"{path / 'metrics'}: odd")
    assert as_given(folder) == str(folder)
    assert list(room.iterdir()) == []


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("results/../../a", "is not of the study"),
        ("results/other/a", "is not of the study"),
        ("results/mine/../../../a", "is not of the study"),
        ("results/mine//a", "is not of the study"),
        ("results/mine/b\\a", "is not of the study"),
        (PLAIN, "comes twice"),
        (f"{PLAIN}/a", "lies below a file"),
    ],
)
def test_a_name_that_leads_elsewhere_or_comes_twice_is_refused(name, says, packed, room, tmp_path):
    path = packed(PLAIN, name)
    before = sorted(tmp_path.rglob("*"))
    assert room in before
    with pytest.raises(BadInput, match=says) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert sorted(tmp_path.rglob("*")) == before


KINDS = [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.DIRTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE]
KINDS += [tarfile.GNUTYPE_SPARSE, tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME]


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_plain_file_is_refused(kind, packed, room):
    path = packed("results/mine/a", type=kind, linkname="/etc/passwd", size=0)
    with pytest.raises(BadInput, match="a link, a folder, a device or the like"):
        read(path)
    assert list(room.iterdir()) == []


def test_what_would_fill_the_disk_is_refused_before_it_is_written(packed, room, monkeypatch):
    many = packed(*(f"results/mine/{number}" for number in range(9)))
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 8 * archive.LEAST)
    monkeypatch.setattr(files, "LARGEST_RATIO", 1)
    with pytest.raises(BadInput, match=f"{many}: unpacks to {9 * archive.LEAST} bytes or more; at most"):
        read(many)
    huge = packed(PLAIN, name="huge.tar.xz", size=(8 << 30) - 1)
    with pytest.raises(BadInput, match=f"{huge}: unpacks to {(8 << 30) - 1} bytes or more; at most"):
        read(huge)
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 1 << 62)
    monkeypatch.setattr(archive.shutil, "disk_usage", lambda _: SimpleNamespace(free=0))
    with pytest.raises(BadInput, match=f"{huge}: {PLAIN}: has .* bytes; 0 are free"):
        read(huge)
    assert list(room.iterdir()) == []


@pytest.mark.parametrize("packer", [bytes, gzip.compress, lzma.compress])
def test_an_archive_that_ends_early_or_goes_on_is_refused_wherever_it_was_cut(packer, packed, room, tmp_path, refused):
    plain = lzma.decompress(packed(PLAIN, "results/mine/b").read_bytes())
    cut = [plain[:length] for length in (0, 1, 511, 512, 700, 1024, 1100, 2048, 2560)]
    # After the first file, before the second header; after the end.
    cut += [plain[:1023] + b"\1" + plain[1024:], plain + bytes(10240), plain + b"more", plain[:-1] + b"\1"]
    for number, content in enumerate(cut):
        path = tmp_path / f"{number}.tar"
        path.write_bytes(packer(content))
        assert refused(read, path).startswith(f"{path}: ")
    if packer is not bytes:
        for content in (packer(plain)[:-1], packer(plain)[:-8], packer(plain)[: len(packer(plain)) // 2]):
            path.write_bytes(content)
            assert refused(read, path).startswith(f"{path}: damaged or truncated")
    assert list(room.iterdir()) == []


def test_an_archive_of_nothing_is_refused(packed):
    with pytest.raises(BadInput, match="is empty"):
        read(packed())


def test_a_summary_and_a_diff_of_an_archive_are_those_of_its_folder(evidence):
    folder = evidence("outside-small")
    text = said("summary", "--study", PACKED, "--json").out
    assert json.loads(text)["page"] == f"{PACKED}/index.html"
    _, of_folder, _ = said("summary", "--study", folder / "study.json", "--json")
    assert json.loads(text)["cells"] == json.loads(of_folder)["cells"]
    code, text, _ = said("diff", PACKED, folder, "--json")
    assert (code, json.loads(text)["a"]) == (0, str(PACKED))


def test_an_audit_names_the_files_of_an_archive(packed, room):
    path = packed(PLAIN, "results/mine/statements/a.intoto.json")
    code, text, _ = said("audit", path, "--json")
    found = json.loads(text)
    assert (code, found["studies"][0]["folder"]) == (1, str(path))
    assert f"{path}/statements/a.intoto.json: " in " ".join(one["what"] for one in found["findings"])
    assert str(room) not in text
    assert list(room.iterdir()) == []


def test_an_audit_repairs_no_archive(refused_by_verb):
    line = refused_by_verb("audit", PACKED, "--repair")
    assert line == f"toolnoise: command line: --repair: {PACKED} is an archive; a results folder"
