"""The gallery in docs: its pictures are what the code that is there would draw, and every kind of figure has words."""

import importlib.util
import json
import sys

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image

from toolnoise.base import code_digest, code_text, program
from toolnoise.base.program import ROOT
from toolnoise.figures import findings, sheets
from toolnoise.study.catalogue import KINDS
from toolnoise.study.kind import FIGURES

MOST_BYTES = 2_000_000


def script(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / f"bench/{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def gallery():
    return script("gallery")


def test_every_picture_of_the_docs_is_drawn_by_the_one_command(gallery):
    assert {path.stem for path in gallery.DOCS.glob("*.png")} == {*gallery.ELSEWHERE, *gallery.SCREENSHOTS}
    assert {path.stem for path in gallery.DOCS.rglob("*/*.png")} <= set(gallery.SENTENCES)


def test_a_map_keeps_its_shades_and_a_band_its_grey(gallery):
    shades = np.zeros((40, 400, 3), np.uint8)
    shades[..., 0] = np.linspace(255, 8, 400)
    shades[..., 1] = np.linspace(255, 48, 400)
    shades[..., 2] = np.linspace(255, 107, 400)
    shades[:, :150] = 255  # paper, which is most of a picture
    kept = np.asarray(gallery.small(Image.fromarray(shades)).convert("RGB")).astype(int)
    assert np.abs(kept - shades).max() <= 3
    # Among the thousands of colours of lines that cross.
    crowded = np.random.Generator(np.random.Philox(1)).integers(0, 256, (40, 400, 3), np.uint8)
    crowded[:, 100:] = 216
    kept = np.asarray(gallery.small(Image.fromarray(crowded)).convert("RGB"))
    assert (kept[:, 100:] == 216).all()


def test_a_title_is_noted_with_the_rows_that_it_words(monkeypatch, gallery):
    monkeypatch.setitem(sys.modules, "gallery", gallery)
    titles = script("titles")
    rows = pd.DataFrame(
        {"variant": ["impl", "control"], "metric": "churn", "value": [0.01, 0.0], "ci_low": [0.005, 0.0]}
    )
    with titles.noted() as notes:
        title = findings.of_noise(rows.assign(ci_high=0.02), rows[:0].assign(over_variant=""))
        sheets.frame(Figure((7, 1), layout="constrained"), title, ["A note."])
    assert notes["title"] == title == "The implementation alone changes 1.0 % (0.50 to 2.0) of answers"
    assert titles.rows_of(notes) == ["* impl, churn, value 0.01, ci_low 0.005, ci_high 0.02"]


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
    modules = ("figures/panels.py", "analyses/overhead/draw.py", "analyses/overhead/metric.py")
    says = dict.fromkeys(modules, "now")

    def read(path):
        name = path.relative_to(program.PACKAGE).as_posix()
        return code_digest.Source("", (), code_text.Text(says[name], (), does_something=True))

    monkeypatch.setattr(gallery.code_digest, "sources", lambda *_: {f"{program.NAME}/{name}": "" for name in modules})
    monkeypatch.setattr(gallery.code_digest, "read", read)
    digests = [gallery.drawn_by("kernels")]
    for name in modules:
        says[name] = "another"
        digests.append(gallery.drawn_by("kernels"))
    # What is measured is not what is drawn.
    assert len(set(digests)) == 3 and digests[-1] == digests[-2]


def test_the_page_shows_every_picture_and_is_small(gallery):
    drawn = json.loads(gallery.DIGESTS.read_text())
    assert (gallery.DOCS / "gallery.md").read_text() == gallery.page(
        [kind for kind in gallery.SENTENCES if kind in drawn]
    )
    assert sum(path.stat().st_size for path in gallery.PICTURES.iterdir()) < MOST_BYTES
