"""Writes small data sets with drawn pictures: CelebA in its official format, and an image folder."""

import io
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from toolnoise import streams
from toolnoise.datasets.readers import faces

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


def write_image_folder(folder: Path, count: int, classes: int = 4) -> None:
    """Write a tar of an image folder of `count` training images and a fifth as many test images."""
    members = {}
    for part, total in {"train": count, "test": count // 5}.items():
        images, labels = draw_pictures(part, classes, total, 32)
        for number, (image, label) in enumerate(zip(images, labels, strict=True)):
            members[f"{part}/class_{label}/{number:05}.jpg"] = _jpeg(Image.fromarray(image))
    (folder / "pictures.tar").write_bytes(packed(members))


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
