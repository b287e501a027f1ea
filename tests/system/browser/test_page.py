"""A study's page in a real headless Chromium: from its findings to one run and its data, by mouse and by keyboard."""

import csv
import json
import random
import re

import pytest
from playwright.sync_api import expect

from toolnoise.datasets import prepared
from toolnoise.pages import cell_page
from toolnoise.pages.short_json import FORMS, packed

CELL = "smallcnn/digits/cpu/algo_impl"
RUN = f"{CELL}/1"
CONTROL = "smallcnn/digits/cpu/control"
BESIDE = f"#beside/{CELL}/1/{CELL}/2"
VIEWS = [
    "",
    "#cells",
    "#table/metrics-ratios",
    "#table/table2",
    "#figures",
    "#figure/noise_by_source-cpu",
    "#claims",
]
VIEWS += [f"#cell/{CELL}", f"#run/{RUN}", BESIDE, "#?q=smallcnn", "#?q=churn"]


@pytest.fixture
def page(opened, results_folder):
    """The page that the workflow wrote, freshly opened."""
    return opened(results_folder / "index.html")


def arrived(page):
    """Wait until all that a view has to load is there."""
    expect(page.locator("[aria-busy]")).to_have_count(0)
    return page


def title(page):
    return page.get_by_role("heading", level=1)


def rows(page, name="Cells of study small"):
    return page.get_by_role("region", name=name).locator("tbody tr")


def go(page, fragment):
    page.goto(f"{page.url.partition('#')[0]}{fragment}")
    return arrived(page)


def test_the_first_screen_has_the_question_three_sentences_a_figure_and_what_to_do_next(page, results_folder):
    expect(title(page)).to_have_text("Trained again, how many answers does a network change, and why?")
    said = page.get_by_role("region", name="Findings").get_by_role("paragraph").all_inner_texts()
    assert [one.partition(":")[0] for one in said] == ["What was trained", "What changed", "How sure"]
    with (results_folder / "metrics/stability.csv").open() as file:
        rows_of = list(csv.DictReader(line for line in file if not line.startswith("#")))
    churn = {
        row["variant"]: float(row["value"])
        for row in rows_of
        if (row["metric"], row["group"], row["model"], row["hardware"]) == ("churn", "all", "smallcnn", "cpu")
    }
    assert (
        f"{100 * churn['algo_impl']:#.3g} % (2 runs) with a new seed and the implementation (ALGO+IMPL, emulated)"
        in said[1]
    )
    assert "IMPL is emulated on cpu" in said[2]
    sources = page.locator(".hero").get_by_role("link")
    assert [re.search(r"ALGO\+IMPL|IMPL|Control", one)[0] for one in sources.all_inner_texts()] == [
        "ALGO+IMPL",
        "IMPL",
        "Control",
    ]
    sources.first.focus()
    told = rf"^{100 * churn['algo_impl']:#.3g} %.*, 2 runs; .* in 2 tasks$"
    expect(page.locator(".told")).to_have_text(re.compile(told))
    links = page.get_by_role("region", name="Next").get_by_role("list").get_by_role("link")
    assert links.evaluate_all("all => all.map((one) => one.getAttribute('href'))") == ["#cells", "#claims"]
    text = page.locator("main").inner_text()
    assert "16 of 16 runs in 7 cells, none missing" in text
    assert "toolnoise audit results/small verifies every file" in text
    assert page.errors == []


def test_the_first_screen_shows_two_pictures_that_two_runs_answer_differently(page):
    arrived(page)
    shown = page.get_by_role("region", name="Next")
    assert shown.locator("img").evaluate_all("all => all.every((one) => one.naturalWidth === 8)")
    expect(shown.locator("img")).to_have_count(2)
    shown.get_by_role("link", name="Compare these runs").click()
    expect(title(page)).to_have_text("Two runs side by side")
    assert page.url.endswith(BESIDE)


def test_clicks_lead_from_a_number_to_its_run(page):
    go(page, "#cells")
    rows(page).first.get_by_role("link").nth(4).click()
    expect(title(page)).to_have_text("smallcnn on digits, cpu, ALGO+IMPL")
    page.get_by_role("group", name="Accuracy by run").get_by_role("link").first.click()
    expect(title(page)).to_have_text(re.compile("^Run [12] of smallcnn on digits, cpu, ALGO"))
    assert page.errors == []


