"""The audit's page in a real headless Chromium: from a figure down to its data, and nothing that it shows runs."""

import json
import re
import shutil

import pytest
from playwright.sync_api import expect

from toolnoise.record import statements
from toolnoise.verify import tree
from toolnoise.verify.audit import examine as audits
from toolnoise.verify.audit.rules import RULES
from toolnoise.verify.audit.rules.code_origins import Stale
from toolnoise.verify.page import of_audit as pages

# Whatever of it runs says so in the window.
RUN = "runs/smallcnn/digits/cpu/impl/1"
MARKUP = '<img src=x onerror="window.ran=1"></script><script>window.ran=1</script><svg onload="window.ran=1">'
ODD = f"results/small/figures/two\nlines\u202e{MARKUP.replace('/', '|')}\udcff.csv"


@pytest.fixture
def write_page(tmp_path):
    """Write the page of a results folder, with these findings instead of what there is to find; its file."""

    def write(folder, findings=(), stale=()):
        found = audits.examine(tree.load(folder), rules=())
        told = [audits.AuditFinding(*one) for one in findings]
        pages.write(
            tmp_path / "audit.html", found._replace(rules=RULES, findings=tuple(told), stale=tuple(stale)), strict=False
        )
        return tmp_path / "audit.html"

    return write


@pytest.fixture
def audit(opened, write_page, results_folder):
    """The page of the untouched study."""
    return opened(write_page(results_folder))


@pytest.fixture
def copied(results_folder, tmp_path):
    """A study's results to do harm to, and a way to change a training's statement."""
    folder = tmp_path / "results/small"
    shutil.copytree(results_folder, folder)

    def change(edit):
        path = folder / f"statements/{RUN}/weights.npz.intoto.json"
        statement = json.loads(path.read_text())
        edit(statement)
        path.write_text(json.dumps(statement))
        return folder

    return change


def lineage(page):
    return page.locator("section", has=page.get_by_role("heading", name="Lineage", exact=True))


def title(page):
    return page.get_by_role("heading", level=1)


def choose_table2(page):
    page.get_by_role("link", name="figures/table2.html", exact=True).click()
    expect(title(page)).to_have_text("figures/table2.html")


def test_from_table_2_clicks_lead_to_a_run_and_on_to_its_data(audit):
    choose_table2(audit)
    lineage(audit).get_by_text(re.compile(r"^\d+ runs$")).click()
    lineage(audit).get_by_role("link", name="runs/smallcnn/digits/cpu/impl/1/").click()
    expect(title(audit)).to_have_text("runs/smallcnn/digits/cpu/impl/1/weights.npz")
    lineage(audit).get_by_role("link", name="data/digits.npz").click()
    expect(title(audit)).to_have_text("data/digits.npz")
    lineage(audit).get_by_role("link", name="sklearn/datasets/data/digits.csv.gz").click()
    expect(title(audit)).to_have_text("sklearn/datasets/data/digits.csv.gz")
    expect(audit.get_by_text("pkg:pypi/scikit-learn@")).to_be_visible()
    assert audit.errors == []


def test_from_the_data_the_way_up_leads_to_the_figure(audit):
    choose_table2(audit)
    lineage(audit).get_by_role("link", name="data/digits.npz").click()
    lineage(audit).get_by_text(re.compile(r"^\d+ figures and tables$")).click()
    lineage(audit).get_by_role("link", name="figures/table2.html").click()
    expect(title(audit)).to_have_text("figures/table2.html")


def test_a_file_shows_its_statement(audit, results_folder):
    path = results_folder / "statements/runs/smallcnn/digits/cpu/impl/1/weights.npz.intoto.json"
    stated = statements.read(path)
    audit.goto(f"{audit.url}#file/runs/smallcnn/digits/cpu/impl/1/weights.npz")
    text = audit.locator("main").inner_text()
    weights = stated.outputs[0]
    assert weights.sha256 in text
    assert f"{weights.size:,} bytes" in text
    assert f"train (train one run) on {stated.started:%Y-%m-%d %H:%M:%S} UTC" in text
    assert stated.observed["host"] in text
    assert f"tensorflow {stated.observed['versions']['tensorflow']}" in text
    assert stated.parameters["keys"]["impl"]["key"] in text
    audit.get_by_text("All observations").click()
    expect(audit.get_by_text(", ".join(stated.observed["cpu_flags"]))).to_be_visible()
    modules = [one for one in stated.dependencies if one.kind == "code"]
    audit.get_by_text(f"{len(modules)} modules").last.click()
    row = audit.get_by_role("listitem").filter(has_text=modules[-1].name).last
    assert modules[-1].sha256[:12] in row.inner_text()
    assert audit.errors == []


def test_back_and_forward_show_each_view_again(audit):
    audit.get_by_text(re.compile(r"^\d+ runs$")).click()
    last = audit.get_by_role("link", name=re.compile("weights.npz$")).last
    last.scroll_into_view_if_needed()
    audit.evaluate("window.scrollBy(0, 100)")
    choose_table2(audit)
    assert audit.evaluate("window.scrollY") == 0
    lineage(audit).get_by_role("link", name="data/digits.npz").click()
    audit.go_back()
    expect(title(audit)).to_have_text("figures/table2.html")
    audit.go_back()
    expect(title(audit)).to_have_text(re.compile(r"^Audit of"))
    audit.go_forward()
    expect(title(audit)).to_have_text("figures/table2.html")
    assert audit.title() == "figures/table2.html · Audit of results/small"


