"""Readers of the official formats, on bytes that a test wrote as the publishers describe them."""

import csv
import gzip
import io
import itertools
import re
import struct
import zipfile
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from official_formats import encoded, packed
from PIL import Image
from scipy.io import savemat

from toolnoise.base import arrays
from toolnoise.base.program import ROOT
from toolnoise.datasets import label_tables, preparation, prepared
from toolnoise.datasets.readers import text
from toolnoise.datasets.sources import sources_of

GENERATOR = np.random.default_rng(11)


def decoded(data):
    with Image.open(io.BytesIO(data)) as image:
        return np.array(image.convert("RGB"))


@pytest.fixture
def prepare(tmp_path):
    """Prepare a data set; returns its arrays."""

    def make(reader, **entry):
        preparation.prepare("made", {"reader": reader, **entry}, out=tmp_path / "out.npz", threads=2)
        return arrays.read_npz(tmp_path / "out.npz")

    return make


# CIFAR: records of labels and three planes.


def records(count, labels):
    """Random records, the labels in front; all of the ten or hundred fine classes, last column, are among them."""
    found = GENERATOR.integers(0, 256, (count, labels + 3072), np.uint8)
    found[:, labels - 1] = GENERATOR.permutation(count) % (10 if labels == 1 else 100)
    return found


CIFAR_10 = [f"cifar-10-batches-bin/data_batch_{number}.bin" for number in range(1, 6)]
CIFAR = {
    10: (CIFAR_10, "cifar-10-batches-bin/test_batch.bin", "cifar-10-batches-bin/batches.meta.txt", 1, 20),
    100: (["cifar-100-binary/train.bin"], "cifar-100-binary/test.bin", "cifar-100-binary/fine_label_names.txt", 2, 200),
}


@pytest.fixture(params=CIFAR)
def cifar(request):
    """The members of an archive, its training and test records, and the bytes of labels in each."""
    train_names, test_name, classes_name, labels, count = CIFAR[request.param]
    train, test = [records(count, labels) for _ in train_names], records(count, labels)
    members = {name: batch.tobytes() for name, batch in zip(train_names, train, strict=True)}
    members |= {test_name: test.tobytes(), "README": b"readme", classes_name: b""}
    members[classes_name] = "".join(f"kind_{number}\n" for number in range(request.param)).encode() + b"\n"
    return members, np.concatenate(train), test, labels


def test_cifar_is_read_bit_for_bit(cifar, prepare, tmp_path):
    members, train, test, labels = cifar
    (tmp_path / "cifar.tar.gz").write_bytes(packed(members, "w:gz"))
    found = prepare("cifar", path=str(tmp_path / "cifar.tar.gz"))
    for part, written in (("train", train), ("test", test)):
        images = found[f"{part}_images"]
        assert images.shape == (len(written), 32, 32, 3)
        assert found[f"{part}_labels"].tolist() == written[:, labels - 1].tolist()
        for image, record in zip(images, written, strict=True):
            assert b"".join(np.ascontiguousarray(image[..., colour]).tobytes() for colour in range(3)) == (
                record[labels:].tobytes()
            )
    assert found["classes"].tolist() == [f"kind_{number}" for number in range(len(found["classes"]))]


def test_a_cifar_with_part_of_a_record_or_without_a_member_is_one_line(cifar, prepare, tmp_path, refused):
    members, _, _, labels = cifar
    first = next(iter(members))
    (tmp_path / "cifar.tar").write_bytes(packed(members | {first: members[first][:-1]}))
    line = refused(lambda: prepare("cifar", path=str(tmp_path / "cifar.tar")))
    assert line.startswith(f"{tmp_path / 'cifar.tar'}: {first}: found ")
    assert line.endswith(f"bytes; records of {labels + 3072} bytes")
    for name in [name for name in members if name != "README"]:
        (tmp_path / "cifar.tar").write_bytes(packed({key: value for key, value in members.items() if key != name}))
        line = refused(lambda: prepare("cifar", path=str(tmp_path / "cifar.tar")))
        assert line.startswith(f"{tmp_path / 'cifar.tar'}: ")
        assert name.rpartition("/")[2] in line or "not CIFAR in binary form" in line
    assert not (tmp_path / "out.npz").exists()


