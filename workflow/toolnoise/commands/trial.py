"""The builder of a study's own model is called in a dry run: a mistake in it is reported before any job starts.

It is called in a process of its own. The data need not be prepared: a network is built for the shape of one image and
the number of classes.
"""

import json
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput, errors_in_one_line
from toolnoise.base.program import python_command
from toolnoise.base.spec import Spec
from toolnoise.checks import parameters
from toolnoise.datasets.sources import sources_of
from toolnoise.engines import serving
from toolnoise.provenance import statements
from toolnoise.study import job_code, layout, places
from toolnoise.study.environments import environment_of
from toolnoise.study.study import Study

# The exit code of a process that refuses its input, and the start of its message.
REFUSED, PREFIX = 2, "toolnoise: "


def call_builder(study: Study, model: str, dataset: str) -> None:
    """Call the builder of a study's own model for a data set, unless a check of it on some tooling is current."""
    own = [place for place in places.own_models(study) if place[:2] == (model, dataset)]
    asked = {place: parameters.common_spec(study, place) for place in own}
    if not any(is_current(given, study.path(layout.CHECKED, place)) for place, given in asked.items()):
        _require((given["spec"] for given in asked.values()), dataset, study.config["datasets"][dataset])


def is_current(given: dict[str, Any], output: str | Path) -> bool:
    """Whether a check exists that, by its statement, was made with these parameters by the present code."""
    if not Path(output).exists():
        return False
    try:
        made = statements.read_statement(statements.path_for(output))
    except (BadInput, OSError):
        return False
    made_by = {one.name: one.sha256 for one in made.dependencies}
    present = job_code.digests_of_sources("check-model", given)
    return made.parameters["spec"] == given["spec"] and made_by.items() >= present.items()


def _require(specs: Iterable[dict[str, Any]], dataset: str, entry: dict[str, Any]) -> None:
    """Refuse a model whose builder raises an error or returns no network that can be trained on a data set.

    There is a spec for each of its toolings. If this machine can serve no tooling, or the data are not here, only the
    job `check_model` can check it. This also holds for large data, whose archives take minutes to read.
    """
    missing = [source["path"] for source in sources_of(entry) if not Path(source["path"]).exists()]
    able = (spec for spec in specs if not environment_of({"spec": spec}) and not serving.why_not(spec["hardware"]))
    spec = next(able, None)
    if missing or entry["streamed"] or spec is None:
        return
    given = json.dumps({"spec": spec, "dataset": dataset, "entry": entry})
    done = subprocess.run(
        python_command(__name__), input=given, capture_output=True, text=True, errors="replace", check=False
    )
    # Frameworks print lines of their own, and a builder may end the process.
    lines = [line.removeprefix(PREFIX) for line in done.stderr.splitlines() if line.startswith(PREFIX)]
    if done.returncode == REFUSED and lines:
        where, _, problem = lines[-1].partition(": ")
        raise BadInput(where, "", problem)


def main() -> None:
    """Build the network of a spec, read as JSON from standard input, for the data set there."""
    # Imported here: the Snakefile imports this module, and must not import modules of data and networks with it.
    from toolnoise.datasets import preparation
    from toolnoise.training import network

    with errors_in_one_line():
        given = json.load(sys.stdin)
        seen = preparation.first_image(given["dataset"], given["entry"])
        spec = Spec.read(given["spec"])
        engine, _ = network.start_engine(spec)
        network.initial_state(network.build_model(engine, spec, seen), spec)


if __name__ == "__main__":
    main()
