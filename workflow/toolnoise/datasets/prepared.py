"""A data set as read from its source files, and in its prepared form, which is checked when written and when read."""

import functools
import hashlib
import importlib
import zlib
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise.base.arrays import Rows, npz_names, read_npz, require_kinds
from toolnoise.base.errors import BadInput
from toolnoise.base.spec import ORIGINALS
from toolnoise.formulas.outcomes import ALL, LABEL, LABELS, OUTCOMES, TOKENS, YES_OR_NO

PARTS = ("train", "test")
# Mean and standard deviation of a data set's pixels on a scale from 0 to 1, by channel: red, green, blue, or grey.
CHANNELS = {
    "cifar10": ((0.4914, 0.4822, 0.4465), (0.2023, 0.1994, 0.2010)),
    "imagenet": ((0.485, 0.456, 0.406), (0.229, 0.224, 0.225)),
    "mnist": ((0.1307,), (0.3081,)),
}
# Names of arrays, in the order in which they are written and digested.
REQUIRED = ("train_images", "train_labels", "test_images", "test_labels", "maximum", "classes")
OPTIONAL = ("groups", "train_groups", "test_groups", "margin", "outcome", "asked", "train_sizes", "test_sizes", "side")
# The arrays of data that only an existing training program reads.
LABELS_ONLY = {"test_labels", "classes"}
# The kinds of these arrays, and their dimensions. Labels are floats if a training program predicts numbers.
ARRAYS = {
    **{f"{part}_images": ("u", (1, 2, 4)) for part in PARTS},
    **{f"{part}_labels": ("iuf", (1, 2, 3)) for part in PARTS},
    **{f"{part}_groups": ("b", (2, 3, 4)) for part in PARTS},
    **{f"{part}_checks": ("iu", (1,)) for part in PARTS},
    **{f"{part}_sizes": ("iu", (2,)) for part in PARTS},
    **dict.fromkeys(("classes", "groups", "asked"), ("U", (1,))),
    **dict.fromkeys(("maximum", "margin", "side"), ("iu", (0,))),
    **dict.fromkeys(("sha256", "outcome"), ("U", (0,))),
}
BLOCK = 256


class RawPart(NamedTuple):
    """One part of a data set: images (uint8, height x width x channel, all of one shape), made on demand, or tokens.

    An original is given as its bytes, height and width, and `stored` is the total number of bytes. `groups` marks for
    each example (row), or each of its labels, the groups of the data set (last axis) to which it belongs.
    """

    images: Iterable[Any]
    labels: np.ndarray
    groups: np.ndarray | None = None
    stored: int = 0

    def last(self, name: str, entry: Mapping[str, Any]) -> "RawPart":
        """The last `test_examples` examples, or all without this key; for images in memory, and without groups."""
        count = entry.get("test_examples", len(self.labels))
        if count > len(self.labels):
            raise BadInput(f"dataset {name}", "test_examples", f"found {count}", f"allowed: 1 to {len(self.labels)}")
        return RawPart(self.images[-count:], self.labels[-count:])


class Raw(NamedTuple):
    """A data set as read: `maximum` is the pixel value that stands for 1.

    Images are `margin` pixels higher and wider than the window that a network sees. If an example has several labels,
    `asked` names them. A network sees originals at `side` x `side` pixels.
    """

    train: RawPart
    test: RawPart
    classes: list[str]
    groups: tuple[str, ...] = ()
    maximum: int = 255
    margin: int = 0
    outcome: str = "label"
    asked: tuple[str, ...] = ()
    side: int = 0


