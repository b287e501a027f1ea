"""The page of a study: index.html with what everybody sees first, and data files with the rest.

The first view has the findings, the cells and the figures. Statements, tables, comparisons and each cell's runs are
data files that the page loads when somebody asks for them. In the results folder, the page shows the figures that lie
there; a page elsewhere takes copies along, so that its folder can be sent.
"""

import re
import shutil
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from toolnoise import steps
from toolnoise.analyses.claims import judging, sentences
from toolnoise.analyses.claims.judging import PUBLISHED, STUDY, WHOLE
from toolnoise.base import program
from toolnoise.base.errors import BadInput
from toolnoise.base.files import filling, read_bytes, write_text
from toolnoise.measures import control_gate
from toolnoise.metrics import declared
from toolnoise.pages import cells, compared, findings, tables
from toolnoise.record import anonymous, envelope, tree
from toolnoise.record.signing import AllowedSigners
from toolnoise.record.tree import Results, Tree
from toolnoise.steps import STEPS
from toolnoise.study import catalogue, layout
from toolnoise.study.catalogue import KINDS
from toolnoise.study.cells import Cell, Shown, Training, Whole
from toolnoise.study.figure import Figure
from toolnoise.study.kind import FIGURES
from toolnoise.study.study import Study
from toolnoise.training import runs
from toolnoise.verify.audit import examine
from toolnoise.verify.audit.examine import Audit
from toolnoise.verify.page import page as audit_page
from toolnoise.verify.page.document import assembled, part
from toolnoise.verify.share import unsafe

WEB = Path(__file__).parent / "web"
SCRIPTS = (
    *audit_page.VIEWS,
    *(WEB / name for name in ("pointing.js", "charts.js", "tables.js", "study.js", "runs.js", "going.js")),
)
# Metric files that have a place of their own on the page, or one row per step.
NO_TABLE = ("stability", "runs", "convergence", "growth", "counts")


class Page:
    """What a page is made from: a study's results, its audit, and the names that it must not have."""

    def __init__(self, root: Path, signers: AllowedSigners | None = None) -> None:
        """Read and audit a results folder, without the page that it may have."""
        found = tree.load_study(root)
        if found.study is None:
            raise BadInput(root, "", "has no study.json that can be read", "the results folder of one study")
        self.root, self.study = root, found.study
        made = found.producer(found.study.path(layout.PAGE))
        # A page cannot have the digest of its own statement: one that is written elsewhere names that in the results.
        self.chain = made.sha256 if made and made.statement.chain is not None else ""
        self.own = {name for name, _ in steps.outputs_at(steps.ROOT, self.study, Whole())}
        self.tree = _without(found, self.own)
        audited = examine.examine(Results(root, (self.tree,), ()), signers=signers)
        # While the page is written, it is not there; that is no finding.
        self.audit: Audit = audited._replace(
            findings=tuple(one for one in audited.findings if one.artifact not in self.own)
        )
        self.signers = signers

    def file(self, name: str) -> Path:
        """Where a file of the study lies, by its name in statements."""
        return self.root / Path(name).relative_to(f"{tree.RESULTS}/{self.study.name}")

    def inside(self, name: str) -> str:
        """A file's address on the page."""
        return Path(name).relative_to(f"{tree.RESULTS}/{self.study.name}").as_posix()

    def has(self, name: str) -> bool:
        """Whether a file of the study is there; an unfinished study, or one of older code, lacks some."""
        return self.inside(name) in self.tree.files

    @property
    def figures(self) -> list[Figure]:
        """The figures and tables that are there, in the order of their categories."""
        made = (one for one in self.study.figures if self.has(steps.result("render", self.study, Shown(one.name))))
        return sorted(made, key=lambda one: KINDS[one.notebook].category)


def show(
    study: str,
    shows: Sequence[str],
    gates: Sequence[str],
    logits: Sequence[str],
    data: Sequence[str],
    parts: Sequence[str],
    out: str | Path,
    out_statements: str | Path,
    out_tables: str | Path,
    out_compared: str | Path,
) -> None:
    """Write the page of a study into its results; the lists are the files that it is made from, found by the study."""
    del shows, gates, logits, data, parts
    page = Page(Path(tree.RESULTS) / study)
    # All is made before anything is written: a file that is refused leaves the old page as it was.
    made = {
        out_statements: part("statements", statements(page)),
        out_tables: part("tables", all_tables(page)),
        out_compared: part("compared", all_compared(page)),
        out: document(first(page, f"../../logs/{study}")),
    }
    for path, text in made.items():
        write_text(path, text)


