"""The audit's rules: each has a name, one sentence (its function's docstring) and a check that yields findings."""

from collections.abc import Callable
from typing import NamedTuple

from toolnoise.verify.audit.evidence import Evidence, Found
from toolnoise.verify.audit.rules import (
    chains,
    draws,
    files,
    machines,
    numbers,
    origins,
    root,
    specs,
    times,
    weights,
)


class Rule(NamedTuple):
    """A rule, with its name."""

    name: str
    check: Callable[[Evidence], Found]

    @property
    def says(self) -> str:
        """The promise that holds without findings."""
        return (self.check.__doc__ or "").strip()


def rule(check: Callable[[Evidence], Found]) -> Rule:
    """The rule with the name of its check."""
    return Rule(check.__name__.replace("_", "-"), check)


# In reading order: problems with files explain most of the later findings.
RULES = tuple(
    rule(check)
    for check in (
        files.statements_can_be_read,
        files.every_file_is_stated,
        files.every_output_is_there,
        files.statements_lie_in_place,
        files.digests_match,
        files.only_plain_files,
        files.nothing_else_is_there,
        files.no_checkpoint_is_left,
        files.study_is_complete,
        files.only_what_slim_leaves_out_is,
        root.statements_are_the_roots,
        chains.inputs_are_what_was_made,
        chains.inputs_are_the_jobs,
        chains.chains_end_in_sources,
        chains.chains_have_no_circle,
        chains.data_is_the_declared,
        specs.path_says_the_spec,
        specs.made_for_this_study,
        specs.records_agree,
        specs.keys_follow,
        machines.hardware_is_the_declared,
        draws.runs_can_be_read,
        draws.runs_share_their_data,
        draws.initial_weights_are_shared,
        draws.draws_are_shared,
        draws.control_is_bit_equal,
        weights.final_weights_are_the_histories,
        weights.snapshots_are_the_histories,
        weights.recorded_steps_are_the_histories,
        weights.moved_bits_are_the_drawn,
        numbers.accuracies_are_the_logits,
        numbers.collected_are_their_parts,
        origins.code_is_known,
        origins.code_is_whole,
        origins.commit_is_known,
        origins.lock_is_kept,
        times.times_are_possible,
    )
)

# Additional rules, if signatures are required.
SIGNED, ROOT_SIGNED = rule(root.statements_are_signed), rule(root.root_is_signed)
