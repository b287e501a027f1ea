"""Which kinds of figures and tables a study can feed, each as a row.

A kind is a notebook of its name; a figure is that notebook executed for some toolings and tasks, and its name begins
with its kind. A new kind is a row here and its notebook. Pure and light: the Snakefile reads this module.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from inspect import cleandoc
from typing import Any, NamedTuple

from toolnoise.study.cells import Cell, Network
from toolnoise.study.figure_grid import RUNS_FOR_ENSEMBLES, Grid
from toolnoise.study.layout import NARROW

Subject = Cell | Network

# The page shows the categories in the order of their names.
TABLE_2, FIGURES, TABLES, PUBLISHED = "1 Table 2: accuracy", "2 Figures", "3 Further tables", "4 Published and ours"

# What several kinds need.
FRAMEWORKS = "two toolings of different engines with a variant of control or algo"
TEXT = "a model that is built here, on a data set of text"
SUB_GROUPS = "a data set with sub-groups: faces, celeba with groups, or text with frequency"

# Selects the cells or networks that a kind shows, and the part of the figure's name that splits them into figures.
Feed = tuple[Iterable[Subject], Callable[[Any], str] | None]


class Kind(NamedTuple):
    """A notebook: the metric files it reads, the cells it needs, and its category on the page.

    `also` lists metric files that it reads if the study has them, `files` those of the repository that it reads.
    `takes` names what else of the study it takes (papers/notebook_values.py). The caption is reStructuredText.
    """

    reads: tuple[str, ...]
    feed: Callable[[Grid], Feed]
    caption: str  # with {study} for the name of the study
    needs: str = "a cell that is not `excluded_from` it, and to be named in `figures`, where a study has that key"
    category: str = FIGURES
    also: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()

    @property
    def formats(self) -> tuple[str, ...]:
        """The suffixes of the files that one would download; the page shows the first."""
        return ("svg", "pdf", "png") if self.category == FIGURES else ("html", "csv", "md", "tex")

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The suffixes of all files that it writes. What can be as narrow as a column has a form for small screens."""
        return (*self.formats, f"{NARROW}.svg") if "width" in self.takes else self.formats

    def caption_in(self, study: str) -> str:
        """The caption in a study of that name."""
        return cleandoc(self.caption).format(study=study)


def by_tooling(place: Subject) -> str:
    """A figure for each tooling."""
    return place.hardware


def by_task(cell: Cell) -> str:
    """A figure for each task."""
    return f"{cell.model}-{cell.dataset}"


def by_place(cell: Cell) -> str:
    """A figure for each task on each tooling."""
    return f"{cell.hardware}-{by_task(cell)}"


def by_kernel_size(networks: Iterable[Cell]) -> Callable[[Cell], str]:
    """The figure that shows a network: models named M-k1, M-k3, ... share one figure, the others have another."""
    members = Counter(_family(model) for model in {cell.model for cell in networks})

    def part(cell: Cell) -> str:
        family = _family(cell.model)
        return "kernel-size" if family and members[family] > 1 else "networks"

    return part


def _family(model: str) -> str:
    named = re.fullmatch(r"(.+)-k[1-9]\d*", model)
    return named[1] if named else ""


