# A cell's predictions, as they are and under remedies for noise, and what its layers make of test examples, on its tooling.


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
        code=get_code_digest("toolnoise.dumps.prediction_dump"),
    shell:
        "toolnoise predict --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --data {input.data:q}"
        " --records {input.records:q} --logits {output.logits:q} --index {output.index:q} >{log:q} 2>&1"


# What was trained on one framework, predicted on another: the difference of inference alone.
rule exchange_predictions:
    input:
        data=layout.DATA,
        records=get_records,
    output:
        logits=layout.EXCHANGED,
        index=layout.EXCHANGED_INDEX,
    log:
        layout.EXCHANGE_LOG,
    conda:
        "../../environment.yml"
    threads: get_threads
    resources:
        gpu=get_gpus,
        gpu_model=get_gpu_model,
        mem_mb=get_memory,
    params:
        study=study.path(layout.STUDY),
        asked=get_exchange_digest,
        code=get_exchanging_code_digest,
    shell:
        "toolnoise predict-elsewhere --study {params.study:q} --model {wildcards.model:q}"
        " --dataset {wildcards.dataset:q} --hardware {wildcards.hardware:q}"
        " --other-hardware {wildcards.other_hardware:q} --variant {wildcards.variant:q} --data {input.data:q}"
        " --records {input.records:q} --logits {output.logits:q} --index {output.index:q} >{log:q} 2>&1"


rule dump_remedies:
    input:
        data=layout.DATA,
        records=get_records,
    output:
        logits=layout.REMEDIED,
        index=layout.REMEDIED_INDEX,
    log:
        layout.REMEDY_LOG,
    conda:
        "../../environment.yml"
    threads: get_threads
    resources:
        gpu=get_gpus,
        gpu_model=get_gpu_model,
        mem_mb=get_memory,
        # Hundreds of views of all of a cell's runs: the time of a training, not of a dump.
        runtime=get_training_minutes,
    params:
        study=study.path(layout.STUDY),
        remedies=lambda wildcards: ",".join(study.remedies(get_cell(wildcards))),
        code=get_code_digest("toolnoise.dumps.remedy_dump"),
    shell:
        "toolnoise remedy --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
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
        # Up to a forward pass for every GiB of what the layers of each run give: the time of a training, not of a dump.
        runtime=get_training_minutes,
    params:
        study=study.path(layout.STUDY),
        examples=lambda wildcards: study.layers[get_cell(wildcards)],
        code=get_code_digest("toolnoise.dumps.layer_dump"),
    shell:
        "toolnoise dump-layers --study {params.study:q} --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --variant {wildcards.variant:q} --data {input.data:q}"
        " --records {input.records:q} --grams {output.grams:q} --index {output.index:q} >{log:q} 2>&1"
