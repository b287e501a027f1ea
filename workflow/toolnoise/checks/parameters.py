"""The parameters and some inputs of the jobs of a study, by place; Snakemake's rules use them."""

from typing import Any

from toolnoise.study import layout, programs
from toolnoise.study.cells import Cell, Dataset, Network, Pair, Profile, Training, Variants, Whole
from toolnoise.study.entries import entry_without_machine, labels_shown
from toolnoise.study.expected import METRICS
from toolnoise.study.study import Study

Parameters = dict[str, Any]


def data(study: Study, place: Dataset) -> Parameters:
    """A data set and its entry."""
    return {"dataset": place.dataset, "entry": entry_without_machine(study.config["datasets"][place.dataset])}


def common_spec(study: Study, place: Variants) -> Parameters:
    """One spec for all runs of a place, so that a further variant is no reason to train again."""
    return {"spec": study.spec(Cell(*place, "control"), 1).as_json()}


def exchange(study: Study, way: Pair) -> Parameters:
    """The spec of the cell that computes, and the tooling of the runs that it computes with."""
    trained, elsewhere = way.cells
    return {"spec": study.spec(elsewhere, study.seeds[trained][0]).as_json(), "trained_on": trained.hardware}


def profile(study: Study, place: Profile) -> Parameters:
    """The spec of a measurement of steps."""
    return {"spec": study.profile_spec(place).as_json()}


def outcomes(study: Study, place: Cell) -> Parameters:
    """The kind of outcome of the program of a cell."""
    return {"outcome": programs.outcome_of_model(study.config, place.model)}


def growth(study: Study, place: Variants) -> Parameters:
    """The place, and the pairs of cells that are compared."""
    return {**place._asdict(), "references": [[list(cell) for cell in both] for both in study.growing()[place]]}


def claims(study: Study, _: Whole) -> Parameters:
    """The study's own claims, in an order independent of its file, and the toolings and data that verdicts describe."""
    labels = labels_shown(study.config["datasets"], (cell.dataset for cell in study.cells))
    said = {"label_of": labels, "synthetic": list(study.synthetic()), "judged": list(study.config.get("judged", ()))}
    return {
        "claims": [{"name": name, **claim} for name, claim in sorted(study.config["claims"].items())],
        "toolings": {name: dict(sorted(study.tooling(name).items())) for name in sorted(study.config["hardware"])},
        **{name: value for name, value in said.items() if value},
    }


# Files


def compared_runs(study: Study, place: Variants) -> list[str]:
    """The files with the values of each run, for all cells that are compared."""
    cells = dict.fromkeys(cell for both in study.comparisons(place) for cell in both)
    return [study.path(METRICS["runs"].pattern, cell) for cell in cells]


def growing_records(study: Study, place: Variants) -> list[str]:
    """The records of all runs of the cells that are compared."""
    cells = dict.fromkeys(cell for both in study.growing()[place] for cell in both)
    return [record for cell in cells for record in study.runs(layout.RECORD, cell)]


def profile_records(study: Study, network: Network) -> list[str]:
    """The records of all profiles of the network on the tooling, in either mode."""
    chosen = [profile for profile in study.profiles if (profile.model, profile.hardware) == network]
    return [study.path(layout.PROFILE_RECORD, profile) for profile in chosen]


def remedied_dump(study: Study, cell: Cell) -> list[str]:
    """The cell's dump under remedies; a cell without a remedy of its own has none."""
    return [study.path(layout.REMEDIED, cell)] if study.remedies_of(cell) else []


def single_dump(study: Study, cell: Cell) -> list[str]:
    """The dump of the runs that a cell under remedies is compared with; none if these are its own runs."""
    single = study.without_remedy(cell)
    return [study.path(layout.LOGITS, single)] if single != cell else []


def first_outcome(study: Study, place: Dataset) -> str:
    """The record of the run that brings a data set: a Control run if one exists, since other runs await its gate."""
    cells = [cell for cell in study.cells if cell.dataset == place.dataset]
    first = next((cell for cell in cells if cell.variant == "control"), cells[0])
    return study.runs(layout.RECORD, first)[0]


def gate_of(study: Study, run: Training) -> list[str]:
    """The verdict on the control cell, if the study has this cell and the run is not in it."""
    control = Cell(*run[:3], "control")
    gated = run.cell != control and control in study.seeds
    return [study.path(layout.GATE, control)] if gated else []
