"""Snakemake's report holds every figure in memory, encoded: what is too large is refused before it is asked for."""

import pytest

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.figures import snakemake_report


@pytest.mark.parametrize("gib", [1, 4.2])
def test_a_huge_figure_is_one_line_with_the_limit(gib, tmp_path):
    figure = tmp_path / "figure.svg"
    with figure.open("wb") as file:
        file.truncate(int(gib * 2**30))
    with pytest.raises(BadInput) as refused:
        snakemake_report.write("study", [], [str(figure)], tmp_path / "report.html")
    assert str(refused.value) == f"{figure}: has {int(gib * 2**30)} bytes; at most {files.LARGEST_TEXT}"
    assert not (tmp_path / "report.html").exists()
