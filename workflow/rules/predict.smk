# Predictions of the test set: one dump for all runs of a cell.


rule dump_predictions:
    """Dump the predictions of a cell's runs."""
    input:
        in_grid("predict"),
        **TRAINED_RUNS,
        data=layout.DATA,
    output:
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
        statement=statement_of(layout.LOGITS),
    log:
        in_study("logs/{study}/predict/{model}/{dataset}/{hardware}/{variant}.log"),
    wildcard_constraints:
        model=BUILT,
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
    params:
        **SPEC,
        code=code_of_spec("predict"),
    shell:
        f"toolnoise predict {SPEC_OPTIONS}"
        " --data {input.data:q} --records {input.records:q} --logits {output.logits:q} --index {output.index:q}"
        " >{log:q} 2>&1"


rule dump_outcomes:
    """Dump the outcomes of a training program's runs."""
    input:
        in_grid("dump-outcomes"),
        **TRAINED_RUNS,
        data=layout.DATA,
    output:
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
        statement=statement_of(layout.LOGITS),
    log:
        in_study("logs/{study}/dump-outcomes/{model}/{dataset}/{hardware}/{variant}.log"),
    wildcard_constraints:
        model=PROGRAMS,
    conda:
        ENVIRONMENT
    params:
        **SPEC,
        code=code_of_spec("dump-outcomes"),
    shell:
        f"toolnoise dump-outcomes {SPEC_OPTIONS}"
        " --data {input.data:q} --records {input.records:q} --logits {output.logits:q} --index {output.index:q}"
        " >{log:q} 2>&1"


rule dump_remedies:
    """Dump a cell's predictions under remedies for noise."""
    input:
        in_grid("remedy"),
        **TRAINED_RUNS,
        data=layout.DATA,
    output:
        logits=layout.REMEDIED,
        index=layout.REMEDIED_INDEX,
        statement=statement_of(layout.REMEDIED),
    log:
        in_study("logs/{study}/remedy/{model}/{dataset}/{hardware}/{variant}.log"),
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
        # Hundreds of views for each run of the cell take as long as a training.
        runtime=minutes_of_training,
    params:
        **SPEC,
        remedies=lambda wildcards: list(study.remedies_of(cell_at(wildcards))),
        code=code_of_spec("remedy"),
    shell:
        f"toolnoise remedy {SPEC_OPTIONS}"
        " --remedies {params.remedies:q} --data {input.data:q} --records {input.records:q}"
        " --logits {output.logits:q} --index {output.index:q} >{log:q} 2>&1"


rule exchange_predictions:
    """Dump a cell's predictions on a tooling with another framework than the one it was trained on."""
    input:
        in_grid("predict-elsewhere"),
        data=layout.DATA,
        records=of_pair(layout.RECORD, 0),
        weights=of_pair(layout.WEIGHTS, 0),
    output:
        logits=layout.EXCHANGED,
        index=layout.EXCHANGED_INDEX,
        statement=statement_of(layout.EXCHANGED),
    log:
        in_study("logs/{study}/predict-elsewhere/{model}/{dataset}/{hardware}/{variant}/{other_hardware}.log"),
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
    params:
        # The spec of the tooling that computes, for the same cell's runs.
        **SPEC,
        code=code_of_spec("predict-elsewhere"),
    shell:
        f"toolnoise predict-elsewhere {SPEC_OPTIONS}"
        " --trained-on {wildcards.hardware:q} --data {input.data:q} --records {input.records:q}"
        " --logits {output.logits:q} --index {output.index:q} >{log:q} 2>&1"


rule dump_layers:
    """Dump how a cell's runs represent some test examples, layer by layer."""
    input:
        in_grid("dump-layers"),
        **TRAINED_RUNS,
        data=layout.DATA,
    output:
        grams=layout.GRAMS,
        index=layout.LAYERS_INDEX,
        statement=statement_of(layout.GRAMS),
    log:
        in_study("logs/{study}/dump-layers/{model}/{dataset}/{hardware}/{variant}.log"),
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
        # For each run, up to one forward pass per GiB of its layers' outputs.
        runtime=minutes_of_training,
    params:
        **SPEC,
        examples=lambda wildcards: study.layers[cell_at(wildcards)],
        code=code_of_spec("dump-layers"),
    shell:
        f"toolnoise dump-layers {SPEC_OPTIONS}"
        " --examples {params.examples} --data {input.data:q} --records {input.records:q}"
        " --grams {output.grams:q} --index {output.index:q} >{log:q} 2>&1"


rule dump_continuations:
    """Let a cell's runs continue some test segments."""
    input:
        in_grid("dump-continuations"),
        **TRAINED_RUNS,
        data=layout.DATA,
    output:
        texts=layout.TEXTS,
        index=layout.TEXTS_INDEX,
        statement=statement_of(layout.TEXTS),
    log:
        in_study("logs/{study}/dump-continuations/{model}/{dataset}/{hardware}/{variant}.log"),
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
        runtime=minutes_of_training,
    params:
        **SPEC,
        code=code_of_spec("dump-continuations"),
    shell:
        f"toolnoise dump-continuations {SPEC_OPTIONS}"
        " --data {input.data:q} --records {input.records:q} --texts {output.texts:q} --index {output.index:q}"
        " >{log:q} 2>&1"
