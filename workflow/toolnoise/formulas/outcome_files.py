"""The names of the output files of an existing training program; docs/outside.md explains them."""

LOGITS, PREDICTIONS, METRIC = "logits.npy", "predictions.npy", "metric.json"
LOSSES = ("nll.npy", "losses.npy")
RESULTS = (LOGITS, PREDICTIONS, *LOSSES, METRIC)
LABELS, HISTORY, GROUPS = "labels.npy", "history.csv", "groups.npz"
WEIGHTS = ("weights.safetensors", "weights.npz")
FILES = (*RESULTS, LABELS, *WEIGHTS, HISTORY, GROUPS)
