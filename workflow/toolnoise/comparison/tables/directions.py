"""Which way a metric is better: as the user says, else by its name, which the output then says."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from toolnoise.base.errors import BadInput
from toolnoise.comparison.tables.arguments import Asked

# Words in the names of metrics of which less is better.
LOWER = {"loss", "losses", "error", "errors", "err", "perplexity", "ppl", "nll", "mse", "rmse", "mae", "mape", "wer"}
LOWER |= {"cer", "ter", "fid", "bpc", "bpb", "bits", "entropy", "xent", "ce", "brier", "ece", "regret", "latency"}
LOWER |= {"time", "seconds", "deviation", "divergence", "kl", "mpe", "ade", "fde", "lpips", "eer", "bpd", "mase"}
LOWER |= {"false"}
LOWER_ENDS = ("loss", "entropy", "mape")  # of words written as one, such as logloss and crossentropy
# Words of which more is better: a name that has one beside a word of LOWER does not say which way is better.
SHARES = {"acc", "accuracy", "auc", "auroc", "auprc", "iou", "miou", "recall", "precision", "dice", "rouge"}
HIGHER = SHARES | {"bleu", "psnr", "ssim", "likelihood", "reward", "mcc", "correct", "success", "solved", "free"}
# Scikit-learn's neg_log_loss is better the higher it is, a negative log-likelihood the lower.
NEGATED = {"neg", "negative", "minus"}
DATA = re.compile("ade20k", re.IGNORECASE)  # a data set, and no word of LOWER


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
        else:
            metrics.append(_by_name(name))
    return metrics


def _by_name(name: str) -> Metric:
    """The direction that the words of a name say, or higher; a name that says both is refused."""
    words = words_of(DATA.sub("", name))
    lower = {word for word in words if word in LOWER or word.endswith(LOWER_ENDS)}
    higher = HIGHER.intersection(words)
    if lower and higher:
        what = f'found "{min(lower)}" and "{min(higher)}" in its name'
        raise BadInput("command line", name, what, "--lower or --higher, which says what is better")
    negated = set() if "false" in lower else NEGATED.intersection(words)
    said = lower or (higher if negated else set())
    if not said:
        return Metric(name, False, "assumed, --lower if not")
    is_lower = bool(lower) != bool(negated)
    quoted = [f'"{min(part)}"' for part in (negated, said) if part]
    named = f"words {' and '.join(quoted)}" if negated else f"word {quoted[0]}"
    return Metric(name, is_lower, f"by the {named} in its name, --{'higher' if is_lower else 'lower'} if not")


def _names(names: Sequence[str] | None, metric: str) -> bool:
    return names is not None and (not names or metric in names)


def words_of(name: str) -> list[str]:
    """The words of a name such as val/topLoss_1, in small letters."""
    return re.findall("[a-z]+", re.sub("([a-z])([A-Z])|([A-Z])([A-Z][a-z])", r"\1\3 \2\4", name).lower())