# MNIST: four idx files.


def idx(values, kind=8):
    """An idx file as LeCun et al. describe it: two zeros, the kind of number, the axes, their lengths, the numbers."""
    return struct.pack(f">HBB{values.ndim}I", 0, kind, values.ndim, *values.shape) + values.tobytes()


MNIST = {
    "train_images": GENERATOR.integers(0, 256, (30, 7, 5), np.uint8),
    "train_labels": np.arange(30, dtype=np.uint8) % 10,
    "test_images": GENERATOR.integers(0, 256, (20, 7, 5), np.uint8),
    "test_labels": np.arange(20, dtype=np.uint8)[::-1] % 10,
}


@pytest.fixture
def read_mnist(prepare, tmp_path):
    """Prepare MNIST from files of this content, by role."""

    def read(contents, **entry):
        for role, content in contents.items():
            (tmp_path / role).write_bytes(content)
        return prepare("mnist", files={role: {"path": str(tmp_path / role)} for role in contents}, **entry)

    return read


@pytest.mark.parametrize("packing", [bytes, gzip.compress], ids=["plain", "gzip"])
def test_mnist_is_read_bit_for_bit(packing, read_mnist):
    found = read_mnist({role: packing(idx(values)) for role, values in MNIST.items()})
    for role, values in MNIST.items():
        assert found[role].tobytes() == values.astype(found[role].dtype).tobytes()
    assert found["train_images"].shape == (30, 7, 5, 1)
    assert found["classes"].tolist() == [str(digit) for digit in range(10)]


BAD_MNIST = {
    "not idx": (
        "train_images",
        b"PNG of a digit",
        "begins with 504e4720; 00000803: an idx file of unsigned bytes with 3 axes",
    ),
    "cut off": ("train_images", idx(MNIST["train_images"])[:-1], "found 1049 bytes after its header; 30 x 7 x 5, "),
    "a label missing": (
        "test_labels",
        idx(MNIST["test_labels"][1:]),
        "found 19 labels; one for each of the 20 images of ",
    ),
}


@pytest.mark.parametrize("case", BAD_MNIST)
def test_a_bad_idx_file_is_one_line_that_names_it(case, read_mnist, tmp_path, refused):
    role, content, said = BAD_MNIST[case]
    contents = {name: idx(values) for name, values in MNIST.items()}
    assert refused(read_mnist, contents | {role: content}).startswith(f"{tmp_path / role}: {said}")
    assert not (tmp_path / "out.npz").exists()


# CelebA: a zip of JPEGs, a table of attributes, a partition.

FACES = {
    # name: (partition, blond, male, young)
    "000001.jpg": (0, 1, 1, 1),
    "000002.jpg": (2, 1, -1, 1),
    "000003.jpg": (0, -1, -1, -1),
    "000004.jpg": (1, 1, 1, -1),
    "000005.jpg": (2, -1, 1, -1),
    "000006.jpg": (0, -1, 1, 1),
    "000007.jpg": (2, -1, -1, 1),
}
GROUPS = {"Male": "Male", "Female": "not Male", "Young": "Young", "Old": "not Young"}


@pytest.fixture
def faces(tmp_path):
    """CelebA's files, as a registry entry; `images` are what the zip holds."""
    images = {
        f"img_align_celeba/{name}": encoded(GENERATOR.integers(0, 256, (218, 178, 3), np.uint8), "JPEG")
        for name in FACES
    }
    with zipfile.ZipFile(tmp_path / "img_align_celeba.zip", "w") as archive:
        for name in reversed(images):
            archive.writestr(name, images[name])
    rows = [f"{name} {blond:2d}  1 {male:2d} {young:2d}" for name, (_, blond, male, young) in FACES.items()]
    table = "\n".join([str(len(rows)), "Blond_Hair Smiling Male Young ", *rows, ""])
    (tmp_path / "list_attr_celeba.txt").write_text(table)
    (tmp_path / "list_eval_partition.txt").write_text("".join(f"{name} {row[0]}\n" for name, row in FACES.items()))
    names = {"images": "img_align_celeba.zip", "attributes": "list_attr_celeba.txt"}
    names["partition"] = "list_eval_partition.txt"
    files = {role: {"path": str(tmp_path / name)} for role, name in names.items()}
    return {"files": files, "target": "Blond_Hair", "groups": GROUPS, "images": images}


