"""An audit's page: every part of a statement is in its data, each thing once, and nothing of it can run."""

import base64
import hashlib
import json
import re
from datetime import datetime, timedelta
from html.parser import HTMLParser
from pathlib import Path

import pytest

from toolnoise.pages import document
from toolnoise.record.statements import Artifact, Statement
from toolnoise.verify.audit.examine import Audit, AuditFinding
from toolnoise.verify.audit.rules import RULES
from toolnoise.verify.audit.rules.code_origins import Stale
from toolnoise.verify.page import of_audit
from toolnoise.verify.tree import Results, Stated, Tree

THEN = datetime(2026, 1, 31, 12)
HOSTILE = "</script><script>alert(1)</script><!--<img src=x onerror=alert(1)>&lt;\u2028\n"


def artifact(name, role="", kind="", content=None):
    digest = hashlib.sha256((content or name).encode()).hexdigest()
    return Artifact(name, digest, len(name), role, kind)


def job(verb, outputs, dependencies, parameters=None, **changes):
    observed = {"host": "node", "versions": {"numpy": "2.4.6"}}
    versions = {"toolnoise": "0.1.0"}
    plain = Statement(verb, outputs, dependencies, parameters or {}, observed, THEN, THEN + timedelta(1), versions)
    return plain._replace(**changes)


def tree(*jobs, name="tiny", files=None):
    stated = tuple(Stated(f"statements/{number}.intoto.json", one) for number, one in enumerate(jobs))
    made = {one.name.removeprefix(f"results/{name}/"): one.size for each in jobs for one in each.outputs}
    return Tree(name, Path(f"/results/{name}"), made if files is None else files, {}, stated, {}, {}, None)


def audited(*trees, findings=(), stale=()):
    results = Results(trees[0].root if len(trees) == 1 else Path("/results"), trees, ())
    return Audit(results, RULES, (), tuple(AuditFinding(*one) for one in findings), tuple(stale), ("a note",), THEN)


def block(*trees, **found):
    return of_audit.data(audited(*trees, **found), strict=False)


def html(data):
    return document.document({"statements": data}, parts=False)


def run(seed, code):
    where = f"results/tiny/runs/a/{seed}"
    outputs = tuple(artifact(f"{where}/{file}", "out") for file in ("weights.npz", "run.json"))
    read = artifact("results/tiny/data/digits.npz", "data", "input")
    return job("train", outputs, (read, *code), {"spec": {"seed": seed, "recipe": {"epochs": 3, "crop": 1}}})


CODE = tuple(artifact(f"workflow/toolnoise/{number}.py", kind="code") for number in range(30))


