# From dumps to metric files; the study is measured only if its control cells pass the gate.
# Counts of examples and times of steps are of no runs.
GATED = set(METRICS) - {"counts", "overhead", "kernels"}


rule check_control:
    input:
        logits=layout.LOGITS.replace("{variant}", "control"),
        index=layout.PREDICTIONS.replace("{variant}", "control"),
        records=get_records,
    output:
        layout.GATE,
    log:
        layout.CONTROL_LOG,
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.measures.control_gate"),
    shell:
        "toolnoise check-control --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --logits {input.logits:q} --index {input.index:q}"
        " --records {input.records:q} --out {output:q} >{log:q} 2>&1"


rule measure_cell:
    input:
        data=layout.DATA,
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
        records=get_records,
    output:
        stability=layout.CELL_METRICS,
        identical=layout.CELL_IDENTICAL,
        ensembles=layout.CELL_ENSEMBLES,
    log:
        layout.MEASURE_LOG,
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        seed=study.config["seed"],
        identical=canonical_sha256(study.config["identical"]),
        code=code.digest("toolnoise.measures.measuring"),
    shell:
        "toolnoise measure --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --records {input.records:q} --out {output.stability:q}"
        " --out-identical {output.identical:q} --out-ensembles {output.ensembles:q} >{log:q} 2>&1"


rule measure_remedies:
    input:
        unpack(get_remedied),
        data=layout.DATA,
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
    output:
        layout.CELL_REMEDIES,
    log:
        layout.MEASURE_REMEDIES_LOG,
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        seed=study.config["seed"],
        code=code.digest("toolnoise.measures.measuring"),
    shell:
        "toolnoise measure-remedies --study {params.study:q} --model {wildcards.model:q}"
        " --dataset {wildcards.dataset:q} --hardware {wildcards.hardware:q} --variant {wildcards.variant:q}"
        " --data {input.data:q} --logits {input.logits:q} --index {input.index:q} --remedied {input.remedied:q}"
        " --single {input.single:q} --out {output:q} >{log:q} 2>&1"


rule measure_pair:
    input:
        data=layout.DATA,
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
        records=get_records,
        other_logits=layout.LOGITS.replace("{hardware}", "{other_hardware}"),
        other_index=layout.PREDICTIONS.replace("{hardware}", "{other_hardware}"),
        other_records=get_other_records,
    output:
        layout.PAIR_METRICS,
    log:
        layout.MEASURE_PAIR_LOG,
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.measures.measuring"),
    shell:
        "toolnoise measure-pair --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --other-hardware {wildcards.other_hardware:q}"
        " --variant {wildcards.variant:q} --data {input.data:q} --logits {input.logits:q} --index {input.index:q}"
        " --records {input.records:q} --other-logits {input.other_logits:q} --other-index {input.other_index:q}"
        " --other-records {input.other_records:q} --out {output:q} >{log:q} 2>&1"


rule measure_frameworks:
    input:
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
        exchanged=layout.EXCHANGED,
        exchanged_index=layout.EXCHANGED_INDEX,
        records=get_records,
        other_logits=layout.LOGITS.replace("{hardware}", "{other_hardware}"),
        other_index=layout.PREDICTIONS.replace("{hardware}", "{other_hardware}"),
        other_exchanged=get_returned(layout.EXCHANGED),
        other_exchanged_index=get_returned(layout.EXCHANGED_INDEX),
        other_records=get_other_records,
    output:
        frameworks=layout.FRAMEWORK_METRICS,
        partings=layout.FRAMEWORK_PARTINGS,
    log:
        layout.MEASURE_FRAMEWORKS_LOG,
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.measures.frameworks"),
    shell:
        "toolnoise measure-frameworks --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --other-hardware {wildcards.other_hardware:q}"
        " --variant {wildcards.variant:q} --logits {input.logits:q} --exchanged {input.exchanged:q}"
        " --records {input.records:q} --other-logits {input.other_logits:q}"
        " --other-exchanged {input.other_exchanged:q} --other-records {input.other_records:q}"
        " --out {output.frameworks:q} --out-partings {output.partings:q} >{log:q} 2>&1"


rule measure_layers:
    input:
        grams=layout.GRAMS,
        index=layout.LAYERS_INDEX,
    output:
        layout.LAYER_METRICS,
    log:
        layout.MEASURE_LAYERS_LOG,
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.measures.measuring"),
    shell:
        "toolnoise measure-layers --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --grams {input.grams:q}"
        " --index {input.index:q} --out {output:q} >{log:q} 2>&1"


# One rule a kind, so that `snakemake -n` names them.
for kind in METRICS:

    rule:
        name:
            f"collect_{kind}"
        input:
            metrics=study.metric_files()[kind],
            gates=study.gates() if kind in GATED else [],
        output:
            report(layout.COLLECTED[kind], caption="../report/metrics.rst", category="5 Metric files"),
        log:
            f"logs/{{study}}/collect/{kind}.log",
        conda:
            "../../environment.yml"
        params:
            kind=kind,
            code=code.digest("toolnoise.base.metric_files"),
        shell:
            "toolnoise collect --kind {params.kind:q} --metrics {input.metrics:q} --out {output:q} >{log:q} 2>&1"