def publish(
    results: str | Path,
    out: str | Path,
    hide: bool = False,
    signers: AllowedSigners | None = None,
    no_credentials: Collection[str] = (),
) -> tuple[int, list[str]]:
    """Write a study's page into a folder of its own, with what it links to; the number of files, and those left out.

    With `hide`, no host, user, path of a machine or credential is in it; a file that names one is left out.
    """
    root, out = Path(results).absolute(), Path(out)
    if out.resolve().is_relative_to(root.resolve()):
        raise BadInput("command line", "--out", f"{out} lies in the results", "a folder outside of them")
    if out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput("command line", "--out", f"{out} is not empty", "a new folder")
    page = Page(root, signers)
    if not hide:
        unsafe.refuse(((path, root / path) for path in page.tree.files), no_credentials)
    names = anonymous.secrets(page.tree) if hide else set()
    plain: Callable[[Any], Any] = (lambda value: anonymous.without(value, names)) if hide else lambda value: value
    with filling(out) as folder:
        copied, left_out = _copied(page, folder, names if hide else None)
        block = plain(first(page, "")) | {"left_out": left_out}
        if page.chain:
            block["audit"]["says"].append(f"Root of the statements: {page.chain}")
        write_text(folder / "page/statements.js", part("statements", plain(statements(page))))
        write_text(folder / "page/tables.js", part("tables", plain(all_tables(page))))
        write_text(folder / "page/compared.js", part("compared", plain(all_compared(page))))
        for cell in page.study.cells:
            if found := _cell(page, cell):
                write_text(folder / f"page/{cells.name(cell)}.js", part(cells.name(cell), plain(found)))
        write_text(folder / "index.html", document(block))
        if hide:
            made = (path for path in folder.rglob("*") if path.is_file())
            unsafe.refuse(((path.relative_to(folder).as_posix(), path) for path in made), no_credentials)
    return copied + 4 + len(page.study.cells), left_out


def document(block: Mapping[str, Any]) -> str:
    """The page, as HTML."""
    return assembled(WEB / "study.html", [audit_page.STYLE, WEB / "study.css"], SCRIPTS, block, parts=True)


# What the page has


def first(page: Page, logs: str) -> dict[str, Any]:
    """The block of index.html: what the first view shows."""
    study = page.study
    stability = study.path(layout.COLLECTED, file="stability")
    found = findings.cells(str(page.file(stability))) if page.has(stability) else {}
    gates = {cell: _gate(page, cell) for cell in study.controls}
    return {
        "study": study.name,
        "findings": list(findings.sentences(found, gates, study.emulated())),
        "facts": list(_facts(page, found)),
        "audit": {
            "clean": page.audit.is_clean(False),
            "slim": page.audit.slim,
            "findings": len(page.audit.findings),
            "stale": len(page.audit.stale),
            "says": [str(page.audit.coverage), *page.audit.notes, _signed(page)],
        },
        "emulated": list(study.emulated()),
        "measures": {name: list(one) for name, one in declared.labels().items()},
        "of_runs": {name: list(one) for name, one in declared.OF_RUNS.items()},
        "usual": list(declared.USUAL),
        "cells": [
            {
                "cell": list(cell),
                "seeds": list(study.seeds[cell]),
                "equal": gates.get(cell),
                "values": {
                    name: [*map(cells.number, rows[name][:3]), *rows[name][3:]]
                    for name in declared.labels()
                    if name in rows
                },
            }
            for cell, rows in found.items()
            if cell in study.seeds
        ],
        "figures": list(_figures(page)),
        "claims": list(_claims(page)),
        "pairs": len(compared.pairs(study.cells)),
        "logs": logs,
        "left_out": [],
    }


def statements(page: Page) -> dict[str, Any]:
    """The audit's page: every file, every statement and the findings."""
    return audit_page.data(page.audit, strict=False)


