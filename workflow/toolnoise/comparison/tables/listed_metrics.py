"""The names of metrics that have a direction, as data; `directions` says how a name is looked up."""

# Names of metrics of which less is better, and of which more is (docs/compare.md prints them).
LOWER = ("loss", "log loss", "logloss", "cross entropy", "crossentropy", "nll", "perplexity", "ppl", "bpb", "bpc")
LOWER += ("bpd", "error", "err", "mse", "rmse", "mae", "mape", "smape", "wer", "cer", "brier", "ece", "fid")
LOWER += ("time", "latency", "runtime")
HIGHER = ("accuracy", "acc", "exact match", "f1", "precision", "recall", "auc", "auroc", "auprc", "iou", "miou", "dice")
HIGHER += ("mcc", "r2", "bleu", "rouge", "psnr", "ssim", "log likelihood", "reward", "throughput")
# Words that turn no listed name round: of data, of steps, of means and sums, of kinds of errors, of units.
NEUTRAL = {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval", "evaluation"}
NEUTRAL |= {"heldout", "final", "last", "best", "epoch", "step", "metrics", "summary", "score", "rate", "top", "l"}
NEUTRAL |= {"mean", "avg", "average", "total", "overall", "macro", "micro", "weighted", "balanced", "roc", "wall"}
NEUTRAL |= {"binary", "categorical", "sparse", "root", "squared", "absolute", "percentage", "s", "ms", "seconds"}
# Scikit-learn's neg_log_loss is better the higher it is, a negative log-likelihood the lower.
NEGATED = {"neg", "negative"}
