"""The functions that do jobs, by the verbs of the command line, and the code that each job's outcome depends on.

Imports nothing heavy, because the Snakefile reads this module: a job's function is imported when the job runs.
"""

import functools
import importlib
from typing import Any

from toolnoise.base import code_digest, program
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Files, JobFunction
from toolnoise.base.spec import Spec
from toolnoise.datasets import sources
from toolnoise.datasets.readers import READERS
from toolnoise.study import expected, figure_files, figure_kinds
from toolnoise.study.figure_kinds import KINDS

# In the order of the data flow.
JOBS = {
    "fetch": "toolnoise.datasets.fetching:fetch",
    "prepare": "toolnoise.datasets.preparation:prepare",
    "gather-labels": "toolnoise.programs.left_arrays:write_labels",
    "count": "toolnoise.datasets.label_tables:count",
    "name-classes": "toolnoise.datasets.label_tables:write_names",
    "check-model": "toolnoise.training.model_check:check",
    "train": "toolnoise.training.loop:train",
    "run-program": "toolnoise.programs.run_program:train",
    "adopt-run": "toolnoise.programs.run_program:adopt",
    "predict": "toolnoise.dumps.prediction_dump:dump",
    "predict-elsewhere": "toolnoise.dumps.prediction_dump:dump",
    "dump-outcomes": "toolnoise.programs.outcome_dump:dump",
    "remedy": "toolnoise.papers.remedy_dump:dump",
    "dump-layers": "toolnoise.papers.layers.dump:dump",
    "dump-continuations": "toolnoise.papers.language.continuations:dump",
    "check-control": "toolnoise.measures.control_gate:check",
    "check-program": "toolnoise.programs.program_gate:check",
    "measure": "toolnoise.papers.identical.measure:measure",
    "measure-program": "toolnoise.measures.noise:measure",
    "measure-outcomes": "toolnoise.programs.program_measures:measure",
    "measure-ratios": "toolnoise.measures.ratios:measure",
    "measure-pair": "toolnoise.papers.frameworks.pair:measure",
    "measure-frameworks": "toolnoise.papers.frameworks.measure:measure",
    "measure-growth": "toolnoise.papers.growth:measure",
    "measure-language": "toolnoise.papers.language.measure:measure",
    "measure-layers": "toolnoise.papers.layers.measure:measure",
    "measure-remedies": "toolnoise.papers.remedies:measure",
    "measure-speed": "toolnoise.estimate.speed:measure",
    "profile": "toolnoise.papers.overhead.profile:profile",
    "measure-overhead": "toolnoise.papers.overhead.measure:measure",
    "collect": "toolnoise.base.metric_files:collect",
    "judge-claims": "toolnoise.papers.claims.judging:judge",
    "render": "toolnoise.figures.render:render",
    "show-cell": "toolnoise.pages.cell_page:show",
    "write-page": "toolnoise.pages.study_page:show",
    "report": "toolnoise.pages.study_page:write_report",
}
# The kinds of metric files that claims are judged on.
JUDGED = ("stability", "runs", "overhead", "remedies", "counts", "kernels", "identical")


def perform_job(verb: str, parameters: dict[str, Any], files: Files) -> dict[str, Any] | None:
    """Do a job; return the observed properties of the machine if the job used a framework.

    `files` maps arguments to the inputs, the outputs, and the files that change no outcome.
    """
    values = {name: value for name, value in parameters.items() if name != "keys"}
    if "spec" in values:
        values["spec"] = Spec.read(values["spec"])
    return function_of(verb).function(**values | _implied(verb, parameters, files), **files)


def _implied(verb: str, parameters: dict[str, Any], files: Files) -> dict[str, Any]:
    """Further arguments, which follow from the parameters."""
    if verb == "collect":
        if parameters["kind"] not in expected.METRICS:
            raise BadInput("command line", "--kind", f"found {parameters['kind']!r}", ", ".join(expected.METRICS))
        return {"columns": expected.METRICS[parameters["kind"]].columns}
    if verb == "render":
        kinds = figure_files.by_kind(files["metrics"])
        figure_files.require_fitting(parameters["figure"], parameters["notebook"], kinds, files["out"])
        return {"by_kind": kinds}
    if verb == "judge-claims":
        from toolnoise.study import config

        return {
            "columns": {kind: expected.METRICS[kind].columns for kind in JUDGED},
            "claims": claims_with_those_of_papers(parameters["claims"], config.registry_entries("claims")),
        }
    return {}


def claims_with_those_of_papers(own: list[dict[str, Any]], papers: dict[str, Any]) -> list[dict[str, Any]]:
    """The papers' claims, then the study's own. Statements of earlier versions list both; each claim counts once."""
    known = {name: {"name": name, **claim} for name, claim in papers.items()}
    return list((known | {claim["name"]: claim for claim in own}).values())


@functools.cache
def function_of(verb: str) -> JobFunction:
    """Import and return the function that does the jobs of a verb."""
    module, _, name = JOBS[verb].partition(":")
    return JobFunction.of(getattr(importlib.import_module(module), name))


def modules_of_job(verb: str, parameters: dict[str, Any]) -> tuple[str, ...]:
    """The modules that a job's outcome depends on; with a spec, also the engine and the model's builder."""
    named = code_digest.named_by(Spec.read(parameters["spec"])) if "spec" in parameters else ()
    return (JOBS[verb].partition(":")[0], *named, *_further(verb, parameters))


def _further(verb: str, parameters: dict[str, Any]) -> tuple[str, ...]:
    """The further modules that follow from the parameters."""
    if verb == "prepare":
        return (READERS[parameters["entry"]["reader"]].partition(":")[0],)
    if verb == "collect":
        return (_columns(parameters["kind"]),)
    if verb == "judge-claims":
        return tuple(map(_columns, JUDGED))
    if verb == "render":
        return code_digest.imports_of(figure_kinds.notebook_of(parameters["notebook"]))
    # The report shows the categories of figures.
    return (figure_kinds.__name__,) if verb == "report" else ()


def _columns(kind: str) -> str:
    return expected.METRICS[kind].columns.partition(":")[0]


def files_of_job(verb: str, parameters: dict[str, Any]) -> tuple[str, ...]:
    """The files of the repository that a job reads."""
    if verb == "prepare":
        return sources.embedded_text(parameters["entry"])
    if verb == "judge-claims":
        published = (f"resources/published{part}.csv" for part in ("", "-sources", "-remedies", "-identical"))
        return ("resources/claims.yaml", *published)
    if verb == "render":
        notebook = parameters["notebook"]
        return (figure_kinds.notebook_of(notebook), *KINDS[notebook].files)
    if verb in ("show-cell", "write-page"):
        web = map(code_digest.name_of, sorted(program.PACKAGE.glob("pages/web/*")))
        return (*web, figure_kinds.CAPTIONS) if verb == "write-page" else tuple(web)
    if verb == "report":
        return (*(f"workflow/report/{name}.rst" for name in ("workflow", "metrics", "figure")), figure_kinds.CAPTIONS)
    return ()


def digest_of_job(verb: str, parameters: dict[str, Any]) -> str:
    """The digest of all code and files of the repository that a job's outcome depends on."""
    return code_digest.digest_of_code(*modules_of_job(verb, parameters), files=files_of_job(verb, parameters))


def digests_of_sources(verb: str, parameters: dict[str, Any]) -> dict[str, str]:
    """The SHA-256 of each of these files, by path."""
    return code_digest.digests_of_files(*modules_of_job(verb, parameters), files=files_of_job(verb, parameters))
