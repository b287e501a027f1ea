"""Known names, as data: columns of tables, and metrics with their directions.

docs/tables/names.txt lists them. Names of columns are compared by their words in small letters, joined by "_", without
a logger's prefix: "Run ID" is run_id, and params.model is model.
"""

# Tables with a line per run or step. In a file of one arm, a column with a name of the first set must have one value.
SURELY_ARMS = {"model", "method", "arm", "variant", "algorithm", "algo", "system", "approach", "model_name"}
ARMS = SURELY_ARMS | {"group", "experiment", "condition", "treatment", "setting", "config", "configuration"}
ARMS |= {"architecture", "arch", "network", "net"}
ARMS |= {f"{name}_{word}" for name in ARMS for word in ("name", "type")}
SEEDS = {"seed", "random_seed", "rng_seed", "random_state", "global_seed", "manual_seed", "seed_id", "torch_seed"}
# Names of runs (they may contain arm and seed), and other columns that identify a run.
NAMES = ("run", "run_name", "mlflow_run_name", "name")
RUNS = ("run_id", "run_uuid", "id", *NAMES, "replicate", "trial", "version")
STEPS = ("step", "global_step", "trainer_global_step", "steps", "iteration", "iterations", "iter", "epoch", "epochs")
STEPS += ("round", "episode", "episodes", "timestep", "timesteps", "total_timesteps", "num_timesteps", "env_steps")
STATES = {"status", "state"}
FINISHED = {"finished", "done", "ok", "success", "succeeded", "complete", "completed", "terminated"}
FAILED = {"failed", "fail", "failure", "error", "errored", "killed", "crashed", "pruned", "preempted", "timeout"}
FAILED |= {"cancelled", "canceled", "aborted", "diverged"}
UNFINISHED = FAILED | {"running", "scheduled", "pending", "preempting", "queued", "waiting", ""}
# Columns that separate results of different tasks; such results are not runs of one arm.
TASKS = {"dataset", "data_set", "task", "benchmark", "split", "subset", "domain", "language", "lang", "env", "env_name"}
TASKS |= {"environment", "corpus", "dataset_name", "task_name", "test_set", "env_id"}
FOLDS = {"fold", "folds", "cv_fold", "kfold", "k_fold", "fold_id"}
# Columns of sessions, used for times and speeds only.
SESSIONS = ("session", "host", "node", "machine", "launch", "date")
# A line with such a word in place of a seed or a run's name summarises other lines.
SUMMARIES = {"mean", "avg", "average", "std", "stdev", "std_dev", "sd", "stderr", "sem", "se", "var", "variance"}
SUMMARIES |= {"median", "min", "max", "total", "sum", "count"}
# Pandas' names for its own index column.
INDEX = {"unnamed", "index"}
# Columns that loggers add beside parameters and metrics; they never name arms.
BESIDE = {"notes", "user", "tags", "created", "runtime", "sweep", "hostname", "host", "artifact_uri", "start_time"}
BESIDE |= {"end_time", "duration", "source_type", "source_name", "experiment_id", "timestamp", "date", "time", *STATES}
# Columns that number or identify lines, beside columns of models.
OF_LINES = {*RUNS, "fold", "repeat", "rep", "replica"}

# Metrics for which lower is better, and for which higher is better.
LOWER = ("loss", "log loss", "logloss", "cross entropy", "crossentropy", "nll", "perplexity", "ppl", "bpb", "bpc")
LOWER += ("bpd", "error", "err", "mse", "rmse", "mae", "mape", "smape", "wer", "cer", "brier", "ece", "fid")
LOWER += ("time", "latency", "runtime")
HIGHER = ("accuracy", "acc", "exact match", "f1", "precision", "recall", "auc", "auroc", "auprc", "iou", "miou", "dice")
HIGHER += ("mcc", "r2", "bleu", "rouge", "psnr", "ssim", "log likelihood", "reward", "throughput")
# Words that do not reverse a metric's direction: data, steps, means and sums, kinds of errors, units.
NEUTRAL = {"train", "training", "val", "valid", "validation", "dev", "test", "testing", "eval", "evaluation"}
NEUTRAL |= {"heldout", "final", "last", "best", "epoch", "step", "metrics", "summary", "score", "rate", "top", "l"}
NEUTRAL |= {"mean", "avg", "average", "total", "overall", "macro", "micro", "weighted", "balanced", "roc", "wall"}
NEUTRAL |= {"binary", "categorical", "sparse", "root", "squared", "absolute", "percentage", "s", "ms", "seconds"}
# For scikit-learn's neg_log_loss higher is better; for a negative log-likelihood, lower.
NEGATED = {"neg", "negative"}
# Words of metrics and of loggers' other columns: a column with such a word is not a model.
METRICS = {"loss", "losses", "error", "errors", "err", "perplexity", "ppl", "nll", "mse", "rmse", "mae", "mape", "wer"}
METRICS |= {"cer", "ter", "fid", "bpc", "bpb", "bits", "entropy", "xent", "ce", "brier", "ece", "regret", "latency"}
METRICS |= {"time", "seconds", "deviation", "divergence", "kl", "mpe", "ade", "fde", "lpips", "eer", "bpd", "mase"}
METRICS |= {"accuracy", "acc", "f", "auc", "auroc", "ap", "map", "bleu", "rouge", "precision", "recall", "score"}
METRICS |= {"reward", "return", "success", "iou", "miou", "dice", "psnr", "ssim", "top", "mcc", "correlation", "em"}
METRICS |= {"false"}
ASIDE = {"step", "epoch", "iteration", "lr", "rate", "runtime", "timestamp", "duration", "memory", "params", "size"}

# Tables with a line per example or question; names are compared by letters and digits: "Question ID" is questionid.
OF_EXAMPLES = {
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
# Words within longer names, and in names of files and arrays; the first match decides.
WORDS = {
    "score": {"score", "scores", "logit", "logits", "prob", "probs", "proba", "probability", "probabilities"}
    | {"softmax"},
    "correct": {"correct", "correctness"},
    "pred": {"pred", "preds", "prediction", "predictions", "predicted", "yhat"},
}
# Words that mean scores only beside another word: class_0, p(cat).
SCORES_OF = {"class", "p"}
# Words that name a run if the name also has a number: seed0, model 2.
NUMBERED_RUNS = {"run", "seed", "rep", "replicate", "replica", "repeat", "trial", "model", "member", "net", "network"}
NUMBERED_RUNS |= {"init", "training", "attempt", "rng", "start"}
# For questions, also: scores, sample numbers, and answers as texts.
QUESTION_SCORES = {"score", "reward", "points", "grade", "rating", "passed", "pass", "success"}
QUESTION_SAMPLES = {"sample", "sampleid", "epoch", "attempt", "draw"}
QUESTION_ANSWERS = {"answer", "response", "output", "completion", "generation"}