@dataclass(frozen=True)
class Split:
    """One part of a data set: pixels as stored, targets, and the settings that turn pixels into a network's input.

    `targets` has each example's label, or its labels. For text, `pixels` has the tokens. `groups` marks for each
    example (row), or for each of its labels, the groups (last axis) to which it belongs. With `checks`, a CRC-32 of
    each image, the pixels are too large for memory: they stay in `file` and are read when they are needed.
    """

    pixels: np.ndarray
    targets: np.ndarray
    maximum: int = 255
    normalise: str = "unit"
    margin: int = 0
    groups: np.ndarray | None = None
    checks: np.ndarray | None = None
    file: str | Path = ""
    outcome: str = LABEL

    def __len__(self) -> int:
        return len(self.targets)

    @property
    def labels(self) -> np.ndarray:
        """The label of each unit; the units of an example are adjacent."""
        return self.targets.reshape(-1)

    @property
    def units(self) -> int:
        """The number of units of an example."""
        return int(np.prod(self.targets.shape[1:]))

    @property
    def streamed(self) -> bool:
        """Whether the pixels stay in their file."""
        return self.checks is not None

    @property
    def shape(self) -> tuple[int, ...]:
        """Height, width and channels of a network's input, or its number of tokens."""
        if self.outcome == TOKENS:
            return self.pixels.shape[1:]
        height, width, channels = self.pixels.shape[1:]
        return height - self.margin, width - self.margin, channels

    @functools.cached_property
    def images(self) -> np.ndarray:
        """All pixels (float32, normalised) or tokens; computed on first use, since many readers need only labels."""
        if self.outcome == TOKENS:
            return self.pixels.astype(np.int32)
        return self.take(slice(None)) if self.streamed else _normalised(self.pixels, self.maximum, self.normalise)

    @property
    def boxes(self) -> Callable[..., np.ndarray] | None:
        """The function that draws a box of each image if the images are originals, else None."""
        return getattr(self.pixels, "drawn", None)

    def take(self, which: np.ndarray | slice, boxes: np.ndarray | None = None) -> np.ndarray:
        """Some of `images`; streamed data reads only these. For originals, the given boxes, or the middles."""
        if not self.streamed:
            return self.images[which]
        pixels = self.pixels[which]
        for image, check in zip(pixels, self.checks[which], strict=True):
            if zlib.crc32(image) != check:
                raise BadInput(self.file, "", "an image is damaged", "remove the file to have it prepared again")
        if boxes is not None:
            pixels = pixels.seen(boxes)
        return _normalised(pixels, self.maximum, self.normalise)

    def moved(self, down: int, right: int) -> np.ndarray:
        """The `images` of originals, with boxes shifted by this many pixels from the middle."""
        return self.take(slice(None), self.pixels.middles(down, right))

    def first(self, count: int) -> "Split":
        """The first `count` examples, or all examples if there are fewer."""
        return self.chosen(slice(count))

    def chosen(self, which: np.ndarray | slice) -> "Split":
        """Some of the examples."""
        per_example = {name: getattr(self, name) for name in ("pixels", "targets", "groups", "checks")}
        return replace(self, **{name: values[which] for name, values in per_example.items() if values is not None})

    def showing(self, images: np.ndarray) -> "Split":
        """The same examples with other images in place of their own: float32, as a network sees them."""
        return replace(self, pixels=images, normalise="none", margin=0, checks=None)

    def middle(self, which: np.ndarray | slice) -> np.ndarray:
        """Some of `images`, without the margin."""
        if self.outcome == TOKENS:
            return self.take(which)
        height, width, _ = self.shape
        start = self.margin // 2
        return self.take(which)[:, start : start + height, start : start + width]

    def beyond(self, recipe: Mapping[str, Any]) -> np.ndarray:
        """The value beyond the edge of a normalised image, by channel, float32.

        It is zero or, with `padding: black`, the pixel 0, normalised.
        """
        black = np.zeros((1, 1, 1, self.pixels.shape[-1]), self.pixels.dtype)
        scaling = self.normalise if "padding" in recipe else "none"
        return Split(black, self.labels[:1], self.maximum, scaling).images[0, 0, 0]

    def around(self, recipe: Mapping[str, Any]) -> np.ndarray | None:
        """The array to add to images padded with zeros, [H, W, C] with the crop's padding; None for zero padding."""
        if "padding" not in recipe:
            return None
        pad, (height, width, channels) = recipe["crop"], self.pixels.shape[1:]
        # Adding -0 changes no bit of any number, and adding a value to 0 gives that value: no pixel is rounded.
        values = np.full((height + 2 * pad, width + 2 * pad, channels), self.beyond(recipe), np.float32)
        values[pad : pad + height, pad : pad + width] = -0.0
        return values


