"""Readers of the official formats, on bytes that a test wrote as the publishers describe them."""

import csv
import gzip
import io
import struct
import zipfile

import numpy as np
import pytest
from official_formats import encoded, packed
from PIL import Image
from scipy.io import savemat

from toolnoise.base import arrays
from toolnoise.datasets import counting, preparation, prepared

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
    # Unpacked, too.
    for name, content in members.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    again = prepare("cifar", path=str((tmp_path / next(iter(members))).parent))
    assert again["train_images"].tobytes() == found["train_images"].tobytes()


def test_the_last_test_examples_of_cifar_may_be_the_test_set(cifar, prepare, tmp_path, refused):
    members, train, test, labels = cifar
    (tmp_path / "cifar.tar.gz").write_bytes(packed(members, "w:gz"))
    fewer = len(test) - 1  # each class is there twice
    found = prepare("cifar", path=str(tmp_path / "cifar.tar.gz"), test_examples=fewer)
    assert found["test_labels"].tolist() == test[-fewer:, labels - 1].tolist()
    assert (len(found["test_images"]), len(found["train_images"])) == (fewer, len(train))
    line = refused(lambda: prepare("cifar", path=str(tmp_path / "cifar.tar.gz"), test_examples=len(test) + 1))
    assert line.endswith(f"test_examples: found {len(test) + 1}; allowed: 1 to {len(test)}")


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
    fewer = read_mnist({role: packing(idx(values)) for role, values in MNIST.items()}, test_examples=15)
    assert fewer["test_images"].tobytes() == found["test_images"][-15:].tobytes()
    assert fewer["test_labels"].tolist() == MNIST["test_labels"][-15:].tolist()
    assert len(fewer["train_images"]) == 30