def read_celeba(prepare, faces, **changes):
    return prepare("celeba", **{key: value for key, value in faces.items() if key != "images"} | changes)


def test_celeba_is_read_bit_for_bit(faces, prepare, tmp_path):
    found = read_celeba(prepare, faces)
    assert found["groups"].tolist() == ["Male", "Female", "Young", "Old"]
    assert found["classes"].tolist() == ["not Blond_Hair", "Blond_Hair"]
    for part, number in (("train", 0), ("test", 2)):
        rows = {name: row for name, row in FACES.items() if row[0] == number}
        wanted = np.stack([decoded(faces["images"][f"img_align_celeba/{name}"]) for name in rows])
        assert found[f"{part}_images"].tobytes() == wanted.tobytes()
        assert found[f"{part}_labels"].tolist() == [int(row[1] == 1) for row in rows.values()]
        sexes_and_ages = [[row[2] == 1, row[2] == -1, row[3] == 1, row[3] == -1] for row in rows.values()]
        assert found[f"{part}_groups"].tolist() == sexes_and_ages
    assert prepared.load(tmp_path / "out.npz").groups == ("Male", "Female", "Young", "Old")
    assert read_celeba(prepare, faces, target="Young")["train_labels"].tolist() == [1, 0, 1]


EVERY = ["Blond_Hair", "Smiling", "Male", "Young"]


@pytest.mark.parametrize(
    ("targets", "asked"), [("all", EVERY), (["Young", "Blond_Hair"], ["Young", "Blond_Hair"])], ids=["all", "a list"]
)
def test_celebas_attributes_can_be_labels_at_once(targets, asked, faces, prepare, tmp_path):
    found = read_celeba(prepare, faces, targets=targets)
    assert found["classes"].tolist() == ["no", "yes"]
    assert found["asked"].tolist() == asked
    for part, number in (("train", 0), ("test", 2)):
        has = {
            "Blond_Hair": [blond == 1 for in_part, blond, _, _ in FACES.values() if in_part == number],
            "Smiling": [True for in_part, *_ in FACES.values() if in_part == number],
            "Male": [male == 1 for in_part, _, male, _ in FACES.values() if in_part == number],
            "Young": [young == 1 for in_part, _, _, young in FACES.values() if in_part == number],
        }
        assert found[f"{part}_labels"].tolist() == [
            [int(answer) for answer in row] for row in zip(*(has[name] for name in asked), strict=True)
        ]
        assert found[f"{part}_groups"][:, 0].tolist() == has["Male"]
    # A label and a sub-group may have one name; the units of each are its own.
    data = prepared.load(tmp_path / "out.npz")
    members = {name: member.reshape(3, len(asked)) for name, member in data.members(data.test).items()}
    assert members["Young"].tolist() == [[True] * len(asked), [False] * len(asked), [True] * len(asked)]
    assert members["Young:all"].tolist() == [[name == "Young" for name in asked]] * 3
    assert members["Young:Male"].sum(axis=1).tolist() == [0, 1, 0]
    # Counts are by label and group, of each attribute and of all together.
    label_tables.count("celeba", tmp_path / "out.npz", out=tmp_path / "data.csv")
    rows = csv.DictReader((tmp_path / "data.csv").read_text().splitlines()[1:])
    counts = {(row["split"], row["group"], row["label"]): int(row["count"]) for row in rows}
    blond_men = [blond for part, blond, male, _ in FACES.values() if part == 0 and male == 1]
    assert [counts["train", "Blond_Hair:Male", answer] for answer in "10"] == [blond_men.count(1), blond_men.count(-1)]
    assert counts["train", "Male", "all"] == len(asked) * len(blond_men)
    # All units, four sub-groups, and both again for each label.
    assert len(counts) == 2 * (1 + 4) * (1 + len(asked)) * 3


