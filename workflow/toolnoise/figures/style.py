"""The look of figures: names of measures, variants and toolings, and colours.

Colours are the Okabe-Ito palette, which stays distinguishable under every common colour blindness. Control, the absence
of noise, is grey.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from matplotlib.colors import to_hex, to_rgb

from toolnoise.base.noise_sources import ALGORITHMIC
from toolnoise.study.entries import dataset_name


class Measure(NamedTuple):
    """The display of a metric: its name, its unit, and the factor from the file's unit to this one."""

    name: str
    unit: str
    scale: float


MEASURES = {
    "error_mean": Measure("Mean test error", "% of test examples", 100),
    "accuracy_sd": Measure("SD of test accuracy", "percentage points", 100),
    "churn": Measure("Churn", "% of test examples", 100),
    "churn_normalised": Measure("Normalised churn", "% of what errors allow", 100),
    "l2_unit": Measure("L2 of unit-norm weights", "distance (no unit)", 1),
    "cka": Measure("CKA", "similarity (1: equal)", 1),
    "cka_debiased": Measure("Debiased CKA", "similarity (1: equal)", 1),
    "accuracy_sd_ratio": Measure("SD of accuracy", "times the SD over all", 1),
    "fpr_sd_ratio": Measure("SD of the false positive rate", "times the SD over all", 1),
    "fnr_sd_ratio": Measure("SD of the false negative rate", "times the SD over all", 1),
    "kernel_ratio": Measure("Time in kernels", "deterministic / default", 1),
    "wall_ratio": Measure("Time by the clock", "deterministic / default", 1),
}

PALETTE = {
    "algo_impl": "#0072B2",
    "algo": "#E69F00",
    "impl": "#009E73",
    "control": "#8C8C8C",
    "data": "#882255",
    "init": "#56B4E9",
    "shuffle": "#D55E00",
    "augment": "#CC79A7",
    "dropout": "#F0E442",
    "bit": "#000000",
    "default": "#56B4E9",
    "deterministic": "#D55E00",
}
NAMES = {"algo_impl": "ALGO+IMPL", "algo": "ALGO", "impl": "IMPL", "control": "Control"}
EACH = "+".join(ALGORITHMIC)  # how ALGO is spelt beside other sources
FRAMEWORKS = {"tensorflow": "TensorFlow", "jax": "JAX", "torch": "PyTorch"}
LATEST = "#C0A8FF"  # the colour that bit_N approaches as N grows
PLAIN = "#0072B2"  # for marks without a colour of their own
GREY = "#BBBBBB"
FAR = "√2"  # the distance of unrelated unit-norm weights
DAGGER = "†"
EMULATED = f"{DAGGER} implementation noise emulated: reduction order"
DOUBLE_DAGGER = "‡"
SYNTHETIC = f"{DOUBLE_DAGGER} on synthetic data, alone or in part"
INK, SOFT = "#222222", "#555555"
STYLE = {
    "font.family": "DejaVu Sans",  # bundled with matplotlib: the same glyphs on every machine
    "font.size": 8.5,
    "text.color": INK,
    "axes.labelcolor": INK,
    "axes.edgecolor": SOFT,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlelocation": "left",
    "axes.titlesize": 9,
    "axes.titlepad": 8,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#E4E4E4",
    "grid.linewidth": 0.7,
    "xtick.color": SOFT,
    "xtick.labelcolor": INK,
    "ytick.color": SOFT,
    "ytick.labelcolor": INK,
    "xtick.major.size": 0,
    "xtick.major.pad": 5,
    "ytick.major.size": 0,
    "legend.frameon": False,
    "pdf.fonttype": 42,  # TrueType: text stays text in the PDF
    "svg.hashsalt": "toolnoise",  # without it, element ids are random
}


def variant_name(variant: str) -> str:
    """The variant as the paper writes it, such as ALGO+IMPL or data+ALGO+IMPL; single sources keep their own name."""
    if EACH in variant:
        return variant.replace(EACH, NAMES["algo"]).replace("impl", NAMES["impl"])
    return NAMES.get(variant, variant)


def colour(variant: str, palette: Mapping[str, str] = PALETTE) -> str:
    """The variant's colour, the same in every figure: the mean colour for combined sources, light grey if unknown."""
    if variant in palette:
        return palette[variant]
    parts = [_tint(part, palette) for part in variant.split("+")]
    return GREY if any(part is None for part in parts) else to_hex(np.mean(parts, axis=0)).upper()


def _tint(source: str, palette: Mapping[str, str]) -> np.ndarray | None:
    """The colour of a single source; a bit that is moved after N epochs (bit_N) is lighter the later it is moved."""
    name, _, epochs = source.partition("_")
    if name not in palette or (epochs and not epochs.isdigit()):
        return None
    late = min(np.log2(1 + int(epochs or 0)) / 8, 1)
    return (1 - late) * np.array(to_rgb(palette[name])) + late * np.array(to_rgb(LATEST))


def tooling_name(hardware: str, emulated: Sequence[str]) -> str:
    """The tooling's name, with a dagger if its implementation noise is emulated."""
    return hardware + (DAGGER if hardware in emulated else "")


def task_name(model: str, dataset: str, synthetic: Sequence[str]) -> str:
    """The name of a network and its data set in figures and tables."""
    return f"{model} / {dataset_name(dataset, synthetic)}"


def headline(title: str, tasks: Sequence[Sequence[str]], synthetic: Sequence[str]) -> str:
    """A title, with a remark if all or some of its data are synthetic."""
    datasets = {dataset for _, dataset in tasks if dataset}
    if datasets.isdisjoint(synthetic):
        return title
    return f"{title} ({'synthetic' if datasets <= set(synthetic) else 'partly synthetic'})"


def framework_name(engine: str, version: str = "") -> str:
    """A framework's name in its makers' spelling, and its version."""
    return f"{FRAMEWORKS.get(engine, engine)} {version}".rstrip()
