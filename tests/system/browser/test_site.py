"""The site of the docs that `make docs` made: it opens from disk, complete, searchable and without a network."""

import html
import re
import subprocess
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest
from playwright.sync_api import expect

from toolnoise.base.program import ROOT

SITE = ROOT / "dist/site"
LOADED = {"img": "src", "script": "src", "iframe": "src", "link": "href", "source": "src"}
# A page of each kind: the start, pages with wide code and tables, the reference, a study, a file, the search.
KINDS = (
    "README",
    "docs/engines",
    "docs/site/api",
    "docs/site/study",
    "docs/tables/coverage.txt",
    "docs/tables/intervals.txt",
    "search",
)


@pytest.fixture(scope="module")
def pages():
    """Each page of the docs, parsed; not those of the demo."""
    if not (SITE / "index.html").is_file():
        pytest.skip("no site: make docs")
    return {path: Parsed(path) for path in SITE.rglob("*.html") if not path.is_relative_to(SITE / "demo")}


class Parsed(HTMLParser):
    """The anchors of a page, its links, and what a browser loads for it."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links, self.loaded = set(), [], []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors.add(found.get("id"))
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
        # `rel` of a link that names another page loads nothing.
        if tag in LOADED and LOADED[tag] in found and found.get("rel") not in ("next", "prev", "search", "index"):
            self.loaded.append(found[LOADED[tag]])


def test_every_link_leads_to_a_page_and_a_heading_that_are_there(pages):
    broken, followed = [], 0
    for path, page in pages.items():
        for link in page.links:
            address = urlsplit(link)
            if address.scheme in ("http", "https"):
                continue
            to = (path.parent / unquote(address.path)).resolve() if address.path else path
            known = to in pages and (not address.fragment or unquote(address.fragment) in pages[to].anchors)
            if not known and not (to.is_file() and to not in pages):
                broken.append((path.relative_to(SITE).as_posix(), link))
            followed += 1
    assert broken == []
    assert followed > 1000


def test_nothing_is_loaded_from_elsewhere(pages):
    loaded = {(path, address) for path, page in pages.items() for address in page.loaded}
    assert len(loaded) > len(pages)
    for path, address in loaded:
        if not address.startswith("data:"):
            assert not urlsplit(address).scheme and not address.startswith("//"), (path, address)
            assert (path.parent / unquote(urlsplit(address).path)).is_file(), (path, address)
    sheets = [sheet for sheet in SITE.rglob("*.css") if not sheet.is_relative_to(SITE / "demo")]
    assert sheets
    for sheet in sheets:
        assert re.findall(r"""(?:@import\s+|url\()["']?(?:https?:)?//[^)]*""", sheet.read_text("utf-8")) == [], sheet


def test_the_navigation_is_the_table_of_goals(pages):
    table = (ROOT / "docs/README.md").read_text("utf-8")
    goals = [goal.capitalize() for goal in re.findall(r"^\| \*\*(.*)\*\* \| \|$", table, re.MULTILINE)]
    start = (SITE / "README.html").read_text("utf-8")
    assert re.findall(r'<span class="caption-text">(.*?)</span>', start) == ["Start", *goals]
    named = {f"docs/{page}.html" for page in re.findall(r"\]\(([\w-]+)\.md", table)}
    assert named <= {link.partition("#")[0] for link in pages[SITE / "README.html"].links}


def test_the_reference_has_every_function_with_its_docstring(pages):
    import toolnoise as tn

    text = html.unescape((SITE / "docs/site/api.html").read_text("utf-8"))
    anchors = pages[SITE / "docs/site/api.html"].anchors
    for name in {*tn.__all__} - {"__version__"}:
        assert f"toolnoise.{name}" in anchors
        assert getattr(tn, name).__doc__.split("\n")[0].split("`")[0].rstrip() in text


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("pages")
def test_a_page_asks_for_nothing_and_axe_finds_nothing_serious(opened, axe, kind):
    for scheme in ("light", "dark"):
        page = opened(SITE / f"{kind}.html", color_scheme=scheme)
        page.evaluate(axe)
        found = page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")["violations"]
        serious = [one for one in found if one["impact"] in ("serious", "critical")]
        assert [(one["id"], one["nodes"][0]["html"]) for one in serious] == []
        assert [url for url in page.requests if not url.startswith(("file:", "data:"))] == []
        assert page.errors == []
        for width in (420, 1400):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.usefixtures("pages")
def test_the_search_finds_pages_from_disk(opened):
    page = opened(SITE / "index.html")
    page.get_by_placeholder("Search").fill("jackknife")
    page.get_by_placeholder("Search").press("Enter")
    page.get_by_role("link", name=re.compile("^Measures and statistics")).last.click()
    expect(page.get_by_role("heading", level=1)).to_contain_text("statistics")
    assert page.errors == []


def test_a_broken_link_and_a_slip_of_the_pen_fail_the_build(tmp_path):
    if not (ROOT / ".environments/docs").exists():
        pytest.skip("no site: make docs")
    archive = subprocess.run(["git", "-C", ROOT, "archive", "HEAD"], capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x", "-C", tmp_path], input=archive, check=True)
    (tmp_path / ".environments").symlink_to(ROOT / ".environments")
    page = tmp_path / "docs/keep.md"
    text = page.read_text("utf-8")
    links = "[gone](no-such-page.md) [gone](check.md#no-such-heading) [gone](../workflow/no_such_file.py)"
    broken = ("no-such-page", "no-such-heading", "no_such_file")
    # Spelling is checked first.
    for added, said in ((links, broken), ("This is seperate.", ["seperate ==> separate"])):
        page.write_text(f"{text}\n{added}\n", "utf-8")
        command = ["make", "--old-file", ".environments/docs", "docs"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode != 0
        assert [words for words in (*said, "docs/keep.md") if words not in done.stdout + done.stderr] == []
