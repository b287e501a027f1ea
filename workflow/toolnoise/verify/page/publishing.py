"""A study's page in a folder of its own, to send or to publish: made anew from results, with all that it links to."""

import shutil
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from toolnoise import steps
from toolnoise.base.errors import BadInput
from toolnoise.base.files import filling, read_bytes, write_text
from toolnoise.pages import cell_page, study_page
from toolnoise.pages.document import document, part
from toolnoise.pages.study_page import Page
from toolnoise.steps import PAGE, STEPS
from toolnoise.study import layout
from toolnoise.study.cells import Cell, Whole
from toolnoise.training import runs
from toolnoise.verify import anonymous, credentials, tree
from toolnoise.verify.page import of_audit
from toolnoise.verify.signing import AllowedSigners
from toolnoise.verify.tree import Tree


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
    loaded = tree.load_study(root)
    if loaded.study is None:
        raise BadInput(root, "", "has no study.json that can be read", "the results folder of one study")
    page_files = {name for name, _ in steps.outputs_at(steps.ROOT, loaded.study, Whole())}
    # In earlier results the page's own job showed the statements.
    if made := loaded.producer(loaded.study.path(layout.STATEMENTS)):
        page_files |= {output.name for output in made.statement.outputs}
    audit = of_audit.audited(loaded, page_files, signers)
    (kept,) = audit.results.trees
    if not hide:
        credentials.refuse(((path, root / path) for path in kept.files), no_credentials)
    names = anonymous.secrets(kept) if hide else set()
    plain: Callable[[Any], Any] = (lambda value: anonymous.without(value, names)) if hide else lambda value: value
    page = Page(**STEPS[PAGE].parameters(loaded.study, Whole()), files={path: root / path for path in kept.files})
    with filling(out) as folder:
        copied, left_out = _copied(page, loaded, folder, names if hide else None)
        verdict = of_audit.verdict(audit, signers) | {"left_out": left_out}
        if loaded.top:
            # The audit in the results cannot have the digest of its own statement.
            verdict["says"].append(f"Root of the statements: {loaded.top.sha256}")
        parts = {
            "audit": verdict,
            "statements": of_audit.data(audit, strict=False),
            "tables": study_page.all_tables(page),
        }
        parts |= {cell_page.name(cell): block for cell in loaded.study.cells if (block := _cell(loaded, cell))}
        for name, block in parts.items():
            write_text(folder / f"page/{name}.js", part(name, plain(block)))
        write_text(folder / "index.html", document(plain(study_page.first(page, ""))))
        if hide:
            made = (path for path in folder.rglob("*") if path.is_file())
            credentials.refuse(((path.relative_to(folder).as_posix(), path) for path in made), no_credentials)
    return copied + 1 + len(parts), left_out


def _cell(loaded: Tree, cell: Cell) -> dict[str, Any] | None:
    """A cell's part, from what is there; None without any run. Its job has the same from the files that it is given."""
    given = STEPS["show-cell"].given(loaded.study, cell)

    def path(name: str) -> Path:
        return loaded.root / loaded.inside(name)

    records = [runs.read(path(name)) for name in given["records"] if path(name).is_file()]
    metrics, values = path(given["metrics"]), path(given["values"])
    logits, index, data = path(given["logits"]), path(given["index"]), path(given["data"])
    if not records or not (metrics.is_file() and values.is_file()):
        return None
    points = STEPS["show-cell"].parameters(loaded.study, cell)["points"]
    block = cell_page.about(records, points, metrics, values)
    if not all(path.is_file() for path in (logits, index, data, *(run.folder / "weights.npz" for run in records))):
        return block | {"partings": [], "examples": [], "flipping": [], "pictures": {}}
    return block | cell_page.compared(records, points, data, logits, index)


def _copied(page: Page, loaded: Tree, out: Path, names: set[str] | None) -> tuple[int, list[str]]:
    """Copy what the page links to; with `names`, nothing that has one of them. The number copied, and what was not."""
    wanted: dict[str, None] = {}
    for figure in page.shown:
        wanted |= dict.fromkeys([*dict(figure["files"]).values(), *figure["data"], figure["notebook"]])
        wanted |= dict.fromkeys(filter(None, [study_page.narrow_form(figure, page)]))
    wanted |= dict.fromkeys(str(loaded.inside(name)) for name in steps.summaries(loaded.study))
    left_out = []
    for name in wanted:
        source = loaded.root / name
        if not source.is_file() or (names is not None and anonymous.names_somebody(read_bytes(source), names)):
            left_out.append(name)
            continue
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, out / name)
    return len(wanted) - len(left_out), left_out