BAD_CELEBA = {
    "wrong count": ("attributes", lambda text: "8" + text[1:], "line 1: found '8'; the number of faces, here 7"),
    "a 0": ("attributes", lambda text: text.replace("-1", " 0", 1), "line 4: found '000002.jpg 1 1 0 1'; a name"),
    "no test face": ("partition", lambda text: text.replace(" 2", " 1"), "test: no face of this part"),
}


@pytest.mark.parametrize(("role", "change", "found"), BAD_CELEBA.values(), ids=list(BAD_CELEBA))
def test_a_bad_celeba_file_is_one_line(role, change, found, faces, prepare, tmp_path, refused):
    path = tmp_path / faces["files"][role]["path"]
    path.write_text(change(path.read_text()))
    assert refused(lambda: read_celeba(prepare, faces)).startswith(f"{path}: {found}")
    assert not (tmp_path / "out.npz").exists()


# ImageNet: a tar of tars, a tar of numbered images, a development kit with a MATLAB file.

KINDS = ["n01440764", "n02085936", "n03445777"]
# What the kit numbers 1, 2 and 3 is in another order than the names; 4 is what all of them are.
SYNSETS = {1: "n03445777", 2: "n01440764", 3: "n02085936", 4: "n00001740"}
TRUTH = [2, 1, 3, 3, 1, 2]


def some_jpegs(names):
    shapes = [(40, 30), (30, 40), (33, 33), (64, 50), (31, 90)]
    return {
        name: encoded(GENERATOR.integers(0, 256, (*shapes[number % 5], 3), np.uint8), "JPEG")
        for number, name in enumerate(names)
    }


@pytest.fixture
def ilsvrc(tmp_path):
    """ImageNet's files, as a registry entry; `train` and `test` are their images by name."""
    train = {kind: some_jpegs(f"{kind}_{number}.JPEG" for number in (11, 2)) for kind in KINDS}
    # One of the real ones is a PNG, whatever its name says, and some are grey or in four inks.
    train[KINDS[1]][f"{KINDS[1]}_5.JPEG"] = encoded(GENERATOR.integers(0, 256, (30, 40), np.uint8))
    inks = io.BytesIO()
    Image.fromarray(GENERATOR.integers(0, 256, (30, 40, 4), np.uint8), "CMYK").save(inks, "JPEG")
    train[KINDS[2]][f"{KINDS[2]}_5.JPEG"] = inks.getvalue()
    test = some_jpegs(f"ILSVRC2012_val_{number:08}.JPEG" for number in range(1, 7))
    (tmp_path / "train.tar").write_bytes(packed({f"{kind}.tar": packed(files) for kind, files in train.items()}))
    (tmp_path / "val.tar").write_bytes(packed(dict(reversed(test.items()))))
    kind = [("ILSVRC2012_ID", object), ("WNID", object), ("words", object), ("num_children", object)]
    table = np.array([(number, name, "words", 3 * (number == 4)) for number, name in SYNSETS.items()], kind)
    meta = io.BytesIO()
    savemat(meta, {"synsets": table[:, None]}, do_compression=True)
    kit = {
        "ILSVRC2012_devkit_t12/readme.txt": b"...",
        "ILSVRC2012_devkit_t12/data/meta.mat": meta.getvalue(),
        "ILSVRC2012_devkit_t12/data/ILSVRC2012_validation_ground_truth.txt": "".join(f"{n}\n" for n in TRUTH).encode(),
    }
    (tmp_path / "devkit.tar.gz").write_bytes(packed(kit, "w:gz"))
    names = {"train": "train.tar", "test": "val.tar", "devkit": "devkit.tar.gz"}
    files = {role: {"path": str(tmp_path / name)} for role, name in names.items()}
    return {"files": files, "image_size": 24, "train": train, "test": test, "kit": kit}


