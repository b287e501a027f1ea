"""The comparison of evaluation logs as the command line and programs ask for it."""

from collections.abc import Sequence

from toolnoise.base.errors import BadInput
from toolnoise.comparison import read_arms
from toolnoise.comparison.designs import Assumption
from toolnoise.comparison.evals import compared_logs, log_files
from toolnoise.comparison.evals.compared_logs import LogComparison
from toolnoise.comparison.evals.scored import Asked


def are_logs(given: Sequence[Sequence[str]], *, correct: bool, cluster: str | None) -> bool:
    """Whether arms are logs: by an option, or by what the first file of the first arm has."""
    files = log_files.files_of(given[0][0])
    if correct or (files and log_files.reader_of(files[0]) is not None):
        return True
    if cluster:
        what = f"found predictions or numbers in {given[0][0]}"
        raise BadInput("command line", "--cluster", what, "only for logs of language models, or with --correct")
    return False


def compare(
    given: Sequence[Sequence[str]], asked: Asked, assumption: Assumption = "independent"
) -> list[LogComparison]:
    """The logs of each arm, compared with the first."""
    arms = [log_files.read(arm, asked) for arm in given]
    counts = [len(arm.runs) for arm in arms]
    if len(arms) > len(read_arms.NAMES):
        raise BadInput("command line", "ARMS", f"found {len(arms)} arms", f"at most {len(read_arms.NAMES)}")
    for arm in arms:
        if arm.metric != arms[0].metric:
            what = f"found the score {arm.metric}, and {arms[0].metric} in {arms[0].file}"
            raise BadInput(arm.file, "", what, "the same score")
    paired = assumption == "paired"
    if paired and (len(set(counts)) > 1 or counts[0] == 1):
        allowed = "equal numbers of runs, two or more"
        raise BadInput("command line", "--paired", f"found {', '.join(map(str, counts))} runs", allowed)
    names = [arm.names for arm in arms if arm.names is not None]
    if paired and any(each != names[0] for each in names):
        raise BadInput("command line", "--paired", "found other names of runs in one arm", "the same runs in each arm")
    return compared_logs.compare_all(arms, asked.cluster, paired=paired, one_draw=assumption == "same start")
