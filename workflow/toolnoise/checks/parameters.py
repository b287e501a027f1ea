"""The parameters and some inputs of the jobs of a study, at their places."""

from typing import Any

from toolnoise.papers import notebook_values
from toolnoise.study import layout, programs
from toolnoise.study.cells import (
    Cell,
    Control,
    Dataset,
    Network,
    Pair,
    Place,
    Profile,
    Shown,
    Training,
    Variants,
    Whole,
)
from toolnoise.study.entries import defining, labels_shown
from toolnoise.study.expected import METRICS
from toolnoise.study.study import Study

Parameters = dict[str, Any]


def nothing(_study: Study, _place: Place) -> Parameters:
    """None: its inputs say all."""
    return {}


def names(_study: Study, place: Place) -> Parameters:
    """The names in its paths."""
    return place._asdict()


def data(study: Study, place: Dataset) -> Parameters:
    """A data set and its entry."""
    return {"dataset": place.dataset, "entry": defining(study.config["datasets"][place.dataset])}


def run_spec(study: Study, run: Training) -> Parameters:
    """The spec of a run."""
    return {"spec": study.spec(run.cell, run.seed).as_json()}


def program_spec(study: Study, run: Training) -> Parameters:
    """The spec of a run of a program, and its study, whose folder the program may name."""
    return run_spec(study, run) | {"study": study.name}


def spec(study: Study, cell: Cell) -> Parameters:
    """The spec of the first run of a cell."""
    return {"spec": study.spec(cell, study.seeds[cell][0]).as_json()}


def common_spec(study: Study, place: Variants) -> Parameters:
    """The spec as far as all runs of a place have it, so that a variant more is no reason to train again."""
    return {"spec": study.spec(Cell(*place, "control"), 1).as_json()}


def exchange(study: Study, way: Pair) -> Parameters:
    """The spec of what computes: runs of the same cell there."""
    trained, elsewhere = way.cells
    return {"spec": study.spec(elsewhere, study.seeds[trained][0]).as_json(), "trained_on": trained.hardware}


def profile(study: Study, place: Profile) -> Parameters:
    """The spec of a measurement of steps."""
    return {"spec": study.profile_spec(place).as_json()}


def remedies(study: Study, cell: Cell) -> Parameters:
    """The spec, and the remedies that are applied."""
    return spec(study, cell) | {"remedies": list(study.remedies_of(cell))}


def layers(study: Study, cell: Cell) -> Parameters:
    """The spec, and the number of examples."""
    return spec(study, cell) | {"examples": study.layers[cell]}


def cell(_study: Study, place: Cell) -> Parameters:
    """The cell."""
    return {"cell": list(place)}


def control(_study: Study, place: Control) -> Parameters:
    """The control cell."""
    return {"cell": list(place.cell)}


def program_control(study: Study, place: Control) -> Parameters:
    """The control cell of a program, and its command."""
    return control(study, place) | {"command": study.config["models"][place.model].get("command", "")}


def pair(_study: Study, place: Pair) -> Parameters:
    """The pair."""
    return {"pair": list(place)}


def measured(study: Study, place: Cell) -> Parameters:
    """The cell, and the seed of what its measure draws."""
    return {"cell": list(place), "study_seed": study.config["seed"]}


def identical(study: Study, place: Cell) -> Parameters:
    """The same, and how identical runs are compared."""
    return measured(study, place) | {"identical": study.config["identical"]}


def outcomes(study: Study, place: Cell) -> Parameters:
    """The same, and what the program leaves."""
    return measured(study, place) | {"outcome": programs.outcome(study.config, place.model)}


def growth(study: Study, place: Variants) -> Parameters:
    """The place, and what is compared with what."""
    return {
        **place._asdict(),
        "references": [[list(cell) for cell in both] for both in study.growing()[place]],
    }


def overhead(study: Study, network: Network) -> Parameters:
    """The network and the tooling, and how steps are timed."""
    accelerator = study.tooling(network.hardware)["accelerator"]
    return {**network._asdict(), "accelerator": accelerator, "overhead": study.config["overhead"]}


def figure(study: Study, place: Shown) -> Parameters:
    """The figure, its notebook, and what that is given."""
    about = study.figure(place.figure)
    return {"figure": about.name, "notebook": about.notebook, **notebook_values.values(study, about)}


def claims(study: Study, _: Whole) -> Parameters:
    """The study's own claims, in an order that does not depend on its file, and what verdicts say of toolings."""
    labels = labels_shown(study.config["datasets"], (cell.dataset for cell in study.cells))
    said = {"label_of": labels, "synthetic": list(study.synthetic())}
    return {
        "claims": [{"name": name, **claim} for name, claim in sorted(study.config["claims"].items())],
        "toolings": {name: dict(sorted(study.tooling(name).items())) for name in sorted(study.config["hardware"])},
        **{name: value for name, value in said.items() if value},
    }


# Files


def compared_runs(study: Study, place: Variants) -> list[str]:
    """The values of each run of all cells that are compared."""
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
    """The dump of the runs that it is compared with; none if these are its own."""
    single = study.without_remedy(cell)
    return [study.path(layout.LOGITS, single)] if single != cell else []


def first_outcome(study: Study, place: Dataset) -> str:
    """The run that brings a data set: one of Control, if there is one, since nothing else runs before its gate."""
    cells = [cell for cell in study.cells if cell.dataset == place.dataset]
    first = next((cell for cell in cells if cell.variant == "control"), cells[0])
    return study.runs(layout.RECORD, first)[0]


def gate_of(study: Study, run: Training) -> list[str]:
    """The verdict on the control cell, if the study has one and the run is not one of its own."""
    control = Control(*run[:3])
    gated = run.variant != control.cell.variant and control.cell in study.seeds
    return [study.path(layout.GATE, control)] if gated else []
