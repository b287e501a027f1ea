"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here and its notebook. Pure and light: the Snakefile reads this module.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from toolnoise.study.cells import Cell, Network
from toolnoise.study.figure_grid import RUNS_FOR_ENSEMBLES, Grid

Subject = Cell | Network

# The page shows the categories in the order of their names.
TABLE_2, FIGURES, TABLES, PUBLISHED = "1 Table 2: accuracy", "2 Figures", "3 Further tables", "4 Published and ours"


# Selects the cells or networks that a kind shows, and the part of the figure's name that splits them into figures.
Feed = tuple[Iterable[Subject], Callable[[Any], str] | None]


class Kind(NamedTuple):
    """A notebook: the metric files it reads, the cells it needs, its category on the page and its caption.

    `also` lists metric files that it reads if the study has them, `files` those of the repository that it reads.
    `takes` names what else of the study it takes (steps/whole.py).
    """

    reads: tuple[str, ...]
    feed: Callable[[Grid], Feed]
    caption: str
    needs: str = "a cell that is not `excluded_from` it, and to be named in `figures`, where a study has that key"
    category: str = FIGURES
    also: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def formats(self) -> tuple[str, ...]:
        """The suffixes of the files that it writes; the page shows the first."""
        return ("svg", "pdf", "png") if self.category == FIGURES else ("html", "csv", "md", "tex")


def _tooling(place: Subject) -> str:
    return place.hardware


def _by_kernel_size(networks: Iterable[Cell]) -> Callable[[Cell], str]:
    """The figure that shows a network: models named M-k1, M-k3, ... share one figure, the others have another."""
    members = Counter(_family(model) for model in {cell.model for cell in networks})

    def part(cell: Cell) -> str:
        family = _family(cell.model)
        return "kernel-size" if family and members[family] > 1 else "networks"

    return part


def _family(model: str) -> str:
    named = re.fullmatch(r"(.+)-k[1-9]\d*", model)
    return named[1] if named else ""


def _task(cell: Cell) -> str:
    return f"{cell.model}-{cell.dataset}"


def _place(cell: Cell) -> str:
    return f"{cell.hardware}-{_task(cell)}"


def _dataset(cell: Cell) -> str:
    return f"{cell.hardware}-{cell.dataset}"


_FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
_SUB_GROUPS = "a data set with sub-groups: faces, celeba with groups, or an image-folder with a group"
KINDS = {
    "table2": Kind(
        ("stability",),
        lambda grid: (grid.usual, None),
        caption="""\
Mean and sample SD (ddof 1) of test accuracy over runs in study *{{ snakemake.config["study"] }}*, by tooling, task
and source; n is the number of runs. The column Control, which table 2 of Zhuang et al. (arXiv:2106.11872) does not
have, shows the noise that remains when every source is fixed: "± 0" means that every run had the same accuracy. The
CSV has the 95 % confidence intervals of mean and SD.
""",
        category=TABLE_2,
    ),
    "noise_by_source": Kind(
        ("stability", "runs"),
        lambda grid: (grid.usual, _tooling),
        caption="""\
Noise by source in study *{{ snakemake.config["study"] }}*: SD of test accuracy, churn, churn relative to the range that
the errors of two runs allow, and distance of unit-norm weights for every task, with one line per set of sources that
may vary. Small dots are the runs. Compare ALGO with IMPL, the noise of the tooling alone, for the draws of the
algorithm that the note counts. This is figure 2, 11 or 13 of Zhuang et al. (arXiv:2106.11872), for the tooling of this
study. SDs here divide by n - 1; the authors' figures divide by n (``np.std`` without ``ddof`` in their ``run_ae.py``).
""",
        takes=("width",),
    ),
    "batch_norm": Kind(
        ("stability", "runs"),
        lambda grid: (grid.with_and_without_bn, _tooling),
        caption="""\
The same model without and with batch normalisation in study *{{ snakemake.config["study"] }}*. In figure 3 of Zhuang
et al. (arXiv:2106.11872) the SD of the small CNN on CIFAR-10 falls from 0.86 to 0.30 percentage points. Use the
confidence intervals to judge whether it falls here; small dots are the runs.
""",
        needs="a model M and a model M-bn in one block",
        takes=("width",),
    ),
    "subgroups": Kind(
        ("stability",),
        lambda grid: (grid.grouped, _tooling),
        caption="""\
SD of accuracy, false-positive rate and false-negative rate by sub-group, divided by the SD over all examples, in
study *{{ snakemake.config["study"] }}* (figure 4 of Zhuang et al., arXiv:2106.11872). A small group is noisy because
it is small: the grey line below each group is the range of the ratio expected from the number of examples alone, in
95 % of studies with as many runs. In the paper the false-negative rate of men varies 4.6 times as much as that of
all. The number of examples alone gives 3.8: CelebA's test set has 2,660 blond people, of whom 180 are men.
""",
        needs=_SUB_GROUPS,
        takes=("width",),
    ),
    "rarity": Kind(
        ("stability", "counts", "part_sizes"),
        lambda grid: (grid.rare, lambda cell: f"{cell.hardware}-{cell.model}"),
        caption="""\
Is a rare group noisier, or only smaller? Study *{{ snakemake.config["study"] }}* trains with several shares of one
group and tests on the same examples. The first three columns show the group's error rate, the SD of that rate and the
group's churn against its share. Dashed: the SD or churn that follows from the number of the group's test examples if
all examples are equally noisy. Dotted: the one that follows from how often the group's examples err. Bands contain
95 % of such studies. The last column varies the number of test examples instead, by averaging over all parts of the
group of that size.
""",
        needs="a model on a tooling with two data sets or more that have a group_share of the same group",
        takes=("width",),
    ),
    "per_class": Kind(
        ("stability", "runs"),
        lambda grid: (grid.usual, _place),
        caption="""\
SD of each class's accuracy compared with the SD over all classes in study *{{ snakemake.config["study"] }}* (figure 5
of Zhuang et al., arXiv:2106.11872, which reports largest ratios of 4 for CIFAR-10 and 23 for CIFAR-100). A class has
fewer test examples than the whole test set, so ratios well above 1 are expected even if no class is special. Each
largest ratio is shown with the ratio expected from class size alone: the median and 95 % range of simulated studies
with as many runs and as many test examples per class. It is 4.4 (2.9 to 7.8) for 10 equal classes and 10 runs, and
16.8 (10.8 to 29) for 100 classes: small classes alone explain the paper's 4 and 23. A ratio above its range is red,
and its class has a ring; small dots are the runs.
""",
        also=("labels",),
        takes=("class_names", "width"),
    ),
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (grid.paired, _task),
        caption="""\
Noise within and across toolings for one task of study *{{ snakemake.config["study"] }}*. Under the name of a tooling:
run-to-run noise, as in figure 6 of Zhuang et al. (arXiv:2106.11872); small dots are the runs. Under the names of two
(↔): run s on one tooling compared with run s on another. Both have bit-equal initial weights, batches and augmentation,
so they differ only by the implementation. The paper does not have this comparison.
""",
        needs="two toolings with a variant of control or algo",
        takes=("width",),
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks", "identical"),
        lambda grid: (grid.framed, _task),
        caption="""\
One task on the frameworks of study *{{ snakemake.config["study"] }}*. Under the name of a framework: run-to-run noise;
small dots are the runs. Under the names of two (↔): run s on one framework compared with run s on another. Both have
bit-equal initial weights, batches and augmentation, so they differ only by the framework. Control within one framework
should be exactly 0. Pham et al. (doi:10.1145/3324884.3416545) compare frameworks without shared draws.
""",
        needs=_FRAMEWORKS,
        takes=("width",),
    ),
    "framework_parts": Kind(
        ("frameworks", "partings", "identical"),
        lambda grid: (grid.framed, _task),
        caption="""\
The difference between two frameworks in study *{{ snakemake.config["study"] }}*, split into inference and training.
Left: churn between run s on both in all, churn of the same trained networks predicted on the other framework, and what
is left for training. Right: how far the test loss of run s has parted after each epoch.
""",
        needs=_FRAMEWORKS,
        takes=("width",),
    ),
    "atlas": Kind(
        ("atlas", "atlas_factors", "atlas_toolings"),
        lambda grid: (grid.mapped, _task),
        caption="""\
One task on all toolings of study *{{ snakemake.config["study"] }}*. Each run has bit-equal initial weights and batches
on every tooling, so two toolings differ by themselves alone. Square: churn between two toolings, mean over draws, in an
order in which similar toolings stand together; = marks pairs that are bit-equal in every draw. Points: the mean churn
and weight distance between toolings that differ only in one part, divided by those between two seeds on one tooling,
with 95 % jackknife intervals over draws.
""",
        needs="a block with atlas",
    ),
    "layers": Kind(
        ("layers",),
        lambda grid: ([cell for cell in grid.cells if cell in grid.layers], _place),
        caption="""\
Similarity of representations between runs of the same training in study *{{ snakemake.config["study"] }}*, layer by
layer: linear CKA of corresponding layers with weights, plain and debiased, averaged over pairs of runs, with one line
per set of sources that may vary. 1 means equal up to a rotation and a factor. CKA is defined by Kornblith et al.
(arXiv:1905.00414); Summers and Dinneen (arXiv:2103.04514) use it as a measure of diversity.
""",
        needs="a block with the key layers",
        takes=("width",),
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: (grid.order, lambda cell: _place(grid.order[cell])),
        caption="""\
Runs of study *{{ snakemake.config["study"] }}* that differ only in the order of the training examples, against the
batch size (figure 7 of Zhuang et al., arXiv:2106.11872). Initial weights, augmentation and the implementation are
fixed. With the full set in one batch, every step sees every example. Only the order in which floating-point numbers
are added remains: rounding, amplified by training.
""",
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes", "width"),
    ),
    "ensembles": Kind(
        ("ensembles",),
        lambda grid: (grid.with_ensembles, _task),
        caption="""\
The noise that remains after averaging the logits of k runs of study *{{ snakemake.config["study"] }}*: accuracy, its
SD and the churn of ensembles, against k. Ensembles of the same size share no run, so they vary as independent
trainings do. Their number is given below each size. The dashed line is the SD of single runs divided by the square
root of k.
""",
        needs=f"a cell with {RUNS_FOR_ENSEMBLES} runs or more",
        takes=("width",),
    ),
    "kernels": Kind(
        ("kernels",),
        lambda grid: (grid.networks, _tooling),
        caption="""\
Time of a training step in study *{{ snakemake.config["study"] }}*, kernel by kernel, with the tooling's default and
with deterministic implementations: the five longest kernels by name, and all others in grey (figure 8 of Zhuang et al.,
arXiv:2106.11872). On a GPU the profiler times kernels on the device. On a CPU it times operators by type, on the
thread that runs them, without the operators that they call. ``metrics/kernels.csv`` has the names and the number of
calls.
""",
        needs="the key overhead",
    ),
    "overhead": Kind(
        ("overhead",),
        lambda grid: (grid.networks, _by_kernel_size(grid.networks)),
        caption="""\
The cost of determinism in study *{{ snakemake.config["study"] }}*: time of a training step with deterministic
implementations divided by its time with default ones, summed over all kernels and by the clock. These are figures 9a
(networks) and 9b (kernel sizes) of Zhuang et al. (arXiv:2106.11872) as ratios: the paper's largest, 746 % for 7x7
kernels on a P100, is 7.46 here. A hollow dot cannot be told from 1, no cost. On a CPU, operators take the place of
kernels.
""",
        needs="the key overhead",
        takes=("width",),
    ),
    "cost_of_control": Kind(
        ("ratios", "overhead"),
        lambda grid: (grid.costed, None),
        caption="""\
What determinism costs in study *{{ snakemake.config["study"] }}*, and what it removes. Across: time of a training step
with deterministic implementations divided by its time with default ones, by the clock. Up: the share of the churn of
ALGO+IMPL that determinism removes. On the left the initial weights and the order of the data are fixed, so that all of
the churn of IMPL goes. On the right they vary, and determinism removes only what ALGO lacks of the churn of ALGO+IMPL.
A network at the top left is made repeatable at little cost; one at the bottom right pays for little.
""",
        needs="the key overhead with a model and a tooling that the grid trains under algo_impl and impl",
        takes=("width",),
    ),
    "ratios": Kind(
        ("ratios",),
        lambda grid: (grid.compared, None),
        caption="""\
The noise of each variant of study *{{ snakemake.config["study"] }}* divided by that of ALGO+IMPL and by that of ALGO,
and the noise of each model with batch normalisation divided by that of the model without it: churn, churn relative to
the range that the errors of two runs allow, and the SDs of accuracy and of cross-entropy. Intervals are over draws of
the algorithm. A draw that both cells have is left out of both at once (paired jackknife of the logarithm). A cell of
one draw has no such interval: its ratio holds for that draw.
""",
        needs="algo_impl or algo beside another variant, or a model M and a model M-bn in one block",
        category=TABLES,
    ),
    "components": Kind(
        ("stability",),
        lambda grid: (grid.with_draws, None),
        caption="""\
The share of the algorithm and of the implementation in the noise of study *{{ snakemake.config["study"] }}*, for cells
whose runs repeat the implementation under several draws of the algorithm: components of the variance of test accuracy
and of each example's correctness, as SDs, and churn between runs of one draw and of different draws. The last column
is the first churn divided by the second: how much of the churn of ALGO+IMPL is that of IMPL alone. The published
finding that noise is not additive (figure 2 of Zhuang et al., arXiv:2106.11872) is about this number.
""",
        needs="a block with the key draws",
        category=TABLES,
    ),
    "table3": Kind(
        ("counts",),
        lambda grid: (grid.grouped, None),
        caption="""\
Training examples of study *{{ snakemake.config["study"] }}* by sub-group and label, as counts and as shares of the
training set (table 3 of Zhuang et al., arXiv:2106.11872). A rate over few examples varies more from run to run; the
figure of the sub-groups shows by how much.
""",
        needs=_SUB_GROUPS,
        category=TABLES,
    ),
    "table4": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        caption="""\
Data sets of study *{{ snakemake.config["study"] }}*: number of classes, of training examples and of test examples
(table 4 of Zhuang et al., arXiv:2106.11872).
""",
        category=TABLES,
    ),
    "table5": Kind(
        ("stability",),
        lambda grid: (grid.grouped, None),
        caption="""\
Sample SD (ddof 1) over runs of accuracy, FPR = FP / (FP + TN) and FNR = FN / (FN + TP) by sub-group in study
*{{ snakemake.config["study"] }}*, with its ratio to the SD over all examples and the ratio expected from group size
alone (table 5 of Zhuang et al., arXiv:2106.11872, which does not have the latter). A star marks a ratio outside the
range expected from size alone in 95 % of studies; by chance, one in twenty ratios is. The authors' code divides false
negatives by all negatives; ours divides them by all positives.
""",
        needs=_SUB_GROUPS,
        category=TABLES,
    ),
    "sources": Kind(
        ("stability",),
        lambda grid: (grid.isolating, _dataset),
        caption="""\
Runs of study *{{ snakemake.config["study"] }}* in which one source of noise varies, or several, or one bit of one
weight is changed. The table shows their spread in the measures of table 1 of Summers & Dinneen (arXiv:2103.04514),
each with its 95 % confidence interval; the published and replicated rows are below ours. "Churn / all" is the churn
divided by the churn with all sources.
""",
        needs="two variants of a single source or more",
        category=TABLES,
        also=("ratios",),
        files=("resources/published-sources.csv",),
    ),
    "one_bit": Kind(
        ("stability",),
        lambda grid: (grid.moving, _place),
        caption="""\
The effect of one changed bit in study *{{ snakemake.config["study"] }}*. In each run one weight, drawn by the run's
seed, is moved by one unit in its last place, before training or after some epochs; everything else is fixed. The
figure shows how far the runs end apart, against the epoch of the change. The band shows the noise of all sources
together.
""",
        needs="a bit that is moved after different epochs, such as bit and bit_5",
        takes=("width",),
    ),
    "growth": Kind(
        ("growth",),
        lambda grid: (grid.growing, _task),
        caption="""\
How far two runs of study *{{ snakemake.config["study"] }}* from one start are apart after training steps 1, 2, 4, 8,
... and at the end. They have bit-equal initial weights, batches and augmentation, and differ by one thing: the tooling,
the order of summation (emulated implementation noise), or one bit of one weight. Growth by a power of the number of
steps is a straight line here. The dotted line is the distance of unrelated weights. If emulated noise grows and ends as
the noise of toolings does, its line runs among theirs.
""",
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        takes=("width",),
    ),
    "growth_fits": Kind(
        ("growth_fits",),
        lambda grid: (grid.growing, None),
        caption="""\
Fits to the growth of the distance between two runs of study *{{ snakemake.config["study"] }}* from one start: its rate,
what a power and an exponential of the number of steps leave, the largest leap, the share of starts in which another
network results, and the end. The last columns compare each perturbation with the other toolings, start by start.
""",
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        category=TABLES,
    ),
    "remedies": Kind(
        ("remedies",),
        lambda grid: (grid.remedied, lambda cell: _place(grid.remedied[cell])),
        caption="""\
Runs of study *{{ snakemake.config["study"] }}* with predictions averaged over views of each test image, over
snapshots of the run, or both. The table shows their spread in the measures of the mitigation table of Summers &
Dinneen (arXiv:2103.04514), each with its 95 % confidence interval; the published and replicated rows are below ours.
"Reduction" is the share of the spread of single runs that is removed.
""",
        needs="the key remedies in a block",
        category=TABLES,
        files=("resources/published-remedies.csv",),
    ),
    "partings": Kind(
        ("partings", "identical"),
        lambda grid: (grid.framed, _task),
        caption="""\
Where and when the trainings of study *{{ snakemake.config["study"] }}* diverge between frameworks, although they
start from bit-equal weights and see the same batches: the first epoch and layer whose digests in the histories
differ, and the final differences of losses and layers, each with its 95 % confidence interval over runs. Control
replicates are bit-equal, so they have no interval.
""",
        needs=_FRAMEWORKS,
        category=TABLES,
    ),
    "identical_runs": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        caption="""\
How far the runs of each cell of study *{{ snakemake.config["study"] }}* end apart, measured as by Pham et al. (ASE
2020): range and SD of accuracy, over all examples and in the class with the largest difference. Below: their headline
numbers with the largest values of this study. A range grows with the number of runs, so compare it only with a range
over as many runs. Runs with ``random_seed`` 1 differ at most by the implementation. The CSV has every criterion of
convergence, in the columns of their ``analysis_result.csv`` followed by ours.
""",
        category=TABLES,
        files=("resources/published-identical.csv",),
    ),
    "identical_times": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        caption="""\
How long the runs of each cell of study *{{ snakemake.config["study"] }}* take, measured as by Pham et al. (ASE 2020):
epochs and time to convergence, and training time, each with how much longer the longest took than the shortest.
""",
        category=TABLES,
        files=("resources/published-identical.csv",),
    ),
    "identical_tests": Kind(
        ("convergence",),
        lambda grid: (grid.with_identical_runs, None),
        caption="""\
The tests of the analysis of Pham et al. (ASE 2020) on the runs of study *{{ snakemake.config["study"] }}*: Levene's
test of equal spread between fixed-seed and default runs, networks, criteria of convergence and toolings, and Mann and
Whitney's test of equal position. p-values are two-sided, and given once more adjusted for the number of tests.
""",
        needs="the variant impl or algo_impl with two runs or more",
        category=TABLES,
    ),
    "claims": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        caption="""\
Claims of Zhuang et al. (arXiv:2106.11872), Summers & Dinneen (arXiv:2103.04514) and Pham et al.
(doi:10.1145/3324884.3416545), and those of the study file, with a verdict on each: by the numbers that were published,
and by study *{{ snakemake.config["study"] }}*. A dot is the effect with the interval that decides, after Holm's
adjustment within its paper; small grey dots are its parts, by task and tooling. The blue band is what the claim says. A
claim is supported if the interval lies on its side, and refuted if it lies on the other. Otherwise it cannot be told,
and n is about the number of independent runs per arm that would support or refute it with 80 % power at the observed
effect. Claims that cannot fail are neither judged nor counted.
""",
    ),
    "claim_parts": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        caption="""\
The parts of the claims, by task and tooling, on the published numbers and on study *{{ snakemake.config["study"] }}*:
each with its effect, 95 % confidence interval, p-value and p-value after Holm's adjustment within its claim.
""",
        category=PUBLISHED,
    ),
    "paper_vs_ours": Kind(
        ("stability", "counts"),
        lambda grid: (grid.published, None),
        caption="""\
The numbers that Zhuang et al. (arXiv:2106.11872) publish in tables 2 to 5 and in the text on figures 2, 3, 5 and 9,
with the numbers of study *{{ snakemake.config["study"] }}* for the same cells, if need be on another GPU; the last
column lists the differences. The range contains the published number in 95 % of cases if both numbers come from the
same distribution. With five or ten runs on either side the range is wide: agreement does not mean equality. Items of
which nothing was run are left out here; the CSV has all numbers.
""",
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences"),
    ),
}


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"
