"""Files of arrays and shapes of JSON: what fits is read as it is, all else is refused in one line."""

import io
import json
import zipfile

import numpy as np
import pytest

from toolnoise.base import arrays, files, shapes
from toolnoise.base.arrays import Rows
from toolnoise.base.errors import BadInput
from toolnoise.base.shapes import AMOUNT, COUNT, FLAG, INTEGER, TEXT
from toolnoise.checking import tensors

FOUND = {
    "images": np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2),
    "labels": np.arange(5, dtype=np.int32),
    "names": np.array(["one", "two"]),
    "count": np.array(7),
}


def npy(array):
    made = io.BytesIO()
    np.save(made, array, allow_pickle=True)
    return made.getvalue()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "found.npz"


def test_arrays_are_read_as_they_were_written(path):
    arrays.write_npz(path, FOUND)
    read = arrays.read_npz(path)
    assert list(read) == list(FOUND) == arrays.npz_names(path)
    for name, array in FOUND.items():
        arrays.write_npy(path.with_name("a.npy"), array)
        for found in (read[name], arrays.read_npy(path.with_name("a.npy"))):
            assert found.dtype == array.dtype
            assert np.array_equal(found, array)


def test_rows_give_the_bytes_of_the_whole_array(path, tmp_path):
    arrays.write_npz(path, FOUND)
    images = FOUND["images"]
    rows = Rows(images.shape, images.dtype, (images[number, :, ::-1][:, ::-1] for number in range(5)))
    arrays.write_npz(tmp_path / "rows.npz", {**FOUND, "images": rows}.items())
    assert (tmp_path / "rows.npz").read_bytes() == path.read_bytes()


def test_a_later_array_may_be_made_of_what_an_earlier_ones_rows_were(path):
    sums = []

    def rows():
        for row in FOUND["images"]:
            sums.append(int(row.sum()))
            yield row

    def pairs():
        yield "images", Rows(FOUND["images"].shape, FOUND["images"].dtype, rows())
        yield "sums", np.array(sums)

    arrays.write_npz(path, pairs())
    assert arrays.read_npz(path)["sums"].tolist() == FOUND["images"].sum(axis=(1, 2)).tolist()


def test_a_mapped_array_stays_in_its_file_and_a_compressed_one_cannot_be_mapped(path, refused):
    arrays.write_npz(path, FOUND)
    read = arrays.read_npz(path, mapped=("images", "labels"))
    assert all(np.array_equal(read[name], array) for name, array in FOUND.items())
    changed = bytearray(path.read_bytes())
    changed[changed.index(FOUND["images"].tobytes())] = 99
    with path.open("rb+") as file:
        file.write(changed)
    assert read["images"][0, 0, 0] == 99
    with pytest.raises(ValueError, match="read-only"):
        read["images"][0] = 0
    np.savez_compressed(path, **FOUND)
    assert refused(lambda: arrays.read_npz(path, mapped=("images",))) == (
        f"{path}: damaged or truncated (images is compressed); expected a whole .npz file"
    )


def zipped(path, content, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive, archive.open("a.npy", "w", force_zip64=True) as file:
        for block in content:
            file.write(block)
    return path


@pytest.mark.parametrize("shape", [(10**12,), (2**63 - 1, 2**63 - 1), (-1, 10), (2, 10**30, 0), (2**63, 0)])
def test_an_npy_that_claims_more_than_it_has_or_than_can_be_is_refused_without_a_warning(shape, tmp_path):
    described = {"descr": "<f4", "fortran_order": False, "shape": shape}
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, described)
    with pytest.raises(BadInput, match=r"a\.npy: damaged or truncated \(its header claims -?\d+ bytes and has 0\)"):
        arrays.read_npy(tmp_path / "a.npy")
    path = zipped(tmp_path / "a.npz", [(tmp_path / "a.npy").read_bytes()])
    with pytest.raises(BadInput, match=r"a\.npy claims -?\d+ bytes and has 0"):
        arrays.read_npz(path)
    with path.open("rb") as file, pytest.raises(ValueError, match=r"a\.npy claims -?\d+ bytes"):
        arrays.unpack(file)


