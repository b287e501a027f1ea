"""Path patterns that more than one module uses.

The patterns for the parts of metric files are in `expected`.
"""

STUDY = "results/{study}/study.json"
SOURCES = "results/{study}/data/{dataset}.sources.json"
DATA = "results/{study}/data/{dataset}.npz"

CHECKED = "results/{study}/models/{model}/{dataset}/{hardware}.json"

CELL = "{model}/{dataset}/{hardware}/{variant}"
PAIR = "{model}/{dataset}/{hardware}/{other_hardware}/{variant}"
RUN = "results/{study}/runs/" + CELL + "/{seed}"
WEIGHTS = RUN + "/weights.npz"
HISTORY = RUN + "/history.csv"
RECORD = RUN + "/run.json"
# Not the output of a rule: Snakemake removes outputs before it runs a job again.
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
TEXTS = "results/{study}/continuations/" + CELL + ".npy"
TEXTS_INDEX = "results/{study}/continuations/" + CELL + ".json"
GATE = "results/{study}/control/{model}/{dataset}/{hardware}.json"

PROFILE = "results/{study}/overhead/{model}/{hardware}/{mode}/{repeat}"
PROFILE_TABLE = PROFILE + ".csv"
PROFILE_RECORD = PROFILE + ".json"

# The metric files of a study as a whole; `file` is the kind, except for those in FILE_OF.
COLLECTED = "results/{study}/metrics/{file}.csv"
FILE_OF = {"counts": "data"}

# The verdicts on claims, judged on these files.
CLAIMS = "results/{study}/metrics/claims.csv"

FIGURE = "results/{study}/figures/{figure}"
NOTEBOOK = "results/{study}/notebooks/{figure}.ipynb"
# The study's page; a cell's page; and, for the study's page, two examples on which the cell's runs disagree.
PAGE = "results/{study}/index.html"
PAGE_CELL = "results/{study}/page/" + CELL + ".html"
PAGE_EXAMPLES = "results/{study}/page/" + CELL + ".json"
# Snakemake's own report, made only on request.
REPORT = "results/{study}/report.html"
