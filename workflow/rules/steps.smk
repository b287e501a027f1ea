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
        shell:
            get_command(verb)
