"""Runs with their metrics, and the lines of tables that they come from."""

from typing import NamedTuple

from toolnoise.comparison.tables.directions import Metric

LEFT = "Left out: "  # begins a note on what does not count


class Line(NamedTuple):
    """A line of a table: its run by arm, file, name and seed, its step (NaN if unknown), and a number of each metric.

    A number is NaN where the cell is blank, infinite where it is not finite.
    """

    where: str
    arm: str
    file: str
    run: str
    seed: str | None
    step: float
    values: dict[str, float]


class Run(NamedTuple):
    """A run: where it was found, its arm and seed (None if unknown), and a number of each metric it has."""

    where: str
    arm: str
    seed: str | None
    metrics: dict[str, float]


class Runs(NamedTuple):
    """The runs of all arms, the arms in their order, the metrics, and what was chosen and left out, as sentences."""

    arms: list[str]
    runs: list[Run]
    metrics: list[Metric]
    notes: list[str]

    def of(self, arm: str, metric: str) -> list[Run]:
        """The runs of an arm that have a metric."""
        return [run for run in self.runs if run.arm == arm and metric in run.metrics]

    @property
    def described(self) -> list[str]:
        """What was read, for people: the arms with their runs, what was chosen, and which way metrics are better."""
        counts = ", ".join(f"{arm} {sum(run.arm == arm for run in self.runs)}" for arm in self.arms)
        return [f"Runs: {counts}.", *self.notes, *(f"{metric.better}." for metric in self.metrics)]