def all_tables(page: Page) -> dict[str, Any]:
    """Every table of a notebook, and the metric files that have no other place on the page."""
    shown = {
        figure.name: tables.rendered(page.file(f"{page.study.path(layout.FIGURE, figure=figure.name)}.html"))
        for figure in page.figures
        if KINDS[figure.notebook].category != FIGURES
    }
    kinds = steps.collected(page.study)
    for kind, name in kinds.items():
        if kind not in NO_TABLE and page.has(name):
            shown[f"metrics-{kind}"] = tables.measured(page.file(name), f"metrics/{Path(name).name}")
    return shown


def all_compared(page: Page) -> list[dict[str, object]]:
    """The verdicts on all pairs of cells that make sense."""
    dumps = {cell: page.study.path(layout.LOGITS, cell) for cell in page.study.cells}
    sets = {dataset: page.study.path(layout.DATA, dataset=dataset) for dataset in page.study.datasets}
    logits, data = (
        {key: str(page.file(name)) for key, name in some.items() if page.has(name)} for some in (dumps, sets)
    )
    named = f"{page.root}/"
    return [
        found | {"text": str(found["text"]).replace(named, f"{tree.RESULTS}/{page.study.name}/")}
        for found in compared.verdicts(compared.pairs(page.study.cells), logits, data)
    ]


def _cell(page: Page, cell: Cell) -> dict[str, Any] | None:
    """A cell's part, from what is there; None without any run. Its job has the same from the files that it is given."""
    study = page.study
    records = [page.file(name) for name in study.runs(layout.RECORD, cell)]
    found = [runs.read(record) for record in records if record.is_file()]
    metrics, values = (
        page.file(study.path(STEPS["measure"].writes[option].pattern, cell)) for option in ("out", "out-runs")
    )
    if not found or not (metrics.is_file() and values.is_file()):
        return None
    points = STEPS["show-cell"].parameters(study, cell)["points"]
    block = cells.about(found, points, metrics, values)
    logits, index = (page.file(study.path(pattern, cell)) for pattern in (layout.LOGITS, layout.PREDICTIONS))
    data = page.file(study.path(layout.DATA, dataset=cell.dataset))
    if not all(path.is_file() for path in (logits, index, data, *(run.folder / "weights.npz" for run in found))):
        return block | {"partings": [], "examples": [], "pictures": {}}
    return block | cells.compared(found, points, data, logits, index)


def _gate(page: Page, cell: Cell) -> bool | None:
    path = page.file(page.study.path(layout.GATE, cell))
    return control_gate.verdict(path) if path.is_file() else None


def _facts(page: Page, found: Mapping[Cell, findings.Rows]) -> Iterator[tuple[str, list[str]]]:
    """What ran where, how much of it, and what is emulated: each a label and its lines."""
    study = page.study
    yield "Runs", [_counted(study, found)]
    absent = [one.name for one in study.figures if one not in page.figures]
    if absent:
        yield "Not made yet", [", ".join(absent)]
    yield "Ran on", list(_machines(page))
    emulated = [name for name in study.emulated() if any(cell.hardware == name for cell in study.cells)]
    if emulated:
        yield "Emulated", [f"implementation noise on {', '.join(emulated)}: each batch is added up in another order"]


def _counted(study: Study, found: Mapping[Cell, findings.Rows]) -> str:
    planned = sum(map(len, study.seeds.values()))
    means = [next(iter(rows.values())) for rows in found.values()]
    finished, missing = sum(row[3] for row in means), sum(row[4] for row in means)
    lost = f", {missing} missing (diverged)" if missing else ", none missing"
    return f"{finished} of {planned} runs in {len(found)} cells{lost}"


def _machines(page: Page) -> Iterator[str]:
    """Each tooling with the number of its runs, what computed them and on how many machines."""
    seen: dict[str, list[Mapping[str, Any]]] = {}
    for stated in page.tree.statements:
        if STEPS[stated.statement.verb].where.place is Training:
            name = stated.statement.parameters["spec"]["hardware"]["name"]
            seen.setdefault(name, []).append(stated.statement.observed)
    for name, observed in seen.items():
        devices = sorted({str(one.get("cpu") if one.get("device") == "cpu" else one.get("device")) for one in observed})
        hosts = {str(one.get("host")) for one in observed}
        frameworks = sorted({_framework(one) for one in observed})
        machines = f"{len(hosts)} machine{'s' if len(hosts) > 1 else ''}"
        yield f"{name}: {len(observed)} runs on {', '.join(devices)}; {', '.join(frameworks)}; {machines}"


