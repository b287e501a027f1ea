"""Where everything lies that more than one module speaks of: path patterns.

What a measure writes is said in its row of `steps`, and so are logs.
"""

STUDY = "results/{study}/study.json"
SOURCES = "results/{study}/data/{dataset}.sources.json"
DATA = "results/{study}/data/{dataset}.npz"

CELL = "{model}/{dataset}/{hardware}/{variant}"
PAIR = "{model}/{dataset}/{hardware}/{other_hardware}/{variant}"
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
PROFILE_RECORD = PROFILE + ".json"

# The metric files of a study as a whole; `file` is the kind, but for those that FILE_OF names.
COLLECTED = "results/{study}/metrics/{file}.csv"
FILE_OF = {"counts": "data"}

FIGURE = "results/{study}/figures/{figure}"
NOTEBOOK = "results/{study}/notebooks/{figure}.ipynb"
REPORT = "results/{study}/report.html"

# The captions of kinds of figures, as Snakemake reads them for its report.
CAPTION = ".snakemake/captions/{kind}.rst"
# Where Snakemake says that it is at work.
LOCKS = ".snakemake/locks"
