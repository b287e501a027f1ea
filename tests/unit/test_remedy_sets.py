import numpy as np
import pytest

from toolnoise.analyses.remedies import plan as remedy_sets
from toolnoise.analyses.remedies.dump import seen
from toolnoise.analyses.remedies.plan import PLAIN, SETS, View, remedies, remedy
from toolnoise.study import config

SIZES = {
    "flip": 2,
    "crops9": 9,
    "crops25": 25,
    "crops81": 81,
    "flip+crops9": 18,
    "flip+crops25": 50,
    "flip+crops81": 162,
}


def test_each_set_has_its_number_of_views_and_the_image_as_it_is_among_them():
    assert {name: len(set(members)) for name, members in SETS.items()} == SIZES
    assert all(len(members) == SIZES[name] and PLAIN in members for name, members in SETS.items())


def test_crops_reach_as_far_as_their_padding_at_their_stride():
    shifts = {name: sorted({view.down for view in SETS[name]}) for name in ("crops9", "crops25", "crops81")}
    assert shifts == {"crops9": [-1, 0, 1], "crops25": [-4, -2, 0, 2, 4], "crops81": list(range(-4, 5))}
    assert set(SETS["crops25"]) < set(SETS["crops81"])


def test_the_schema_knows_every_set_and_no_other():
    assert config.schema()["$defs"]["block"]["properties"]["remedies"]["items"]["enum"] == list(SETS)


def test_runs_of_one_cycle_have_views_alone_and_others_their_snapshots_alone_and_with_each():
    assert remedies(["flip", "crops9"], 1) == ("flip", "crops9")
    assert remedies([], 1) == ()
    assert remedies([], 5) == ("snapshots",)
    wanted = ("flip", "flip+crops9", "snapshots", "snapshots+flip", "snapshots+flip+crops9")
    assert remedies(["flip", "flip+crops9"], 5) == wanted


@pytest.mark.parametrize("name", SETS)
def test_a_name_says_which_views_of_which_snapshots(name):
    assert remedy(name) == (False, SETS[name])
    assert remedy(f"{remedy_sets.SNAPSHOTS}+{name}") == (True, SETS[name])


def test_snapshots_alone_are_of_the_image_as_it_is():
    assert remedy("snapshots") == (True, (PLAIN,))


def test_passes_count_each_view_of_each_snapshot_once():
    assert remedy_sets.passes(remedies(["crops25", "crops81", "flip+crops9"], 1), 1) == 81 + 9
    assert remedy_sets.passes(remedies(["flip", "flip+crops81"], 5), 5) == 5 * 162
    assert remedy_sets.passes(["snapshots"], 5) == 5
    assert remedy_sets.passes([], 1) == 0


def by_pixel(image, margin, view):
    """One view of one image, a pixel at a time."""
    height, width = image.shape[0] - margin, image.shape[1] - margin
    found = np.zeros((height, width, image.shape[2]), np.float32)
    for row in range(height):
        for column in range(width):
            across = width - 1 - column if view.mirrored else column
            place = row + margin // 2 + view.down, across + margin // 2 + view.right
            if all(0 <= at < side for at, side in zip(place, image.shape, strict=False)):
                found[row, column] = image[place]
    return found


@pytest.mark.parametrize("margin", [0, 1, 3])
@pytest.mark.parametrize("name", ["flip", "crops9", "flip+crops25"])
def test_a_view_is_the_moved_window_with_zeros_beyond_the_stored_image(name, margin):
    images = np.random.Generator(np.random.Philox(1)).normal(size=(3, 7, 6, 2)).astype(np.float32)
    shown = list(seen(images, margin, SETS[name]))
    assert [view for view, _ in shown] == list(SETS[name])
    for view, found in shown:
        assert np.array_equal(found, np.stack([by_pixel(image, margin, view) for image in images]))


@pytest.mark.parametrize("view", [View(1, -2, mirrored=False), View(-2, 0, mirrored=True)])
def test_a_view_is_the_crop_that_training_makes_at_that_place(view):
    """Training pads by its recipe's `crop` and begins the window at a planned offset, then mirrors."""
    crop, images = 2, np.arange(5 * 5, dtype=np.float32).reshape(1, 5, 5, 1) + 1
    padded = np.pad(images[0], ((crop, crop), (crop, crop), (0, 0)))
    row, column = crop + view.down, crop + view.right
    trained = padded[row : row + 5, column : column + 5]
    ((_, found),) = seen(images, 0, [view])
    assert np.array_equal(found[0], trained[:, ::-1] if view.mirrored else trained)
