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


# Several runs in one process: a rule for each block, without wildcards, whose outputs are the files of all its runs.
BLOCKS = itertools.chain.from_iterable(of(study) for of in analyses.adding("study", "blocks"))

for number, runs in enumerate(BLOCKS, 1):

    rule:
        name:
            f"train_replicas_{number}"
        input:
            data=study.path(layout.DATA, runs[0]),
            checked=get_checked(runs[0]),
        output:
            weights=[study.path(layout.WEIGHTS, run) for run in runs],
            history=[study.path(layout.HISTORY, run) for run in runs],
            record=[study.path(layout.RECORD, run) for run in runs],
        log:
            STEPS["train-replica"].log("train-replica").format(study=study.name, **runs[0]._asdict()),
        priority: 1
        threads: cores(study.tooling(runs[0].hardware), study.config["datasets"][runs[0].dataset])
        resources:
            **get_resources_of_block(runs[0]),
        params:
            study=study.path(layout.STUDY),
            cell=runs[0].cell._asdict(),
            seeds=[run.seed for run in runs],
            planned=get_of_block(runs, lambda step, parameters: steps.planned(parameters)),
            code=get_of_block(runs, lambda step, parameters: step.code_digest(parameters)),
        shell:
            "toolnoise train-replicas --study {params.study:q} --model {params.cell[model]:q}"
            " --dataset {params.cell[dataset]:q} --hardware {params.cell[hardware]:q}"
            " --variant {params.cell[variant]:q} --seeds {params.seeds:q} --planned {params.planned:q} >{log:q} 2>&1"
