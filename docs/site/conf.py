"""How Sphinx makes a site of the Markdown pages as they are: `make docs`.

Pages keep the paths that they have in the repository, so links work here as they do on a forge. The navigation is the
table of docs/README.md. Tables and source files that pages link become pages of their own. A broken link is an error.
"""

import os
import re
import shutil
import sys
from pathlib import Path

from docutils import nodes
from markdown_it import MarkdownIt
from sphinx import addnodes
from sphinx.highlighting import PygmentsBridge

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT / "workflow"))

project = "toolnoise"
project_copyright = "toolnoise's authors"
extensions = ["myst_parser", "sphinx.ext.autodoc"]
root_doc = "README"
include_patterns = [
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "config/README.md",
    "docs/*.md",
    "docs/site/*.rst",
]
# Nothing else of the repository is looked through.
exclude_patterns = sorted({path.name for path in ROOT.iterdir() if path.is_dir()} - {"config", "docs"})

myst_heading_anchors = 6
# The reference is of docstrings and signatures: what the package imports need not be installed.
autodoc_mock_imports = ["jsonschema", "matplotlib", "pandas", "scipy", "yaml"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
smartquotes = False
suppress_warnings = ["misc.highlighting_failure"]  # forges draw Mermaid, the site shows its text
default_role = "code"  # docstrings have `code`, as Markdown has it

html_theme = "furo"
html_title = "toolnoise"
html_extra_path = ["index.html"]
html_copy_source = False
html_use_index = False
html_domain_indices = False
html_show_sourcelink = False
html_show_search_summary = False  # the search would load each page, which a browser refuses for files

# The page of the demo is shown if somebody has made it.
if (ROOT / "results/demo/index.html").is_file():
    tags.add("demo")  # noqa: F821

START = ["docs/README", "docs/ten-minutes", "docs/site/study"]
# What the table does not have: the site's own page, and pages that others link.
BESIDES = {
    "Decide": ["docs/site/api"],
    "Measure": ["config/README"],
    "Change the program": ["CHANGELOG", "SECURITY"],
}
LEXERS = {".cff": "yaml", ".json": "json", ".py": "python", ".yaml": "yaml", ".yml": "yaml"}


def goals():
    """The pages for each goal of docs/README.md; a page with several goals stands at the first."""
    found, seen = {"Start": START}, {root_doc, *START}
    for line in (ROOT / "docs/README.md").read_text("utf-8").splitlines():
        if head := re.fullmatch(r"\| \*\*(.*)\*\* \| \|", line):
            goal = head[1].capitalize()
            found[goal] = []
        elif line.startswith("| "):
            for link in re.findall(r"\]\(([^)#]+)\.md[)#]", line):
                page = os.path.normpath(f"docs/{link}")
                if page not in seen:
                    found[goal].append(page)
                    seen.add(page)
    return {goal: [*pages, *BESIDES.get(goal, [])] for goal, pages in found.items()}


def add_navigation(_app, page, text):
    """README.md has no list of pages for Sphinx: it gets that of the goals."""
    if page == root_doc:
        for goal, pages in goals().items():
            listed = "\n".join(f"/{one}" for one in pages)
            text[0] += f"\n```{{toctree}}\n:caption: {goal}\n:hidden:\n\n{listed}\n```\n"


# The files that pages link, filled while pages are read: every build reads all of them (`sphinx-build -E`).
linked = set()


def link_files(app, tree):
    """A linked file is shown in the browser, where Sphinx would download it."""
    folder = Path(app.env.docname).parent
    for node in list(tree.findall(addnodes.download_reference)):
        path = os.path.normpath(folder / node["reftarget"])
        linked.add(path)
        there = os.path.relpath(path, folder) + ("" if is_picture(path) else ".html")
        node.replace_self(nodes.reference("", "", *node.children, internal=True, refuri=there))


def file_pages(app):
    """A page for each linked file; pictures are copied."""
    for path in sorted(linked):
        if is_picture(path):
            place = Path(app.outdir, path)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / path, place)
        else:
            shown = as_html(path, (ROOT / path).read_text("utf-8"))
            yield path, {"title": path, "body": f"<h1>{path}</h1>\n{shown}"}, "page.html"


def as_html(path, text):
    """A text with tables in Markdown as tables, another one as it is, as wide as the window."""
    in_columns = re.search(r"^[^|\n]*\S {3,}\S", text, re.MULTILINE)
    if "\n|---" in text and not in_columns:
        tables = MarkdownIt().enable("table").render(text)
        head = '<div class="table-wrapper container"><table class="docutils">'
        return tables.replace("<table>", head).replace("</table>", "</table></div>")
    shown = PygmentsBridge().highlight_block(text, LEXERS.get(Path(path).suffix, "text"))
    return f"<style>.main, .content {{ box-sizing: border-box; min-width: 0; width: 100% }}</style>\n{shown}"


def is_picture(path):
    return path.endswith(".png")


def make_accessible(_app, _page, _template, context, _tree):
    """What axe-core finds in the theme: wide texts and tables that no key can scroll, and headings without a level."""
    if "body" in context:
        body = context["body"].replace("<pre>", '<pre tabindex="0">')
        context["body"] = body.replace('<div class="table-wrapper', '<div tabindex="0" class="table-wrapper')
    context["furo_navigation_tree"] = context["furo_navigation_tree"].replace(
        'role="heading"', 'role="heading" aria-level="2"'
    )


def setup(app):
    app.connect("source-read", add_navigation)
    app.connect("doctree-read", link_files, priority=400)  # before Sphinx notes what to copy for downloads
    app.connect("html-collect-pages", file_pages)
    app.connect("html-page-context", make_accessible, priority=900)  # after the theme