class Scripts(HTMLParser):
    """The scripts of a page, as an HTML parser sees them."""

    def __init__(self, text):
        super().__init__()
        self.found, self.tags = [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        if tag == "script":
            self.found.append([dict(attributes), ""])

    def handle_endtag(self, tag):
        self.tags.append(f"/{tag}")

    def handle_data(self, data):
        if self.tags[-1:] == ["script"]:
            self.found[-1][1] += data


def value(data, number):
    packed = data["values"][number]
    if isinstance(packed, dict):
        return {key: value(data, each) for key, each in packed.items()}
    return [value(data, each) for each in packed] if isinstance(packed, list) else packed


@pytest.mark.parametrize("sign", ["<", ">", "&", "\u2028", "\u2029", "\0", "\ud800", "é"])
def test_nothing_that_html_or_a_script_reads_otherwise_is_in_the_data(sign):
    text = document.escaped({sign: [f"a{sign}b"]})
    assert sign not in text
    assert text.isascii()
    assert json.loads(text) == {sign: [f"a{sign}b"]}


def test_a_statement_that_is_full_of_html_ends_no_script():
    made = artifact(f"results/tiny/{HOSTILE}", HOSTILE)
    data = artifact(HOSTILE, HOSTILE, "source")._replace(uri=HOSTILE)
    parameters = {HOSTILE: [HOSTILE, {HOSTILE: HOSTILE}]}
    one = job("train", (made,), (data,), parameters, observed={HOSTILE: HOSTILE}, versions={HOSTILE: HOSTILE})
    found = block(tree(one), findings=[(HOSTILE, made.name, HOSTILE)], stale=[Stale(made.name, (HOSTILE,))])
    scripts = Scripts(html(found)).found
    assert len(scripts) == 2
    shown = json.loads(scripts[0][1])["statements"]
    assert shown["findings"] == [[HOSTILE, [[HOSTILE, HOSTILE]]]]
    assert value(shown, shown["jobs"][0][6]) == parameters


def test_what_is_filled_in_is_not_filled_in_again():
    made = artifact("results/tiny/{script}{style}{policy}{data}", "out")
    scripts = Scripts(html(block(tree(job("train", (made,), ()))))).found
    assert json.loads(scripts[0][1])["statements"]["things"]["names"] == ["{script}{style}{policy}{data}"]


def test_the_policy_allows_the_pages_own_script_and_style_and_nothing_else():
    found = html(block(tree(run(1, CODE))))
    (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', found)
    (style,) = re.findall(r"<style>(.*?)</style>", found, re.DOTALL)
    about, script = Scripts(found).found[1]
    assert about == {}
    allowed = dict(part.strip().split(" ", 1) for part in policy.split(";"))

    def digest(text):
        return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"

    assert allowed.pop("script-src") == digest(script)
    assert allowed.pop("style-src") == digest(style)
    assert allowed == {"default-src": "'none'", "base-uri": "'none'", "form-action": "'none'"}


def test_the_page_asks_for_nothing_from_outside():
    found = html(block(tree(run(1, CODE))))
    assert not re.findall(r"\b(?:src|srcset|action|poster|data)=|@import|url\((?!#)|fetch\(|XMLHttp|WebSocket", found)
    assert "innerHTML" not in found


def test_every_part_of_a_statement_is_in_the_data():
    wanted = {"spec": {"recipe": {"epochs": 3, "flip": False, "schedule": None}, "tags": ["a", "b"], "empty": {}}}
    inputs = artifact("results/tiny/data/digits.npz", "data", "input"), artifact("cifar.tar.gz", "", "source")
    one = job("train", (artifact("results/tiny/w", "weights"),), (*inputs, *CODE), wanted, changes="ab" * 32)
    data = block(tree(one))
    verb, started, finished, outputs, read, made_by, parameters, observed, versions, path, changes = data["jobs"][0]
    names = data["things"]["names"]
    assert (verb, path, changes) == ("train", "statements/0.intoto.json", "ab" * 32)
    assert (started, finished) == ("2026-01-31T12:00:00.000000Z", "2026-02-01T12:00:00.000000Z")
    assert {role: [names[number] for number in found] for role, found in outputs.items()} == {"weights": ["w"]}
    assert {role: [names[number] for number in found] for role, found in read.items()} == {"data": ["data/digits.npz"]}
    by = data["madeBy"][made_by]
    assert [names[number] for number in by["source"]] == ["cifar.tar.gz"]
    assert [data["things"]["sha256"][number] for number in by["code"]] == [module.sha256 for module in CODE]
    assert [value(data, number) for number in (parameters, observed, versions)] == [
        wanted,
        one.observed,
        one.versions,
    ]


def test_equal_values_of_other_types_stay_what_they_are():
    wanted = {"a": 1, "b": True, "c": "1", "d": False, "e": 0, "f": None, "g": "None", "h": [], "i": {}}
    data = block(tree(job("train", (artifact("results/tiny/w"),), (), wanted)))
    found = value(data, data["jobs"][0][6])
    assert found == wanted
    assert [type(each) for each in found.values()] == [type(each) for each in wanted.values()]


def test_numbers_that_a_browser_would_change_are_kept_as_they_are_written():
    wanted = {"seed": 2**63 + 1, "rate": 1e-05, "one": 1.0, "nan": float("nan"), "small": 7}
    data = block(tree(job("train", (artifact("results/tiny/w"),), (), wanted)))
    shown = {"seed": str(2**63 + 1), "rate": "1e-05", "one": "1.0", "nan": "nan", "small": 7}
    assert value(json.loads(document.escaped(data)), data["jobs"][0][6]) == shown


def test_a_value_without_an_end_is_cut():
    deep = {}
    for _ in range(900):
        deep = {"deeper": deep}
    data = block(tree(job("train", (artifact("results/tiny/w"),), (), deep)))
    assert "nested too deeply" in document.escaped(data)


def test_two_statements_that_disagree_about_a_file_name_two_files():
    made = job("prepare", (artifact("results/tiny/data/digits.npz", content="now"),), ())
    data = block(tree(made, run(1, ())))
    assert data["things"]["names"].count("data/digits.npz") == 2


def test_a_thousand_runs_say_what_they_share_once():
    one, all_of_them = block(tree(run(1, CODE))), block(tree(*(run(seed, CODE) for seed in range(1000))))
    assert len(all_of_them["madeBy"]) == 1
    assert len(all_of_them["values"]) <= len(one["values"]) + 3 * 1000
    text = document.escaped(all_of_them)
    assert text.count(CODE[0].sha256) == 1
    # Two outputs: names, digests and sizes, and the job; a statement by itself has 30 modules of 150 bytes.
    assert len(text) / 1000 < 700


def test_names_of_several_studies_begin_with_their_folders():
    one = tree(job("train", (artifact("results/one/w"),), ()), name="one")
    two = tree(job("train", (artifact("results/two/w"),), ()), name="two", files={"w": 3, "statements/0": 7, "x": 4})
    data = block(one, two, findings=[("some-rule", "results/two/x", "is nobody's"), ("some-rule", "run.log", "strays")])
    assert data["title"] == "2 studies"
    assert data["things"]["names"] == ("one/w", "two/w")
    # A file that is as a statement has it is the number of that thing.
    assert data["files"] == [0, ("two/w", 3), ("two/x", 4)]
    assert data["findings"] == [("some-rule", [("two/x", "is nobody's"), ("run.log", "strays")])]


def test_a_folder_without_a_statement_has_a_page():
    data = block(tree(files={"run.log": 3}))
    assert data["jobs"] == []
    assert data["files"] == [("run.log", 3)]
    assert len(Scripts(html(data)).found) == 2


def test_the_verdict_counts_what_is_stale_only_if_that_is_asked_for():
    one = tree(run(1, CODE))
    stale = [Stale(f"results/tiny/runs/a/{seed}/weights.npz", ("a.py", "b.py")) for seed in (1, 2)]
    assert of_audit.data(audited(one), strict=True)["clean"]
    assert not of_audit.data(audited(one, stale=stale), strict=True)["clean"]
    assert of_audit.data(audited(one, stale=stale), strict=False)["clean"]
    names = [f"runs/a/{seed}/weights.npz" for seed in (1, 2)]
    assert block(one, stale=stale)["stale"] == [(("a.py", "b.py"), names)]


def test_the_page_says_what_was_covered_and_what_could_not_be():
    told = block(tree(run(1, CODE), files={"runs/a/1/weights.npz": 3, "stray": 4}))["told"]
    assert "of 2 files" in told[0]
    assert told[1] == "Note: a note"
    assert told[2] == "Signatures: none"
    assert told[3].startswith("Audited 2026-01-31 12:00 UTC by toolnoise ")


def test_a_page_among_the_results_is_refused(tmp_path, refused):
    found = audited(tree())._replace(results=Results(tmp_path / "results", (tree(),), ()))
    line = refused(of_audit.write, tmp_path / "results/small/../audit.html", found, False)
    assert line.startswith("command line: --html: ")
    assert "lies in the results" in line
    assert not (tmp_path / "results").exists()


def test_a_page_that_cannot_be_written_is_told_in_one_line(tmp_path, refused):
    (tmp_path / "file").touch()
    assert "--html" in refused(of_audit.write, tmp_path / "file/audit.html", audited(tree(run(1, CODE))), False)
