# Data sets in their prepared form.


rule prepare_data:
    input:
        lambda wildcards: study.raw_data(wildcards.dataset),
    output:
        layout.DATA,
    log:
        "logs/{study}/prepare/{dataset}.log",
    conda:
        "../../environment.yml"
    resources:
        mem_mb=get_memory,
        # ImageNet's 1.3 million pictures on one core.
        runtime=24 * 60,
    params:
        study=study.path(layout.STUDY),
        entry=lambda wildcards: canonical_sha256(study.config["datasets"][wildcards.dataset]),
        code=code.digest("toolnoise.datasets.prepared"),
    shell:
        "toolnoise prepare --study {params.study:q} --dataset {wildcards.dataset:q} --out {output:q} >{log:q} 2>&1"
