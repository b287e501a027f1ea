"""Which way a metric is better: as the user says, else by its name, which the output then says."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.comparison.tables.arguments import Asked

# Words in the names of metrics of which less is better.
LOWER = {"loss", "losses", "error", "errors", "err", "perplexity", "ppl", "nll", "mse", "rmse", "mae", "mape", "wer"}
LOWER |= {"cer", "ter", "fid", "bpc", "bpb", "bits", "entropy", "xent", "ce", "brier", "ece", "regret", "latency"}
LOWER |= {"time", "seconds", "deviation", "divergence", "kl", "mpe", "ade", "fde", "lpips", "eer"}


class Metric(NamedTuple):
    """A metric as it is named, whether lower is better, how that is known, and its unit (empty, or points)."""

    name: str
    lower: bool
    why: str
    unit: str = ""

    @property
    def better(self) -> str:
        """The way in which it is better, for people."""
        return f"{self.name}: {'lower' if self.lower else 'higher'} is better ({self.why})"


def directed(asked: Asked) -> list[Metric]:
    """The metrics with their directions."""
    metrics = []
    for name in asked.metrics:
        said = [_names(names, name) for names in (asked.lower, asked.higher)]
        if all(said):
            raise BadInput("command line", "--lower", f"found --higher, too, of {name}", "one of them")
        if any(said):
            metrics.append(Metric(name, said[0], "--lower" if said[0] else "--higher"))
        elif words := LOWER.intersection(words_of(name)):
            metrics.append(Metric(name, True, f'by the word "{min(words)}" in its name, --higher if not'))
        else:
            metrics.append(Metric(name, False, "assumed, --lower if not"))
    return metrics


def _names(names: Sequence[str] | None, metric: str) -> bool:
    return names is not None and (not names or metric in names)


def words_of(name: str) -> list[str]:
    """The words of a name such as val/topLoss_1, in small letters."""
    return re.findall("[a-z]+", re.sub("([a-z])([A-Z])", r"\1 \2", name).lower())
