"""The table of the verbs that people call, in the order of the help.

The verbs of jobs follow from the table of steps.
"""

from functools import partial

from toolnoise.commands import command_line

VERBS = {
    "compare": "toolnoise.verbs.compare",
    "plan": "toolnoise.verbs.plan",
    "check": "toolnoise.verbs.check",
    "init": "toolnoise.verbs.init",
    "adopt": "toolnoise.verbs.adopt",
    "doctor": "toolnoise.verbs.doctor",
    "estimate": "toolnoise.verbs.estimate",
    "run": "toolnoise.verbs.run",
    "status": "toolnoise.verbs.status",
    "summary": "toolnoise.verbs.summary",
    "audit": "toolnoise.verbs.audit",
    "diff": "toolnoise.verbs.diff",
    "rebuild": "toolnoise.verbs.rebuild",
    "sign": "toolnoise.verbs.sign",
    "page": "toolnoise.verbs.page",
    "export": "toolnoise.verbs.export",
    "import": "toolnoise.verbs.importing",
    "slim": "toolnoise.verbs.slim",
    "crate": "toolnoise.verbs.crate",
    "synthesise": "toolnoise.verbs.synthesise",
}

main = partial(command_line.main, VERBS)
parsed = partial(command_line.parsed, VERBS)

if __name__ == "__main__":
    main()
