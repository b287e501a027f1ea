"""The tables of bench/gpu_matrix.py again, and a figure of its trainings.

python bench/gpu_matrix_figure.py docs/tables/gpu-matrix.json docs/gpu-matrix.png
"""

import argparse
import json
from pathlib import Path
from typing import Any

import gpu_matrix

from toolnoise.figures import sheets, style

SHOWN = {
    "new seeds": ("new seeds", style.PALETTE["algo"]),
    "default": ("both (the default)", style.PALETTE["impl"]),
    "benchmark": ("algorithms chosen by timing", style.PALETTE["impl"]),
    "atomics": ("sums in any order", style.PALETTE["impl"]),
    "one-bit": ("one bit, before step 10", style.INK),
}

NOTES = (
    "Churn: the share of test examples on which two runs disagree, the mean of all pairs; bars: 95 % intervals,"
    " jackknife over n runs. All runs but the new seeds have one start and one order of data. Without the two parts,"
    " runs are bit-equal.",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("matrix", type=Path, help="what bench/gpu_matrix.py wrote")
    parser.add_argument("figure", type=Path, help="the PNG to write")
    options = parser.parse_args()
    found = json.loads(options.matrix.read_text("utf-8"))
    print("\n".join(gpu_matrix.text(found)))
    draw(found, options.figure)


def title(rows: list[dict[str, Any]]) -> str:
    """What the first network shows."""
    network = gpu_matrix.NETWORKS[0]
    churned = {row["cell"]: f"{100 * row['churn'][0]:.0f}" for row in rows if row["network"] == network}
    parts = f"{churned['benchmark']} and {churned['atomics']} % of answers, both {churned['default']} %"
    return f"Each part of IMPL alone changes {parts}, new seeds {churned['new seeds']} % ({network})"


def draw(found: dict[str, Any], path: Path) -> None:
    """Churn within each kind of training, by network."""
    rows = [row for row in found["parts"]["training"]["rows"] if row["cell"] in SHOWN and row["churn"][0] is not None]
    networks = [network for network in gpu_matrix.NETWORKS if any(row["network"] == network for row in rows)]
    figure, panels = sheets.sheet(len(networks), 1.9, 1)
    for panel, network in zip(panels, networks, strict=True):
        own = {row["cell"]: row for row in rows if row["network"] == network}
        cells = [cell for cell in SHOWN if cell in own][::-1]
        for place, cell in enumerate(cells):
            value, low, high = (100 * number for number in own[cell]["churn"])
            tint = SHOWN[cell][1]
            panel.plot([low, high], [place, place], color=tint, linewidth=1.2)
            panel.plot(value, place, marker="o", markersize=5, color=tint)
        panel.set_yticks(range(len(cells)), [f"{SHOWN[cell][0]} (n = {own[cell]['runs']})" for cell in cells])
        panel.set_xscale("log")
        panel.set_xlim(4, 150)
        panel.set_xticks([5, 10, 20, 50, 100], ["5", "10", "20", "50", "100"])
        panel.minorticks_off()
        panel.set_title(network, loc="left")
        panel.set_ylim(-0.6, len(cells) - 0.4)
        panel.set_xlabel("churn, % of test examples (log scale)")
    sheets.frame(figure, title(rows), NOTES, subtitle=f"Trainings on one {found['about']['gpu']}")
    sheets.save_as(figure, str(path))


if __name__ == "__main__":
    main()
