# What is dumped, checked, timed and measured: one rule for each such row of toolnoise.steps, under the name in it.
# The others differ in kind, and are written out.
for verb in STEPS.keys() - {steps.CONFIGURE, "fetch", "prepare", "train", "collect", "render", "report"}:

    rule:
        name:
            STEPS[verb].rule
        input:
            unpack(get_inputs(verb)),
        output:
            **{option.replace("-", "_"): pattern for option, pattern in STEPS[verb].writes.items()},
        log:
            STEPS[verb].log(verb),
        conda:
            "../../environment.yml"
        threads: get_threads(verb)
        resources:
            **get_resources(verb),
        params:
            study=study.path(layout.STUDY),
            planned=get_planned(verb),
            code=get_code(verb),
            verb=verb,
            arguments=get_arguments(verb),
        # A job's shell command is made when `verb` has long been another: so it has only what is in params.
        shell:
            "toolnoise {params.verb} --study {params.study:q} {params.arguments:q} --planned {params.planned:q}"
            " >{log:q} 2>&1"
