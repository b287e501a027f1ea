"""bench/gpu_queue.py: what the next minutes on a GPU are for."""

import importlib.util
import shlex

import pytest

from toolnoise.base.program import ROOT
from toolnoise.study import grid

SPEC = importlib.util.spec_from_file_location("gpu_queue", ROOT / "bench/gpu_queue.py")
gpu_queue = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(gpu_queue)
WRITTEN = [item for item in gpu_queue.ITEMS if (ROOT / item.needs).exists()]


@pytest.mark.parametrize("item", gpu_queue.ITEMS, ids=lambda item: item.asks)
def test_an_item_needs_at_most_nine_minutes_at_a_time(item):
    assert item.pieces
    assert max(item.pieces) <= 9


@pytest.mark.parametrize("item", WRITTEN, ids=lambda item: item.asks)
def test_a_written_item_names_a_script_and_a_study_that_are_there(item):
    words = shlex.split(item.command)
    assert (ROOT / words[1]).exists()
    if item.needs.endswith(".yaml"):
        assert "--study" not in words or words[words.index("--study") + 1] == item.needs
        assert grid.load(ROOT / item.needs).config["hardware"]


def test_an_item_that_has_landed_is_listed_no_more(tmp_path):
    first = gpu_queue.ITEMS[0]
    (tmp_path / first.needs).parent.mkdir(parents=True)
    (tmp_path / first.needs).touch()
    before = gpu_queue.listed(tmp_path)
    assert any(line.startswith("1  ") and first.asks in line for line in before)
    assert before[-1] == f"{sum(first.pieces)} minutes are queued; landed: 0"
    (tmp_path / first.lands).parent.mkdir(parents=True)
    (tmp_path / first.lands).touch()
    after = gpu_queue.listed(tmp_path)
    assert not any(first.asks in line for line in after)
    assert after[-1] == "0 minutes are queued; landed: 1"


def test_an_item_without_its_study_is_listed_and_skipped(tmp_path):
    lines = gpu_queue.listed(tmp_path)
    assert f"-  skipped: {gpu_queue.ITEMS[0].needs} is not written yet" in lines
