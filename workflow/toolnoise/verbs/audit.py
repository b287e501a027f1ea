"""`toolnoise audit`: every result traced back to its data, code, seed and machine."""

import argparse
import re
import secrets
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from toolnoise.base.errors import BadInput
from toolnoise.base.printing import escaped
from toolnoise.commands.verb import AS_JSON, VERIFY, Verb, flag, option, show

if TYPE_CHECKING:
    from toolnoise.provenance.audit import Audit, Evidence, Found, Rule
    from toolnoise.provenance.signing import Demand
    from toolnoise.provenance.tree import Results

UNITS = {"s": "seconds", "min": "minutes", "h": "hours"}
# What `audit` and `import` may demand of the root.
DEMANDS = {
    "--require-signature": option(
        "KEY", "require a signature of this public key on the root, the page's statement, which names all others"
    ),
    "--revoked-keys": option("FILE", "reject signatures by these keys: public keys, one on each line"),
    "--not-before": option("DATE", "reject a root that was made before this date (UTC unless it has an offset)"),
}


def _run(options: argparse.Namespace) -> None:
    from toolnoise.provenance import archive
    from toolnoise.provenance.audit import as_json, as_text

    if options.repair and archive.archive_of(options.results):
        raise BadInput("command line", "--repair", f"{options.results} is an archive", "a results folder")
    with archive.opened(options.results) as (place,), demanded(options) as demands:
        audit = _examined(place, options, demands)
        if options.repair and audit.findings:
            _repair(audit)
            audit = _examined(place, options, demands)
        show((as_json if options.json else as_text)(audit, options.strict))
    sys.exit(0 if audit.is_clean(options.strict) else 1)


@contextmanager
def demanded(options: argparse.Namespace) -> "Iterator[list[Demand]]":
    """What the options of a command line demand of the root."""
    from toolnoise.provenance import signing

    if options.revoked_keys and not options.require_signature:
        raise BadInput("command line", "--revoked-keys", "no signature is required", "--require-signature beside it")
    demands = [signing.not_before(options.not_before)] if options.not_before else []
    with ExitStack() as stack:
        if options.require_signature:
            key = signing.signed_by(options.require_signature, options.revoked_keys)
            demands.append(stack.enter_context(key))
        yield demands


def _examined(place: Path, options: argparse.Namespace, demands: "list[Demand]") -> "Audit":
    from toolnoise.checks import audit_rules
    from toolnoise.provenance.audit import Rule, examine, rule

    asked = [Rule(one.name, one.says, lambda evidence, one=one: _kept(one, evidence)) for one in demands]
    asked += [rule(_made_again, "sample", options.sample)] if options.sample else []

    def rules(evidence: "Evidence") -> "list[Rule]":
        return [*audit_rules.rules_of(evidence), *asked]

    results, is_part = _loaded(place)
    return examine(results, rules, audit_rules.counted, options.clock_skew, is_part=is_part)


def _loaded(place: Path) -> "tuple[Results, bool]":
    """The results in a folder; of a file, what it rests on."""
    from toolnoise.provenance import tree

    folder = None if place.is_dir() else tree.study_of(place)
    if folder is None:
        return tree.load(place), False
    return tree.Results((tree.load_study(folder).behind(place.absolute().relative_to(folder).as_posix()),)), True


def _kept(demand: "Demand", evidence: "Evidence") -> "Found":
    top = evidence.tree.top
    if top is None:
        yield evidence.tree.named("index.html"), "there is no root: no statement names the others"
    elif why := demand.why_not(evidence.tree.root / top.path, top.statement):
        yield top.statement.name, why


def _made_again(count: int, evidence: "Evidence") -> "Found":
    """A sample of results that need no training, drawn anew each time, has the same bits if it is made again."""
    from toolnoise.checks.audit_rules import TRAINS
    from toolnoise.provenance import rebuild
    from toolnoise.verbs.rebuild import job_facts

    # Statements of earlier versions have no command.
    stated = [one.statement for one in evidence.tree.statements if one.statement.command]
    cheap = [rebuild.Job(evidence.tree, statement) for statement in stated if statement.verb not in TRAINS]
    for outcome in rebuild.made_again(rebuild.sampled(cheap, count, secrets.randbits(32)), job_facts()):
        if outcome.verdict in (rebuild.DIFFERS, rebuild.LACKING):
            yield outcome.job.statement.name, f"{outcome.verdict}: {'; '.join(outcome.lines)}"


def _repair(audit: "Audit") -> None:
    """Have Snakemake make damaged and missing files again, and what follows from them.

    It does not see damage, since it compares times: it is told which files to make again.
    """
    from toolnoise.base import program, scratch
    from toolnoise.provenance.audit import damaged
    from toolnoise.provenance.tree import RESULTS, STUDY_FILE

    for evidence in audit.evidence:
        for path in scratch.clean(evidence.tree.root):
            print(f"removed: {escaped(str(path))}", file=sys.stderr)
    for folder, targets in damaged(audit).items():
        root = folder.resolve()
        if root.parent.name != RESULTS:
            raise BadInput(folder, "", "cannot be repaired where it lies", "results of a study in results/")
        where = ["--snakefile", str(program.snakefile()), "--directory", str(root.parent.parent)]
        given = ["--configfile", str(root / STUDY_FILE), "--cores", "all", "--rerun-incomplete"]
        # The default target, for what follows from these files; and they, in case it does not need them.
        command = program.python("snakemake", *where, *given, "--forcerun", *targets, "--", "all", *targets)
        print(f"running: {escaped(shlex.join(command))}", file=sys.stderr, flush=True)
        # What it says goes where the audit's own remarks go.
        subprocess.run(command, stdout=sys.stderr, check=False)


def duration(text: str) -> timedelta:
    """A time with its unit, such as 2h."""
    matched = re.fullmatch(r"(\d{1,6}(?:\.\d{1,6})?)(s|min|h)", text, re.ASCII)
    if not matched:
        raise argparse.ArgumentTypeError(f"found {text!r}; expected a time such as 90s, 30min or 2h")
    return timedelta(**{UNITS[matched[2]]: float(matched[1])})


VERB = Verb(
    group=VERIFY,
    says="trace every result back to data, code, seed and machine; exit code 1 if there are findings",
    example="toolnoise audit results/demo",
    run=_run,
    arguments={
        "RESULTS": {
            "nargs": "?",
            "default": "results",
            "help": "a results folder, the folder or archive of one study, or a file: what it rests on (results)",
        },
        "--strict": flag("report stale results, made by other code, as findings too"),
        "--sample": option("N", "make N jobs that need no training again, and compare every bit", type=int),
        **DEMANDS,
        **AS_JSON,
        "--repair": flag(
            "have Snakemake make damaged and missing files again, and what follows from them, then audit once more"
        ),
        "--clock-skew": option(
            "TIME",
            "by how much clocks of machines may differ, such as 30min or 2h (2min)",
            type=duration,
            default=timedelta(minutes=2),
        ),
    },
)