# By name, in the order of the page.
KINDS: dict[str, Kind] = {
    "table2": Kind(
        ("stability",),
        lambda grid: (grid.usual, None),
        category=TABLE_2,
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
        caption="""Noise by source in study *{study}*: SD of test accuracy, churn, churn relative to the range that the
            errors of two runs allow, and distance of unit-norm weights for every task, with one line per set of sources
            that may vary. Small dots are the runs. Compare ALGO with IMPL, the noise of the tooling alone; the note
            counts the draws of the algorithm for which IMPL was measured. This is figure 2, 11 or 13 of Zhuang et al.
            (arXiv:2106.11872), for the tooling of this study. SDs here divide by n - 1; the authors' figures divide by
            n (``np.std`` without ``ddof`` in their ``run_ae.py``).""",
    ),
    "batch_norm": Kind(
        ("stability", "runs", "ratios"),
        lambda grid: (grid.with_and_without_bn, by_tooling),
        needs="a model M and a model M-bn in one block",
        takes=("width",),
        caption="""The same model without and with batch normalisation in study *{study}*. In figure 3 of Zhuang et al.
            (arXiv:2106.11872) the SD of the small CNN on CIFAR-10 falls from 0.86 to 0.30 percentage points. Use the
            confidence intervals to judge whether it falls here; small dots are the runs.""",
    ),
    "subgroups": Kind(
        ("stability",),
        lambda grid: (grid.grouped, by_tooling),
        needs=SUB_GROUPS,
        takes=("label_of", "width"),
        caption="""SD of accuracy, false-positive rate and false-negative rate by sub-group, divided by the SD over all
            examples, in study *{study}* (figure 4 of Zhuang et al., arXiv:2106.11872). A small group is noisy because
            it is small: the grey line below each group is the range of the ratio expected from the number of examples
            alone, in 95 % of studies with as many runs. In the paper the false-negative rate of men varies 4.6 times as
            much as that of all examples. The number of examples alone gives 3.8: CelebA's test set has 2,660 blond
            people, of whom 180 are men. Where examples have several labels, the figure shows one of them, as the
            paper's does by its counts, and all together, as the authors' code counts errors.""",
    ),
    "per_class": Kind(
        ("stability", "runs"),
        lambda grid: (grid.varied, by_place),
        also=("labels",),
        takes=("class_names", "width"),
        caption="""SD of each class's accuracy compared with the SD over all classes in study *{study}* (figure 5 of
            Zhuang et al., arXiv:2106.11872, which reports largest ratios of 4 for CIFAR-10 and 23 for CIFAR-100). A
            class has fewer test examples than the whole test set, so ratios well above 1 are expected even if no class
            is special. Each largest ratio is shown with the ratio expected from class size alone: the median and 95 %
            range of simulated studies with as many runs and as many test examples per class. It is 4.4 (2.9 to 7.8) for
            10 equal classes and 10 runs, and 16.8 (10.8 to 29) for 100 classes: small classes alone explain the paper's
            4 and 23. A ratio above its range is red, and its class has a ring; small dots are the runs.""",
    ),
    "across_toolings": Kind(
        ("stability", "runs", "cross_tooling"),
        lambda grid: (grid.paired, by_task),
        needs="two toolings with a variant of control or algo",
        takes=("width",),
        caption="""Noise within and across toolings for one task of study *{study}*. Under the name of a tooling:
            run-to-run noise, as in figure 6 of Zhuang et al. (arXiv:2106.11872); small dots are the runs. Under the
            names of two (↔): run s on one tooling compared with run s on another. Both have bit-equal initial weights,
            batches and augmentation, so they differ only by the implementation. The paper does not have this
            comparison.""",
    ),
    "order": Kind(
        ("stability", "runs", "counts"),
        lambda grid: (grid.order, lambda cell: by_place(grid.order[cell])),
        needs="the variant shuffle of one builder with two batch sizes or more",
        takes=("batch_sizes", "width"),
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
        caption="""The share of the algorithm and of the implementation in the noise of study *{study}*, for cells whose
            runs repeat the implementation under several draws of the algorithm: components of the variance of test
            accuracy and of each example's correctness, as SDs, and churn between runs of one draw and of different
            draws. The last column is the first churn divided by the second: how much of the churn of ALGO+IMPL is that
            of IMPL alone. The published finding that noise is not additive (figure 2 of Zhuang et al.,
            arXiv:2106.11872) is about this number.""",
    ),
    "table1": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        needs="a network that is built here: a model with a recipe",
        category=TABLES,
        takes=("sources",),
        caption="""Sources of noise in study *{study}*: what is drawn, how the study uses it, and the variants in which
            it may vary from run to run. Table 1 of Zhuang et al. (arXiv:2106.11872) lists the first four, the
            algorithmic sources, in general.""",
    ),
    "table3": Kind(
        ("counts",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        takes=("label_of",),
        caption="""Training examples of study *{study}* by sub-group and label, as counts and as shares of the training
            set (table 3 of Zhuang et al., arXiv:2106.11872). A rate over few examples varies more from run to run; the
            figure of the sub-groups shows by how much. Where examples have several labels, the table shows one of them,
            and all together.""",
    ),
    "table4": Kind(
        ("counts",),
        lambda grid: (grid.built, None),
        category=TABLES,
        caption="""Data sets of study *{study}*: the numbers of classes (or of labels, where an example has several), of
            training examples and of test examples (table 4 of Zhuang et al., arXiv:2106.11872).""",
    ),
    "table5": Kind(
        ("stability",),
        lambda grid: (grid.grouped, None),
        needs=SUB_GROUPS,
        category=TABLES,
        takes=("label_of",),
        caption="""Sample SD (ddof 1) over runs of accuracy, FPR = FP / (FP + TN) and FNR = FN / (FN + TP) by sub-group
            in study *{study}*, with its ratio to the SD over all examples and the ratio expected from group size alone
            (table 5 of Zhuang et al., arXiv:2106.11872, which does not have the latter). A star marks a ratio outside
            the range expected from size alone in 95 % of studies; by chance, one in twenty ratios is. The authors' code
            divides false negatives by all negatives; ours divides them by all positives. Where examples have several
            labels, the table shows one of them, as the paper's does by its counts, and all together, as the authors'
            code counts errors.""",
    ),
    "sources": Kind(
        ("stability",),
        lambda grid: (grid.isolating, lambda cell: f"{cell.hardware}-{cell.dataset}"),
        needs="two variants of a single source or more",
        category=TABLES,
        also=("ratios",),
        files=("resources/published-sources.csv",),
        caption="""Runs of study *{study}* in which one source of noise varies, or several, or one bit of one weight is
            changed. The table shows their spread in the measures of table 1 of Summers & Dinneen (arXiv:2103.04514),
            each with its 95 % confidence interval; the published and replicated rows are below ours. "Churn / all" is
            the churn divided by the churn with all sources.""",
    ),
    "one_bit": Kind(
        ("stability",),
        lambda grid: (grid.moving, by_place),
        needs="a bit that is moved after different epochs, such as bit and bit_5",
        takes=("width",),
        caption="""The effect of one changed bit in study *{study}*. In each run one weight, drawn by the run's seed, is
            moved by one unit in its last place, before training or after some epochs; everything else is fixed. The
            figure shows how far the runs end apart, against the epoch of the change. The band shows the noise of all
            sources together.""",
    ),
    "paper_vs_ours": Kind(
        ("stability", "counts"),
        lambda grid: (grid.with_numbers, None),
        needs="a model, a data set and a variant with a number in resources/published.csv, or such a network, on a GPU",
        category=PUBLISHED,
        also=("overhead",),
        files=("resources/published.csv",),
        takes=("accelerators", "differences", "label_of"),
        caption="""The numbers that Zhuang et al. (arXiv:2106.11872) publish in tables 2 to 5 and in the text on figures
            2, 3, 5 and 9, with the numbers of study *{study}* for the same cells, if need be on another GPU; the last
            column lists the differences. The range contains the published number in 95 % of cases if both numbers come
            from the same distribution. With five or ten runs on either side the range is wide: agreement does not mean
            equality. Items for which nothing was run are left out here; the CSV has all numbers.""",
    ),
    "claims": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        caption="""Claims of Zhuang et al. (arXiv:2106.11872), Summers & Dinneen (arXiv:2103.04514) and Pham et al.
            (doi:10.1145/3324884.3416545), and those of the study file, with a verdict on each: by the numbers that
            were published, and by study *{study}*. A dot is the effect with the interval that decides, after Holm's
            adjustment within its paper; small grey dots are its parts, by task and tooling. The blue band is what
            the claim says. A claim is supported if the interval lies on its side, and refuted if it lies on the
            other. Otherwise it is undecided, and n is about the number of independent runs per arm that would
            support or refute it with 80 % power at the observed effect. Claims that cannot fail are neither judged
            nor counted.""",
    ),
    "claim_parts": Kind(
        ("claims",),
        lambda grid: ([*grid.usual, *grid.networks], None),
        category=PUBLISHED,
        caption="""The parts of the claims, by task and tooling, on the published numbers and on study *{study}*: each
            with its effect, p-value after Holm's adjustment within its claim, and the interval that decides.""",
    ),
    "frameworks": Kind(
        ("stability", "runs", "cross_tooling", "frameworks"),
        lambda grid: (grid.framed, by_task),
        needs=FRAMEWORKS,
        also=("identical",),
        takes=("width",),
        caption="""One task on the frameworks of study *{study}*. Under the name of a framework: run-to-run noise; small
            dots are the runs. Under the names of two (↔): run s on one framework compared with run s on another. Both
            have bit-equal initial weights, batches and augmentation, so they differ only by the framework. Control
            within one framework should be exactly 0. Pham et al. (doi:10.1145/3324884.3416545) compare frameworks
            without shared draws.""",
    ),
    "framework_parts": Kind(
        ("frameworks", "partings"),
        lambda grid: (grid.framed, by_task),
        needs=FRAMEWORKS,
        also=("identical",),
        takes=("width",),
        caption="""The difference between two frameworks in study *{study}*, split into inference and training. Left:
            the whole churn between run s on both frameworks, the churn when the other framework predicts with the same
            trained networks, and the rest, which is due to training. Right: how far apart the test losses of run s are
            after each epoch.""",
    ),
    "partings": Kind(
        ("partings",),
        lambda grid: (grid.framed, by_task),
        needs=FRAMEWORKS,
        also=("identical",),
        category=TABLES,
        caption="""Where and when the trainings of study *{study}* diverge between frameworks, although they start from
            bit-equal weights and see the same batches: the first epoch and layer whose digests in the histories differ,
            and the final differences of losses and layers, each with its 95 % confidence interval over runs. Control
            replicates are bit-equal, so they have no interval.""",
    ),
    "growth": Kind(
        ("growth",),
        lambda grid: (grid.growing, by_task),
        needs="a recipe with record_steps, and two cells of a task with equal draws",
        takes=("width",),
        caption="""How far two runs of study *{study}* from one start are apart after training steps 1, 2, 4, 8, ... and
            at the end. They have bit-equal initial weights, batches and augmentation, and differ by one thing: the
            tooling, the order of summation (emulated implementation noise), or one bit of one weight. Growth by a power
            of the number of steps is a straight line here. The dotted line is the distance of unrelated weights. If
            emulated noise grows and ends as the noise of toolings does, its line runs among theirs.""",
    ),
    "identical_runs": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        category=TABLES,
        files=("resources/published-identical.csv",),
        caption="""How far the runs of each cell of study *{study}* end apart, measured as by Pham et al. (ASE
            2020): range and SD of accuracy, over all examples and in the class with the largest difference. Below:
            their headline numbers with the largest values of this study. A range grows with the number of runs, so
            compare it only with a range over as many runs. Runs with ``random_seed`` 1 differ at most by the
            implementation. The CSV has every criterion of convergence, in the columns of their
            ``analysis_result.csv`` followed by ours.""",
    ),
    "identical_times": Kind(
        ("identical",),
        lambda grid: (grid.built, None),
        category=TABLES,
        files=("resources/published-identical.csv",),
        caption="""How long the runs of each cell of study *{study}* take, measured as by Pham et al. (ASE 2020):
            epochs and time to convergence, and training time, each with its range in per cent of its mean.""",
    ),
    "identical_tests": Kind(
        ("convergence",),
        lambda grid: (grid.identical, None),
        needs="the variant impl or algo_impl with two runs or more",
        category=TABLES,
        caption="""The tests of the analysis of Pham et al. (ASE 2020) on the runs of study *{study}*: Levene's test of
            equal spread between fixed-seed and default runs, networks, criteria of convergence and toolings, and Mann
            and Whitney's test of equal position. p-values are two-sided, and given once more adjusted for the number of
            tests.""",
    ),
    "language": Kind(
        ("stability", "language", "runs"),
        lambda grid: (grid.of_text, by_tooling),
        needs=TEXT,
        also=("ratios",),
        takes=("width",),
        caption="""Language models of study *{study}*, by the sources that may vary: the SD of perplexity, the share of
            next tokens that two runs predict differently, the Jensen-Shannon divergence of their distributions of the
            next token, and how much of a greedy continuation has diverged, counted from the first token that differs.
            Small dots are the runs.""",
    ),
    "table_language": Kind(
        ("stability", "language"),
        lambda grid: (grid.of_text, None),
        needs=TEXT,
        category=TABLES,
        caption="""Language models of study *{study}* by the measures of Summers and Dinneen (arXiv:2103.04514):
            perplexity and its SD, churn of next tokens, the correlation of two runs' scores, and how much lower the
            perplexity of a pair's averaged scores is; and the divergence of their distributions. The last columns scale
            churn to the range that the errors of two runs allow, for all tokens and for the rarest. Their numbers for
            the Penn Treebank are not at hand.""",
    ),
    "layers": Kind(
        ("layers",),
        lambda grid: ([cell for cell in grid.cells if cell in grid.study.layers], by_place),
        needs="a block with the key layers",
        takes=("width",),
        caption="""Similarity of representations between runs of the same training in study *{study}*, layer by layer:
            linear CKA of corresponding layers with weights, plain and debiased, averaged over pairs of runs, with one
            line per set of sources that may vary. 1 means equal up to a rotation and a factor. CKA is defined by
            Kornblith et al. (arXiv:1905.00414); Summers and Dinneen (arXiv:2103.04514) use it as a measure of
            diversity.""",
    ),
    "kernels": Kind(
        ("kernels", "overhead"),
        lambda grid: (grid.networks, by_tooling),
        needs="the key overhead",
        caption="""Time of a training step in study *{study}*, kernel by kernel, with the tooling's default and with
            deterministic implementations: the twenty longest kernels, in milliseconds on one axis (figure 8 of Zhuang
            et al., arXiv:2106.11872). On a GPU the profiler times kernels on the device. On a CPU it times operators by
            type, on the thread that runs them, without the operators that they call. ``metrics/kernels.csv`` has the
            names and the number of calls.""",
    ),
    "overhead": Kind(
        ("overhead",),
        lambda grid: (grid.networks, by_kernel_size(grid.networks)),
        needs="the key overhead",
        takes=("width",),
        caption="""The cost of determinism in study *{study}*: time of a training step with deterministic
            implementations divided by its time with default ones, summed over all kernels and by the clock. These are
            figures 9a (networks) and 9b (kernel sizes) of Zhuang et al. (arXiv:2106.11872) as ratios: the paper's
            largest, 746 % for 7x7 kernels on a P100, is 7.46 here. The interval of a hollow dot contains 1, no
            cost. On a CPU, operators take the place of kernels.""",
    ),
    "cost_of_control": Kind(
        ("ratios", "overhead"),
        lambda grid: (grid.costed, None),
        needs="the key overhead with a model that the grid trains under algo_impl and impl, its noise not emulated",
        takes=("width",),
        caption="""What determinism costs in study *{study}*, and what it removes. Across: time of a training step with
            deterministic implementations divided by its time with default ones, by the clock. Up: the share of the
            churn of ALGO+IMPL that determinism removes. On the left the initial weights and the order of the data are
            fixed, and determinism removes all of IMPL's churn. On the right they vary, and determinism removes only the
            part of the churn of ALGO+IMPL that ALGO lacks. A network at the top left is made repeatable at little cost;
            one at the bottom right pays much for little.""",
    ),
    "remedies": Kind(
        ("remedies",),
        lambda grid: (grid.remedied, lambda cell: by_place(grid.remedied[cell])),
        needs="the key remedies in a block",
        category=TABLES,
        files=("resources/published-remedies.csv",),
        caption="""Runs of study *{study}* with predictions averaged over views of each test image, over snapshots of
            the run, or both. The table shows their spread in the measures of the mitigation table of Summers & Dinneen
            (arXiv:2103.04514), each with its 95 % confidence interval; the published and replicated rows are below
            ours. "Reduction" is the share of the spread of single runs that is removed.""",
    ),
}


def notebook_of(kind: str) -> str:
    """The path of a kind's notebook in the repository."""
    return f"notebooks/{kind}.ipynb"