def test_an_address_opens_what_it_names(opened, write_page, results_folder):
    page = opened(write_page(results_folder), "#file/metrics/stability.csv")
    expect(title(page)).to_have_text("metrics/stability.csv")
    page.goto(f"{page.url.partition('#')[0]}#file/metrics/none.csv")
    expect(title(page)).to_have_text("No artifact of this name")
    page.goto(f"{page.url.partition('#')[0]}#%E0%A4%A")
    expect(title(page)).to_have_text("No artifact of this name")
    assert page.errors == []


def test_search_finds_names_and_digests(audit, results_folder):
    search = audit.get_by_role("searchbox", name="Search")
    search.fill("stability csv")
    links = audit.locator("main").get_by_role("link")
    expect(links).to_have_text(["metrics/stability.csv"])
    table = statements.read(results_folder / "statements/figures/table2.html.intoto.json").outputs[1]
    search.fill(table.sha256[:10])
    expect(links).to_have_text(["figures/table2.csv"])
    search.fill("no such thing")
    expect(audit.locator("main").get_by_role("status")).to_have_text(re.compile("^0 of "))
    search.fill("stability csv")
    links.click()
    expect(title(audit)).to_have_text("metrics/stability.csv")
    audit.go_back()
    expect(search).to_have_value("stability csv")
    # A search is one step, however many letters it has.
    audit.go_back()
    expect(title(audit)).to_have_text(re.compile(r"^Audit of"))
    assert audit.errors == []


def test_everything_can_be_reached_with_the_keyboard(audit):
    audit.keyboard.press("Tab")
    audit.keyboard.press("Enter")
    assert audit.evaluate("document.activeElement.id") == "main"
    audit.get_by_role("link", name="figures/table2.html", exact=True).focus()
    audit.keyboard.press("Enter")
    # The heading has the focus, so that a screen reader says where one is.
    assert audit.evaluate("document.activeElement.tagName") == "H1"
    runs = lineage(audit).locator("summary").filter(has_text=re.compile(r"^\d+ runs$"))
    runs.focus()
    audit.keyboard.press("Enter")
    lineage(audit).get_by_role("link", name="runs/").first.wait_for()
    audit.keyboard.press("Tab")
    # The list of runs scrolls, and may have the focus itself.
    if audit.evaluate("document.activeElement.tagName") != "A":
        audit.keyboard.press("Tab")
    audit.keyboard.press("Enter")
    expect(title(audit)).to_have_text(re.compile(r"^runs/"))


def test_a_job_has_one_tab_stop_and_arrow_keys_lead_to_its_other_files(audit):
    jobs = audit.locator("details[open] ul.rows > li")
    stops = jobs.evaluate_all("all => all.map((row) => row.querySelectorAll('a:not([tabindex=\"-1\"])').length)")
    assert len(stops) > 1
    assert set(stops) == {1}
    links = jobs.first.get_by_role("link")
    links.first.focus()
    audit.keyboard.press("ArrowRight")
    expect(links.nth(1)).to_be_focused()
    audit.keyboard.press("ArrowDown")
    expect(jobs.nth(1).get_by_role("link").nth(1)).to_be_focused()
    assert audit.errors == []


def test_the_program_writes_the_page(opened, toolnoise, results_folder, tmp_path):
    folder = tmp_path / "results/small"
    shutil.copytree(results_folder, folder)
    (folder / "figures/table2.csv").write_text("a,b\n1,2\n")
    done = toolnoise(tmp_path, "audit", "--html", "audit.html")
    assert done.returncode == 1, done.stderr
    page = opened(tmp_path / "audit.html")
    page.locator("section", has=page.get_by_role("heading", name="digests-match")).get_by_role(
        "link", name="figures/table2.csv", exact=True
    ).click()
    expect(page.get_by_text("Size on disk")).to_be_visible()
    choices = lineage(page).get_by_text(re.compile(r"^\d+ runs$"))
    assert choices.is_visible()
    assert page.errors == []


def test_a_clean_audit_says_so_and_one_with_findings_lists_them(opened, write_page, results_folder):
    page = opened(write_page(results_folder))
    expect(page.get_by_text("Clean: no findings")).to_be_visible()
    expect(page.get_by_text(re.compile("^100 % of"))).to_be_visible()
    html = "results/small/figures/table2.html"
    table, run = "results/small/figures/table2.csv", "results/small/runs/smallcnn/digits/cpu/impl/1/run.json"
    findings = [("digests", table, "is other than stated"), ("digests", run, "has another size"), ("x", "y", "z")]
    page = opened(write_page(results_folder, findings, [Stale(html, ("tables.py",))]))
    expect(page.get_by_text("3 findings under 2 rules")).to_be_visible()
    expect(page.get_by_text("1 result is stale")).to_be_visible()
    page.get_by_role("link", name="figures/table2.csv", exact=True).click()
    expect(page.get_by_text("digests: is other than stated")).to_be_visible()
    expect(page.get_by_text("Stale: made by a different version of the code")).to_be_visible()
    # What the table was made from leads to the run that was found fault with.
    expect(lineage(page).get_by_text(re.compile(r"^\d+ runs finding$"))).to_be_visible()
    page.go_back()
    page.get_by_role("link", name="Stale results and changed files").click()
    expect(page.get_by_text("tables.py")).to_be_visible()
    assert page.errors == []


