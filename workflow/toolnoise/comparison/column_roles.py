"""The role of a column or an array by its name: predictions, scores, labels, a run, an example and so on."""

import re
from collections.abc import Sequence

import numpy as np

# Names of columns as their letters and digits alone, by role.
EXACT = {
    "run": {"run", "runid", "seed", "seedid", "randomseed", "rngseed", "replicate", "replica", "rep", "repeat"}
    | {"trial"},
    "example": {"example", "exampleid", "id", "questionid", "qid", "question", "sample", "sampleid", "item"}
    | {"itemid", "instance", "instanceid", "image", "imageid", "docid", "uid", "rowid", "filename", "file", "path"},
    "index": {"", "unnamed0", "index", "idx"},
    "pred": {"pred", "preds", "prediction", "predictions", "predicted", "ypred", "yhat", "predlabel", "predclass"}
    | {"predictedlabel", "predictedclass", "argmax"},
    "correct": {"correct", "iscorrect", "correctness", "right", "isright", "hit", "acc", "accuracy", "exactmatch"},
    "label": {"label", "labels", "target", "targets", "y", "ytrue", "true", "truth", "groundtruth", "gt", "gold"}
    | {"goldlabel", "truelabel", "trueclass", "actual", "expected", "reference"},
    "aside": {"loss", "nll", "entropy", "crossentropy", "perplexity", "margin", "confidence", "maxprob", "time"}
    | {"epoch", "step", "weight", "split", "fold"},
}
# Words within other names, and in names of files and arrays; the first that is met decides.
WORDS = {
    "score": {"score", "scores", "logit", "logits", "prob", "probs", "proba", "probability", "probabilities"}
    | {"softmax"},
    "correct": {"correct", "correctness"},
    "pred": {"pred", "preds", "prediction", "predictions", "predicted", "yhat"},
}
# Words that say so only beside another: class_0, p(cat).
SCORES_OF = {"class", "p"}
# Words that name a run beside a number.
RUNS = {"run", "seed", "rep", "replicate", "replica", "repeat", "trial", "model", "member", "net", "network", "init"}
RUNS |= {"training", "attempt", "rng", "start"}


def role_of(name: str) -> str:
    """The role of a column or an array by its name."""
    words = words_of(name)
    if name and not words:
        return "other"
    whole = "".join(words)
    for role, names in EXACT.items():
        if not names.isdisjoint((whole, whole.replace("ids", "id"), whole.replace("indices", "index"))):
            return role
    numbered = not RUNS.isdisjoint(words) and any(word.isdigit() for word in words)
    role = role_of_words(words)
    if role == "score":
        return "score by run" if numbered else "score"
    if role or numbered:
        return f"{role} by run"
    if len(words) > 1 and not SCORES_OF.isdisjoint(words):
        return "score"
    return "number" if len(words) == 1 and words[0].isdigit() else "other"


def words_of(name: str) -> list[str]:
    """The words and numbers in a name."""
    return re.findall("[a-z]+|[0-9]+", name.lower())


def role_of_words(words: Sequence[str]) -> str:
    """The role that one of these words stands for, or an empty text."""
    return next((role for role, of_role in WORDS.items() if not of_role.isdisjoint(words)), "")


def numbers_of(names: Sequence[str]) -> list[int] | None:
    """The last number in each name, if each has another."""
    digits = [re.findall("[0-9]+", name)[-1:] for name in names]
    numbers = [int(last[0][:18]) for last in digits if last]
    return numbers if len(set(numbers)) == len(names) else None


def by_number(names: Sequence[str]) -> list[int]:
    """The places of names in the order of their numbers, or as they are without such numbers."""
    numbers = numbers_of(names)
    return list(range(len(names))) if numbers is None else np.argsort(numbers).tolist()
