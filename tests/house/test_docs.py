"""What docs show: numbers are those of `evidence/`, every picture is on a page, and their simulations run."""

import collections
import functools
import json
import re
import subprocess
import sys
from collections import Counter

import numpy as np
import pandas as pd
import pytest
import yaml
from scripts import loaded

from toolnoise.base.files import sha256
from toolnoise.base.program import ROOT
from toolnoise.checks import audit_rules
from toolnoise.papers import paper_items
from toolnoise.provenance import audit, tree
from toolnoise.study import config, grid
from toolnoise.study.cells import Cell

MINUS = "\N{MINUS SIGN}"
NUMBER = rf"[-{MINUS}]?\d[\d,]*(?:\.\d+)?(?:e-?\d+)?"
# `20.4 % (18.6 to 22.4)`, and the same without a unit or with `points`, `times` or a comma.
INTERVAL = re.compile(rf"({NUMBER})(?: %| points| times)?,? \(({NUMBER}) to ({NUMBER})\b")
# Page, its part from one text to another, the studies, and what is of another study or of no metric file.
PAGES = [
    ("cifar10-pictures", "# A real study", "", ["cifar10-pictures-authors", "gpu-h100"], []),
    ("gpu", "# On a GPU", "## What it does not show", ["gpu-h100", "gpu-h200", "gpu-cost-h200"], []),
    ("growth", "# ", "", ["growth-small"], []),
    ("language", "# ", "## Tuned from one base", ["language-small", "gpu-h100"], []),
    # The differences are what `toolnoise compare` said.
    (
        "outside",
        "**The same noise as an engine's?**",
        "## Runs that already exist",
        ["outside-small"],
        ["-0.26 points (-1.18 to 0.66", "0.11 points (-1.12 to 1.34", "1.00 (0.47 to 2.12"],
    ),
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


ARCHIVES = sorted((ROOT / "evidence").glob("*.tar.xz"))
IS_SHALLOW = ["git", "-C", str(ROOT), "rev-parse", "--is-shallow-repository"]


def test_the_archives_have_the_digests_that_are_listed():
    text = (ROOT / "docs/evidence.md").read_text("utf-8")
    assert dict(re.findall(r"^\| `(\S+)` \| `(\S+)` \|$", text, re.MULTILINE)) == {
        path.name: sha256(path) for path in ARCHIVES
    }


@pytest.mark.parametrize("name", [path.name.removesuffix(".tar.xz") for path in ARCHIVES])
def test_the_audit_of_an_archive_finds_what_its_page_says(name, evidence):
    if subprocess.run(IS_SHALLOW, capture_output=True, text=True).stdout != "false\n":
        pytest.skip("without the history, an audit finds that commits are unknown")
    (row,) = re.findall(rf"^\| `{name}` \|.*\| (.*) \|$", (ROOT / "docs/evidence.md").read_text("utf-8"), re.MULTILINE)
    found = audit.examine(tree.load_results(evidence(name)), audit_rules.rules_of, audit_rules.counted)
    counts = Counter(one.rule for one in found.findings)
    assert counts == {rule: int(count) for rule, count in re.findall(r"`([\w-]+)` (\d+)", row)}
    assert (row == "clean") == (not counts)


def test_the_table_of_the_audit_s_rules_has_each(evidence):
    (study,) = tree.load_results(evidence("outside-small")).trees
    of_study = audit_rules.rules_of(study)
    rules = [f"| `{rule.name}` | {rule.says} |" for rule in (*audit.RULES, *of_study)]
    table = (ROOT / "docs/tables/audit-rules.txt").read_text("utf-8").splitlines()
    assert [line for line in table if line.startswith("| `")] == rules


def test_the_readme_names_the_gpus_that_have_trained(evidence):
    folders = [evidence(path.name.removesuffix(".tar.xz")) for path in ARCHIVES]
    records = [json.loads(path.read_text()) for folder in folders for path in folder.glob("runs/**/run.json")]
    devices = {record["observed"].get("device", "") for record in records}
    (said,) = re.findall(r"\*\*It \[has run\].*? on CPUs, (.*?) \(", (ROOT / "README.md").read_text("utf-8"))
    assert {name.split()[1] for name in devices if name.startswith("NVIDIA")} == set(re.findall(r"[A-Z]+\d+", said))


def test_the_example_of_compare_has_the_accuracies_of_its_evidence(evidence):
    table = pd.read_csv(evidence("gpu-h100") / "metrics/runs.csv", comment="#")
    rows = table[(table["metric"] == "accuracy") & (table["group"] == "all") & (table["variant"] == "algo")]
    example = pd.read_csv(ROOT / "examples/batch-norm.csv")
    assert list(map(tuple, example.to_numpy())) == list(map(tuple, rows[["model", "seed", "value"]].to_numpy()))


def test_deterministic_runs_are_equal_on_two_gpus_as_the_page_says(evidence):
    """The same training if the draws of every epoch are; then it is equal after every epoch, or after none."""
    of_h100, of_h200 = (
        {
            path.relative_to(evidence(f"gpu-{gpu}")).as_posix().replace(f"{gpu}-torch/", ""): pd.read_csv(path)
            for path in evidence(f"gpu-{gpu}").glob(f"runs/*/*/{gpu}-torch/*/*/history.csv")
        }
        for gpu in ("h100", "h200")
    )
    found = {}
    for run in of_h100.keys() & of_h200.keys():
        one, other = of_h100[run], of_h200[run]
        if one["draws_sha256"].equals(other["draws_sha256"]):
            _, model, _, variant, *_ = run.split("/")
            equal = one["weights_sha256"] == other["weights_sha256"]
            found.setdefault((model, variant), []).append((equal.all(), not equal.any()))
    assert {cell: (len(runs), *map(sum, zip(*runs, strict=True))) for cell, runs in found.items()} == {
        ("smallcnn", "control"): (2, 2, 0),
        ("smallcnn-bn", "control"): (2, 2, 0),
        ("smallcnn", "algo"): (10, 10, 0),
        ("smallcnn", "impl"): (20, 0, 20),
        ("smallcnn-bn", "impl"): (20, 0, 20),
        ("smallcnn", "algo_impl"): (10, 0, 10),
    }


def test_every_picture_is_on_a_page():
    pages = [ROOT / "README.md", *(ROOT / "docs").glob("*.md")]
    shown = {
        (page.parent / name).resolve() for page in pages for name in re.findall(r"\]\((\S+\.png)\)", page.read_text())
    }
    assert shown == {*(ROOT / "docs").rglob("*.png")}


error_rates = loaded(ROOT / "bench/error_rates.py")


@pytest.mark.parametrize("section", error_rates.SECTIONS)
def test_a_section_of_the_error_rates_prints_a_share_of_its_studies(section, capsys):
    error_rates.SECTIONS[section](np.random.Generator(np.random.Philox(1)), 8)
    lines = capsys.readouterr().out.splitlines()
    assert any(" % ± " in line for line in lines)
    assert all(" % ± " in line or line.endswith(("no interval", "at any ratio of SDs")) for line in lines)


def test_the_picture_of_the_rules_is_snakemake_s():
    command = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile"), "--directory", str(ROOT)]
    done = subprocess.run([*command, "--rulegraph", "mermaid-js"], capture_output=True, text=True, check=True)
    names = dict(re.findall(r"^\t(id\d+)\[(\w+)\]$", done.stdout, re.MULTILINE))
    arrows = {
        f"    {names[a]} --> {names[b]}" for a, b in re.findall(r"^\t(id\d+) --> (id\d+)$", done.stdout, re.MULTILINE)
    }
    (picture,) = re.findall(
        r"```mermaid\nflowchart TB\n(.*?)\n```", (ROOT / "config/README.md").read_text("utf-8"), re.DOTALL
    )
    assert picture.splitlines() == sorted(arrows)


# docs/faithful.md and its table: counts are those of the table, its names exist, its numbers are the registries'


TEXT = "".join((ROOT / f"docs/{name}").read_text("utf-8") for name in ("faithful.md", "tables/faithful.txt"))
STATUSES = ["faithful", "differs", "in work", "missing"]
PARTS = {"Zhuang et al.: ingredients": 54, "Zhuang et al.: tables and figures": 16, "Zhuang et al.: findings": 21}
# Files that show an item by what they are.
CODE = (".py", ".csv", ".ipynb")
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
    return grid.load_study(ROOT / f"workflow/studies/{name}.yaml")


def entry(kind, name):
    """What a token is about: an entry of a registry, or a study."""
    kind, _, of_study = kind.partition("@")
    if kind == "study":
        return study(name).config
    registry = {"claim": "claims", "model": "models", "recipe": "recipes", "dataset": "datasets", "tooling": "hardware"}
    found = study(of_study).config[registry[kind]] if of_study else config.registry_entries(registry[kind])
    return found[name] | found[name].get("options", {}) if name in found else None


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
    if (about := entry(kind, name)) is None:
        return f"there is no such {kind}"
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


NOT_SO = {
    "docs/no-such-page.md": "no such file",
    "docs/models.md: cut off at three standard deviations": "the page does not say it",
    "target fig10": "no such target",
    "cells paper resnet18/cifar10/p100/algo_impl 9": "found 10 runs",
    "recipe paper-cifar10 epochs=199": "epochs is 200",
    "claim no-such": "there is no such claim",
}


def test_what_is_not_so_is_found():
    assert {token: wrong(token) for token in NOT_SO} == NOT_SO
