from toolnoise.analyses.classes.study import NAMES, class_names
from toolnoise.study import config

REGISTRY = config.registered("datasets")


def test_official_data_under_another_name_have_the_names_of_their_classes():
    mine = REGISTRY["cifar10"] | {"path": "elsewhere.tar.gz"}
    assert class_names(mine, REGISTRY)[:2] == ["airplane", "automobile"]
    assert all(len(set(names)) == 10 for names in NAMES.values())


def test_merged_folders_are_named_in_the_order_of_their_labels():
    entry = {"reader": "folder", "classes": {"pets": ["cat", "dog"], "cars": ["bus"]}, "group": "bus"}
    assert class_names(entry, REGISTRY) == ["pets", "cars"]


def test_names_that_only_the_data_tell_are_left_to_them():
    assert class_names(REGISTRY["digits"], REGISTRY) == []
    assert class_names({"reader": "folder", "path": "data/mine"}, REGISTRY) == []
