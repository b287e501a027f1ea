"""Where everything lies: the one list of path patterns that rules, verbs and readers share."""

STUDY = "results/{study}/study.json"
SOURCES = "results/{study}/data/{dataset}.sources.json"
DATA = "results/{study}/data/{dataset}.npz"

CELL = "{model}/{dataset}/{hardware}/{variant}"
RUN = "results/{study}/runs/" + CELL + "/{seed}"
WEIGHTS = RUN + "/weights.npz"
HISTORY = RUN + "/history.csv"
RECORD = RUN + "/run.json"
# No rule's output: Snakemake removes those before it runs a job again.
CHECKPOINT = "results/{study}/checkpoints/" + CELL + "/{seed}.npz"
SPEED = "results/{study}/speed/" + CELL + ".json"

LOGITS = "results/{study}/predictions/" + CELL + ".npy"
PREDICTIONS = "results/{study}/predictions/" + CELL + ".json"
REMEDIED = "results/{study}/remedies/" + CELL + ".npy"
REMEDIED_INDEX = "results/{study}/remedies/" + CELL + ".json"
EXCHANGED = "results/{study}/exchanged/" + CELL + "/{other_hardware}.npy"
EXCHANGED_INDEX = "results/{study}/exchanged/" + CELL + "/{other_hardware}.json"
GRAMS = "results/{study}/layers/" + CELL + ".npy"
LAYERS_INDEX = "results/{study}/layers/" + CELL + ".json"
GATE = "results/{study}/control/{model}/{dataset}/{hardware}.json"

PROFILE = "results/{study}/overhead/{model}/{hardware}/{mode}/{repeat}"
KERNEL_TIMES = PROFILE + ".csv"
PROFILE_RECORD = PROFILE + ".json"
PROFILE_LOG = "logs/{study}/profile/{model}/{hardware}/{mode}/{repeat}.log"

CELL_METRICS = "results/{study}/metrics/cells/" + CELL + ".csv"
CELL_REMEDIES = "results/{study}/metrics/remedies/" + CELL + ".csv"
CELL_IDENTICAL = "results/{study}/metrics/identical/" + CELL + ".csv"
CELL_ENSEMBLES = "results/{study}/metrics/ensembles/" + CELL + ".csv"
PAIR_METRICS = "results/{study}/metrics/pairs/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.csv"
FRAMEWORK_METRICS = "results/{study}/metrics/frameworks/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.csv"
FRAMEWORK_PARTINGS = "results/{study}/metrics/partings/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.csv"
LAYER_METRICS = "results/{study}/metrics/layers/" + CELL + ".csv"
COUNTS = "results/{study}/metrics/data/{dataset}.csv"
DATA_COUNTS = "results/{study}/metrics/data.csv"
STABILITY = "results/{study}/metrics/stability.csv"
IDENTICAL = "results/{study}/metrics/identical.csv"
ENSEMBLES = "results/{study}/metrics/ensembles.csv"
CROSS_TOOLING = "results/{study}/metrics/cross_tooling.csv"
FRAMEWORKS = "results/{study}/metrics/frameworks.csv"
PARTINGS = "results/{study}/metrics/partings.csv"
REMEDIES = "results/{study}/metrics/remedies.csv"
LAYERS = "results/{study}/metrics/layers.csv"
NETWORK_OVERHEAD = "results/{study}/metrics/overhead/{model}/{hardware}.csv"
NETWORK_KERNELS = "results/{study}/metrics/kernels/{model}/{hardware}.csv"
OVERHEAD = "results/{study}/metrics/overhead.csv"
KERNELS = "results/{study}/metrics/kernels.csv"
# The metric files of a study as a whole, by kind.
COLLECTED = {
    "stability": STABILITY,
    "counts": DATA_COUNTS,
    "identical": IDENTICAL,
    "ensembles": ENSEMBLES,
    "cross_tooling": CROSS_TOOLING,
    "frameworks": FRAMEWORKS,
    "partings": PARTINGS,
    "remedies": REMEDIES,
    "layers": LAYERS,
    "overhead": OVERHEAD,
    "kernels": KERNELS,
}

FIGURE = "results/{study}/figures/{figure}"
NOTEBOOK = "results/{study}/notebooks/{figure}.ipynb"
REPORT = "results/{study}/report.html"

FETCH_LOG = "logs/{study}/fetch/{dataset}.log"
PREPARE_LOG = "logs/{study}/prepare/{dataset}.log"
TRAIN_LOG = "logs/{study}/train/" + CELL + "/{seed}.log"
PREDICT_LOG = "logs/{study}/predict/" + CELL + ".log"
REMEDY_LOG = "logs/{study}/remedy/" + CELL + ".log"
MEASURE_PAIR_LOG = "logs/{study}/measure/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.log"
MEASURE_FRAMEWORKS_LOG = "logs/{study}/measure/frameworks/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.log"
EXCHANGE_LOG = "logs/{study}/exchange/" + CELL + "/{other_hardware}.log"
LAYERS_LOG = "logs/{study}/layers/" + CELL + ".log"
CONTROL_LOG = "logs/{study}/control/{model}/{dataset}/{hardware}.log"
MEASURE_LOG = "logs/{study}/measure/" + CELL + ".log"
MEASURE_LAYERS_LOG = "logs/{study}/measure/layers/" + CELL + ".log"
MEASURE_REMEDIES_LOG = "logs/{study}/measure/remedies/" + CELL + ".log"
RENDER_LOG = "logs/{study}/render/{figure}.log"
SPEED_LOG = "logs/{study}/speed/" + CELL + ".log"
