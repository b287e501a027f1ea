"""A study's page, a cell's and Snakemake's report in a real headless Chromium: by mouse and by keyboard."""

import json
import re
import shutil

import pandas as pd
import pytest
from playwright.sync_api import expect

from toolnoise.pages import cell_page

CELL = "smallcnn/digits/cpu/algo_impl"
PAGES = ["index.html", f"page/{CELL}.html", "page/smallcnn/digits/cpu/control.html"]


@pytest.fixture
def page(opened, results_folder):
    """The page that the workflow wrote, freshly opened."""
    return opened(results_folder / "index.html")


@pytest.fixture
def cell(opened, results_folder):
    """The page of a cell."""
    return opened(results_folder / f"page/{CELL}.html")


def title(page):
    return page.get_by_role("heading", level=1)


def column(page, table, name):
    """The texts of a column of a table, without the intervals."""
    heads = page.get_by_role("region", name=table).locator("thead th").all_inner_texts()
    cells = page.get_by_role("region", name=table).locator(f"tbody td:nth-child({heads.index(name) + 1})")
    return [text.split("\n")[0] for text in cells.all_inner_texts()]


def diffed(toolnoise, results_folder):
    folder = results_folder / "runs" / CELL
    return json.loads(toolnoise(results_folder, "diff", folder / "1", folder / "2", "--json").stdout)


def test_the_first_screen_has_the_question_one_sentence_a_chart_and_two_pictures(page, results_folder):
    expect(title(page)).to_have_text("Trained again, how many answers does a network change, and why?")
    table = pd.read_csv(results_folder / "metrics/stability.csv", comment="#")
    columns = ["metric", "group", "model", "hardware", "variant"]
    churn = table.set_index(columns).loc[("churn", "all", "smallcnn", "cpu", "algo_impl"), "value"]
    said = page.locator(".lead").inner_text()
    assert said.startswith(f"{100 * churn:#.3g} % of the answers of smallcnn on digits change with a new seed")
    assert said.endswith("(emulated); nothing changes with everything fixed.")
    sources = page.locator("a.source").all_inner_texts()
    assert [re.search(r"a new seed|IMPL|Control", one)[0] for one in sources] == ["a new seed", "IMPL", "Control"]
    pictures = page.locator(".examples img")
    assert pictures.evaluate_all("all => all.map((one) => one.naturalWidth)") == [8, 8]
    assert "16 of 16 runs in 7 cells, none diverged" in page.locator("main").inner_text()
    assert page.errors == []


def test_keys_lead_from_the_top_to_a_cell_and_its_runs(page):
    for name in ("Skip to content", "a new seed and the implementation"):
        for _ in range(12):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.innerText").startswith(name):
                break
        page.keyboard.press("Enter")
    expect(title(page)).to_have_text("smallcnn on digits, cpu, algo_impl")
    assert column(page, "Runs", "Run") == ["1", "2"]
    page.get_by_role("link", name="All cells").click()
    expect(title(page)).to_have_text(re.compile("^Trained again"))
    assert page.errors == []


def test_a_click_and_a_key_sort_a_table(page):
    accuracy = page.get_by_role("region", name="Cells").get_by_role("button", name=re.compile("^Accuracy"))
    accuracy.click()
    shown = list(map(float, column(page, "Cells", "Accuracy (%)")))
    assert shown == sorted(shown, reverse=True)
    expect(page.get_by_role("columnheader", name=re.compile("^Accuracy"))).to_have_attribute("aria-sort", "descending")
    accuracy.press("Enter")
    assert list(map(float, column(page, "Cells", "Accuracy (%)"))) == sorted(shown)
    page.get_by_role("region", name="Cells").get_by_role("button", name="Varies").click()
    varies = column(page, "Cells", "Varies")
    assert varies == sorted(varies)
    assert page.errors == []


def test_every_link_and_picture_leads_to_a_file_that_is_there(opened, results_folder):
    for name in PAGES:
        page = opened(results_folder / name)
        for element, attribute in (("a", "href"), ("img", "src")):
            links = page.locator(element).evaluate_all(f"all => all.map((one) => one.getAttribute('{attribute}'))")
            files = [one for one in links if not one.startswith(("#", "data:"))]
            assert [one for one in files if not ((results_folder / name).parent / one).is_file()] == [], name
        assert page.locator("img").evaluate_all("all => Promise.all(all.map((one) => one.decode()))") is not None
        assert all(url.startswith(results_folder.as_uri()) for url in page.requests if not url.startswith("data:"))
        assert page.errors == []


