"""What the audit says of results that are what they claim to be, and how it is called."""

import ast
import json
import re
import shutil
import subprocess
from datetime import timedelta

import pytest
from forging import ROOTED, audited, chain, ended, flipped, made_from, move_times, said, sha256

from toolnoise.base.program import ROOT

TABLE = "figures/table2.html"


@pytest.mark.parametrize("options", [[], ["--strict"]])
@pytest.mark.parametrize("study", ["small", "other"])
def test_results_made_in_one_go_are_clean_in_one_line_with_the_digest_of_the_root(study, options, both):
    done = said("audit", both[study].root, *options)
    assert (done.code, done.err) == (0, "")
    (line,) = done.out.splitlines()
    files, root = re.fullmatch(r"clean: ([\d,]+) files\b.*, root ([0-9a-f]{64})", line).groups()
    assert int(files.replace(",", "")) == len(both[study].original)
    assert root == sha256(both[study].original[both[study].stated[ROOTED]])


def test_moved_and_renamed_results_are_clean(small, tmp_path):
    found = audited(shutil.copytree(small.root, tmp_path / "received"), "--strict")
    assert (found.findings, found.root) == ([], small.audit().root)


def test_two_studies_in_one_folder_are_told_apart(forged, tmp_path):
    for one in forged.values():
        shutil.copytree(one.root, tmp_path / "results" / one.study)
    found = audited(tmp_path / "results", "--strict")
    assert found.findings == []
    assert {one["study"]: one["root"] for one in found.json["studies"]} == {
        name: folder.audit().root for name, folder in forged.items()
    }
    (tmp_path / "results/other/metrics/layers.csv").write_text("")
    found = audited(tmp_path / "results")
    assert {one["artifact"] for one in found.findings} == {"results/other/metrics/layers.csv"}


def test_without_a_root_all_else_is_verified(small):
    """As `snakemake table2` leaves it: completeness is unknown."""
    page = small.stated[ROOTED]
    small.delete(page, *small.beside[page])
    done = said("audit", small.root)
    assert (done.code, done.err) == (0, "")
    assert done.out.splitlines()[-1].endswith("no root: completeness unknown")
    small.delete("metrics/claims.csv", small.stated["metrics/claims.csv"])
    assert small.audit().findings == []
    small.put(TABLE, b"")
    assert small.audit().told({"changed"}, {small.name(TABLE)})


def test_a_speed_that_was_measured_after_the_page_is_clean(forged):
    """The root names its statement of before, or none."""
    other, speed = forged["other"], "speed/smallcnn/mine/cpu/control.json"
    page, before = (ended(json.loads(other.original[other.stated[one]])) for one in (ROOTED, speed))
    other.edit(speed, lambda record: record["seconds"].update(training=1.5))
    other.settle(speed)
    other.restate(speed, lambda made: move_times(made, page - before + timedelta(minutes=1)))
    assert other.audit("--strict", "--clock-skew", "1h").findings == []
    other.restate(ROOTED, lambda made: chain(made).pop(other.name(other.stated[speed])))
    assert other.audit("--strict", "--clock-skew", "1h").findings == []
    other.put(speed, other.original[speed])
    assert other.audit().told({"changed"}, {other.name(speed)})


def report(small, edit):
    """A report of the same files as the page, made after it."""
    small.put("report.html", b"<html>")
    small.state_as("report.html", ROOTED, "report")
    small.edit("statements/report.html.intoto.json", edit)


def test_a_report_that_was_made_after_the_page_is_clean(small):
    report(small, lambda made: move_times(made, timedelta(seconds=1)))
    assert small.audit("--strict").findings == []


def test_a_report_of_earlier_metrics_is_found(small):
    def older(made):
        (shown,) = [one for one in made_from(made, "input") if one["name"].endswith("metrics/stability.csv")]
        shown["digest"] = {"sha256": "0" * 64}

    report(small, older)
    names = {small.name("metrics/stability.csv"), small.name("report.html")}
    assert small.audit().told({"inputs"}, names)


def git(*words):
    return subprocess.run(["git", "-C", ROOT, *words], capture_output=True, check=True).stdout


def test_results_by_other_code_are_stale_and_no_finding_unless_asked(small):
    """A module is as an earlier commit had it, and not as it is here."""
    if subprocess.run(["git", "-C", ROOT, "rev-parse"], capture_output=True).returncode:
        pytest.skip("no repository")
    name = "workflow/toolnoise/base/metric_files.py"
    meaning = ast.dump(ast.parse((ROOT / name).read_text()))
    texts = {one: git("show", f"{one}:{name}") for one in git("log", "--format=%H", "--", name).decode().split()}
    old = next(one for one, text in texts.items() if ast.dump(ast.parse(text)) != meaning)

    def state(made):
        (module,) = [one for one in made_from(made, "code") if one["name"] == name]
        module["digest"]["sha256"] = sha256(texts[old])
        (commit,) = made_from(made, "commit")
        commit["digest"]["gitCommit"] = old
        commit["annotations"] |= {"dirty": True, "diff_sha256": "0" * 64}
        # What counts of the code is another, too: a comment makes nothing stale.
        made["predicate"]["runDetails"]["metadata"]["toolnoise_code"] = "0" * 64

    small.restate("metrics/claims.csv", state)
    small.settle_upwards()
    found = small.audit()
    assert (found.code, found.findings) == (0, [])
    assert small.name("metrics/claims.csv") in json.dumps(found.json["stale"])
    assert "stale" in said("audit", small.root).out
    assert small.audit("--strict").code == 1


# Repair, and the verb
# --------------------


def test_repaired_results_are_clean(small_study, tmp_path, toolnoise):
    site = shutil.copytree(small_study, tmp_path / "site")
    results = site / "results/small"
    before = {path: path.read_bytes() for path in results.glob("metrics/**/*.csv")}
    for name in ("metrics/claims.csv", "page/smallcnn/digits/cpu/control.html"):
        (results / name).write_bytes(flipped((results / name).read_bytes(), -3))
    (results / "metrics/data.csv").unlink()
    (results / "statements/metrics/data/digits.csv.intoto.json").write_text("{")
    left = results / "metrics/.data.csv.13gkcno8.csv"
    left.write_text("half")
    done = toolnoise(site, "audit", results)
    assert done.returncode == 1
    assert "results/small/metrics/claims.csv" in done.stdout
    done = toolnoise(site, "audit", results, "--repair")
    assert done.returncode == 0, done.stdout + done.stderr
    assert audited(results, "--strict").findings == []
    assert not left.exists()
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.parametrize("words", [["elsewhere"], ["empty"], ["small.csv"], ["empty", "--sample", "-1"]])
def test_what_is_no_results_folder_is_refused(words, here, refused_by_verb):
    (here / "empty").mkdir()
    (here / "small.csv").write_text("a\n")
    assert words[0] in refused_by_verb("audit", *words) or "--sample" in words
