# Inputs and parameters of single rules, as functions of a job's wildcards.


# Data sets.
def data_set(wildcards):
    return parameters_at.data(study, dataset_at(wildcards))


def own_files(wildcards):
    # Files that can be obtained elsewhere are not listed: a plan does not need them, and Snakemake must not touch them.
    entry = study.config["datasets"][wildcards.dataset]
    # In a module, a rule of the whole workflow may make them.
    if not (IS_MODULE or os.path.exists(study.path(layout.SOURCES, dataset=wildcards.dataset))):
        with errors_in_one_line():
            sources.require_own(wildcards.dataset, entry, FILE)
    return [source["path"] for source in sources.sources_of(entry) if sources.is_own(source)]


def fetched(wildcards):
    return study.path(layout.SOURCES, dataset=wildcards.dataset) if sources.sources_of(data_at(wildcards)) else []


def first_outcome(wildcards):
    return parameters_at.first_outcome(study, dataset_at(wildcards))


# Runs.
@functools.cache
def call_builder(model, dataset):
    # A dry run reports what the job would refuse.
    from toolnoise.commands import trial

    with errors_in_one_line():
        trial.call_builder(study, model, dataset)


def data_of_model(wildcards):
    if IS_DRY_RUN:
        call_builder(wildcards.model, wildcards.dataset)
    return study.path(layout.DATA, dataset=wildcards.dataset)


OWN_MODELS = set(places.own_models(study))


def checked(wildcards):
    # When a check is outdated, every run of its model is outdated, too. The check is not marked as ancient: Snakemake
    # ignores a job's own reasons to run while the job that makes an ancient input has one.
    place = task_at(wildcards)
    return study.path(layout.CHECKED, place) if place in OWN_MODELS else []


def start_of(wildcards):
    # Only the first run of Control starts cold; the gate compares it with the others, which may be warm (toolnoise.warm).
    cell = cell_at(wildcards)
    return "cold" if cell.variant == "control" and int(wildcards.seed) == study.seeds[cell][0] else "warm"


def gate_of_program(wildcards):
    if IS_DRY_RUN:
        # A dry run warns of what the start would refuse.
        try:
            programs.require_variables(study.config["models"], [wildcards.model], FILE)
        except BadInput as error:
            warn_once(str(error))
    return parameters_at.gate_of(study, Training(*cell_at(wildcards), int(wildcards.seed)))


# Maps the name of each metric file of the whole study to its kind.
KIND_OF = {os.path.basename(path).removesuffix(".csv"): kind for kind, path in COLLECTED.items()}


def parts_of_kind(wildcards):
    metric = expected.METRICS[KIND_OF[wildcards.file]]
    return [study.path(metric.pattern, place) for place in metric.places(study)]


def gates_of_kind(wildcards):
    # Only a study whose control cells pass the gate is measured.
    return figure_files.gates_before(study, [KIND_OF[wildcards.file]])


# Further measurements from the papers.
def asked(question, place_at):
    """An input function: what a question about the study returns for the place of a job."""
    return lambda wildcards: question(study, place_at(wildcards))


def beside(files, last, other):
    """An input function: the same files with another ending."""
    return lambda wildcards: [path.removesuffix(last) + other for path in files(wildcards)]


def dumped(which, before=""):
    """The files of the runs on the first (0) or the second (1) tooling of a pair, and their dump."""
    dump = {"logits": layout.LOGITS, "index": layout.PREDICTIONS}
    runs = {"records": layout.RECORD, "weights": layout.WEIGHTS, "histories": layout.HISTORY}
    return {f"{before}{name}": of_pair(pattern, which) for name, pattern in (dump | runs).items()}


def exchanged_back(pattern):
    return lambda wildcards: study.path(pattern, pair_at(wildcards).reversed)


CLAIMS = parameters_at.claims(study, Whole())


# The cost of determinism.
def profile_at(wildcards):
    return Profile(wildcards.model, wildcards.hardware, wildcards.mode, int(wildcards.repeat))


def profile_part(part):
    """A part of the spec of a measurement, as text."""
    return lambda wildcards: values_as_text(study.profile_spec(profile_at(wildcards)).json[part])


def code_of_profile(wildcards):
    return job_code.digest_of_job("profile", parameters_at.profile(study, profile_at(wildcards)))


# Figures and tables.
shown_in = functools.cache(lambda figure: figure_files.files_read_by(study, FIGURES[figure]))


def figure_at(wildcards):
    return FIGURES[wildcards.figure]


def metrics_of_figure(wildcards):
    return [path for files in shown_in(wildcards.figure).values() for path in files]


def gates_of_figure(wildcards):
    return figure_files.gates_before(study, shown_in(wildcards.figure), figure_at(wildcards))


def notebook_of(wildcards):
    return figure_at(wildcards).notebook


# A figure's entry in Snakemake's report.
IN_REPORT = {
    "caption": "../report/figure.rst",
    "category": lambda wildcards: figure_kinds.KINDS[notebook_of(wildcards)].category,
    "labels": {"result": "{figure}"},
}


def rendered_as(*suffixes):
    """A regular expression for the names of the figures that are written in these formats."""
    return among(name for name, figure in FIGURES.items() if figure_kinds.KINDS[figure.notebook].suffixes == suffixes)


def files_of(figures):
    return [file for figure in figures for file in figure_files.files_of(study, figure)]


def files_of_item(item):
    def files(_wildcards):
        with errors_in_one_line():
            return files_of(paper_items.of_target(item, study.figures, FILE, config))

    return files


# What the page and the report show.
SHOWN = [*figure_files.summary_files(study), *files_of(study.figures)]
