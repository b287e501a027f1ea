"""Snakemake's report in a real headless Chromium: table 2 is first, figures and tables open, the console is quiet."""

import pytest


@pytest.fixture
def page(opened, report_file):
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


def test_table_2_is_the_first_result_and_the_files_are_the_last(page):
    listed = page.locator("li").all_inner_texts()
    first = listed.index("RESULTS") + 1
    # Category 4 has published numbers, of which the small study has run none.
    categories = ["1 Table 2: accuracy", "2 Figures", "3 Further tables", "5 Metric files"]
    assert listed[first : first + 4] == categories
    assert page.get_by_text("how much of a trained network is noise").is_visible()
    assert page.errors == []


def test_a_figure_opens_at_a_size_to_read(page):
    box = show(page, "2 Figures", "noise_by_source-cpu").bounding_box()
    assert box["width"] > 300
    assert box["height"] > 150
    assert page.errors == []


def test_table_2_opens_with_its_numbers(page):
    show(page, "1 Table 2: accuracy", "table2")
    cells = [text for frame in page.frames for text in frame.locator("td").all_inner_texts()]
    assert any("±" in text for text in cells)
    assert page.errors == []


def test_a_further_table_opens_with_its_numbers(page):
    show(page, "3 Further tables", "table4")
    (table,) = [frame for frame in page.frames if frame.locator("caption").count()]
    assert "1,297" in table.locator("tbody tr").first.inner_text()
    assert page.errors == []
