# One run: one training in its own process.


rule train_run:
    input:
        unpack(get_inputs("train")),
        checked=get_checked,
    output:
        **get_statement(layout.WEIGHTS),
        weights=layout.WEIGHTS,
        history=layout.HISTORY,
        record=layout.RECORD,
    log:
        STEPS["train"].log("train"),
    wildcard_constraints:
        **get_own("train"),
    # Trainings go before all short jobs. At the end, short jobs share the cores, where a last training would leave all
    # but one core idle.
    priority: 1
    conda:
        get_environment("train")
    threads: get_threads("train")
    resources:
        **get_resources("train"),
    params:
        study=study.path(layout.STUDY),
        checkpoint=layout.CHECKPOINT,
        planned=get_planned("train"),
        code=get_code("train"),
    shell:
        "toolnoise train --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --seed {wildcards.seed:q}"
        " --data {input.data:q} --weights {output.weights:q} --history {output.history:q} --record {output.record:q}"
        " --checkpoint {params.checkpoint:q} --planned {params.planned:q} >{log:q} 2>&1"


if "run-program" in STEPS:

    # One run of an existing training program.
    rule run_program:
        input:
            unpack(get_inputs("run-program")),
        output:
            **get_statement(layout.WEIGHTS),
            weights=layout.WEIGHTS,
            history=layout.HISTORY,
            record=layout.RECORD,
        log:
            STEPS["run-program"].log("run-program"),
        wildcard_constraints:
            **get_own("run-program"),
        priority: 1
        conda:
            get_environment("run-program")
        threads: get_threads("run-program")
        resources:
            **get_resources("run-program"),
        params:
            study=study.path(layout.STUDY),
            checkpoint=layout.CHECKPOINT,
            planned=get_planned("run-program"),
            code=get_code("run-program"),
        shell:
            "toolnoise run-program --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
            " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --seed {wildcards.seed:q}"
            " --gate {input.gate:q} --weights {output.weights:q} --history {output.history:q} --record {output.record:q}"
            " --checkpoint {params.checkpoint:q} --planned {params.planned:q} >{log:q} 2>&1"


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
            **get_statement(*(study.path(layout.WEIGHTS, run) for run in runs)),
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
