import numpy as np
import pytest

from toolnoise.base import arrays
from toolnoise.base.arrays import Rows

FOUND = {
    "images": np.arange(5 * 3 * 2, dtype=np.uint8).reshape(5, 3, 2),
    "labels": np.arange(5, dtype=np.int32),
    "names": np.array(["one", "two"]),
    "count": np.array(7),
}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "found.npz"


def test_arrays_are_read_as_they_were_written(path):
    arrays.write_npz(path, FOUND)
    read = arrays.read_npz(path)
    assert list(read) == list(FOUND) == arrays.npz_names(path)
    for name, array in FOUND.items():
        assert read[name].dtype == array.dtype
        assert np.array_equal(read[name], array)


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


def test_a_mapped_array_stays_in_its_file(path):
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


def test_a_compressed_array_cannot_be_mapped_and_says_so(path, refused):
    np.savez_compressed(path, **FOUND)
    assert refused(lambda: arrays.read_npz(path, mapped=("images",))) == (
        f"{path}: damaged or truncated (images is compressed); expected a whole .npz file"
    )


def test_rows_that_fail_leave_the_old_file(path):
    arrays.write_npz(path, FOUND)
    before = path.read_bytes()

    def rows():
        yield FOUND["images"][0]
        raise OSError("no more")

    with pytest.raises(OSError, match="no more"):
        arrays.write_npz(path, [("images", Rows((5, 3, 2), np.dtype(np.uint8), rows()))])
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]
