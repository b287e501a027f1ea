"""The control gate of training programs: two runs with equal seeds must leave bit-equal outcomes.

If they differ, the log says in words what differs, and how to find the cause.
"""

from pathlib import Path

from toolnoise.base import command_words, files
from toolnoise.base.errors import BadInput
from toolnoise.base.job import Output, PlaceNames, WholeRuns
from toolnoise.checking import diagnosis, differences, program_text
from toolnoise.checking.outcome import EpochTable, Outcome
from toolnoise.measures import control_gate
from toolnoise.programs.left_arrays import GROUP, METRIC, arrays_named, read_left_arrays
from toolnoise.study import runs
from toolnoise.study.runs import Run

DIGESTS = ("weights_sha256", "tensors_sha256")


def check(cell: PlaceNames, command: str, records: WholeRuns, *, out: Output) -> None:
    """Write the gate's verdict on a control cell, or fail with one line after a page of reasons."""
    replicates = [runs.read_run(record) for record in records]
    first, *others = map(outcome_of, replicates)
    for run, other in zip(replicates[1:], others, strict=True):
        difference = differences.find_differences(first, other)
        if difference.files:
            words = command_words.split_command(command)
            why = diagnosis.diagnose_unobserved(program_text.program_files(words, Path()), words)
            print("\n".join(diagnosis.explain_difference(difference, why)), flush=True)
            what = f"equal seeds give other {', '.join(difference.files)}; the lines above say more"
            wanted = "replicates must be bit-equal; without Control in the grid nothing is gated"
            raise BadInput("/".join(cell), f"seeds {replicates[0].seed} and {run.seed}", what, wanted)
    weights = replicates[0].history()[-1]["weights_sha256"]
    files.write_json(out, control_gate.passing_verdict(cell, [run.seed for run in replicates], weights))


def outcome_of(run: Run) -> Outcome:
    """The outcome that the program left in a run, rebuilt from the run's files."""
    left, rows = read_left_arrays(run), run.history()
    columns = [column for column in rows[0] if column not in DIGESTS]
    return Outcome(
        run.folder,
        left.get("logits"),
        left.get("predictions"),
        {name: float(value) for name, value in arrays_named(left, METRIC).items()} or None,
        left.get("labels"),
        run.weights() or None,
        EpochTable(columns, [[row[column] for column in columns] for row in rows]),
        arrays_named(left, GROUP),
        losses=left.get("losses"),
    )