def test_twelve_keys_lead_from_the_top_to_a_number_and_its_run(page):
    pressed = []

    def press(name):
        """Press Tab until what has the focus begins so, and Enter."""
        while not re.match(
            name,
            page.evaluate("(it => it.getAttribute('aria-label') || it.textContent)(document.activeElement)"),
        ):
            page.keyboard.press("Tab")
            pressed.append("Tab")
            assert len(pressed) <= 12, f"no way to {name}"
        page.keyboard.press("Enter")
        pressed.append("Enter")
        return arrived(page)

    arrived(page)
    press("Skip to content")
    press("a new seed and the implementation")
    assert page.evaluate("document.activeElement.tagName") == "H1"
    press(r"run 1: [\d.]+ %")
    expect(title(page)).to_have_text("Run 1 of smallcnn on digits, cpu, ALGO+IMPL")
    assert len(pressed) <= 12
    assert page.errors == []


def test_a_row_has_one_tab_stop_and_arrow_keys_lead_along_it_and_down(page):
    go(page, "#cells")
    stops = rows(page).evaluate_all("all => all.map((row) => row.querySelectorAll('a:not([tabindex=\"-1\"])').length)")
    assert set(stops) == {1}
    rows(page).first.get_by_role("link").first.focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowRight"):
        page.keyboard.press(key)
    assert page.evaluate("document.activeElement.closest('td').cellIndex") == 2
    assert page.evaluate("document.activeElement.closest('tr').rowIndex") == 2
    assert page.errors == []


def test_back_keeps_the_place_and_the_link(page):
    page.set_viewport_size({"width": 1300, "height": 400})
    go(page, "#figures")
    last = page.locator("main a").last
    last.scroll_into_view_if_needed()
    page.wait_for_timeout(300)
    assert page.evaluate("history.state.y") > 0
    place, address = page.evaluate("scrollY"), last.get_attribute("href")
    last.click()
    expect(title(page)).not_to_have_text("Figures and tables")
    assert page.evaluate("scrollY") == 0
    page.go_back()
    expect(title(page)).to_have_text("Figures and tables")
    assert page.evaluate("scrollY") == pytest.approx(place, abs=3)
    assert page.evaluate("document.activeElement.getAttribute('href')") == address
    assert page.errors == []


def test_the_table_sorts_filters_and_its_address_restores_it(opened, page, results_folder):
    go(page, "#cells")
    page.get_by_role("button", name=re.compile("^Accuracy")).click()
    shown = [float(text.split()[0]) for text in rows(page).locator("td:nth-child(5)").all_inner_texts()]
    assert shown == sorted(shown, reverse=True)
    expect(page.get_by_role("columnheader", name=re.compile("^Accuracy"))).to_have_attribute("aria-sort", "descending")
    page.get_by_label("Model").first.select_option("smallcnn-bn")
    page.get_by_text(re.compile("^Columns: ")).first.click()
    page.get_by_role("checkbox", name="CKA of logits", exact=True).check()
    expect(rows(page)).to_have_count(3)
    again = opened(results_folder / "index.html", page.evaluate("location.hash"))
    expect(rows(again)).to_have_count(3)
    assert rows(again).all_inner_texts() == rows(page).all_inner_texts()
    expect(again.get_by_role("columnheader", name="CKA of logits", exact=True)).to_be_visible()
    assert page.errors == again.errors == []


def test_a_table_copies_itself_as_markdown_latex_and_csv(page):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    found = {}
    go(page, "#cells")
    for form in ("Markdown", "LaTeX", "CSV"):
        page.get_by_role("button", name=f"Copy as {form}").first.click()
        expect(page.get_by_text(f"Copied as {form}").first).to_be_visible()
        found[form] = page.evaluate("navigator.clipboard.readText()")
    assert found["Markdown"].splitlines()[2].startswith("| Model | Data set | Tooling | Variant | Accuracy (%) |")
    assert r"\begin{tabular}{llllrrrrl}" in found["LaTeX"]
    assert r"smallcnn-bn & digits & cpu & ALGO+IMPL" in found["LaTeX"]
    header, first, *_ = found["CSV"].splitlines()
    assert header.split(",")[4:9] == [
        "accuracy_mean",
        *(f"accuracy_mean_{end}" for end in ("low", "high", "runs", "missing")),
    ]
    assert first.split(",")[:4] == ["smallcnn", "digits", "cpu", "ALGO+IMPL"]
    assert first.split(",")[7:9] == ["2", "0"]