@dataclass(frozen=True)
class Data:
    """A data set; `sha256` is the digest of its pixels and labels as prepared, independent of the file.

    If each example has several labels, `asked` names them, and the classes are no and yes.
    """

    train: Split
    test: Split
    classes: tuple[str, ...]
    groups: tuple[str, ...]
    sha256: str
    asked: tuple[str, ...] = ()

    @property
    def outputs(self) -> int:
        """The number of a network's scores: one per class, or one per label if an example has several labels."""
        return len(self.asked or self.classes)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """The shape of a network's scores for one example."""
        units = () if self.asked else self.train.targets.shape[1:]
        return *units, self.outputs

    def members(self, split: Split) -> dict[str, np.ndarray]:
        """For each group, a mask of the units of a part that belong to it.

        If examples have several labels, each label is also a group `label:all`, and with each group, `label:group`.
        """
        times = split.units if split.groups.ndim == 2 else 1
        columns = np.moveaxis(split.groups, -1, 0)
        members = {name: column.repeat(times) for name, column in zip(self.groups, columns, strict=True)}
        for place, label in enumerate(self.asked):
            here = np.zeros((len(split), split.units), bool)
            here[:, place] = True
            of_label = {ALL: here.reshape(-1)} | {name: here.reshape(-1) & members[name] for name in self.groups}
            members |= {f"{label}:{name}": member for name, member in of_label.items()}
        return members


