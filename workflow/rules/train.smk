# One run: one training in its own process, of a network from a builder or of an existing training program.


rule check_model:
    """Build one of the study's own models before its first run, and check what the builder returns."""
    input:
        in_grid("check-model"),
        data=data_of_model,
    output:
        checked=layout.CHECKED,
        statement=statement_of(layout.CHECKED),
    log:
        in_study("logs/{study}/check-model/{model}/{dataset}/{hardware}.log"),
    # Before all trainings.
    priority: 2
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
    params:
        **SPEC | {"seed": lambda wildcards: values_as_text(study.seeds_stated(cell_at(wildcards), 1))},
        code=code_of_spec("check-model"),
    shell:
        f"toolnoise check-model {SPEC_OPTIONS}" " --data {input.data:q} --out {output.checked:q} >{log:q} 2>&1"


rule train_run:
    """Train one run of a network."""
    input:
        in_grid("train"),
        data=layout.DATA,
        checked=checked if OWN_MODELS else [],
        base=lambda wildcards: study.of_base(layout.WEIGHTS, wildcards.model),
    output:
        weights=layout.WEIGHTS,
        history=layout.HISTORY,
        record=layout.RECORD,
        statement=statement_of(layout.WEIGHTS),
    log:
        in_study("logs/{study}/train/{model}/{dataset}/{hardware}/{variant}/{seed}.log"),
    wildcard_constraints:
        model=BUILT,
    # Trainings start before all short jobs. Then short jobs share the cores at the end, when a last training would
    # leave all but one core idle.
    priority: 1
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
        runtime=minutes_of_training,
    params:
        **SPEC,
        code=code_of_spec("train"),
        checkpoint=layout.CHECKPOINT,
        start=start_of,
    shell:
        "TOOLNOISE_START={params.start} "
        f"toolnoise train {SPEC_OPTIONS}"
        " --data {input.data:q} --base {input.base:q} --weights {output.weights:q} --history {output.history:q}"
        " --record {output.record:q} --checkpoint {params.checkpoint:q} >{log:q} 2>&1"


rule run_program:
    """Run an existing training program once."""
    input:
        in_grid("run-program"),
        gate=gate_of_program,
    output:
        weights=layout.WEIGHTS,
        history=layout.HISTORY,
        record=layout.RECORD,
        statement=statement_of(layout.WEIGHTS),
    log:
        in_study("logs/{study}/run-program/{model}/{dataset}/{hardware}/{variant}/{seed}.log"),
    wildcard_constraints:
        model=among(run.model for run in places.runs_of_programs(study)),
    priority: 1
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
        runtime=minutes_of_training,
    params:
        **SPEC,
        code=code_of_spec("run-program"),
        checkpoint=layout.CHECKPOINT,
        study=study.name,
    shell:
        "toolnoise run-program --study {params.study} "
        f"{SPEC_OPTIONS}"
        " --gate {input.gate:q} --weights {output.weights:q} --history {output.history:q} --record {output.record:q}"
        " --checkpoint {params.checkpoint:q} >{log:q} 2>&1"


rule adopt_run:
    """Take an existing run as it is."""
    input:
        in_grid("adopt-run"),
    output:
        weights=layout.WEIGHTS,
        history=layout.HISTORY,
        record=layout.RECORD,
        statement=statement_of(layout.WEIGHTS),
    log:
        in_study("logs/{study}/adopt-run/{model}/{dataset}/{hardware}/{variant}/{seed}.log"),
    wildcard_constraints:
        model=among(run.model for run in places.runs_of_programs(study, adopted=True)),
    conda:
        ENVIRONMENT
    params:
        **SPEC,
        code=code_of_spec("adopt-run"),
    shell:
        f"toolnoise adopt-run {SPEC_OPTIONS}"
        " --weights {output.weights:q} --history {output.history:q} --record {output.record:q} >{log:q} 2>&1"
