"""Flips of a bit in a statement of a study, each judged as the audit judges it: found from the root alone, or missed.

Nothing in the results is changed. A flipped statement cannot be read, or is not as the root names it. The root itself
is known by its digest, which must differ. Of a slim copy, the list of what was left out is flipped, too, and its
statement, which is known by its digest as the root is.
"""

import hashlib
import tempfile
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from toolnoise.provenance.audit.evidence import Evidence
from toolnoise.provenance.audit.rules import root as roots
from toolnoise.provenance.audit.rules import stated_files

from toolnoise import streams
from toolnoise.base.errors import BadInput
from toolnoise.provenance import left_out, tree


class Flips(NamedTuple):
    """How many bytes of a statement were tried, and those whose flip was not found."""

    statement: str
    tried: int
    missed: list[int]


def statements(folder: Path, count: int) -> list[str]:
    """The paths of the root, of a slim copy's list and its statement, and of some others, drawn at random."""
    whole = tree.load_study(folder)
    root = whole.top
    if root is None:
        raise BadInput(folder, "", "has no root", "results of a study whose page is made")
    others = [one.path for one in whole.statements if one is not root]
    order = streams.permutation(streams.key(0, streams.ANALYSIS, 0, "flips"), len(others))
    of_list = [whole.list_stated.path, left_out.FILE] if whole.list_stated else []
    return [root.path, *of_list, *(others[place] for place in order[: count - 1])]


def flipped(folder: Path, path: str, places: Iterable[int]) -> Flips:
    """Flip a bit at each place of one statement."""
    whole = tree.load_study(folder)
    evidence = Evidence(whole, {}, datetime.now(UTC))
    content = (folder / path).read_bytes()
    known = {one.path: one.sha256 for one in (whole.top, whole.list_stated) if one}
    others = tuple(one for one in whole.statements if one.path != path)
    tried, missed = 0, []
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch, path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        for place in places:
            if place >= len(content):
                break
            changed = bytearray(content)
            changed[place] ^= 1 << place % 8
            copy.write_bytes(changed)
            tried += 1
            if path == left_out.FILE:
                now = whole.listed._replace(sha256=hashlib.sha256(changed).hexdigest())
                evidence.tree = replace(whole, listed=now)
                missed += [] if any(stated_files.only_what_slim_leaves_out_is(evidence)) else [place]
                continue
            try:
                one = tree.read_statement(Path(scratch), path, len(changed))
            except BadInput:
                continue
            if path in known:
                found = one.sha256 != known[path]
            else:
                evidence.tree = replace(whole, statements=(*others, one))
                found = any(roots.statements_are_the_roots(evidence))
            if not found:
                missed.append(place)
    return Flips(path, tried, missed)