class Fingerprint:
    """The digest of a data set, array by array in the order of `REQUIRED` and `OPTIONAL`."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def begin(self, name: str, array: np.ndarray | Rows) -> None:
        """Start the next array; its bytes are added after this."""
        self._digest.update(f"{name} {array.dtype.str} {array.shape}\n".encode())

    def add(self, values: np.ndarray) -> None:
        """Add the next bytes of the array."""
        self._digest.update(np.ascontiguousarray(values).data)

    def hexdigest(self) -> str:
        """The digest of everything added so far."""
        return self._digest.hexdigest()


def load(path: str | Path, normalise: str = "unit") -> Data:
    """Read prepared data and normalise it on the host, so that every engine gets the same bits."""
    streamed = "sha256" in npz_names(path)
    arrays = _stored(path, ("train_images", "test_images") if streamed else ())
    if arrays.keys() >= LABELS_ONLY and "test_images" not in arrays:
        return _of_labels(path, arrays)
    missing = [name for name in REQUIRED if name not in arrays]
    if missing:
        raise BadInput(path, missing[0], "no such array", "prepared data with " + ", ".join(REQUIRED))
    if "side" in arrays:
        read_originals = importlib.import_module(ORIGINALS).read_originals
        arrays |= {f"{part}_images": read_originals(path, part, arrays) for part in PARTS}
    groups, asked = (tuple(map(str, arrays.get(name, ()))) for name in ("groups", "asked"))
    outcome = str(arrays.get("outcome", LABEL))
    require_trainable(
        path, arrays["classes"], {part: arrays[f"{part}_images"].shape for part in PARTS}, arrays, outcome, asked
    )
    maximum, margin = int(arrays["maximum"]), int(arrays.get("margin", 0))
    if maximum < 1:
        raise BadInput(path, "maximum", f"found {maximum}", "1 or more")
    if not 0 <= margin < min(arrays["train_images"].shape[1:3]) or (margin and not OUTCOMES[outcome].augmentable):
        raise BadInput(path, "margin", f"found {margin}", "less than the size of the images")
    channels = arrays["train_images"].shape[-1]
    if outcome != TOKENS and normalise in CHANNELS and channels != (wanted := len(CHANNELS[normalise][0])):
        raise BadInput(path, "train_images", f"found {channels} channels", f"normalise: {normalise} is for {wanted}")
    splits = {}
    for part in PARTS:
        images, labels = arrays[f"{part}_images"], arrays[f"{part}_labels"].astype(np.int32, copy=False)
        member = arrays.get(f"{part}_groups", np.zeros((len(labels), 0), bool))
        if member.shape not in ((len(labels), len(groups)), (*labels.shape, len(groups))):
            allowed = f"yes or no for each example and group {groups}"
            raise BadInput(path, f"{part}_groups", f"found {member.dtype} of shape {member.shape}", allowed)
        checks = arrays.get(f"{part}_checks")
        if streamed and (checks is None or len(checks) != len(labels)):
            raise BadInput(path, f"{part}_checks", "missing or too short", "a CRC-32 of each image")
        if outcome == TOKENS and not streamed and (last := int(images.max())) >= len(arrays["classes"]):
            raise BadInput(path, f"{part}_images", f"found token {last}", f"less than {len(arrays['classes'])}")
        splits[part] = Split(images, labels, maximum, normalise, margin, member, checks, path, outcome)
    sha256 = str(arrays["sha256"]) if streamed else _sha256(arrays)
    return Data(**splits, classes=tuple(map(str, arrays["classes"])), groups=groups, sha256=sha256, asked=asked)


def targets_of_test(path: str | Path) -> dict[str, np.ndarray]:
    """All stored arrays, with the labels of the test examples (classes or numbers) as `test_labels`.

    An example with several labels, tokens, pixels or columns has a row of them, as in the outputs of runs.
    """
    members = _stored(path, npz_names(path))
    labels = members.get("test_labels")
    if labels is None:
        raise BadInput(path, "test_labels", "no such array", "prepared data")
    # Integer labels are converted to int32, as `prepare` writes them; numbers to predict stay as they are.
    if labels.dtype.kind in "iu":
        if len(labels) and not 0 <= int(labels.min()) <= int(labels.max()) < 2**31:
            raise BadInput(path, "test_labels", f"found labels {labels.min()} to {labels.max()}", "classes, from 0 up")
        labels = labels.astype(np.int32, copy=False)
    groups = len(members.get("groups", ()))
    if groups and members.get("test_groups", labels).shape not in ((len(labels), groups), (*labels.shape, groups)):
        raise BadInput(path, "test_groups", "missing, or of another shape", "yes or no for each example and group")
    return members | {"test_labels": labels}


def _stored(path: str | Path, mapped: Collection[str]) -> dict[str, np.ndarray]:
    arrays = read_npz(path, mapped)
    require_kinds(path, arrays, ARRAYS)
    return arrays


def _of_labels(path: str | Path, arrays: Mapping[str, np.ndarray]) -> Data:
    labels, classes, outcome = arrays["test_labels"], arrays["classes"], str(arrays.get("outcome", LABEL))
    groups, asked = (tuple(map(str, arrays.get(name, ()))) for name in ("groups", "asked"))
    member = arrays.get("test_groups", np.zeros((len(labels), 0), bool))
    whole = outcome in OUTCOMES and labels.ndim == OUTCOMES[outcome].axes and labels.dtype.kind in "iu"
    whole = whole and (outcome != LABELS or labels.shape[1] == len(asked)) and labels.size > 0 and len(classes) > 1
    if not whole or labels.min() < 0 or labels.max() >= len(classes) or member.shape != (len(labels), len(groups)):
        raise BadInput(path, "test_labels", f"found {labels.dtype} of shape {labels.shape}", "classes of examples")
    pixels, labels = np.empty((len(labels), 0, 0, 0), np.uint8), labels.astype(np.int32, copy=False)
    test = Split(pixels, labels, groups=member, file=path, outcome=outcome)
    return Data(test.first(0), test, tuple(map(str, classes)), groups, _sha256(arrays), asked)


def require_trainable(
    source: str | Path,
    classes: np.ndarray,
    shapes: Mapping[str, tuple[int, ...]],
    arrays: Mapping[str, np.ndarray],
    outcome: str = LABEL,
    asked: Sequence[str] = (),
) -> None:
    """Refuse images and labels that no network could be trained on; `shapes` are the shapes of each part's images."""
    if outcome not in OUTCOMES:
        raise BadInput(source, "outcome", f"found {outcome!r}", f"allowed: {', '.join(OUTCOMES)}")
    if bool(asked) != (outcome == LABELS) or (asked and list(classes) != list(YES_OR_NO)):
        raise BadInput(source, "asked", f"found {len(asked)} labels", f"names with outcome {LABELS}, and none without")
    if len(classes) < 2:
        raise BadInput(source, "classes", f"found {len(classes)}", "at least two classes")
    for part in PARTS:
        shape, labels = shapes[part], arrays[f"{part}_labels"]
        if len(shape) != (2 if outcome == TOKENS else 4) or not np.prod(shape):
            allowed = "segment x token" if outcome == TOKENS else "example x height x width (x channel)"
            raise BadInput(source, f"{part}_images", f"found shape {shape}", allowed)
        wanted = (shape[0], len(asked)) if asked else shape[: OUTCOMES[outcome].axes]
        if labels.shape != wanted or labels.dtype.kind not in "iu":
            stored = f"found {labels.dtype} of shape {labels.shape}"
            one = "one per image" if outcome == LABEL else f"one per {OUTCOMES[outcome].unit}, so shape {wanted}"
            raise BadInput(source, f"{part}_labels", stored, f"{np.prod(wanted)} integers, {one}")
        absent = sorted(set(range(len(classes))) - set(np.unique(labels).tolist()))
        if absent and outcome == LABEL:
            allowed = f"every one of the {len(classes)} classes in both splits"
            raise BadInput(source, f"{part}_labels", f"class {classes[absent[0]]} has no example", allowed)
        if labels.min() < 0 or labels.max() >= len(classes):
            allowed = f"allowed: 0 to {len(classes) - 1}"
            raise BadInput(source, f"{part}_labels", f"found labels {labels.min()} to {labels.max()}", allowed)
    if shapes["train"][1:] != shapes["test"][1:]:
        sizes = " and ".join(str(shapes[part][1:]) for part in PARTS)
        raise BadInput(source, "test_images", f"images of two sizes, {sizes}", "one size")


