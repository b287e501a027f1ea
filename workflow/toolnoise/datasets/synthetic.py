"""Synthetic data sets, the same on every machine: faces for training, and every official format for readers.

Faces stand in for CelebA. The label is blond hair, and labels, sexes and ages are as frequent as in CelebA's training
set (table 3 of Zhuang et al.). As in CelebA, the visible evidence differs between groups: a man's short hair covers few
pixels, and an old person's hair turns grey, whatever its colour was. The official formats are for trying out a reader.
"""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.base.files import replacing
from toolnoise.datasets.raw import PARTS, Part, Raw
from toolnoise.datasets.readers import cifar, imagenet, mnist

# Table 3 of Zhuang et al.: training examples of CelebA by label (1: Blond_Hair) and group.
TABLE_3 = {
    1: {"Male": 1387, "Female": 22880, "Young": 20230, "Old": 4037},
    0: {"Male": 66874, "Female": 71629, "Young": 106558, "Old": 31945},
}
GROUPS = ("Male", "Female", "Young", "Old")
# The attributes of CelebA's attribute file, in its order.
ATTRIBUTES = """
5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair Blurry
Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male
Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks
Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace
Wearing_Necktie Young
"""

FEWEST = 40
SKIN, DARK, BLOND, GREY = (
    np.array(colour, np.float32) for colour in ((205, 160, 130), (70, 52, 42), (214, 178, 112), (172, 168, 164))
)


@contextmanager
def read_faces(name: str, entry: dict[str, Any], _threads: int) -> Iterator[Raw]:
    """Draw `train_examples` and `test_examples` faces of `image_size` pixels a side."""
    for key in ("train_examples", "test_examples", "image_size"):
        if key not in entry:
            raise BadInput(f"dataset {name}", key, "missing", "required: train_examples, test_examples, image_size")
    parts = {}
    for part in PARTS:
        labels, groups = draw_people(part, entry[f"{part}_examples"])
        parts[part] = Part(draw_faces(part, labels, groups, entry["image_size"]), labels, groups)
    yield Raw(**parts, classes=["not Blond_Hair", "Blond_Hair"], groups=GROUPS)