def read_imagenet(prepare, ilsvrc, **changes):
    return prepare("imagenet", **{key: ilsvrc[key] for key in ("files", "image_size")} | changes)


def squared(data, size):
    """The middle of an image scaled until its shorter side is `size`, in Pillow's words."""
    image = Image.fromarray(decoded(data))
    width, height = (max(size, round(side * (size / min(image.size)))) for side in image.size)
    image = image.resize((width, height), Image.Resampling.BILINEAR)
    left, top = (width - size) // 2, (height - size) // 2
    return np.array(image)[top : top + size, left : left + size]


@pytest.mark.parametrize("streamed", [False, True])
def test_imagenet_is_read_bit_for_bit(streamed, ilsvrc, prepare):
    found = read_imagenet(prepare, ilsvrc, streamed=streamed)
    assert found["classes"].tolist() == KINDS
    assert found["train_labels"].tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    wanted = [squared(ilsvrc["train"][kind][name], 24) for kind in KINDS for name in sorted(ilsvrc["train"][kind])]
    assert found["train_images"].tobytes() == np.stack(wanted).tobytes()
    assert found["test_labels"].tolist() == [KINDS.index(SYNSETS[number]) for number in TRUTH]
    wanted = [squared(ilsvrc["test"][name], 24) for name in sorted(ilsvrc["test"])]
    assert found["test_images"].tobytes() == np.stack(wanted).tobytes()


def test_images_are_kept_larger_than_a_network_sees_them_and_not_smaller(ilsvrc, prepare, tmp_path, refused):
    plain = read_imagenet(prepare, ilsvrc)["test_images"]
    assert read_imagenet(prepare, ilsvrc, image_size=20, stored_size=24)["test_images"].tobytes() == plain.tobytes()
    split = prepared.load(tmp_path / "out.npz").test
    assert (split.margin, split.shape) == (4, (20, 20, 3))
    assert np.array_equal(split.middle(slice(None)), plain[:, 2:22, 2:22].astype(np.float32) / np.float32(255))
    line = refused(lambda: read_imagenet(prepare, ilsvrc, stored_size=23))
    assert line == "dataset made: stored_size: found 23; image_size (24) or more"


def test_imagenet_in_folders_gives_the_same_bytes(ilsvrc, prepare, tmp_path):
    archives = read_imagenet(prepare, ilsvrc)
    for kind, images in ilsvrc["train"].items():
        for name, content in images.items():
            (tmp_path / "train" / kind).mkdir(parents=True, exist_ok=True)
            (tmp_path / "train" / kind / name).write_bytes(content)
    for (name, content), number in zip(ilsvrc["test"].items(), TRUTH, strict=True):
        (tmp_path / "val" / SYNSETS[number]).mkdir(parents=True, exist_ok=True)
        (tmp_path / "val" / SYNSETS[number] / name).write_bytes(content)
    files = {"train": {"path": str(tmp_path / "train")}, "test": {"path": str(tmp_path / "val")}}
    folders = read_imagenet(prepare, ilsvrc, files=files)
    assert folders["train_images"].tobytes() == archives["train_images"].tobytes()
    by_class = np.argsort(archives["test_labels"], kind="stable")
    assert folders["test_images"].tobytes() == archives["test_images"][by_class].tobytes()


# The reader of text, against a few lines that do the same in another way, and on files in their published form


POEM = ROOT / "resources/texts/paradise-lost.txt"
# In the form of ptb.train.txt: lower case, spaces around each line, `N` for numbers and `<unk>` for rare words.
TREEBANK = {
    "train": " pierre <unk> N years old will join the board as a nonexecutive director nov. N \n"
    " mr. <unk> is chairman of <unk> n.v. the dutch publishing group \n",
    "valid": " the board of the group \n",
    "test": " no it was n't black monday \n the board is old \n",
}


def read(**entry):
    return text.read("mine", {"tokens": "bytes", "length": 4, **entry}, 1, None)


def of_one(folder, content, **entry):
    """Read a text of which the last part is the test part."""
    path = folder / "mine.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path=str(path), **{"test_share": 0.5, **entry})


