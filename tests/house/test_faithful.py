"""docs/faithful.md and its table: counts are those of the table, its names exist, its numbers are the registries'."""

import collections
import functools
import re

import pytest
import yaml

from toolnoise.base.program import ROOT
from toolnoise.papers.published import paper_items
from toolnoise.study import config, grid
from toolnoise.study.cells import Cell

TEXT = "".join((ROOT / f"docs/{name}").read_text("utf-8") for name in ("faithful.md", "tables/faithful.txt"))
STATUSES = ["faithful", "differs", "in work", "missing"]
PARTS = {"Zhuang et al.: ingredients": 54, "Zhuang et al.: tables and figures": 16, "Zhuang et al.: findings": 21}
# Files that show an item by what they are.
CODE = (".py", ".csv")
PARTS |= {"Summers & Dinneen": 27, "Pham et al.": 22}


def items():
    """Each row of the tables: its part, number, item, status and what shows it."""
    for section in TEXT.split("\n## ")[1:]:
        for row in re.findall(r"^\| (\d+) \| (.+) \| (.+?) \| (.+) \|$", section, re.MULTILINE):
            yield section.partition("\n")[0], *row


ITEMS = [*items()]
SHOWN = [(item, token) for *_, item, _, shown in ITEMS for token in re.findall("`([^`]+)`", shown)]


@functools.cache
def study(name):
    return grid.load(ROOT / f"workflow/studies/{name}.yaml")


def entry(kind, name):
    """What a token is about: an entry of a registry, or a study."""
    kind, _, of_study = kind.partition("@")
    if kind == "study":
        return study(name).config
    registry = {"claim": "claims", "model": "models", "recipe": "recipes", "dataset": "datasets", "tooling": "hardware"}
    found = study(of_study).config[registry[kind]] if of_study else config.registered(registry[kind])
    assert name in found, f"there is no {kind} {name}"
    return found[name] | found[name].get("options", {})


def wrong(token):
    """What of a token is not so, in words; nothing if it is."""
    file, says, phrase = token.partition(": ")
    if "/" in file and " " not in file:
        if not (ROOT / file).is_file():
            return "no such file"
        if not says:
            return "" if file.endswith(CODE) else "no phrase of the page"
        return "" if phrase in " ".join((ROOT / file).read_text("utf-8").split()) else "the page does not say it"
    kind, *words = token.split(" ")
    if kind == "target":
        return "" if words[0] in paper_items.TARGETS else "no such target"
    if kind == "cells":
        name, place, runs = words
        cell = Cell(*place.split("/"))
        seeds = study(name).seeds
        return "" if cell in seeds and len(seeds[cell]) == int(runs) else f"found {len(seeds.get(cell, ()))} runs"
    name, *settings = words
    about = entry(kind, name)
    for setting in settings:
        key, _, said = setting.partition("=")
        value = functools.reduce(lambda of, part: of[int(part) if part.isdigit() else part], key.split("."), about)
        if value != yaml.safe_load(said):
            return f"{key} is {value}"
    return ""


def test_every_item_is_numbered_once_and_has_a_status_and_something_that_shows_it():
    numbers = collections.defaultdict(list)
    for part, number, _, status, shown in ITEMS:
        numbers[part].append(int(number))
        assert status in STATUSES
        assert re.fullmatch(r"`[^`]+`(, `[^`]+`)*", shown), shown
    assert numbers == {part: [*range(1, count + 1)] for part, count in PARTS.items()}


def test_the_counts_at_the_top_are_those_of_the_tables():
    counted = collections.Counter((part, status) for part, _, _, status, _ in ITEMS)
    rows = [(f"{part} ({count})", [counted[part, status] for status in STATUSES]) for part, count in PARTS.items()]
    sums = [sum(column) for column in zip(*(counts for _, counts in rows), strict=True)]
    rows.append((f"**all ({sum(PARTS.values())})**", sums))
    table = TEXT[TEXT.index("<!-- counts -->") : TEXT.index("<!-- end -->")]
    assert re.findall(r"^\| (.+\)\S*) \|(.+)\|$", table, re.MULTILINE) == [
        (name, " " + " | ".join(map(str, counts)) + " ") for name, counts in rows
    ]


@pytest.mark.parametrize(("item", "token"), SHOWN, ids=[token for _, token in SHOWN])
def test_what_shows_an_item_exists_with_its_numbers(item, token):
    assert not (problem := wrong(token)), f"{item}: {problem}"


def test_what_is_not_so_is_found():
    assert wrong("docs/no-such-page.md") == "no such file"
    assert wrong("docs/models.md") == "no phrase of the page"
    assert wrong("docs/models.md: cut off at three standard deviations") == "the page does not say it"
    assert wrong("target fig10") == "no such target"
    assert wrong("cells paper resnet18/cifar10/p100/algo_impl 9") == "found 10 runs"
    assert wrong("cells paper resnet18/cifar10/h100/algo_impl 10") == "found 0 runs"
    assert wrong("recipe paper-cifar10 epochs=199") == "epochs is 200"
    assert wrong("model mediumcnn-k3 kernel_size=5") == "kernel_size is 3"
    with pytest.raises(AssertionError, match="there is no claim no-such"):
        wrong("claim no-such")