def test_html_in_a_statement_is_text(opened, write_page, copied):
    def edit(statement):
        definition = statement["predicate"]["buildDefinition"]
        spec = definition["externalParameters"]["spec"]
        spec["model"]["name"] = MARKUP
        spec[MARKUP] = {"__proto__": MARKUP, "constructor": {MARKUP: [MARKUP]}}
        definition["internalParameters"]["observed"] |= {"host": MARKUP, "device": {"a": [MARKUP]}, "cpu": None}
        for one, kind in zip(definition["resolvedDependencies"], (MARKUP, "constructor", "__proto__"), strict=False):
            one["annotations"] = {"kind": kind, "role": MARKUP}
            one["uri"] = f"javascript:window.ran=1//{MARKUP}"
        statement["predicate"]["runDetails"]["builder"]["version"][MARKUP] = MARKUP

    folder = copied(edit)
    page = opened(write_page(folder, [("digests", MARKUP, MARKUP)], [Stale(MARKUP, (MARKUP,))]))
    page.goto(f"{page.url}#file/{RUN}/weights.npz")
    for details in page.locator("details").all():
        details.evaluate("each => each.open = true")
    page.wait_for_timeout(200)
    text = page.locator("main").inner_text()
    assert text.count(MARKUP) > 5
    assert page.evaluate("window.ran") is None
    assert page.locator("main img, main script, main svg[onload], a[href^='javascript']").count() == 0
    page.goto(f"{page.url.partition('#')[0]}#{MARKUP}")
    page.get_by_role("searchbox").fill(MARKUP)
    assert page.evaluate("window.ran") is None
    assert page.errors == []


def test_names_that_deceive_are_shown_as_they_are(opened, write_page, copied):
    folder = copied(lambda statement: statement["subject"].append(statement["subject"][0] | {"name": ODD}))
    page = opened(write_page(folder))
    page.get_by_role("searchbox").fill("figures/two")
    (name,) = page.locator("main").get_by_role("link").all_inner_texts()
    assert name.startswith("figures/two\\nlines\\u202e<img")
    assert name.endswith("\\udcff.csv")
    page.locator("main").get_by_role("link").click()
    expect(title(page)).to_have_text(name)
    expect(page.get_by_text("not in the folder")).to_be_visible()
    assert page.evaluate("window.ran") is None
    assert page.errors == []


def test_a_script_from_elsewhere_is_refused_by_the_page_itself(opened, write_page, results_folder):
    file = write_page(results_folder)
    file.write_text(file.read_text().replace("<noscript>", "<script>window.ran=1</script><noscript>"))
    page = opened(file)
    expect(title(page)).to_have_text(re.compile(r"^Audit of"))
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in error for error in page.errors)


def test_statements_that_go_round_in_circles_are_drawn(opened, write_page, copied):
    def edit(statement):
        made = statement["subject"][0]
        statement["predicate"]["buildDefinition"]["resolvedDependencies"] += [
            {**made, "annotations": {"kind": "input", "role": "itself"}},
            {
                "name": "results/small/figures/table2.html",
                "digest": {"sha256": "0" * 64},
                "annotations": {"kind": "input", "role": "its own table"},
            },
        ]

    page = opened(write_page(copied(edit)))
    choose_table2(page)
    expect(lineage(page).get_by_text(re.compile(r"^\d+ runs$"))).to_be_visible()
    page.goto(f"{page.url.partition('#')[0]}#file/{RUN}/weights.npz")
    expect(page.get_by_text("differs from its own statement")).to_be_visible()
    assert page.errors == []


def test_a_file_that_nobody_states_says_so(opened, write_page, copied):
    folder = copied(lambda _: None)
    (folder / "figures/added.csv").write_text("a,b\n")
    page = opened(write_page(folder))
    page.get_by_text("1 file without a statement").click()
    page.get_by_role("link", name="figures/added.csv").click()
    expect(page.get_by_text("No statement lists this file as an output, so its origin is unknown.")).to_be_visible()
    expect(page.get_by_text("no statement", exact=True)).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1300])
def test_nothing_is_wider_than_the_window(opened, write_page, results_folder, scheme, width):
    file = write_page(results_folder)
    for fragment in ("", "#file/figures/table2.html", "#file/runs/smallcnn/digits/cpu/impl/1/weights.npz"):
        page = opened(file, fragment, color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.errors == []


def test_the_page_asks_the_network_for_nothing(audit):
    choose_table2(audit)
    assert all(url.startswith("file:") for url in audit.requests)
