"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here or in `study.py` of an analysis, and its notebook. Pure and light: the Snakefile
reads this module.
"""

from toolnoise.study import analyses
from toolnoise.study.figure_grid import RUNS_FOR_ENSEMBLES
from toolnoise.study.kind import TABLE_2, TABLES, Kind, by_place, by_task, by_tooling

_OF_THE_KERNEL = {
    "table2": Kind(
        ("stability",),
        lambda grid: (grid.usual, None),
        category=TABLE_2,
        rank=0,
        caption="""Mean and sample SD (ddof 1) of test accuracy over runs in study *{study}*, by tooling, task and
            source; n is the number of runs. The column Control, which table 2 of Zhuang et al. (arXiv:2106.11872) does
            not have, shows the noise that remains when every source is fixed: "± 0" means that every run had the same
            accuracy. The CSV has the 95 % confidence intervals of mean and SD.""",
    ),
    "noise_by_source": Kind(
        ("stability", "runs"),
        lambda grid: (grid.usual, by_tooling),
        also=("ratios",),
        takes=("width",),
        rank=1,
        caption="""Noise by source in study *{study}*: SD of test accuracy, churn, churn relative to the range that the
            errors of two runs allow, and distance of unit-norm weights for every task, with one line per set of sources
            that may vary. Small dots are the runs. Compare ALGO with IMPL, the noise of the tooling alone, for the
            draws of the algorithm that the note counts. This is figure 2, 11 or 13 of Zhuang et al. (arXiv:2106.11872),
            for the tooling of this study. SDs here divide by n - 1; the authors' figures divide by n (``np.std``
            without ``ddof`` in their ``run_ae.py``).""",
    ),
    "batch_norm": Kind(
        ("stability", "runs", "ratios"),
        lambda grid: (grid.with_and_without_bn, by_tooling),
        needs="a model M and a model M-bn in one block",
        takes=("width",),
        rank=2,
        caption="""The same model without and with batch normalisation in study *{study}*. In figure 3 of Zhuang et al.
            (arXiv:2106.11872) the SD of the small CNN on CIFAR-10 falls from 0.86 to 0.30 percentage points. Use the
            confidence intervals to judge whether it falls here; small dots are the runs.""",
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: (grid.order, lambda cell: by_place(grid.order[cell])),
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes", "width"),
        rank=6,
        caption="""Runs of study *{study}* that differ only in the order of the training examples, against the batch
            size (figure 7 of Zhuang et al., arXiv:2106.11872). Initial weights, augmentation and the implementation are
            fixed. With the full set in one batch, every step sees every example. Only the order in which floating-point
            numbers are added remains: rounding, amplified by training. The paper's text gives the full set alone; the
            other batch sizes are this study's choice, and those of workflow/studies/paper.yaml (125 to 10,000) divide
            the 50,000 examples, so that all batches of an epoch are whole.""",
    ),
    "ensembles": Kind(
        ("ensembles",),
        lambda grid: (grid.with_ensembles, by_task),
        needs=f"a cell with {RUNS_FOR_ENSEMBLES} runs or more of one draw",
        takes=("width",),
        rank=7,
        caption="""The noise that remains after averaging the logits of k runs of study *{study}*: accuracy, its SD and
            the churn of ensembles, against k. Ensembles of the same size share no run, so they vary as independent
            trainings do. Their number is given below each size. The dashed line is the SD of single runs divided by the
            square root of k.""",
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
    "one_bit": Kind(
        ("stability",),
        lambda grid: (grid.moving, by_place),
        needs="a bit that is moved after different epochs, such as bit and bit_5",
        takes=("width",),
        rank=15,
        caption="""The effect of one changed bit in study *{study}*. In each run one weight, drawn by the run's seed, is
            moved by one unit in its last place, before training or after some epochs; everything else is fixed. The
            figure shows how far the runs end apart, against the epoch of the change. The band shows the noise of all
            sources together.""",
    ),
}
_ALL = _OF_THE_KERNEL | {name: kind for kinds in analyses.adding("study", "KINDS") for name, kind in kinds.items()}
# By name, in the order of the page.
KINDS: dict[str, Kind] = dict(sorted(_ALL.items(), key=lambda item: item[1].rank))


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"