def test_figures_are_called_by_what_they_found(page):
    found = page.locator("figure h3").all_inner_texts()
    said = r"Emulated noise alone changes |No difference seen between emulated noise and "
    assert any(re.match(said, one) for one in found), found
    assert not any(re.match(r"[a-z_]+-cpu", one) for one in found)
    expect(page.get_by_role("link", name="Test accuracy by tooling, task and source of noise")).to_be_visible()


def test_two_runs_side_by_side_have_the_answer_of_diff(cell, opened, toolnoise, results_folder):
    found = diffed(toolnoise, results_folder)
    epoch, tensors = (found["parting"][name] for name in ("weights_differ_from_epoch", "tensors_that_differ_then"))
    text = " ".join(cell.locator("main").inner_text().split())
    assert f"they differ from epoch {epoch} on, in {len(tensors)} tensors: {tensors[0]}" in text
    assert f"Runs 1 and 2: {100 * found['predictions']['churn']:.3g} % of answers differ" in text
    assert f"{len(found['predictions']['a_right_b_wrong'])} answered differently: only the first is right" in text
    control = opened(results_folder / PAGES[2])
    assert "Runs 1 and 2: bit-equal" in control.locator("main").inner_text()


def test_examples_that_flip_are_shown_as_pictures(cell, toolnoise, results_folder):
    found = diffed(toolnoise, results_folder)["predictions"]
    flips = [example for kind in cell_page.FLIPS for example in found[kind][: cell_page.LISTED]]
    assert flips
    pictures = cell.locator(".examples img")
    assert pictures.evaluate_all("all => all.map((one) => one.alt)") == [f"Test example {one}" for one in flips]
    assert set(pictures.evaluate_all("all => all.map((one) => one.naturalWidth)")) == {8}


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_wider_than_the_window_and_axe_finds_no_barrier(opened, results_folder, request, name):
    pages = [opened(results_folder / name, color_scheme=scheme) for scheme in ("light", "dark")]
    for width in (390, 1280):
        pages[0].set_viewport_size({"width": width, "height": 800})
        assert pages[0].evaluate("document.documentElement.scrollWidth") <= width
    # Here it is skipped where there is no axe.
    axe = request.getfixturevalue("axe")
    for page in pages:
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        assert [(one["id"], one["nodes"][0]["html"]) for one in found] == []


def test_a_script_from_elsewhere_is_refused_by_the_page_itself(opened, results_folder, tmp_path):
    text = (results_folder / "index.html").read_text()
    (tmp_path / "changed.html").write_text(text.replace("<main", "<script>window.ran=1</script><main"))
    page = opened(tmp_path / "changed.html")
    expect(title(page)).to_have_text(re.compile("^Trained again"))
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in error for error in page.errors)


def test_paper_has_the_tables_and_not_the_links_of_the_page(page):
    page.emulate_media(media="print")
    expect(page.get_by_role("region", name="Cells").locator("tbody tr").first).to_be_visible()
    expect(page.get_by_role("navigation")).to_be_hidden()


# Snakemake's report: table 2 is first, figures and tables open, the console is quiet


@pytest.fixture(scope="module")
def report_file(small_study, snakemake, tmp_path_factory):
    """Snakemake's report on the small study."""
    folder = shutil.copytree(small_study, tmp_path_factory.mktemp("report") / "small")
    done = snakemake(folder, "results/small/report.html")
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "results/small/report.html"


@pytest.fixture
def report(opened, report_file):
    """The report, freshly opened."""
    page = opened(report_file)
    page.get_by_text("2 Figures", exact=True).wait_for()
    return page


def show(page, category, result):
    """Click through the menu to a result; the element that shows it."""
    page.get_by_text(category, exact=True).click()
    page.locator("tr", has=page.get_by_text(result, exact=True)).locator("a").first.click()
    # The page's own logo is a picture too, and comes first.
    shown = page.locator("img, iframe").nth(1)
    shown.wait_for()
    return shown


def test_table_2_is_the_first_result_and_opens_with_its_numbers_and_the_files_are_the_last(report):
    listed = report.locator("li").all_inner_texts()
    first = listed.index("RESULTS") + 1
    # Category 4 has published numbers, of which the small study has run none.
    categories = ["1 Table 2: accuracy", "2 Figures", "3 Further tables", "5 Metric files"]
    assert listed[first : first + 4] == categories
    assert report.get_by_text("how much of a trained network is noise").is_visible()
    show(report, "1 Table 2: accuracy", "table2")
    cells = [text for frame in report.frames for text in frame.locator("td").all_inner_texts()]
    assert any("±" in text for text in cells)
    assert report.errors == []


def test_a_figure_opens_at_a_size_to_read(report):
    box = show(report, "2 Figures", "noise_by_source-cpu").bounding_box()
    assert (box["width"] > 300, box["height"] > 150) == (True, True)
    assert report.errors == []
