"""The figure of claims, drawn from the verdicts on published numbers as if a study had judged everything."""

import itertools
from dataclasses import dataclass, field

import nbformat
import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from toolnoise.analyses.claims import judging
from toolnoise.analyses.claims.judging import CLAIMS, OPEN, STUDY
from toolnoise.base import metric_files
from toolnoise.figures import sheets
from toolnoise.figures.render import NOTEBOOKS, execute
from toolnoise.study import config


@dataclass
class Drawn:
    """What was drawn, instead of files."""

    figures: list[Figure] = field(default_factory=list)

    def __call__(self, figure, stem):
        """Keep a figure, and leave a picture for the notebook to show."""
        figure.draw_without_rendering()
        self.figures.append(figure)
        figure.savefig(f"{stem}.png", dpi=20)


@pytest.fixture
def drawn(monkeypatch, tmp_path):
    """Draw the figure of these verdicts."""
    kept = Drawn()
    monkeypatch.setattr(sheets, "save", kept)

    def draw(rows):
        path = tmp_path / "claims.csv"
        metric_files.write(path, CLAIMS, rows)
        given = {"claims": [str(path)], "hardware": ["cpu"], "tasks": [], "emulated": [], "stem": str(tmp_path / "f")}
        execute(nbformat.read(NOTEBOOKS / "claims.ipynb", as_version=4), given)
        return kept.figures[-1]

    return draw


def verdicts():
    """The verdicts on the published numbers, as those of a study too."""
    claims = [{"name": name, **claim} for name, claim in config.registered("claims").items()]
    published = list(judging.verdicts(claims, judging.by_publication()))
    side = list(CLAIMS).index("side")
    return published + [(*row[:side], STUDY, *row[side + 1 :]) for row in published]


def changed(row, **values):
    return tuple((dict(zip(CLAIMS, row, strict=True)) | values).values())


def labels(figure):
    return [label.get_text() for label in figure.axes[0].get_yticklabels()]


def test_the_figure_is_sorted_by_verdict_and_folds_what_was_not_run(drawn):
    rows = verdicts()
    absent = sum(row[6:8] == ("all", "not published") and row[5] == STUDY for row in rows)
    rows = [changed(row, verdict="not run") if row[5:8] == (STUDY, "all", "not published") else row for row in rows]
    found = labels(drawn(rows))
    headings = [text.partition(" (")[0].partition(":")[0] for text in found if text.endswith((")", "claims"))]
    order = [name for name in headings if name in ("Supported", "Cannot be told", "Cannot fail", "Not run")]
    assert order == ["Supported", "Cannot be told", "Cannot fail", "Not run"]
    assert found[-1] == f"Not run: {absent} claims"
    assert len(found) == len(config.registered("claims")) - absent + 4


def test_with_every_claim_judged_it_fits_on_a_page(drawn):
    judged = {"verdict": OPEN, "scale": "ratio", "value": 1.2, "decides_low": 0.4, "decides_high": 3.0}
    judged |= {"ci_low": 0.7, "ci_high": 2.0, "claimed_low": 1.0, "claimed_high": np.inf, "n_units": "10"}
    rows = [changed(row, **judged) if row[6:8] == ("all", "not published") else row for row in verdicts()]
    figure = drawn(rows)
    assert len(labels(figure)) == len(config.registered("claims")) + 3
    assert figure.get_size_inches()[1] <= 11
    renderer = FigureCanvasAgg(figure).get_renderer()
    boxes = [label.get_window_extent(renderer) for label in figure.axes[0].get_yticklabels()]
    assert all(above.y0 >= below.y1 - 1 for above, below in itertools.pairwise(boxes)), "lines overlap"
    assert min(box.x0 for box in boxes) >= 0, "labels are cut off"


def test_the_interval_drawn_is_the_one_that_decides(drawn):
    rows = verdicts()
    figure = drawn(rows)
    (found,) = [
        dict(zip(CLAIMS, row, strict=True))
        for row in rows
        if row[1:7:4] == ("batch-norm-sd", STUDY) and row[6] == "all"
    ]
    place = labels(figure).index(found["says"])
    lines = [line.get_xdata() for line in figure.axes[0].get_lines() if list(line.get_ydata()) == [place, place]]
    assert lines[0] == pytest.approx([found["decides_low"], found["decides_high"]])
    assert found["decides_high"] > found["ci_high"]
