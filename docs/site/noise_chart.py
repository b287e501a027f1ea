"""Draw the chart of README: churn by what varies, on an H100, from evidence/gpu-h100.

.venv/bin/python docs/site/noise_chart.py
"""

import io
import tarfile
from pathlib import Path

import matplotlib
import pandas as pd
import seaborn as sns
from matplotlib.figure import Figure

ROOT = Path(__file__).parents[2]
BARS = {"control": "nothing (Control)", "impl": "rounding alone", "algo": "a new seed", "algo_impl": "everything"}


def churn() -> pd.DataFrame:
    """Churn of the small CNN on CIFAR-10's pictures in per cent, with its interval, by what varies."""
    with tarfile.open(ROOT / "evidence/gpu-h100.tar.xz") as archive:
        file = archive.extractfile("results/gpu-h100/metrics/stability.csv")
        table = pd.read_csv(io.BytesIO(file.read()), comment="#", low_memory=False)
    rows = table[(table["model"] == "smallcnn") & (table["hardware"] == "h100-torch")]
    rows = rows[(rows["metric"] == "churn") & (rows["group"] == "all")].set_index("variant").loc[list(BARS)]
    return 100 * rows[["value", "ci_low", "ci_high"]].fillna(0.0)


def main() -> None:
    """Write docs/gallery/noise.png."""
    rows = churn()
    matplotlib.rcParams.update(sns.axes_style("white") | {"font.family": "DejaVu Sans", "font.size": 9})
    figure = Figure((6.4, 1.7), layout="constrained")
    panel = figure.add_subplot()
    reach = [rows["value"] - rows["ci_low"], rows["ci_high"] - rows["value"]]
    panel.barh(list(BARS.values()), rows["value"], xerr=reach, height=0.6, color="#0072B2", ecolor="#555555")
    for place, (value, high) in enumerate(zip(rows["value"], rows["ci_high"], strict=True)):
        panel.text(max(value, high) + 0.5, place, f"{value:.0f} %" if value else "exactly 0", va="center")
    panel.invert_yaxis()
    panel.set_xlabel("answers on which two runs differ, % (line: 95 % interval)")
    sns.despine(ax=panel, left=True)
    figure.savefig(ROOT / "docs/gallery/noise.png", dpi=160)


if __name__ == "__main__":
    main()
