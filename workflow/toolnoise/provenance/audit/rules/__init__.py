"""The audit's rules: each has a name, one sentence (its function's docstring) and a check that yields findings."""

from collections.abc import Callable
from typing import NamedTuple

from toolnoise.provenance.audit.evidence import Evidence, Found
from toolnoise.provenance.audit.rules import (
    chains,
    code_origins,
    numbers,
    root,
    shared_draws,
    specs,
    stated_files,
    where_and_when,
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
        stated_files.statements_can_be_read,
        stated_files.every_file_is_stated,
        stated_files.every_output_is_there,
        stated_files.statements_lie_in_place,
        stated_files.digests_match,
        stated_files.only_plain_files,
        stated_files.nothing_else_is_there,
        stated_files.no_checkpoint_is_left,
        stated_files.study_is_complete,
        stated_files.only_what_slim_leaves_out_is,
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
        where_and_when.hardware_is_the_declared,
        shared_draws.runs_can_be_read,
        shared_draws.runs_share_their_data,
        shared_draws.initial_weights_are_shared,
        shared_draws.draws_are_shared,
        shared_draws.control_is_bit_equal,
        numbers.final_weights_are_the_histories,
        numbers.snapshots_are_the_histories,
        numbers.recorded_steps_are_the_histories,
        numbers.moved_bits_are_the_drawn,
        numbers.accuracies_are_the_logits,
        numbers.collected_are_their_parts,
        code_origins.code_is_known,
        code_origins.code_is_whole,
        code_origins.commit_is_known,
        code_origins.lock_is_kept,
        where_and_when.times_are_possible,
    )
)

# Additional rules, if signatures are required.
SIGNED, ROOT_SIGNED = rule(root.statements_are_signed), rule(root.root_is_signed)
