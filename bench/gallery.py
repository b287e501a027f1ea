"""The gallery of figures in docs: one picture of each kind, drawn by this code from studies that have run.

    .venv/bin/python bench/gallery.py [STUDY ...] [--only KIND ...]

Each kind is drawn from the first of the studies that has it, from its metric files under results/STUDY or, if that is
not there, evidence/STUDY.tar.xz: nothing is trained or measured. Without arguments, every picture of docs/ is drawn:
those of the gallery and those of other pages. A study without metric files is named, and its pictures stay as they
are; a kind that none of the studies can feed has no picture. `docs/gallery/drawn-by.json` keeps the digest of the code
that drew each picture of the gallery, which tests/unit/test_docs.py compares with the code that is there.
`bench/titles.py` prints what the titles say beside the numbers behind them.
"""

import argparse
import atexit
import functools
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np
from PIL import Image

from toolnoise.base import code_digest, code_text, program
from toolnoise.base.files import write_text
from toolnoise.figures import render
from toolnoise.record import unpacked
from toolnoise.steps import whole
from toolnoise.study import catalogue, grid
from toolnoise.study.cells import Shown
from toolnoise.study.study import Figure, Study

STUDIES = (
    "demo",
    "frameworks-small",
    "rarity-unlike",
    "growth-small",
    "sources-small",
    "atlas-small",
    "invariances-small",
    "language-small",
)
RESULTS, KEPT = "results", "evidence/{}.tar.xz"
DOCS = program.ROOT / "docs"
# Pictures of other pages that the gallery does not have: the study and its figure.
ELSEWHERE = {
    "atlas-smallcnn-bn": ("atlas-small", "atlas-smallcnn-bn-digits"),
    "cifar10-pictures-authors": ("cifar10-pictures-authors", "batch_norm-cpu"),
    "cifar10-pictures-batch_norm": ("gpu-h100", "batch_norm-h100-torch"),
    "gpu-cost": ("gpu-cost-h200", "overhead-kernel-size"),
    "gpu-kernels": ("gpu-h100", "kernels-h100-torch"),
    "gpu-noise_by_source": ("gpu-h100", "noise_by_source-h100-torch"),
    "growth-smallcnn-bn": ("growth-small", "growth-smallcnn-bn-digits"),
    "rarity": ("rarity", "rarity-cpu-smallcnn"),
}
PICTURES = DOCS / "gallery"
DIGESTS = PICTURES / "drawn-by.json"
EXACT = 64  # of the 256 colours of a picture
# Drawn by a script of its own from a table.
BY_SCRIPT = {"gpu-matrix": ("bench/gpu_matrix_figure.py", "docs/tables/gpu-matrix.json")}
# What each kind of figure shows, in one sentence and in the order of the page.
SENTENCES = {
    "noise_by_source": "Noise by the sources that may vary; a small dot is a run.",
    "batch_norm": "The same model without and with batch normalisation.",
    "across_toolings": "Noise within each tooling, and between two for the same run.",
    "frameworks": "The same run on two frameworks, next to another run on one of them.",
    "framework_parts": "Whether two frameworks differ in inference or in training.",
    "per_class": "The SD of each class's accuracy, next to that of independent errors and that of all classes.",
    "subgroups": "The SD of each sub-group over that of all, on the range that its size explains.",
    "rarity": "A group's noise against its share of the training set.",
    "order": "Noise of the order of the data alone, by batch size.",
    "ensembles": "Noise that is left after averaging the logits of several runs.",
    "kernels": "The twenty longest kernels of a training step, by default and deterministic.",
    "overhead": "Time of a step with determinism over its time without; hollow: not significant.",
    "cost_of_control": "What determinism costs against the share of churn that it removes, a point per network.",
    "claims": "Claims of the papers, with verdicts by the published numbers and by this study.",
    "growth": "The distance between two runs from one start, step by step.",
    "language": "Language models by source: perplexity, next tokens, and what runs write.",
    "layers": "How alike two runs represent the same examples, layer by layer.",
    "one_bit": "Noise of one bit of one weight, by the epoch in which it is changed.",
    "atlas": "Churn between every two toolings, and what each part changes, in units of a new seed.",
    "invariances": "One training computed in other ways, in units of a new seed.",
}
# Pictures that show implementation noise of a CPU, which is emulated: those with a dagger.


def drawn_by(kind: str) -> str:
    """The digest of the code that draws figures of a kind: its notebook and the drawing modules that it uses."""
    notebook = catalogue.notebook_of(kind)
    code, rest = code_text.notebook(program.path_of(notebook).read_bytes())
    names = [name for name in code_digest.sources(*code_digest.imports_of(notebook)) if is_drawing(name)]
    modules = [code_digest.read(program.path_of(name)).text for name in names]
    said = [rest, code_digest.text_of(code).digest, *sorted(text.digest for text in modules if text)]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()


def is_drawing(name: str) -> bool:
    """Whether a module draws: one of the room of figures, or an analysis' own."""
    return "/figures/" in name or name.endswith(("/draw.py", "/titles.py", "/upright.py"))


@functools.cache
def folder_of(name: str) -> Path:
    """The folder of a study's results: that of what has run here or, until this program ends, of what is kept."""
    here, kept = Path(RESULTS, name), Path(KEPT.format(name))
    if not kept.exists() or (here / "study.json").exists():
        return here
    reading = ExitStack()
    atexit.register(reading.close)
    return reading.enter_context(unpacked.opened(kept))[0]