def _sha256(arrays: Mapping[str, np.ndarray]) -> str:
    fingerprint = Fingerprint()
    for name in (*REQUIRED, *OPTIONAL):
        if name in arrays:
            fingerprint.begin(name, arrays[name])
            fingerprint.add(arrays[name])
    return fingerprint.hexdigest()


def _normalised(pixels: np.ndarray, maximum: int, normalise: str) -> np.ndarray:
    scaled = pixels.astype(np.float32)
    if normalise == "none":
        return scaled
    scaled /= np.float32(maximum)
    if normalise == "unit":
        return scaled
    if normalise in CHANNELS:
        mean, spread = CHANNELS[normalise]
        return (scaled - np.float32(mean)) / np.float32(spread)
    for start in range(0, len(scaled), BLOCK):
        block = scaled[start : start + BLOCK]
        # In float64 from the start: sums that NumPy casts on the fly may depend on how many images are summed at once.
        exact = block.reshape(len(block), -1).astype(np.float64)
        exact -= exact.mean(axis=1, keepdims=True)
        # As in tf.image.per_image_standardization: a flat image is divided by 1/sqrt(pixels), not by 0.
        spread = np.maximum(np.sqrt(np.square(exact).mean(axis=1, keepdims=True)), 1 / np.sqrt(exact.shape[1]))
        block[...] = (exact / spread).reshape(block.shape)
    return scaled
