"""The command line of a job: what its rule calls, with the files at their places in the study."""

from toolnoise.steps import STEPS, outputs
from toolnoise.study.cells import Place
from toolnoise.study.study import Study


def words(study: Study, file: str, verb: str, place: Place, checkpoint: str = "checkpoint.npz") -> list[str]:
    """The verb and its arguments; `file` is the study's."""
    step, found = STEPS[verb], [verb, "--study", file]
    for name, value in place._asdict().items():
        found += [f"--{name.replace('_', '-')}", str(value)]
    for option, value in step.given(study, place).items():
        if option == "read":
            found += [word for kind in value for word in ("--read", *kind)]
        else:
            found += [f"--{option}", *([value] if isinstance(value, str) else value)]
    written = outputs(verb, step.parameters(study, place), study.name)
    for option in step.writes:
        found += [f"--{option}", *(path for path, of in written if of == option)]
    return [*found, "--checkpoint", checkpoint] if "checkpoint" in step.work.aside else found
