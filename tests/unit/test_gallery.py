"""The gallery in docs: its pictures are what the code that is there would draw, and every kind of figure has words."""

import importlib.util
import json

import pytest

from toolnoise.base.program import ROOT
from toolnoise.study.catalogue import FIGURES, KINDS

MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def gallery():
    spec = importlib.util.spec_from_file_location("gallery", ROOT / "bench/gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_kind_of_figure_has_a_sentence(gallery):
    assert set(gallery.SENTENCES) == {kind for kind, about in KINDS.items() if about.category == FIGURES}


def test_no_picture_is_older_than_the_code_that_draws_it(gallery):
    drawn = json.loads(gallery.DIGESTS.read_text())
    assert {path.stem for path in gallery.PICTURES.glob("*.png")} == set(drawn)
    stale = [kind for kind, digest in drawn.items() if digest != gallery.drawn_by(kind)]
    assert not stale, f"python bench/gallery.py draws them again: {', '.join(stale)}"


def test_another_notebook_has_another_digest_and_drawing_code_counts(gallery, monkeypatch):
    kinds = ("noise_by_source", "kernels")
    assert len({gallery.drawn_by(kind) for kind in kinds}) == 2
    before = gallery.drawn_by("kernels")
    found = {"notebooks/kernels.ipynb": "n", "toolnoise/figures/kernels.py": "a", "toolnoise/metrics/overhead.py": "b"}
    monkeypatch.setattr(gallery.code_digest, "sources", lambda *_, **__: found)
    one = gallery.drawn_by("kernels")
    assert one != before
    found["toolnoise/metrics/overhead.py"] = "what is measured is not what is drawn"
    assert gallery.drawn_by("kernels") == one
    found["toolnoise/figures/kernels.py"] = "another"
    assert gallery.drawn_by("kernels") != one


def test_the_page_shows_every_picture_and_is_small(gallery):
    drawn = json.loads(gallery.DIGESTS.read_text())
    assert (gallery.DOCS / "gallery.md").read_text() == gallery.page(
        [kind for kind in gallery.SENTENCES if kind in drawn]
    )
    assert sum(path.stat().st_size for path in gallery.PICTURES.iterdir()) < MOST_BYTES
