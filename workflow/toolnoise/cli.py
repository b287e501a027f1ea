"""The table of the verbs that people call, in the order of the help.

The verbs of jobs follow from their functions: JOBS in study/job_code.py.
"""

from functools import partial

from toolnoise.commands import command_line

VERBS = {
    "compare": "toolnoise.comparison.verbs.compare",
    "plan": "toolnoise.comparison.verbs.decide:PLAN",
    "gate": "toolnoise.comparison.verbs.decide:GATE",
    "keep": "toolnoise.comparison.verbs.decide:KEEP",
    "check": "toolnoise.checking.verbs.check",
    "init": "toolnoise.verbs.init",
    "run": "toolnoise.verbs.run",
    "summary": "toolnoise.verbs.summary",
    "estimate": "toolnoise.verbs.estimate",
    "audit": "toolnoise.verbs.audit",
    "diff": "toolnoise.verbs.diff",
    "rebuild": "toolnoise.verbs.rebuild",
    "export": "toolnoise.verbs.sharing:EXPORT",
    "import": "toolnoise.verbs.sharing:IMPORT",
    "sign": "toolnoise.verbs.sharing:SIGN",
    "adopt": "toolnoise.verbs.adopt",
    "doctor": "toolnoise.verbs.doctor",
    "crate": "toolnoise.verbs.sharing:CRATE",
}

main = partial(command_line.main, VERBS)
parsed = partial(command_line.parsed, VERBS)

if __name__ == "__main__":
    main()
