"""A slim copy of a study's results: without what is large or a repetition, which its audit knows by its digests.

The statements of all files are in it, so whatever was left out can be made again and compared (`toolnoise rebuild`).
"""

import shutil
from collections.abc import Collection
from pathlib import Path

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.files import sha256
from toolnoise.provenance.record import tree
from toolnoise.provenance.share import unsafe
from toolnoise.study.layout import REPORT

# Weights, dumps and prepared data; executed notebooks, whose pictures are among the figures; Snakemake's report, which
# repeats the figures beside the scripts of others.
LEFT_OUT = (".npz", ".npy", ".ipynb", Path(REPORT).name)


def copy(results: str | Path, out: str | Path, no_credentials: Collection[str] = ()) -> tuple[int, int]:
    """Copy a study's results; return the numbers of copied files and of those left out."""
    place = Path(out)
    if place.exists():
        raise BadInput("command line", "--out", f"{out} exists", "expected: a new folder")
    loaded = tree.load(results)
    if len(loaded.trees) != 1:
        raise BadInput(results, "", f"has {len(loaded.trees)} studies", "the results folder of one study")
    (study,) = loaded.trees
    for path, what in study.strange.items():
        raise BadInput(study.root / path, "", f"is {what}", "plain files")
    left_out = dict(study.left_out)
    for path, makers in study.producers.items():
        stated = next(one.sha256 for one in makers[0].statement.outputs if study.inside(one.name) == path)
        if path in study.files and sha256(study.root / path) != stated:
            raise BadInput(
                study.root / path, "", "differs from its statement", "unchanged results: see toolnoise audit"
            )
        if path in study.files and path.endswith(LEFT_OUT):
            left_out[path] = stated
    kept = [path for path in study.files if path not in left_out and path != tree.LEFT_OUT]
    unsafe.refuse(((path, study.root / path) for path in kept), no_credentials)
    with files.filling(place) as scratch:
        for path in kept:
            (scratch / path).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(study.root / path, scratch / path)
        files.write_json(scratch / tree.LEFT_OUT, dict(sorted(left_out.items())))
    return len(kept), len(left_out)
