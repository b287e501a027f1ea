"""What docs show: numbers are those of `evidence/`, pictures are what the code draws, and their simulations run."""

import json
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure
from PIL import Image
from scripts import loaded

from toolnoise.base import code_digest, code_text, program
from toolnoise.base.files import sha256
from toolnoise.base.program import ROOT
from toolnoise.figures import findings, sheets
from toolnoise.study.catalogue import KINDS
from toolnoise.study.kind import FIGURES
from toolnoise.verify import tree
from toolnoise.verify.audit import examine

MINUS = "\N{MINUS SIGN}"
NUMBER = rf"[-{MINUS}]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
# `20.4 % (18.6 to 22.4)`, and the same without a unit or with `points`, `times` or a comma.
INTERVAL = re.compile(rf"({NUMBER})(?: %| points| times)?,? \(({NUMBER}) to ({NUMBER})\b")
# Page, its part from one text to another, the studies, and what is of another study or of no metric file.
PAGES = [
    ("cifar10-pictures", "# A real study", "", ["cifar10-pictures-authors", "gpu-h100"], []),
    ("gpu", "# On a GPU", "", ["gpu-h100", "gpu-h200", "gpu-cost-h200"], []),
    ("atlas", "# ", "", ["atlas-small"], []),
    ("growth", "# ", "", ["growth-small"], []),
    ("language", "# ", "", ["language-small", "gpu-h100", "rarity-tokens"], []),
    # The differences are what `toolnoise compare` said.
    (
        "outside",
        "**The same noise as an engine's?**",
        "## Runs that already exist",
        ["outside-small"],
        ["-0.26 points (-1.18 to 0.66", "1.00 (0.47 to 2.12", "0.11 points (-1.12 to 1.34"],
    ),
    ("rarity", "## Rare tokens", "## What it does not show", ["rarity-tokens"], []),
    # A ratio of SDs that is computed from `runs.csv`.
    ("rarity", "## A group unlike its class", "## How it is measured", ["rarity-unlike"], ["0.50 (0.22 to 1.15"]),
]


def intervals(folder):
    """Values, and the ends of their intervals and nulls, of all metric files of a study."""
    found = []
    for path in sorted((folder / "metrics").glob("*.csv")):
        table = pd.read_csv(path, comment="#", low_memory=False)
        for columns in (["value", "ci_low", "ci_high"], ["null", "null_low", "null_high"]):
            if {*columns} <= {*table.columns}:
                found.append(table[columns].apply(pd.to_numeric, errors="coerce").dropna().to_numpy())
    return np.concatenate(found)


def as_printed(text):
    """The number, and how far another one may be from it that is printed the same."""
    text = text.replace(MINUS, "-")
    digits, _, exponent = text.replace(",", "").partition("e")
    decimals = len(digits.partition(".")[2])
    # 10,000 to 30,000: such numbers have one or two digits.
    zeros = len(digits) - len(digits.rstrip("0")) if "," in text else 0
    return float(digits) * 10.0 ** int(exponent or 0), 0.5001 * 10.0 ** (zeros - decimals + int(exponent or 0))


def stands(match, known):
    """Whether an interval is among the known ones, as it is or in percent."""
    printed = [as_printed(text) for text in match.groups()]
    return any(
        np.all([abs(factor * known[:, at] - value) <= off for at, (value, off) in enumerate(printed)], axis=0).any()
        for factor in (1, 100)
    )


@pytest.mark.parametrize(("page", "first", "last", "studies", "others"), PAGES, ids=[page[0] for page in PAGES])
def test_every_interval_of_a_page_is_in_its_evidence(page, first, last, studies, others, evidence):
    text = (ROOT / f"docs/{page}.md").read_text("utf-8")
    part = text[text.index(first) : text.index(last) if last else None]
    known = np.concatenate([intervals(evidence(study)) for study in studies])
    given = [*INTERVAL.finditer(re.sub(r"\s+", " ", part))]
    assert len(given) > 5
    assert [match[0] for match in given if not stands(match, known)] == others


def test_an_interval_that_is_off_by_its_last_digit_is_found():
    known = np.array([[0.204095, 0.185911, 0.224058]])
    assert stands(INTERVAL.search("20.4 % (18.6 to 22.4)"), known)
    assert not stands(INTERVAL.search("20.4 % (18.5 to 22.4)"), known)


ARCHIVES = sorted((ROOT / "evidence").glob("*.tar.xz"))
ASKED = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]


