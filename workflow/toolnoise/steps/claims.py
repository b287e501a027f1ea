"""The job that judges claims: on published numbers, and on the metric files of a study as a whole."""

from typing import Any

from toolnoise.steps.parts import COLUMNS, collected
from toolnoise.steps.step import Parameters, Read, Step, Where, Work, Write
from toolnoise.study import config, layout
from toolnoise.study.cells import Whole
from toolnoise.study.entries import labels_shown
from toolnoise.study.study import Study

# The kinds of metric files that claims are judged on, with where their columns are defined.
JUDGED = {
    kind: COLUMNS[kind]
    for kind in ("stability", "runs", "overhead", "remedies", "counts", "kernels", "identical")
    if kind in COLUMNS
}


def claimed(study: Study) -> list[dict[str, Any]]:
    """The claims that are judged on a study: those of the papers, and its own."""
    return _with_the_papers(own_claims(study))


def own_claims(study: Study) -> list[dict[str, Any]]:
    """The claims of the study's file, in an order that does not depend on it: study.json has its keys sorted."""
    return [{"name": name, **claim} for name, claim in sorted(study.config["claims"].items())]


def _with_the_papers(claims: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The papers' claims, then these. Statements of earlier versions have the papers', too: each claim counts once."""
    known = {name: {"name": name, **claim} for name, claim in config.registered("claims").items()}
    return list((known | {claim["name"]: claim for claim in claims}).values())


def toolings(study: Study) -> dict[str, dict[str, Any]]:
    """The toolings that verdicts speak of, by name."""
    return {name: dict(sorted(study.tooling(name).items())) for name in sorted(study.config["hardware"])}


def _shown_of(study: Study) -> Parameters:
    """What verdicts say of data sets: the label of those with many, and which are synthetic, if there are any."""
    labels = labels_shown(study.config["datasets"], (cell.dataset for cell in study.cells))
    said = {"label_of": labels, "synthetic": list(study.synthetic())}
    return {name: value for name, value in said.items() if value}


def _judged(kind: str) -> Read:
    """The metric file of the whole study, of a kind that claims are judged on, if the study has it."""

    def at(study: Study, _: Whole) -> list[str]:
        """The metric file of the whole study, if it has it."""
        return [name for found, name in collected(study).items() if found == kind]

    return Read(at, several=True, optional=True)


ROWS = {
    "judge-claims": Step(
        "judge_claims",
        "judge claims on published numbers and on a study",
        where=Where(Whole, lambda _: (Whole(),), "claims", "verdicts on claims"),
        parameters=lambda study, _: {"claims": own_claims(study), "toolings": toolings(study)} | _shown_of(study),
        reads={kind: _judged(kind) for kind in JUDGED},
        writes={"out": Write(layout.CLAIMS)},
        work=Work(
            "toolnoise.papers.claims.judging:judge",
            implied=lambda parameters: {"columns": JUDGED, "claims": _with_the_papers(parameters["claims"])},
            further=lambda _: tuple(columns.partition(":")[0] for columns in JUDGED.values()),
            files=lambda _: (
                "resources/claims.yaml",
                *(f"resources/published{part}.csv" for part in ("", "-sources", "-remedies", "-identical")),
            ),
        ),
    ),
}