def of_two(folder, train, test, **entry):
    for part, content in (("train", train), ("test", test)):
        (folder / f"{part}.txt").write_bytes(content if isinstance(content, bytes) else content.encode())
    return read(path=str(folder), **entry)


def stream(part):
    """The tokens of a part, but for those that its last segment has no room for."""
    return [*part.images.ravel().tolist(), int(part.labels[-1, -1])]


def names(raw, part):
    return [raw.classes[number] for number in stream(part)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """One folder for all examples of a test that draws them."""
    return tmp_path_factory.mktemp("drawn")


@given(st.binary(min_size=1), st.integers(1, 9))
def test_segments_are_those_of_the_definition(folder, content, length):
    content = content * (2 * length + 2)
    raw = of_two(folder, content, content[: length + 2], length=length)
    assert raw.outcome == "tokens"
    for part, whole in ((raw.train, content), (raw.test, content[: length + 2])):
        count = (len(whole) - 1) // length
        assert part.images.dtype == np.uint16
        assert part.labels.dtype == np.int32
        assert part.images.tolist() == [list(whole[i * length : i * length + length]) for i in range(count)]
        assert part.labels.tolist() == [list(whole[i * length + 1 : i * length + length + 1]) for i in range(count)]


@given(st.text(min_size=3).map(lambda drawn: drawn.replace("\r", "")), st.integers(1, 3))
def test_characters_are_decoded_to_the_text_that_they_were_read_from(folder, drawn, length):
    drawn = drawn * 2
    raw = of_two(folder, drawn, drawn, tokens="characters", length=length)
    alphabet = sorted(set(drawn))
    assert len(set(raw.classes)) == len(raw.classes) == len(alphabet)
    for part in (raw.train, raw.test):
        decoded = "".join(alphabet[number] for number in stream(part))
        assert decoded == drawn[: len(decoded)]
        assert len(decoded) + length > len(drawn)


WORDS = st.lists(st.lists(st.sampled_from(["a", "b", "Ä", "the", "<unk>", "<eos>", "N"]), max_size=6), min_size=3)


@given(WORDS, st.integers(1, 6) | st.none())
def test_words_are_those_of_another_way_to_count_them(folder, lines, most):
    content = "\n".join(map(" ".join, lines)) + "\n"
    limit = {} if most is None else {"most": most}
    raw = of_two(folder, content, "z a\n" + content, tokens="words", length=1, **limit)
    flat = (" \n".join(map(" ".join, lines)).replace("\n", "<eos> ") + " <eos>").split()
    kept = sorted(dict.fromkeys(flat), key=lambda word: (-flat.count(word), flat.index(word)))[:most]
    kept += [word for word in ("<eos>", "<unk>") if word not in kept]
    assert raw.classes == kept
    assert names(raw, raw.train) == [word if word in kept else "<unk>" for word in flat]
    assert names(raw, raw.test) == [word if word in kept else "<unk>" for word in ["z", "a", "<eos>", *flat]]


@given(st.text("aabbbbcdefgh", min_size=4), st.lists(st.integers(0, 9), min_size=1, max_size=4, unique=True))
def test_groups_are_by_the_count_of_the_label_in_the_whole_training_part(folder, drawn, bounds):
    counts = Counter(drawn)
    edges = [-1, *sorted(bounds), 10**9]
    wanted = [[low < counts[one] <= high for low, high in itertools.pairwise(edges)] for one in drawn]
    used = (len(drawn) - 1) // 3 * 3
    present = np.array(wanted[1 : used + 1]).any(0)
    build = lambda: of_two(folder, drawn, drawn, tokens="characters", length=3, frequency=bounds)  # noqa: E731
    if not present.all():
        with pytest.raises(text.BadInput, match="dataset mine: frequency: no label of the test part is in "):
            build()
        return
    raw = build()
    for part in (raw.train, raw.test):
        assert part.groups.dtype == bool
        assert part.groups.shape == (*part.labels.shape, len(raw.groups))
        assert part.groups.reshape(-1, len(raw.groups)).tolist() == wanted[1 : used + 1]


def test_the_last_share_of_a_text_is_its_test_part(tmp_path):
    raw = of_one(tmp_path, bytes(range(100)), length=3, test_share=0.125)
    # 12.5 tokens: Python rounds a half to the even number.
    assert raw.test.images.ravel().tolist() == list(range(88, 97))
    assert raw.train.images.ravel().tolist() == list(range(87))
    words = of_one(tmp_path, "a b\nc d\n", length=1, test_share=0.5, tokens="words")
    assert (words.classes, names(words, words.train)) == (["a", "b", "<eos>", "<unk>"], ["a", "b", "<eos>"])
    assert names(words, words.test) == ["<unk>", "<unk>", "<eos>"]


# Files as they are published.


def test_penn_treebank_is_read_from_its_files(tmp_path):
    for part, content in TREEBANK.items():
        (tmp_path / f"ptb.{part}.txt").write_text(content)
    raw = read(path=str(tmp_path), tokens="words", length=5)
    words = TREEBANK["train"].replace("\n", "<eos>").split()
    assert names(raw, raw.train) == words[: (len(words) - 1) // 5 * 5 + 1]
    # The data set has its own word for others: words that only the test part has become it.
    assert len(raw.classes) == len(set(words))
    assert names(raw, raw.test)[:8] == ["<unk>"] * 6 + ["<eos>", "the"]


def test_a_list_of_words_is_the_vocabulary_and_a_file_of_the_data_set(tmp_path):
    (tmp_path / "words").write_bytes(b"the\r\nboard\r\nzebra\n")
    entry = {"tokens": "words", "vocabulary": str(tmp_path / "words"), "unknown": "?"}
    raw = of_two(tmp_path, "the old board\n", "a board the\n", length=1, **entry)
    assert raw.classes == ["the", "board", "zebra", "<eos>", "?"]
    assert names(raw, raw.train) == ["the", "?", "board", "<eos>"]
    fewer = of_two(tmp_path, "the old board\n", "a board the\n", length=1, most=1, **entry)
    assert fewer.classes == ["the", "<eos>", "?"]
    assert [source["path"] for source in sources_of({"path": "a", **entry})] == ["a", str(tmp_path / "words")]


# Bad input.


def test_a_character_that_training_lacks_is_one_line_with_its_place(tmp_path, refused):
    line = refused(lambda: of_two(tmp_path, "abc\nabc\n", "ab\nca\na\té\n", tokens="characters"))
    assert line.startswith(f"{tmp_path}: test.txt: line 3: found \\t, which the training part lacks; ")
    line = refused(lambda: of_one(tmp_path, "ab\nca\nab\nca\nabécaca\n", tokens="characters"))
    assert line.startswith(f"{tmp_path}/mine.txt: line 5: found é, which the training part lacks; ")


@pytest.mark.parametrize("content", [b"", b"0", b"01234", b"012345678"])
@pytest.mark.parametrize("tokens", ["bytes", "characters", "words"])
def test_a_text_shorter_than_a_segment_and_its_last_label_is_one_line(content, tokens, tmp_path, refused):
    line = refused(lambda: of_one(tmp_path, content, tokens=tokens))
    assert re.fullmatch(r".*mine.txt: (train|test): found [0-4] tokens; allowed: 5 to 16777216", line)
    # The shortest has one segment in each part.
    raw = of_one(tmp_path, b"0123456789")
    assert len(raw.train.images) == len(raw.test.images) == 1
    assert raw.groups == ()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        ("a\nb\na\n", "line 3: repeats line 1"),
        ("a\n\nb\n", "line 2: empty"),
        ("", "line 1: empty"),
        (b"a\n\xff\n", "line 2: found \\xff, which is not UTF-8"),
    ],
)
def test_a_bad_vocabulary_is_one_line(content, problem, tmp_path, refused):
    path = tmp_path / "vocabulary"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    line = refused(lambda: of_one(tmp_path, "a b c d e f g h", tokens="words", vocabulary=str(path)))
    assert line.startswith(f"{path}: {problem}; ")
