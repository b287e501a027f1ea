"""A browser, and pages to look at: those of TOOLNOISE_RESULTS, if it names a study's results, or the small study's."""

import os
import shutil
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

CHROMIUM = shutil.which("chromium")
# No background traffic: the page must need no network, and the browser is not to look for one.
QUIET = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
QUIET += ["--disable-sync", "--no-first-run"]


@pytest.fixture(scope="session")
def browser():
    """A headless Chromium."""
    assert CHROMIUM, "no chromium on this machine: apt-get install chromium"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def opened(browser):
    """Open a file in a window of its own; what its console calls errors is kept, and so is what it asks for."""
    pages = []

    def open_file(file, fragment="", **options):
        page = browser.new_page(viewport={"width": 1300, "height": 800}, **options)
        pages.append(page)
        page.errors, page.requests = [], []
        page.on("console", lambda message: message.type == "error" and page.errors.append(message.text))
        page.on("pageerror", lambda error: page.errors.append(str(error)))
        page.on("request", lambda request: page.requests.append(request.url))
        page.set_default_timeout(60_000)
        page.goto(f"{Path(file).as_uri()}{fragment}")
        return page

    yield open_file
    for page in pages:
        page.close()


@pytest.fixture(scope="session")
def results_folder(request):
    """The results of a study; nobody changes them."""
    given = os.environ.get("TOOLNOISE_RESULTS")
    return Path(given).resolve() if given else request.getfixturevalue("small_study") / "results/small"


@pytest.fixture(scope="session")
def axe():
    """The script of axe-core, which `npm ci --prefix tests/system/browser` installs from its lock."""
    script = Path(__file__).parent / "node_modules/axe-core/axe.min.js"
    if not script.is_file():
        pytest.skip("no axe-core: npm ci --prefix tests/system/browser")
    return script.read_text()
