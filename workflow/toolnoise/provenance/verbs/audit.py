"""`toolnoise audit`: every result traced back to its data, code, seed and machine."""

import argparse
import re
import sys
from contextlib import nullcontext
from datetime import timedelta
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.commands.verb import AS_JSON, VERIFY, Verb, flag, option, show
from toolnoise.provenance.arguments import RESULTS_OR_ARCHIVE, SIGNATURE, required_key

if TYPE_CHECKING:
    from toolnoise.provenance.audit.examine import Audit
    from toolnoise.provenance.signing import RequiredKey

MOST_PROCESSES = 256
UNITS = {"s": "seconds", "min": "minutes", "h": "hours"}
MOST_HOURS = 24


def _run(options: argparse.Namespace) -> None:
    from toolnoise.base import scratch
    from toolnoise.provenance import archive, tree
    from toolnoise.provenance.audit import digests, examine, repair
    from toolnoise.provenance.audit.rules import ROOT_SIGNED, RULES, root, rule
    from toolnoise.provenance.rebuild import recompute

    if options.processes is not None and not 1 <= options.processes <= MOST_PROCESSES:
        wanted = f"a number from 1 to {MOST_PROCESSES}"
        raise BadInput("command line", "--processes", f"found {options.processes}", wanted)
    asked = {ROOT_SIGNED: options.require_signature, recompute.RULE: options.recompute}
    rules = (*RULES, *(rule for rule, wanted in asked.items() if wanted))
    if options.not_before:
        rules = (*rules, rule(root.not_before(options.not_before)))

    def examined(key: "RequiredKey | None") -> "Audit":
        results = tree.load(options.results)
        with digests.opened(options.results, trusted=not options.strict) if options.cache else nullcontext() as known:
            given = {"rules": rules, "key": key, "cache": known}
            return examine.examine(results, options.processes, **given, skew=options.clock_skew)

    changing = {"--clean": options.clean, "--repair": options.repair, "--cache": options.cache}
    for name in filter(changing.get, changing):
        if archive.archive_of(options.results):
            raise BadInput("command line", name, f"{options.results} is an archive", "a results folder")
    with archive.opened(options.results) as (options.results,), required_key(options) as key:
        if options.clean:
            for study in tree.load(options.results).trees:
                for path in scratch.clean(study.root) if study.study or study.statements else []:
                    print(f"removed: {escaped(str(path))}", file=sys.stderr)
        audit = examined(key)
        if options.repair and not audit.is_clean(strict=False):
            repair.run(audit)
            audit = examined(key)
        show((examine.as_json if options.json else examine.as_text)(audit, options.strict))
    sys.exit(0 if audit.is_clean(options.strict) else 1)


def duration(text: str) -> timedelta:
    """A time with its unit, such as 2h."""
    matched = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)(s|min|h)", text, re.ASCII)
    value = timedelta(**{UNITS[matched[2]]: float(matched[1])}) if matched else None
    if value is None or value > timedelta(hours=MOST_HOURS):
        wanted = f"expected a time up to {MOST_HOURS}h, such as 90s, 30min or 2h"
        raise argparse.ArgumentTypeError(f"found {text!r}; {wanted}")
    return value


VERB = Verb(
    group=VERIFY,
    says="trace every result back to data, code, seed and machine; exit code 1 if there are findings",
    example="toolnoise audit results/demo",
    run=_run,
    arguments={
        **RESULTS_OR_ARCHIVE,
        "--strict": flag("report stale results, made by other code, as findings too"),
        "--recompute": flag("make all results but the trained runs again from their statements, and compare every bit"),
        **SIGNATURE,
        **AS_JSON,
        "--processes": option("N", "parallel readers (one per core)", type=int),
        "--clean": flag("first remove the scratch files that killed jobs have left"),
        "--repair": flag(
            "have Snakemake make damaged and missing files again, and what follows from them, then audit once more"
        ),
        "--cache": flag(
            "do not read files again whose inode, size and times are as in an earlier audit with --cache; with "
            "--strict, read all"
        ),
        "--clock-skew": option(
            "TIME",
            "by how much clocks of machines may differ, such as 30min or 2h (2min)",
            type=duration,
            default=timedelta(minutes=2),
        ),
    },
)