def test_a_run_is_named_by_all_its_digits(page):
    # Runs 1 to 3 of draws 1 and 12: rounded to four digits they would be 10000 and 1e5.
    seeds = [10_001, 10_002, 10_003, 120_001, 120_002, 120_003]
    run = {"status": "completed", "epochs": 2, "seconds": 1.23456, "initial": "abc"}
    part = {"runs": [run | {"seed": seed, "draw": seed // 10_000} for seed in seeds], "values": {}}
    cell = CELL.split("/")
    page.evaluate("([cell, part]) => main.replaceChildren(runTable(cell, part))", [cell, part])
    table = page.get_by_role("region", name=re.compile("^Runs of"))
    assert table.locator("tbody td:first-child").all_inner_texts() == list(map(str, seeds))
    links = table.get_by_role("link").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    assert links == [f"#run/{CELL}/{seed}" for seed in seeds]
    assert table.locator("tbody tr").first.locator("td").nth(4).inner_text() == "1.235"


def test_the_n_of_an_interval_counts_draws_where_several_runs_share_one(page):
    shown = "value => entryOf({ kind: 'number' }, value).detail"
    assert page.evaluate(shown, [0.5, 0.2, 0.8, 18, 0, 6]) == "0.2000 to 0.8000 · n = 6 draws, 18 runs"
    assert page.evaluate(shown, [0.5, 0.2, 0.8, 17, 1, 6]) == "0.2000 to 0.8000 · n = 6 draws, 17 of 18 runs"
    assert page.evaluate(shown, [0.5, 0.2, 0.8, 4, 1]) == "0.2000 to 0.8000 · n = 4 of 5"
    assert page.evaluate(shown, [0.5, 0.2, 0.8]) == "0.2000 to 0.8000"


def test_table_2_has_the_intervals_and_leads_to_cells(page):
    go(page, "#table/table2")
    entry = rows(page, re.compile("^Test accuracy")).first.locator("td").nth(2)
    assert re.search(r"± .*mean [\d.]+ to [\d.]+\s+SD [\d.]+ to [\d.]+\s+n = 2", entry.inner_text(), re.DOTALL)
    entry.get_by_role("link").click()
    expect(title(page)).to_have_text("smallcnn on digits, cpu, ALGO+IMPL")


def test_figures_are_called_by_what_they_found(page):
    go(page, "#figures")
    found = page.locator(".gallery a").all_inner_texts()
    assert any(re.match(r"Emulated implementation noise alone changes [\d.]+ %", one) for one in found)
    assert not any(re.match(r"[a-z_]+-cpu", one) for one in found)
    expect(page.get_by_role("link", name="Test accuracy by tooling, task and source of noise")).to_be_visible()


def test_a_figure_is_there_with_caption_and_downloads(page, results_folder):
    go(page, "#figure/noise_by_source-cpu")
    assert title(page).inner_text().startswith("Emulated implementation noise alone changes")
    figure = page.locator("figure.shown")
    assert figure.locator("img").evaluate("one => one.decode().then(() => one.naturalWidth)") > 300
    assert "Noise by source in study small" in figure.inner_text()
    links = figure.get_by_role("link").evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    files = [one for one in links if not one.startswith("#")]
    assert {one.rpartition(".")[2] for one in files} == {"svg", "pdf", "png", "csv", "ipynb"}
    assert all((results_folder / one).is_file() for one in files)
    assert page.errors == []


def test_a_figure_on_a_small_screen_has_its_narrow_form_and_the_words_that_do_not_fit_into_it(opened, page_file):
    page = opened(page_file, "#figure/noise_by_source-cpu")
    for width, form in ((1400, "noise_by_source-cpu.svg"), (420, "noise_by_source-cpu.narrow.svg")):
        page.set_viewport_size({"width": width, "height": 900})
        arrived(page)
        picture = page.locator("figure.shown img")
        picture.evaluate("one => one.decode()")
        assert picture.evaluate("one => one.currentSrc").endswith(f"/{form}")
        assert picture.bounding_box()["width"] <= width
        marks = page.locator("figure.shown .marks")
        assert marks.is_visible() == (width == 420)
        assert "95 %" in marks.text_content()
    assert page.errors == []


def test_two_runs_side_by_side_have_the_answer_of_diff(page, toolnoise, results_folder):
    go(page, BESIDE)
    folder = results_folder / "runs" / CELL
    found = json.loads(toolnoise(results_folder, "diff", folder / "1", folder / "2", "--json").stdout)
    epoch, tensors = (found["parting"][name] for name in ("weights_differ_from_epoch", "tensors_that_differ_then"))
    text = page.locator("main").inner_text()
    assert f"differ from epoch {epoch} on, in {len(tensors)} tensors: {tensors[0]}" in text
    assert f"{100 * found['predictions']['churn']:.2f} %" in text
    assert f"{len(found['predictions']['a_right_b_wrong'])} example" in text
    go(page, f"#beside/{CONTROL}/1/{CONTROL}/2")
    assert "Bit-equal: weights, history except times, predictions." in page.locator("main").inner_text()
    assert page.errors == []


def test_examples_that_flip_are_shown_as_pictures(page, toolnoise, results_folder):
    go(page, BESIDE)
    folder = results_folder / "runs" / CELL
    found = json.loads(toolnoise(results_folder, "diff", folder / "1", folder / "2", "--json").stdout)["predictions"]
    kinds = ("a_right_b_wrong", "a_wrong_b_right", "both_wrong_differently")
    flips = [example for kind in kinds for example in found[kind][: cell_page.LISTED]]
    assert flips
    pictures = page.locator(".examples img")
    assert pictures.evaluate_all("all => all.map((one) => one.alt)") == [f"Test example {one}" for one in flips]
    sizes = pictures.evaluate_all("all => Promise.all(all.map((one) => one.decode().then(() => one.naturalWidth)))")
    assert set(sizes) == {8}
    label = prepared.load(results_folder / "data/digits.npz").test.labels[flips[0]]
    assert f"Example {flips[0]}\nLabel: {label}\nA: {label}, B: " in page.locator("main").inner_text()
    assert page.errors == []


def test_a_point_and_a_bar_tell_their_values_to_the_pointer_and_to_the_focus(page):
    go(page, f"#cell/{CELL}")
    told = page.locator(".told")
    expect(told).to_be_hidden()
    chart = page.get_by_role("group", name="Accuracy by run")
    run = chart.get_by_role("link").first
    run.hover()
    expect(told).to_have_text(re.compile(r"^run [12]: [\d.]+ %$"))
    page.mouse.move(0, 0)
    expect(told).to_be_hidden()
    chart.get_by_role("img").focus()
    expect(told).to_have_text(re.compile(r"^mean [\d.]+, 95 % interval -?[\d.]+ to [\d.]+ %$"))
    page.keyboard.press("Tab")
    expect(told).to_have_text(re.compile(r"^run [12]: [\d.]+ %$"))
    page.keyboard.press("Escape")
    expect(told).to_be_hidden()
    assert page.errors == []


def test_a_curve_tells_the_nearest_epoch_and_goes_along_with_the_arrow_keys(page, results_folder):
    go(page, f"#cell/{CELL}")
    with (results_folder / "runs" / RUN / "history.csv").open() as file:
        history = list(csv.DictReader(file))
    chart = page.get_by_role("application", name=re.compile("^Test accuracy by epoch, 2 runs"))
    box = chart.bounding_box()
    told = page.locator(".told")
    page.mouse.move(box["x"] + 0.15 * box["width"], box["y"] + box["height"] / 2)
    expect(told).to_have_text(re.compile(r"^run [12], epoch 1: "))
    chart.focus()
    for _ in range(2):
        if told.inner_text().startswith("run 1,"):
            break
        page.keyboard.press("ArrowDown")
    expect(told).to_have_text(f"run 1, epoch 2: {float(history[1]['test_accuracy']):.4g}")
    page.keyboard.press("ArrowLeft")
    expect(told).to_have_text(f"run 1, epoch 1: {float(history[0]['test_accuracy']):.4g}")
    expect(page.locator("#said")).to_have_text(told.inner_text())
    page.mouse.move(0, 0)
    chart.blur()
    expect(told).to_be_hidden()
    assert page.errors == []


def test_the_examples_that_flip_most_often_sort_by_number(page):
    go(page, f"#cell/{CELL}")
    table = page.get_by_role("region", name="Examples that flip most often")
    expect(table.locator("tbody img")).not_to_have_count(0)
    often = table.locator("tbody td:last-child").all_inner_texts()
    assert set(often) == {"100"}, "two runs are one pair"
    table.get_by_role("button", name="Number").click()
    numbers = [int(one) for one in table.locator("tbody td:first-child").all_inner_texts()]
    assert numbers == sorted(numbers, reverse=True)


def search_for(page, text):
    page.get_by_role("searchbox", name="Search").fill(text)
    return arrived(page)


def test_search_finds_cells(page):
    search_for(page, "smallcnn-bn impl")
    page.get_by_role("link", name="smallcnn-bn on digits, cpu, IMPL", exact=True).click()
    expect(title(page)).to_have_text("smallcnn-bn on digits, cpu, IMPL")
    assert page.errors == []


def test_search_finds_measures_titles_claims_and_numbers(page):
    search_for(page, "churn")
    headings = page.get_by_role("heading", level=2).all_inner_texts()
    assert [one.partition(":")[0] for one in headings] == ["Measures", "Figures and tables", "Claims"]
    number = page.evaluate("decimal(S.cells[0].values.churn[0], 100, 2)")
    search_for(page, number)
    page.get_by_role("link", name=f"Churn {number} %").first.click()
    expect(title(page)).to_have_text(re.compile(", cpu"))
    search_for(page, "batch normalisation lowers churn")
    page.locator("section", has=page.get_by_role("heading", name=re.compile("^Claims"))).get_by_role(
        "link"
    ).first.click()
    expect(page.locator(".claim.chosen")).to_be_in_viewport()
    assert page.errors == []


@pytest.mark.parametrize("fragment", VIEWS)
def test_axe_finds_nothing_serious(opened, page_file, axe, fragment):
    for scheme in ("light", "dark"):
        page = arrived(opened(page_file, fragment, color_scheme=scheme))
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'] })")["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
        assert page.errors == []


@pytest.mark.parametrize("width", [420, 1400])
def test_nothing_is_wider_than_the_window(opened, page_file, width):
    for fragment in VIEWS:
        page = opened(page_file, fragment)
        page.set_viewport_size({"width": width, "height": 800})
        arrived(page)
        assert (fragment, page.evaluate("document.documentElement.scrollWidth") <= width) == (fragment, True)


def invented(chance, depth=4):
    """A JSON value with much that repeats itself, and with keys and texts that deceive."""
    texts = ["", "runs/a/1.csv", "runs/a/2.csv", "runs/b", "\U0001f600/x", "\U0001f600/y", "$same", "\ud800", "é"]
    kinds = [lambda: chance.choice(texts), lambda: chance.randrange(4), lambda: chance.choice([None, True, False])]
    kinds += [lambda: round(chance.gauss(0, 1), 3), lambda: 10.0 ** chance.randrange(-9, 19)]
    if depth:
        keys = ["a", "b", "$same", "$rows", "__proto__", "constructor", "c", "d"]
        one = chance.choice([*kinds, lambda: invented(chance, depth - 1)])
        kinds = [lambda: [one() for _ in range(chance.randrange(9))]]
        kinds += [lambda: {key: one() for key in keys[: chance.randrange(9)]}]
        shape = [lambda: chance.randrange(3), *(chance.choice([one, lambda: 1]) for _ in range(chance.randrange(4)))]
        kinds += [lambda: [[column() for column in shape] for _ in range(chance.randrange(12))]]
        kinds += [lambda: [dict(zip(keys, (column() for column in shape), strict=False)) for _ in range(6)]]
    return chance.choice(kinds)()


def test_what_is_packed_comes_back_as_it_was(page):
    chance = random.Random(0)
    values = [invented(chance) for _ in range(2000)]
    values += [[f"{chance.getrandbits(160):040x}" for _ in range(30)], [f"runs/of/{place}.csv" for place in range(30)]]
    text = json.dumps(packed(values))
    back = page.evaluate("text => JSON.stringify(unpacked(JSON.parse(text)))", text)
    plain = page.evaluate("text => JSON.stringify(JSON.parse(text))", json.dumps(values))
    assert back == plain
    # Every form was met.
    assert all(f'"{form}"' in text for form in FORMS)


def test_the_page_asks_the_network_for_nothing(opened, page_file):
    for fragment in VIEWS:
        page = arrived(opened(page_file, fragment))
        assert all(url.startswith("file:") for url in page.requests)
    assert not [url for url in page.requests if not url.startswith(page_file.parent.as_uri())]


def test_a_script_from_elsewhere_is_refused_by_the_page_itself(opened, page_file, tmp_path):
    file = tmp_path / "changed.html"
    file.write_text(page_file.read_text().replace("<noscript>", "<script>window.ran=1</script><noscript>"))
    page = opened(file)
    expect(title(page)).to_have_text(re.compile("^Trained again"))
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in error for error in page.errors)


def test_paper_has_the_tables_and_not_the_tools(page):
    go(page, "#cells")
    page.emulate_media(media="print")
    expect(rows(page).first).to_be_visible()
    expect(page.get_by_role("button", name="Copy as CSV").first).to_be_hidden()
    expect(page.get_by_role("search")).to_be_hidden()
