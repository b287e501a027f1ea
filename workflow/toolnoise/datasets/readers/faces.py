"""Draws synthetic faces, which are the same on every machine.

Faces stand in for CelebA. The label is blond hair, and labels, sexes and ages are as frequent as in CelebA's training
set (table 3 of Zhuang et al.). As in CelebA, the visible evidence differs between groups: a man's short hair covers few
pixels, and an old person's hair turns grey, whatever its colour was.

With `attributes`, a face has several labels, named as in CelebA: blond hair, then whether the person smiles, wears
glasses and wears a hat. The latter three are independent of one another, of sex and of age.
"""

from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np

from toolnoise import streams
from toolnoise.datasets.prepared import PARTS, Raw, RawPart
from toolnoise.formulas.outcomes import LABELS, YES_OR_NO

# Table 3 of Zhuang et al.: training examples of CelebA by label (1: Blond_Hair) and group.
TABLE_3 = {
    1: {"Male": 1387, "Female": 22880, "Young": 20230, "Old": 4037},
    0: {"Male": 66874, "Female": 71629, "Young": 106558, "Old": 31945},
}
GROUPS = ("Male", "Female", "Young", "Old")
# Further attributes: the share of people who have each, the upper and lower edge of the area that it covers, the half
# width of this area, and its colour. The image spans -1 to 1.
FURTHER = {
    "Smiling": (0.5, (0.2, 0.45), 0.35, (235, 225, 220)),
    "Eyeglasses": (0.2, (-0.25, 0.05), 0.5, (30, 30, 40)),
    "Wearing_Hat": (0.1, (-0.9, -0.45), 0.7, (150, 40, 50)),
}
SKIN, DARK, BLOND, GREY = (
    np.array(colour, np.float32) for colour in ((205, 160, 130), (70, 52, 42), (214, 178, 112), (172, 168, 164))
)


def read(_name: str, entry: dict[str, Any], _threads: int, _stack: ExitStack) -> Raw:
    """Draw `train_examples` and `test_examples` faces of `image_size` pixels a side."""
    names, parts = ("Blond_Hair", *FURTHER)[: entry.get("attributes", 1)], {}
    for part in PARTS:
        labels, groups = draw_people(part, entry[f"{part}_examples"])
        further = draw_further(part, len(labels), names[1:])
        pixels = draw_faces(part, labels, groups, entry["image_size"], further)
        many = np.stack([labels, *further.values()], axis=1) if "attributes" in entry else labels
        parts[part] = RawPart(pixels, many.astype(np.int32), groups)
    if "attributes" in entry:
        return Raw(**parts, classes=list(YES_OR_NO), groups=GROUPS, outcome=LABELS, asked=names)
    return Raw(**parts, classes=["not Blond_Hair", "Blond_Hair"], groups=GROUPS)


def draw_people(part: str, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels and groups (person x group) of `count` people, in the proportions of table 3; exact for its total."""
    cells = [(label, sex) for label in (1, 0) for sex in ("Male", "Female")]
    labels, male, old = [], [], []
    for (label, sex), number in zip(cells, _shares(count, [TABLE_3[label][sex] for label, sex in cells]), strict=True):
        labels += [label] * number
        male += [sex == "Male"] * number
    for label in (1, 0):
        young_and_old = _shares(labels.count(label), [TABLE_3[label]["Young"], TABLE_3[label]["Old"]])
        ages = np.repeat([False, True], young_and_old)
        # The table does not relate age to sex, so they are combined at random.
        old += ages[streams.permutation(stream(part, "ages", label), len(ages))].tolist()
    order = streams.permutation(stream(part, "order"), count)
    male, old = np.array(male)[order], np.array(old)[order]
    return np.array(labels, np.int32)[order], np.stack([male, ~male, ~old, old], axis=1)


def draw_further(part: str, count: int, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Whether each of `count` people has each of these attributes of `FURTHER`."""
    return {name: streams.uniform(stream(part, name), (count,)) < FURTHER[name][0] for name in names}


def draw_faces(
    part: str, labels: np.ndarray, groups: np.ndarray, size: int, further: Mapping[str, np.ndarray] | None = None
) -> np.ndarray:
    """Images of these people: a head with hair in front of a background, in varied light."""

    def between(low: float, high: float, what: str, *shape: int) -> np.ndarray:
        return low + (high - low) * streams.uniform(stream(part, what), (len(labels), *shape))

    male, old = (groups[:, GROUPS.index(group), None, None] for group in ("Male", "Old"))
    # Coordinates from -1 to 1 over the image; not all heads are in its middle.
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
    for name, has in (further or {}).items():
        _, (top, bottom), width, shade = FURTHER[name]
        covers = has[:, None, None] & (top < down) & (down < bottom) & (np.abs(across) < width)
        pixels = np.where(covers[..., None], np.array(shade, np.float32), pixels)
    grain = between(-30, 30, "grain", size, size, 3)
    return (pixels * between(0.75, 1.25, "shine", 1, 1, 1) + grain).clip(0, 255).astype(np.uint8)


def stream(*what: str | int) -> int:
    """The key of one draw of synthetic data."""
    return streams.stream_key(0, "data", 0, "synthetic", *what)


def _shares(total: int, weights: list[int]) -> list[int]:
    """`total` divided in proportion to whole weights: each share rounded down, the rest to the largest remainders."""
    whole = sum(weights)
    shares = [total * weight // whole for weight in weights]
    by_remainder = sorted(range(len(weights)), key=lambda place: (-(total * weights[place] % whole), place))
    for place in by_remainder[: total - sum(shares)]:
        shares[place] += 1
    return shares