def _framework(observed: Mapping[str, Any]) -> str:
    versions = observed.get("versions") or {}
    return next((f"{name} {versions[name]}" for name in ("tensorflow", "jax", "torch") if name in versions), "NumPy")


def _signed(page: Page) -> str:
    """How many statements are signed; whose signatures are valid is known only with a list of people."""
    paths = [page.root / one.path for one in page.tree.statements]
    if page.signers:
        valid = ", ".join(f"{count} by {name}" for name, count in page.audit.signers.items())
        return f"Signatures verified: {valid or 'none'} of {len(paths)} statements"
    signed = sum(bool(envelope.unpack(read_bytes(path), path).signatures) for path in paths)
    return (
        f"{signed} of {len(paths)} statements are signed; the signatures were not verified here"
        if signed
        else "Not signed: no statement has a signature"
    )


def _figures(page: Page) -> Iterator[dict[str, Any]]:
    """Every figure and table: its caption, its files by format, its data and its notebook."""
    collected = steps.collected(page.study) | {"claims": page.study.path(layout.CLAIMS)}
    for figure in page.figures:
        kind = KINDS[figure.notebook]
        stem = page.inside(page.study.path(layout.FIGURE, figure=figure.name))
        yield {
            "name": figure.name,
            "picture": kind.category == FIGURES,
            "caption": caption(figure.notebook, page.study.name),
            "files": {suffix: f"{stem}.{suffix}" for suffix in kind.formats},
            "data": [page.inside(collected[name]) for name in steps.shown(page.study, figure)],
            "notebook": page.inside(page.study.path(layout.NOTEBOOK, figure=figure.name)),
        }


def caption(kind: str, study: str) -> str:
    """The caption of a kind of figures, without the marks of reStructuredText and with the study's name."""
    text = program.path_of(catalogue.caption_of(kind)).read_text("utf-8")
    text = text.replace('{{ snakemake.config["study"] }}', study)
    text = re.sub(r"`([^`<]+) <[^>]+>`_", r"\1", text)
    return " ".join(re.sub(r"``|(?<!\w)\*|\*(?!\w)", "", text).split())


def _claims(page: Page) -> Iterator[dict[str, Any]]:
    """The verdicts on claims, by paper: here, and on the published numbers."""
    path = page.file(page.study.path(layout.CLAIMS))
    if not path.is_file():
        return
    whole = judging.read(path)
    whole = whole[whole["part"] == WHOLE]
    published = whole[whole["side"] == PUBLISHED].set_index("claim")
    for paper, mine in whole[whole["side"] == STUDY].groupby("paper", sort=False):
        yield {
            "paper": paper,
            "claims": [
                {
                    "says": row.says,
                    "verdict": row.verdict,
                    "here": sentences.sentence(row),
                    "published": sentences.sentence(published.loc[row.claim], short=True)
                    if row.claim in published.index
                    else "",
                }
                for row in mine.itertuples()
            ],
        }


def _copied(page: Page, out: Path, names: set[str] | None) -> tuple[int, list[str]]:
    """Copy what the page links to; with `names`, nothing that has one of them. The number copied, and what was not."""
    wanted: dict[str, None] = {}
    for figure in _figures(page):
        wanted |= dict.fromkeys([*figure["files"].values(), *figure["data"], figure["notebook"]])
    wanted |= dict.fromkeys(map(page.inside, steps.summaries(page.study)))
    copied, left_out = 0, []
    for name in wanted:
        source = page.root / name
        if not source.is_file() or (names is not None and anonymous.names_somebody(read_bytes(source), names)):
            left_out.append(name)
            continue
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / name)
        copied += 1
    return copied, left_out


def _without(found: Tree, own: Iterable[str]) -> Tree:
    """The results without some files and their statements."""
    paths = {path for name in own if (path := found.inside(name))}
    kept = tuple(
        one for one in found.statements if not paths & {found.inside(each.name) for each in one.statement.outputs}
    )
    gone = paths | {one.path for one in found.statements if one not in kept}
    return replace(
        found,
        files={path: size for path, size in found.files.items() if path not in gone},
        statements=kept,
        producers={path: made for path, made in found.producers.items() if path not in paths},
    )
