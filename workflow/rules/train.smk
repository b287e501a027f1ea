# One run: one training in its own process.


rule train_run:
    input:
        unpack(get_inputs("train")),
        checked=get_checked,
    output:
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