def test_an_npy_that_claims_fewer_numbers_than_it_has_is_refused(tmp_path):
    """NumPy would leave the rest unread, and with it the checksum at its end."""
    path = zipped(tmp_path / "a.npz", [npy(np.zeros(1, np.float32)), bytes(8)])
    with pytest.raises(BadInput, match=r"a\.npy claims 4 bytes and has 12"):
        arrays.read_npz(path)


def test_a_packed_array_that_would_fill_the_memory_is_refused_with_the_limit(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "LARGEST_UNPACKED", 10**5)
    path = zipped(tmp_path / "a.npz", [bytes(10**6)], zipfile.ZIP_DEFLATED)
    with pytest.raises(
        BadInput, match=r"a\.npy: unpacks to 1000000 bytes or more; at most 100000: 100000, or 20 times"
    ):
        arrays.read_npz(path)


@pytest.mark.parametrize("mapped", [(), ("a",)], ids=["read", "mapped"])
@pytest.mark.parametrize("content", [b"", b"x", b"\x93NUMPX" + bytes(100)], ids=["empty", "text", "another mark"])
def test_a_member_that_is_no_array_is_one_line(content, mapped, tmp_path):
    with pytest.raises(BadInput, match=r"a\.npz: damaged or truncated \(a\.npy is no array\)"):
        arrays.read_npz(zipped(tmp_path / "a.npz", [content]), mapped)


@pytest.mark.filterwarnings("ignore:Duplicate name:UserWarning")
@pytest.mark.parametrize("second", ["a.npy", "a"])
@pytest.mark.parametrize("read", [arrays.read_npz, arrays.npz_names, tensors.read_npz])
def test_two_members_for_one_array_are_one_line(read, second, tmp_path, refused):
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        for number, name in enumerate(("a.npy", second)):
            archive.writestr(name, npy(np.array(number)))
    assert refused(read, tmp_path / "a.npz").startswith(
        f"{tmp_path / 'a.npz'}: damaged or truncated (a is there 2 times)"
    )


SHAPE = {"name": TEXT, "seeds": [COUNT], "about?": {"on": FLAG, "*": AMOUNT}, "spec": {"seed": INTEGER}}
WHOLE = {"name": "x", "seeds": [1, 2], "about": {"on": True, "a": 0.5, "b": 3}, "spec": {"seed": 2**40}, "more": None}


def refusal(tmp_path, value):
    (tmp_path / "f.json").write_text(json.dumps(value))
    with pytest.raises(BadInput) as caught:
        shapes.read(tmp_path / "f.json", SHAPE, "the record that a test wrote")
    return str(caught.value).removeprefix(f"{tmp_path}/")


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"name": None}, "f.json: name: found null; expected a text"),
        ({"seeds": 3}, "f.json: seeds: found 3; expected a list, as in the record that a test wrote"),
        ({"seeds": [True]}, "f.json: seeds[0]: found true; expected an integer from 0 to 2147483647"),
        ({"about": {"on": 1}}, "f.json: about.on: found 1; expected true or false"),
        (
            {"about": {"on": True, "a": float("inf")}},
            "f.json: damaged or truncated (Infinity is not a finite number); expected a JSON file",
        ),
        ({"about": {"on": True, "a": 10**400}}, f"f.json: about.a: found 1{'0' * 56}...; expected a number from 0 up"),
        ({"spec": {}}, "f.json: spec.seed: no such key; the record that a test wrote"),
        ({"spec": {"seed": -1}}, "f.json: spec.seed: found -1; expected an integer from 0 to 2^63 - 1"),
    ],
)
def test_what_does_not_fit_is_one_line_and_what_fits_is_read_as_it_is(change, line, tmp_path):
    for value in (WHOLE, {key: WHOLE[key] for key in WHOLE if key != "about"}):
        (tmp_path / "f.json").write_text(json.dumps(value))
        assert shapes.read(tmp_path / "f.json", SHAPE, "") == value
    assert refusal(tmp_path, WHOLE | change) == line


@pytest.mark.parametrize("value", [None, [], 1, "x", True])
def test_a_file_that_is_no_object_is_one_line(value, tmp_path):
    said = f"f.json: found {json.dumps(value)}; expected the record that a test wrote"
    assert refusal(tmp_path, value) == said
