"""The rows of the jobs that make the parts of a study: the kernel's, and those of each analysis."""

from toolnoise.steps import table
from toolnoise.steps.step import Step
from toolnoise.study import analyses

# By the verb of the command line, in the order of the data.
ROWS: dict[str, Step] = table.ROWS | {
    verb: step for rows in analyses.adding("rows", "ROWS") for verb, step in rows.items()
}

# The columns of each kind of metric file of a study as a whole, by the name of the kind.
COLUMNS = {write.metric: write.columns for step in ROWS.values() for write in step.writes.values() if write.metric}