BAD_MNIST = {
    "not idx": (
        "train_images",
        b"PNG of a digit",
        "begins with 504e4720; 00000803: an idx file of unsigned bytes with 3 axes",
    ),
    "numbers of another kind": ("test_labels", idx(MNIST["test_labels"], 13), "begins with 00000d01; 00000801: "),
    "a header cut off": ("train_images", idx(MNIST["train_images"])[:15], "truncated: 15 bytes; "),
    "cut off": ("train_images", idx(MNIST["train_images"])[:-1], "found 1049 bytes after its header; 30 x 7 x 5, "),
    "more than memory": (
        "train_images",
        bytes((0, 0, 8, 3)) + b"\xff" * 12 + b"few",
        "found 3 bytes after its header; 4294967295 x ",
    ),
    "a gzip cut off": ("test_images", gzip.compress(idx(MNIST["test_images"]))[:-9], "damaged or truncated ("),
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
    # Table 3 counts examples by label and group, of each attribute and of all together.
    counting.count("celeba", tmp_path / "out.npz", out=tmp_path / "data.csv")
    rows = csv.DictReader((tmp_path / "data.csv").read_text().splitlines()[1:])
    counts = {(row["split"], row["group"], row["label"]): int(row["count"]) for row in rows}
    train = [row[1:] for row in FACES.values() if row[0] == 0]
    blond_men, blond = ([face[0] for face in train if face[1] == 1 or everyone] for everyone in (False, True))
    for answer, said in (("1", 1), ("0", -1)):
        assert counts["train", "Blond_Hair:Male", answer] == blond_men.count(said)
        assert counts["train", "Blond_Hair:all", answer] == blond.count(said)
    assert counts["train", "Male", "all"] == len(asked) * len(blond_men)
    assert counts["train", "all", "all"] == len(asked) * len(train)
    # All units, four sub-groups, and both again for each label.
    assert len(counts) == 2 * (1 + 4) * (1 + len(asked)) * 3


def test_a_face_is_scaled_as_a_whole(faces, prepare):
    found = read_celeba(prepare, faces, image_size=128)["train_images"]
    with Image.open(io.BytesIO(faces["images"]["img_align_celeba/000003.jpg"])) as image:
        assert np.array_equal(found[1], np.array(image.resize((128, 128), Image.Resampling.BILINEAR)))


BAD_CELEBA = {
    "wrong count": ("attributes", lambda text: "8" + text[1:], "line 1: found '8'; the number of faces, here 7"),
    "no such attribute": (
        "attributes",
        lambda text: text.replace("Male", "Mail"),
        "Male: no such attribute; allowed: ",
    ),
    "a 0": ("attributes", lambda text: text.replace("-1", " 0", 1), "line 4: found '000002.jpg 1 1 0 1'; a name"),
    "a fourth part": (
        "partition",
        lambda text: text.replace(" 2", " 3", 1),
        "line 2: found '000002.jpg 3'; a name and",
    ),
    "no test face": ("partition", lambda text: text.replace(" 2", " 1"), "test: no face of this part"),
}


@pytest.mark.parametrize(("role", "change", "found"), BAD_CELEBA.values(), ids=list(BAD_CELEBA))
def test_a_bad_celeba_file_is_one_line(role, change, found, faces, prepare, tmp_path, refused):
    path = tmp_path / faces["files"][role]["path"]
    path.write_text(change(path.read_text()))
    assert refused(lambda: read_celeba(prepare, faces)).startswith(f"{path}: {found}")
    assert not (tmp_path / "out.npz").exists()


def test_a_celeba_without_an_image_is_one_line(faces, prepare, tmp_path, refused):
    path = tmp_path / "img_align_celeba.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in faces["images"].items():
            if not name.endswith("5.jpg"):
                archive.writestr(name, content)
    assert refused(lambda: read_celeba(prepare, faces)).startswith(f"{path}: 000005.jpg: no such image; ")


def test_the_label_that_is_shown_must_be_among_the_labels(faces, prepare, refused):
    line = refused(lambda: read_celeba(prepare, faces, targets=["Smiling", "Male"]))
    assert line == "dataset made: target: found 'Blond_Hair'; one of the attributes in targets"
    line = refused(lambda: read_celeba(prepare, faces, targets=["Blond_Hair", "Bald"]))
    assert line.endswith("Bald: no such attribute; allowed: Blond_Hair, Male, Smiling, Young")


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


def test_imagenet_s_originals_are_kept_in_the_order_of_its_images(ilsvrc, prepare, tmp_path):
    found = read_imagenet(prepare, ilsvrc, stored_size="original", streamed=True)
    files = [ilsvrc["train"][kind][name] for kind in KINDS for name in sorted(ilsvrc["train"][kind])]
    assert found["train_images"].tobytes() == b"".join(files)
    assert found["test_images"].tobytes() == b"".join(ilsvrc["test"][name] for name in sorted(ilsvrc["test"]))
    assert found["train_sizes"].tolist() == [[*decoded(file).shape[:2], len(file)] for file in files]
    assert found["train_labels"].tolist() == [0, 0, 1, 1, 1, 2, 2, 2]
    assert prepared.load(tmp_path / "out.npz").train.images.shape == (8, 24, 24, 3)


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


def corrupted(ilsvrc, tmp_path, **changes):
    """Write the development kit with other members; those that are None are left out."""
    kit = {**ilsvrc["kit"]}
    for name in list(kit):
        for end, content in changes.items():
            if name.removesuffix(".txt").removesuffix(".mat").endswith(end):
                kit[name] = content
    kit = {name: content for name, content in kit.items() if content is not None}
    (tmp_path / "devkit.tar.gz").write_bytes(packed(kit, "w:gz"))


@pytest.mark.parametrize(
    ("changes", "found"),
    [
        ({"truth": b"2\n1\n"}, "data/ILSVRC2012_validation_ground_truth.txt: found 2 labels; one for each of the 6 of"),
        ({"truth": b"2\n1\n3\n3\n1\n4\n"}, "data/ILSVRC2012_validation_ground_truth.txt: found '4'; a number of"),
        ({"meta": None}, "data/meta.mat: no such member"),
        ({"meta": b"MATLAB"}, "ILSVRC2012_devkit_t12/data/meta.mat: damaged ("),
    ],
)
def test_a_bad_development_kit_is_one_line(changes, found, ilsvrc, prepare, tmp_path, refused):
    corrupted(ilsvrc, tmp_path, **changes)
    assert refused(lambda: read_imagenet(prepare, ilsvrc)).startswith(f"{tmp_path / 'devkit.tar.gz'}: {found}")


def test_a_class_tar_that_ends_early_and_a_validation_tar_without_the_kit_are_one_line(
    ilsvrc, prepare, tmp_path, refused
):
    files = {role: source for role, source in ilsvrc["files"].items() if role != "devkit"}
    line = refused(lambda: read_imagenet(prepare, ilsvrc, files=files))
    assert line.startswith("dataset made: files.devkit: missing; the classes of the images in ")
    whole = {f"{kind}.tar": packed(files) for kind, files in ilsvrc["train"].items()}
    # Without its end, whose place the next class's header takes.
    cut = {name: content.rstrip(b"\0")[: len(content) // 512 * 512] for name, content in whole.items()}
    (tmp_path / "train.tar").write_bytes(packed(cut))
    line = refused(lambda: read_imagenet(prepare, ilsvrc))
    assert line.startswith(f"{tmp_path / 'train.tar'}: damaged or truncated (")
