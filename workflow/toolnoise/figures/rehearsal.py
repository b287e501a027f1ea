"""A rehearsal of drawing: a process that imports this has all that its first figure would import and look up.

It is for a process that forks a child for each figure. Matplotlib imports its backends, and they fonts, when they draw.
"""

import io

import matplotlib
from matplotlib.figure import Figure

from toolnoise.figures.sheets import FORMATS
from toolnoise.figures.style import STYLE

with matplotlib.rc_context(STYLE):
    figure = Figure(layout="constrained")
    figure.subplots().set_title("0", weight="bold")
    for suffix in FORMATS:
        figure.savefig(io.BytesIO(), format=suffix)
