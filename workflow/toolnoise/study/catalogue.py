"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here or in `study.py` of an analysis, and its notebook. Pure and light: the Snakefile
reads this module.
"""

from toolnoise.study import analyses
from toolnoise.study.kind import TABLE_2, TABLES, Kind, by_tooling

_OF_THE_KERNEL = {
    "table2": Kind(
        ("stability",),
        lambda grid: (grid.usual, None),
        category=TABLE_2,
        rank=0,
        caption="""Mean and sample SD (ddof 1) of test accuracy over runs in study *{study}*, by tooling, task and
            source; n counts runs, or draws where several runs share one. The column Control, which table 2 of Zhuang et
            al. (arXiv:2106.11872) does not have, shows the noise that remains when every source is fixed: "± 0" means
            that every run had the same accuracy. The CSV has the 95 % confidence intervals of mean and SD.""",
    ),
    "noise_by_source": Kind(
        ("stability", "runs"),
        lambda grid: (grid.usual, by_tooling),
        also=("ratios",),
        takes=("width",),
        rank=1,
        caption="""Noise by source in study *{study}*: SD of test accuracy, churn, churn relative to the range that the
            errors of two runs allow, and distance of unit-norm weights for every task, with one line per set of sources
            that may vary. Small dots are the runs. Compare ALGO with IMPL, the noise of the tooling alone; the note
            counts the draws of the algorithm for which IMPL was measured. This is figure 2, 11 or 13 of Zhuang et al.
            (arXiv:2106.11872), for the tooling of this study. SDs here divide by n - 1; the authors' figures divide by
            n (``np.std`` without ``ddof`` in their ``run_ae.py``).""",
    ),
    "ratios": Kind(
        ("ratios",),
        lambda grid: (grid.compared, None),
        needs="algo_impl or algo beside another variant, or a model M and a model M-bn in one block",
        category=TABLES,
        rank=8,
        caption="""The noise of each variant of study *{study}* divided by that of ALGO+IMPL and by that of ALGO, and
            the noise of each model with batch normalisation divided by that of the model without it: churn, churn
            relative to the range that the errors of two runs allow, and the SDs of accuracy and of cross-entropy.
            Intervals are over draws of the algorithm. A draw that both cells have is left out of both at once (paired
            jackknife of the logarithm). A cell of one draw has no such interval: its ratio holds for that draw.""",
    ),
    "components": Kind(
        ("stability",),
        lambda grid: (grid.with_draws, None),
        needs="a block with the key draws",
        category=TABLES,
        rank=9,
        caption="""The share of the algorithm and of the implementation in the noise of study *{study}*, for cells whose
            runs repeat the implementation under several draws of the algorithm: components of the variance of test
            accuracy and of each example's correctness, as SDs, and churn between runs of one draw and of different
            draws. The last column is the first churn divided by the second: how much of the churn of ALGO+IMPL is that
            of IMPL alone. The published finding that noise is not additive (figure 2 of Zhuang et al.,
            arXiv:2106.11872) is about this number.""",
    ),
}
_ALL = _OF_THE_KERNEL | {name: kind for kinds in analyses.adding("study", "KINDS") for name, kind in kinds.items()}
# By name, in the order of the page.
KINDS: dict[str, Kind] = dict(sorted(_ALL.items(), key=lambda item: item[1].rank))


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"