def test_the_archives_have_the_digests_that_are_listed():
    text = (ROOT / "docs/evidence.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(\S+)` \| `(\S+)` \|$", text, re.MULTILINE)) == {
        path.name: sha256(path) for path in ARCHIVES
    }


@pytest.mark.parametrize("name", [path.name.removesuffix(".tar.xz") for path in ARCHIVES])
def test_the_audit_of_an_archive_finds_what_its_page_says(name, evidence):
    if subprocess.run(ASKED, capture_output=True, text=True).stdout != "false\n":
        pytest.skip("without the history, an audit finds that commits are unknown")
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", (ROOT / "docs/evidence.md").read_text("utf-8"), re.MULTILINE)
    found = examine.examine(tree.load(evidence(name)), 1)
    counts = Counter(one.rule for one in found.findings)
    assert counts == {rule: int(count) for rule, count in re.findall(r"`([\w-]+)` (\d+)", row)}
    assert (row == "clean") == (not counts)
    assert found.unstated == []


def test_what_has_run_where_is_what_the_archives_say(evidence):
    has_run = script("has_run")
    text = (ROOT / "docs/tables/has-run.txt").read_text("utf-8")
    assert text == has_run.table([evidence(path.name.removesuffix(".tar.xz")) for path in ARCHIVES])
    gpus = set(re.findall(r"^NVIDIA (\S+)", text, re.MULTILINE))
    (said,) = re.findall(r"\*\*It \[has run\].*? on CPUs, (.*?) \(", (ROOT / "README.md").read_text("utf-8"))
    assert set(re.findall(r"[A-Z]+\d+", said)) == gpus


def test_deterministic_runs_are_equal_on_two_gpus_as_the_page_says(evidence):
    equal_runs = script("equal_runs")
    rows = equal_runs.rows(*(equal_runs.histories(evidence(name)) for name in ("gpu-h100", "gpu-h200")))
    found = {tuple(row[1:3]): tuple(map(int, row[4:])) for row in rows if row[3] == "h100-torch, h200-torch"}
    assert found == {
        ("smallcnn", "control"): (2, 2, 0),
        ("smallcnn-bn", "control"): (2, 2, 0),
        ("smallcnn", "algo"): (10, 10, 0),
        ("smallcnn", "impl"): (20, 0, 20),
        ("smallcnn-bn", "impl"): (20, 0, 20),
        ("smallcnn", "algo_impl"): (10, 0, 10),
    }


MOST_BYTES = 2_000_000


def script(name):
    return loaded(ROOT / f"bench/{name}.py")


@pytest.fixture(scope="module")
def gallery():
    return script("gallery")


def test_every_picture_of_the_docs_is_drawn_by_the_one_command(gallery):
    assert {path.stem for path in gallery.DOCS.glob("*.png")} == {*gallery.ELSEWHERE, *gallery.BY_SCRIPT}
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
        return code_digest.SourceText("", (), code_text.Text(says[name], (), does_something=True))

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


coverage = script("coverage")


# Minutes of simulated studies.
@pytest.mark.slow
@pytest.mark.parametrize("section", coverage.SECTIONS)
def test_a_section_of_the_coverage_prints_a_share_of_its_studies(section, monkeypatch, capsys):
    few = {"STUDIES": 4, "SLOW_STUDIES": 2, "MANY_STUDIES": 4, "REDUCTIONS": 2, "MANY": 20, "RESAMPLES": 9}
    for name, number in few.items():
        monkeypatch.setattr(coverage, name, number)
    coverage.SECTIONS[section][1](np.random.Generator(np.random.Philox(1)))
    lines = capsys.readouterr().out.splitlines()
    assert any(" % ± " in line for line in lines)
    assert all(" % ± " in line or line.endswith("no interval") for line in lines)


@pytest.mark.slow
def test_winners_are_counted_for_each_way_in_which_arms_can_share_draws(monkeypatch, capsys):
    winners = script("winners")
    monkeypatch.setattr(winners, "DIFFERING", 2)
    winners.main(2)
    printed = capsys.readouterr().out
    assert all(way in printed for way in winners.WAYS)


def test_sequential_studies_are_counted_for_each_rule(monkeypatch, capsys):
    sequential = script("sequential")
    monkeypatch.setattr(sequential, "MOST", (10,))
    sequential.main(50)
    printed = capsys.readouterr().out
    assert all(rule in printed for rule in sequential.RULES)
