"""The check of titles against metric files finds a false title, and one that it does not know."""

import pytest
from check_titles import Metrics, fault

from toolnoise.base import metric_files
from toolnoise.formulas.ratios import RATIOS
from toolnoise.formulas.stability import STABILITY

PLACE = ("cnn", "digits", "cpu")


@pytest.fixture
def metrics(tmp_path):
    """Metric files in which rounding changes 1 % of answers and all sources 5 %, a fifth being decided."""
    churns = {"impl": (0.01, 0.005, 0.02), "algo_impl": (0.05, 0.04, 0.06)}
    rows = [(*PLACE, variant, "churn", "all", *estimate, 5, 0) for variant, estimate in churns.items()]
    metric_files.write(tmp_path / "stability.csv", STABILITY, rows)
    over = (*PLACE, "impl", "cnn", "algo_impl", "churn", "all", 0.2, 0.1, 0.4, 5, 0, 5, 0, 5, 5, "paired")
    metric_files.write(tmp_path / "ratios.csv", RATIOS, [over])
    return Metrics(tmp_path, "noise_by_source-cpu")


@pytest.mark.parametrize(
    "title",
    [
        "The implementation alone changes 1.0 % of answers",
        "Emulated noise alone changes fewer answers than all sources (partly synthetic)",
        "Two runs differ in 5.0 % of answers",
        "How far do runs of one training end apart?",
    ],
)
def test_a_true_title_has_no_fault(title, metrics):
    assert fault(metrics, title) == ""


@pytest.mark.parametrize(
    "title",
    [
        "The implementation alone changes 2.0 % of answers",
        "The implementation alone changes no answers",
        "The implementation alone changes more answers than all sources",
        "No difference seen between emulated noise and all sources",
        "Two runs differ in 1.0 % of answers",
        "Runs are wonderful",
    ],
)
def test_a_false_or_unknown_title_has_one(title, metrics):
    assert fault(metrics, title)