def has_metrics(name: str) -> bool:
    """Whether there are metric files of a study."""
    return (folder_of(name) / "study.json").exists()


def found(name: str) -> Study:
    """A study with its metric files."""
    return grid.load(folder_of(name) / "study.json")


def planned(name: str) -> tuple[str, ...]:
    """The kinds of figures that a study has or, without metric files, would have."""
    return (
        found(name) if has_metrics(name) else grid.load(program.ROOT / f"workflow/studies/{name}.yaml")
    ).figure_kinds


@contextmanager
def drawn(study: Study, figure: Figure) -> Iterator[Path]:
    """A figure of a study, drawn from its metric files: the path of its PNG."""
    drawing = whole.ROWS["render"].parameters(study, Shown(figure.name))
    there, shown = str(folder_of(study.name).parent), whole.shown(study, figure).items()
    read = [[kind, *(file.replace(RESULTS, there, 1) for file in files)] for kind, files in shown]
    with tempfile.TemporaryDirectory() as scratch:
        files = [f"{scratch}/figure.{suffix}" for suffix in catalogue.KINDS[figure.notebook].suffixes]
        render.render(read=read, out=files, executed=f"{scratch}/figure.ipynb", **drawing)
        yield Path(f"{scratch}/figure.png")


def small(picture: Image.Image) -> Image.Image:
    """The picture with 256 colours: its most frequent ones exactly, and others that are near to all of its own.

    So a pale band stays grey, and a map keeps its shades.
    """
    picture = picture.convert("RGB")
    pixels = np.asarray(picture)
    colours, places, counts = np.unique(pixels.reshape(-1, 3), axis=0, return_inverse=True, return_counts=True)
    frequent = colours[np.argsort(-counts, kind="stable")[:EXACT]]
    near = picture.quantize(256 - EXACT, Image.Quantize.MAXCOVERAGE).getpalette()[: 3 * (256 - EXACT)]
    palette = np.concatenate([frequent, np.reshape(near, (-1, 3))]).astype(int)
    nearest = np.square(colours[:, np.newaxis].astype(int) - palette).sum(axis=2).argmin(axis=1).astype(np.uint8)
    found = Image.fromarray(nearest[places].reshape(pixels.shape[:2]))
    found.putpalette(palette.astype(np.uint8).tobytes())
    return found


def draw(study: Study, figure: Figure, out: Path) -> None:
    """Draw a figure of a study from its metric files."""
    with drawn(study, figure) as path, Image.open(path) as picture:
        small(picture).save(out, optimize=True)


def draw_kind(study: Study, kind: str) -> bool:
    """Draw the study's first figure of a kind into the gallery, if it has one."""
    figure = next((figure for figure in study.figures if figure.notebook == kind), None)
    if figure:
        draw(study, figure, PICTURES / f"{kind}.png")
    return figure is not None


def page(kinds: Sequence[str]) -> str:
    """The gallery as Markdown."""
    parts = [
        "# Gallery",
        "One picture of each kind of figure, drawn by `make gallery` from studies that anybody can run.\n"
        "[outputs.md](outputs.md) says where a study has them. With a \N{DAGGER}, implementation noise is emulated.",
    ]
    for kind in kinds:
        parts += [f"## {kind}", SENTENCES[kind], f"![{kind}](gallery/{kind}.png)"]
    return "\n\n".join(parts) + "\n"


def main() -> None:
    """Draw the kinds that one of the studies has, and write the page of all that are drawn."""
    parser = argparse.ArgumentParser()
    parser.add_argument("studies", nargs="*", default=STUDIES)
    parser.add_argument("--only", nargs="+", choices=SENTENCES, default=SENTENCES)
    asked = parser.parse_args()
    wanted = {*asked.studies, *(name for name, _ in ELSEWHERE.values())}
    studies = {name: found(name) for name in wanted if has_metrics(name)}
    of_kinds = [studies[name] for name in asked.studies if name in studies]
    kinds_drawn = [kind for kind in asked.only if any(draw_kind(study, kind) for study in of_kinds)]
    print("drawn:", *kinds_drawn)
    by = json.loads(DIGESTS.read_text()) | {kind: drawn_by(kind) for kind in kinds_drawn}
    if asked.studies == STUDIES and asked.only is SENTENCES:
        for picture, (name, figure) in ELSEWHERE.items():
            if name in studies:
                draw(studies[name], studies[name].figure(figure), DOCS / f"{picture}.png")
                print("drawn for another page:", picture)
        for picture, command in BY_SCRIPT.items():
            words = [sys.executable, *command, str(DOCS / f"{picture}.png")]
            subprocess.run(words, cwd=program.ROOT, check=True, stdout=subprocess.DEVNULL)
            print("drawn for another page:", picture)
        for kind in set(by) - {kind for name in STUDIES for kind in planned(name)}:
            (PICTURES / f"{kind}.png").unlink()
            del by[kind]
        if missing := sorted(wanted - set(studies)):
            left = [f"gallery/{kind}.png" for kind in by if kind not in kinds_drawn]
            left += [f"{picture}.png" for picture, (name, _) in ELSEWHERE.items() if name in missing]
            print(f"no metric files of {', '.join(missing)}; not drawn anew: {', '.join(left)}")
    kinds = [kind for kind in SENTENCES if kind in by]
    write_text(DIGESTS, json.dumps({kind: by[kind] for kind in kinds}, indent=1) + "\n")
    write_text(DOCS / "gallery.md", page(kinds))


if __name__ == "__main__":
    main()
