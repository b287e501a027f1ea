# Data sets in their prepared form.


rule prepare_data:
    input:
        lambda wildcards: study.raw_data(wildcards.dataset),
    output:
        layout.DATA,
    log:
        layout.PREPARE_LOG,
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        entry=lambda wildcards: canonical_sha256(study.config["datasets"][wildcards.dataset]),
        code=code.digest("toolnoise.datasets.prepared"),
    shell:
        "toolnoise prepare --study {params.study:q} --dataset {wildcards.dataset:q} --out {output:q} >{log:q} 2>&1"
