# One run: one training in its own process, of a network that is built here or of an existing training program.
for verb in (verb for verb in ("train", "run-program") if verb in STEPS):

    rule:
        name:
            STEPS[verb].rule
        input:
            unpack(get_inputs(verb)),
            checked=get_checked if verb == "train" else [],
        output:
            weights=layout.WEIGHTS,
            history=layout.HISTORY,
            record=layout.RECORD,
        log:
            STEPS[verb].log(verb),
        wildcard_constraints:
            **get_own(verb),
        # Trainings go before all short jobs. At the end, short jobs share the cores, where a last training would leave
        # all but one core idle.
        priority: 1
        conda:
            get_environment(verb)
        threads: get_threads(verb)
        resources:
            **get_resources(verb),
        params:
            study=study.path(layout.STUDY),
            checkpoint=layout.CHECKPOINT,
            planned=get_planned(verb),
            code=get_code(verb),
            verb=verb,
            arguments=get_arguments(verb),
        # A job's shell command is made after `verb` has changed, so it may use only what is in params.
        shell:
            "toolnoise {params.verb} --study {params.study:q} {params.arguments:q} --checkpoint {params.checkpoint:q}"
            " --planned {params.planned:q} >{log:q} 2>&1"
