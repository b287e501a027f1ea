# Dumps, checks, timings and measures: one rule for each such row of toolnoise.steps, under the rule name in that row.
# The other rows differ in kind, and their rules are written out.
WRITTEN_OUT = {"fetch", "prepare", "train", "run-program", "collect", "render", "report"}

for verb in STEPS.keys() - {steps.CONFIGURE, *WRITTEN_OUT}:

    rule:
        name:
            STEPS[verb].rule
        input:
            unpack(get_inputs(verb)),
        output:
            **{option.replace("-", "_"): write.pattern for option, write in STEPS[verb].writes.items()},
        log:
            STEPS[verb].log(verb),
        wildcard_constraints:
            **get_own(verb),
        # Steps are timed before all else, so that all of them have the same other work beside them on this machine:
        # otherwise both modes of a tooling may differ by what else ran. Models are checked before any run is trained.
        priority: {"profile": 3, "check-model": 2}.get(verb, 0)
        group:
            get_group(verb)
        conda:
            get_environment(verb)
        threads: get_threads(verb)
        resources:
            **get_resources(verb),
        params:
            study=study.path(layout.STUDY),
            planned=get_planned(verb),
            code=get_code(verb),
            verb=verb,
            arguments=get_arguments(verb),
        # A job's shell command is made after `verb` has changed, so it may use only what is in params.
        shell:
            "toolnoise {params.verb} --study {params.study:q} {params.arguments:q} --planned {params.planned:q}"
            " >{log:q} 2>&1"
