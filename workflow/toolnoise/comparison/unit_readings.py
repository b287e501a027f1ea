"""How an array is read where each example has several labels: many labels, the tokens of a segment, pixels of a mask.

The labels' shape decides, N x K, N x L or N x H x W. An array of that shape has each unit's predicted class, or for
many labels of 0 and 1, each label's log-odds or probability; with an axis of classes behind, scores; with an axis of
runs in front, several runs.
"""

from collections.abc import Sequence

import numpy as np

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import counted
from toolnoise.comparison import array_files
from toolnoise.comparison.column_roles import role_of_words, words_of
from toolnoise.comparison.label_files import Labels
from toolnoise.comparison.readings import Reading, is_whole
from toolnoise.formulas.outcomes import LABELS, unit_scores

# Runs, three axes of labels and one of classes.
MOST_AXES = 5


def of_arrays(path: str, name: str, values: Sequence[np.ndarray], labels: Labels) -> Reading:
    """The reading of an array of one run or several, or of an array of each run; by its name, or that of its file."""
    for array in values:
        array_files.require_array(path, array, MOST_AXES)
    shape, stack = labels.shape, values[0] if len(values) == 1 else np.stack(values)
    forms = {
        "classes": stack.shape == shape and len(values) == 1,
        "run x classes": stack.shape[1:] == shape,
        "scores": stack.shape[:-1] == shape and len(values) == 1,
        "run x scores": stack.shape[1:-1] == shape,
    }
    fitting = [form for form, fits in forms.items() if fits]
    if len(fitting) != 1:
        size = " x ".join(map(str, shape))
        allowed = f"{size} or run x {size} as in {labels.source}; or scores, {size} x class or run x {size} x class"
        if fitting:
            allowed = f"{' or '.join(fitting)}: an .npz with an array for each run, or a file for each"
        raise BadInput(path, "", f"found shape {stack.shape}", allowed)
    scored = fitting[0].endswith("scores")
    if not fitting[0].startswith("run"):
        stack = stack[np.newaxis]
    runs, units = len(stack), int(np.prod(shape))
    what = f"{' x '.join(map(str, stack.shape))} values as {counted(runs, 'run')} of {units}"
    if scored:
        return Reading(stack.reshape(runs, units, -1), "scores", f"{what} x {stack.shape[-1]} scores")
    flat = stack.reshape(runs, units)
    called = name or path.rpartition("/")[2].rpartition(".")[0]
    if labels.outcome == LABELS and not _are_classes(called, flat):
        if flat.min() >= 0 and flat.max() <= 1:
            if role_of_words(words_of(name)) == "score" and "logit" in name:
                raise BadInput(path, name, "found probabilities", "log-odds")
            return Reading(np.stack([1 - flat, flat], axis=-1), "scores", f"{what} probabilities of yes")
        if flat.min() >= 0 and "logit" not in called:
            what = f"found numbers from {flat.min():g} to {flat.max():g}, none below 0 as log-odds of no are"
            raise BadInput(path, name, what, "probabilities, from 0 to 1; log-odds in a file or array named logits")
        scores = np.stack([unit_scores(LABELS, run) for run in flat])
        return Reading(scores, "scores", f"{what} log-odds of yes against no")
    if flat.dtype.kind == "f" and not is_whole(flat):
        allowed = f"classes, or scores of shape {(*shape, 'class')}; --losses for each token's negative log-likelihood"
        raise BadInput(path, "", f"found fractions of shape {stack.shape}", allowed)
    return Reading(flat, "classes", f"{what} predicted classes")


def _are_classes(name: str, values: np.ndarray) -> bool:
    """Whether numbers for labels of 0 and 1 are classes: they are 0 and 1, and not named as scores."""
    return role_of_words(words_of(name)) != "score" and bool(((values == 0) | (values == 1)).all())