def draw_people(part: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and groups (person x group) of `count` people, in the proportions of table 3; exact for its own count."""
    cells = [(label, sex) for label in (1, 0) for sex in ("Male", "Female")]
    labels, male, old = [], [], []
    for (label, sex), number in zip(cells, _shares(count, [TABLE_3[label][sex] for label, sex in cells]), strict=True):
        labels += [label] * number
        male += [sex == "Male"] * number
    for label in (1, 0):
        young_and_old = _shares(labels.count(label), [TABLE_3[label]["Young"], TABLE_3[label]["Old"]])
        ages = np.repeat([False, True], young_and_old)
        # The table does not relate age to sex, so they are combined at random.
        old += ages[streams.permutation(_stream(part, "ages", label), len(ages))].tolist()
    order = streams.permutation(_stream(part, "order"), count)
    male, old = np.array(male)[order], np.array(old)[order]
    return np.array(labels, np.int32)[order], np.stack([male, ~male, ~old, old], axis=1)


def draw_faces(part: str, labels: np.ndarray, groups: np.ndarray, size: int) -> np.ndarray:
    """Pictures of these people: a head with hair in front of a background, in varied light."""

    def between(low: float, high: float, what: str, *shape: int) -> np.ndarray:
        return low + (high - low) * streams.uniform(_stream(part, what), (len(labels), *shape))

    male, old = (groups[:, GROUPS.index(group), None, None] for group in ("Male", "Old"))
    # Coordinates from -1 to 1 over the picture; not all heads are in its middle.
    axis = (2 * np.arange(size, dtype=np.float32) + 1) / size - 1
    down = axis[:, None] + between(-0.125, 0.125, "down", 1, 1)
    across = axis + between(-0.125, 0.125, "across", 1, 1)

    def ellipse(height: float, width: float) -> np.ndarray:
        return (down / height) ** 2 + (across / width) ** 2 < 1

    face = ellipse(0.75, 0.5) & (down > -0.35)
    hair = np.where(male, ellipse(0.85, 0.6) & (down < -0.35), ellipse(0.95, 0.8) & ~face)
    # The label decides between dark and light hair, in shades that nearly overlap; age makes it grey.
    lightness = 0.5 * labels[:, None, None, None] + between(0, 0.55, "light", 1, 1, 1)
    greyness = old[..., None] * between(0.2, 0.8, "grey", 1, 1, 1)
    colour = DARK + (BLOND - DARK) * lightness
    colour = colour + (GREY - colour) * greyness
    ground = between(20, 190, "ground", 1, 1, 1) + between(0, 60, "tint", 1, 1, 3)
    skin = SKIN * between(0.7, 1.1, "skin", 1, 1, 1)
    pixels = np.where(face[..., None], skin, np.where(hair[..., None], colour, ground))
    grain = between(-30, 30, "grain", size, size, 3)
    return (pixels * between(0.75, 1.25, "shine", 1, 1, 1) + grain).clip(0, 255).astype(np.uint8)


def draw_pictures(part: str, classes: int, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` grainy squares, each in the colour of its class, and their labels."""
    labels = (streams.permutation(_stream(part, "labels"), count) % classes).astype(np.int32)
    colours = streams.integers(_stream("colours"), (classes, 1, 1, 3), 128)
    grain = streams.integers(_stream(part, "grain"), (count, size, size, 3), 128)
    return (colours[labels] + grain).astype(np.uint8), labels


def write_cifar(folder: Path, count: int, classes: int) -> None:
    """Write the archive of CIFAR-10 or CIFAR-100.

    It has `count` training images and a fifth as many test images, but at least one for each class.
    """
    form, name = {10: (cifar.FORMS[0], "cifar-10-batches-bin"), 100: (cifar.FORMS[1], "cifar-100-binary")}[classes]
    members = {f"{name}/{form.classes}": "".join(f"class_{number}\n" for number in range(classes)).encode()}
    for part, files in (("train", form.train), ("test", form.test)):
        images, labels = draw_pictures(part, classes, _count(part, count, classes), cifar.SIZE)
        # In CIFAR-100, the coarse label comes first.
        head = np.stack([labels // 5, labels][-form.label_bytes :], axis=1).astype(np.uint8)
        records = np.concatenate([head, images.transpose(0, 3, 1, 2).reshape(len(images), -1)], axis=1)
        for file, batch in zip(files, np.array_split(records, len(files)), strict=True):
            members[f"{name}/{file}"] = batch.tobytes()
    _write(folder / f"cifar-{classes}-binary.tar.gz", gzip.compress(_tar(members), mtime=0))


def write_celeba(folder: Path, count: int) -> None:
    """Write CelebA's three files.

    They have `count` training faces of 178 x 218 pixels, and a fifth as many for validation and for test.
    """
    attributes = ATTRIBUTES.split()
    rows, partition, images = [], [], {}
    for number, (part, total) in enumerate({"train": count, "validation": count // 5, "test": count // 5}.items()):
        labels, groups = draw_people(part, total)
        for label, group, face in zip(labels, groups, draw_faces(part, labels, groups, 32), strict=True):
            name = f"{len(rows) + 1:06}.jpg"
            has = {"Blond_Hair": label, "Male": group[0], "Young": group[2]}
            rows.append(" ".join([name, *(" 1" if has.get(attribute) else "-1" for attribute in attributes)]))
            partition.append(f"{name} {number}\n")
            images[f"img_align_celeba/{name}"] = _jpeg(Image.fromarray(face).resize((178, 218)))
    _write(folder / "list_attr_celeba.txt", "\n".join([str(len(rows)), " ".join(attributes), *rows, ""]).encode())
    _write(folder / "list_eval_partition.txt", "".join(partition).encode())
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, content in images.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    _write(folder / "img_align_celeba.zip", packed.getvalue())


def write_imagenet(folder: Path, count: int, classes: int = 4) -> None:
    """Write ImageNet's three archives with few classes and images of many sizes."""
    from scipy.io import savemat

    kinds = [f"n{1000 + 7 * number:08}" for number in range(classes)]
    # The official numbers are in a different order from the names of the classes.
    numbers = (np.arange(classes) + 1)[::-1]
    images, labels = draw_pictures("train", classes, _count("train", count, classes), 64)
    tars: dict[str, dict[str, bytes]] = {kind: {} for kind in kinds}
    for number, (image, label) in enumerate(zip(images, labels, strict=True)):
        tars[kinds[label]][f"{kinds[label]}_{number}.JPEG"] = _jpeg(_of_some_size(image, number))
    _write(folder / "ILSVRC2012_img_train.tar", _tar({f"{kind}.tar": _tar(files) for kind, files in tars.items()}))
    images, labels = draw_pictures("test", classes, _count("test", count, classes), 64)
    pictures = {
        f"ILSVRC2012_val_{number:08}.JPEG": _jpeg(_of_some_size(image, number))
        for number, image in enumerate(images, 1)
    }
    _write(folder / "ILSVRC2012_img_val.tar", _tar(pictures))
    synsets = [(number, kind, 0) for number, kind in zip(numbers, kinds, strict=True)]
    synsets.append((classes + 1, "n00000001", classes))  # the parent of all classes
    table = np.array(synsets, [("ILSVRC2012_ID", object), ("WNID", object), ("num_children", object)])
    meta = io.BytesIO()
    savemat(meta, {"synsets": table[:, None]})
    # MATLAB files begin with 116 bytes of text, in which SciPy writes the time.
    matlab = b"MATLAB 5.0 MAT-file".ljust(116) + meta.getvalue()[116:]
    truth = "".join(f"{numbers[label]}\n" for label in labels).encode()
    root = "ILSVRC2012_devkit_t12"
    devkit = _tar({f"{root}/{imagenet.TRUTH}": truth, f"{root}/{imagenet.SYNSETS}": matlab})
    _write(folder / "ILSVRC2012_devkit_t12.tar.gz", gzip.compress(devkit, mtime=0))


def write_mnist(folder: Path, count: int) -> None:
    """Write MNIST's four files of grey images.

    They have `count` training images and a fifth as many test images, but at least one for each class.
    """
    for part, name in (("train", "train"), ("test", "t10k")):
        images, labels = draw_pictures(part, 10, _count(part, count, 10), 28)
        for kind, values in (("images", images[..., 0]), ("labels", labels.astype(np.uint8))):
            header = bytes((0, 0, mnist.UNSIGNED_BYTES, values.ndim)) + np.array(values.shape, ">u4").tobytes()
            packed = gzip.compress(header + values.tobytes(), mtime=0)
            _write(folder / f"{name}-{kind}-idx{values.ndim}-ubyte.gz", packed)


def write_image_folder(folder: Path, count: int, classes: int = 4) -> None:
    """Write a tar of an image folder."""
    members = {}
    for part in PARTS:
        images, labels = draw_pictures(part, classes, _count(part, count, classes), 32)
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            members[f"{part}/class_{label}/{number:05}.jpg"] = _jpeg(Image.fromarray(image))
    _write(folder / "pictures.tar", _tar(members))


def write(form: str, count: int, folder: str | Path) -> None:
    """Write a data set of about `count` training examples into a folder, in the official format `form`."""
    writers: dict[str, Callable[[Path, int], None]] = {
        "cifar-10": lambda folder, count: write_cifar(folder, count, 10),
        "cifar-100": lambda folder, count: write_cifar(folder, count, 100),
        "celeba": write_celeba,
        "imagenet": write_imagenet,
        "mnist": write_mnist,
        "image-folder": write_image_folder,
    }
    if form not in writers:
        raise BadInput("command line", "--format", f"found {form!r}", f"allowed: {', '.join(writers)}")
    # With fewer faces, no test face would be blond.
    if count < FEWEST:
        raise BadInput("command line", "--examples", f"found {count}", f"allowed: {FEWEST} or more")
    writers[form](Path(folder), count)


def _stream(*what: str | int) -> int:
    return streams.key(0, streams.DATA, 0, "synthetic", *what)


def _shares(total: int, weights: list[int]) -> list[int]:
    """`total` divided in proportion to whole weights: each share rounded down, the rest to the largest remainders."""
    whole = sum(weights)
    shares = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in by_remainder[: total - sum(shares)]:
        shares[place] += 1
    return shares


def _count(part: str, count: int, classes: int) -> int:
    return max(classes, count if part == "train" else count // 5)


def _of_some_size(image: np.ndarray, number: int) -> Image.Image:
    return Image.fromarray(image).resize((40 + number % 31, 40 + number % 23))


def _jpeg(image: Image.Image) -> bytes:
    out = io.BytesIO()
    image.save(out, "JPEG", quality=95)
    return out.getvalue()


def _tar(members: Mapping[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as scratch:
        scratch.write_bytes(content)
