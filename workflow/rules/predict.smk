# A cell's predictions, and what its layers make of some test examples, on the cell's tooling.


rule dump_predictions:
    input:
        data=layout.DATA,
        records=get_records,
    output:
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
    log:
        layout.PREDICT_LOG,
    conda:
        "../../environment.yml"
    threads: get_threads
    resources:
        gpu=get_gpus,
        gpu_model=get_gpu_model,
        mem_mb=get_memory,
    params:
        study=study.path(layout.STUDY),
        code=get_code_digest("toolnoise.prediction"),
    shell:
        "toolnoise predict --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --data {input.data:q}"
        " --records {input.records:q} --logits {output.logits:q} --index {output.index:q} >{log:q} 2>&1"


rule dump_layers:
    input:
        data=layout.DATA,
        records=get_records,
    output:
        grams=layout.GRAMS,
        index=layout.LAYERS_INDEX,
    log:
        layout.LAYERS_LOG,
    conda:
        "../../environment.yml"
    threads: get_threads
    resources:
        gpu=get_gpus,
        gpu_model=get_gpu_model,
        mem_mb=get_memory,
    params:
        study=study.path(layout.STUDY),
        examples=lambda wildcards: study.layers[get_cell(wildcards)],
        code=get_code_digest("toolnoise.representation"),
    shell:
        "toolnoise dump-layers --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --data {input.data:q}"
        " --records {input.records:q} --grams {output.grams:q} --index {output.index:q} >{log:q} 2>&1"
