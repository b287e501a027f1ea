"""Writes small data sets with drawn pictures in every official format."""

import gzip
import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from toolnoise import streams
from toolnoise.datasets.prepared import PARTS
from toolnoise.datasets.readers import cifar, faces, imagenet, mnist

# The attributes of CelebA's attribute file, in its order.
ATTRIBUTES = """
5_o_Clock_Shadow Arched_Eyebrows Attractive Bags_Under_Eyes Bald Bangs Big_Lips Big_Nose Black_Hair Blond_Hair Blurry
Brown_Hair Bushy_Eyebrows Chubby Double_Chin Eyeglasses Goatee Gray_Hair Heavy_Makeup High_Cheekbones Male
Mouth_Slightly_Open Mustache Narrow_Eyes No_Beard Oval_Face Pale_Skin Pointy_Nose Receding_Hairline Rosy_Cheeks
Sideburns Smiling Straight_Hair Wavy_Hair Wearing_Earrings Wearing_Hat Wearing_Lipstick Wearing_Necklace
Wearing_Necktie Young
"""


def draw_pictures(part: str, classes: int, count: int, size: int) -> tuple[np.ndarray, np.ndarray]:
    """`count` grainy squares, each in the colour of its class, and their labels."""
    labels = (streams.permutation(faces.stream(part, "labels"), count) % classes).astype(np.int32)
    colours = streams.integers(faces.stream("colours"), (classes, 1, 1, 3), 128)
    grain = streams.integers(faces.stream(part, "grain"), (count, size, size, 3), 128)
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
    (folder / f"cifar-{classes}-binary.tar.gz").write_bytes(gzip.compress(packed(members), mtime=0))


def write_celeba(folder: Path, count: int) -> None:
    """Write CelebA's three files.

    They have `count` training faces of 178 x 218 pixels, and a fifth as many for validation and for test.
    """
    attributes = ATTRIBUTES.split()
    rows, partition, images = [], [], {}
    for number, (part, total) in enumerate({"train": count, "validation": count // 5, "test": count // 5}.items()):
        labels, groups = faces.draw_people(part, total)
        for label, group, face in zip(labels, groups, faces.draw_faces(part, labels, groups, 32), strict=True):
            name = f"{len(rows) + 1:06}.jpg"
            has = {"Blond_Hair": label, "Male": group[0], "Young": group[2]}
            rows.append(" ".join([name, *(" 1" if has.get(attribute) else "-1" for attribute in attributes)]))
            partition.append(f"{name} {number}\n")
            images[f"img_align_celeba/{name}"] = _jpeg(Image.fromarray(face).resize((178, 218)))
    (folder / "list_attr_celeba.txt").write_bytes("\n".join([str(len(rows)), " ".join(attributes), *rows, ""]).encode())
    (folder / "list_eval_partition.txt").write_bytes("".join(partition).encode())
    zipped = io.BytesIO()
    with zipfile.ZipFile(zipped, "w") as archive:
        for name, content in images.items():
            archive.writestr(zipfile.ZipInfo(name), content)
    (folder / "img_align_celeba.zip").write_bytes(zipped.getvalue())


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
    (folder / "ILSVRC2012_img_train.tar").write_bytes(
        packed({f"{kind}.tar": packed(files) for kind, files in tars.items()})
    )
    images, labels = draw_pictures("test", classes, _count("test", count, classes), 64)
    pictures = {
        f"ILSVRC2012_val_{number:08}.JPEG": _jpeg(_of_some_size(image, number))
        for number, image in enumerate(images, 1)
    }
    (folder / "ILSVRC2012_img_val.tar").write_bytes(packed(pictures))
    synsets = [(number, kind, 0) for number, kind in zip(numbers, kinds, strict=True)]
    synsets.append((classes + 1, "n00000001", classes))  # the parent of all classes
    table = np.array(synsets, [("ILSVRC2012_ID", object), ("WNID", object), ("num_children", object)])
    meta = io.BytesIO()
    savemat(meta, {"synsets": table[:, None]})
    # MATLAB files begin with 116 bytes of text, in which SciPy writes the time.
    matlab = b"MATLAB 5.0 MAT-file".ljust(116) + meta.getvalue()[116:]
    truth = "".join(f"{numbers[label]}\n" for label in labels).encode()
    root = "ILSVRC2012_devkit_t12"
    devkit = packed({f"{root}/{imagenet.TRUTH}": truth, f"{root}/{imagenet.SYNSETS}": matlab})
    (folder / "ILSVRC2012_devkit_t12.tar.gz").write_bytes(gzip.compress(devkit, mtime=0))


def write_mnist(folder: Path, count: int) -> None:
    """Write MNIST's four files of grey images.

    They have `count` training images and a fifth as many test images, but at least one for each class.
    """
    for part, name in (("train", "train"), ("test", "t10k")):
        images, labels = draw_pictures(part, 10, _count(part, count, 10), 28)
        for kind, values in (("images", images[..., 0]), ("labels", labels.astype(np.uint8))):
            header = bytes((0, 0, mnist.UNSIGNED_BYTES, values.ndim)) + np.array(values.shape, ">u4").tobytes()
            content = gzip.compress(header + values.tobytes(), mtime=0)
            (folder / f"{name}-{kind}-idx{values.ndim}-ubyte.gz").write_bytes(content)


def write_image_folder(folder: Path, count: int, classes: int = 4) -> None:
    """Write a tar of an image folder."""
    members = {}
    for part in PARTS:
        images, labels = draw_pictures(part, classes, _count(part, count, classes), 32)
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            members[f"{part}/class_{label}/{number:05}.jpg"] = _jpeg(Image.fromarray(image))
    (folder / "pictures.tar").write_bytes(packed(members))


WRITERS = {
    "cifar-10": lambda folder, count: write_cifar(folder, count, 10),
    "cifar-100": lambda folder, count: write_cifar(folder, count, 100),
    "celeba": write_celeba,
    "imagenet": write_imagenet,
    "mnist": write_mnist,
    "image-folder": write_image_folder,
}


def write(form: str, count: int, folder: Path) -> None:
    """Write a data set of `count` training examples, at least 40, and a fifth as many test examples into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    WRITERS[form](folder, count)


def _count(part: str, count: int, classes: int) -> int:
    return max(classes, count if part == "train" else count // 5)


def _of_some_size(image: np.ndarray, number: int) -> Image.Image:
    return Image.fromarray(image).resize((40 + number % 31, 40 + number % 23))


def _jpeg(image: Image.Image) -> bytes:
    return encoded(np.asarray(image), "JPEG", quality=95)


def encoded(pixels: np.ndarray, form: str = "PNG", **options: Any) -> bytes:
    """A picture as the bytes of a file."""
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, form, **options)
    return out.getvalue()


def packed(members: Mapping[str, bytes], mode: str = "w:") -> bytes:
    """Files as the bytes of a tar."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode=mode) as archive:
        for name, content in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()
