# Data sets: fetched and verified, brought to their prepared form, and counted.


# Downloads need the network, which is where Snakemake runs and often not where its jobs do.
localrules:
    fetch_data,


rule fetch_data:
    input:
        # Files that can be had elsewhere are none: a plan needs them not, and Snakemake must not touch them.
        lambda wildcards: study.raw_data(wildcards.dataset),
    output:
        layout.SOURCES,
    log:
        layout.FETCH_LOG,
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        sources=lambda wildcards: canonical_sha256(study.sources(wildcards.dataset)),
        code=code.digest("toolnoise.datasets.fetching"),
    shell:
        "toolnoise fetch --study {params.study:q} --dataset {wildcards.dataset:q} --out {output:q} >{log:q} 2>&1"


rule prepare_data:
    input:
        lambda wildcards: (
            study.path(layout.SOURCES, dataset=wildcards.dataset) if study.sources(wildcards.dataset) else []
        ),
    output:
        layout.DATA,
    log:
        layout.PREPARE_LOG,
    conda:
        "../../environment.yml"
    threads: get_preparing_threads
    resources:
        mem_mb=get_memory,
        # ImageNet's 1.3 million pictures.
        runtime=24 * 60,
    params:
        study=study.path(layout.STUDY),
        entry=lambda wildcards: canonical_sha256(study.config["datasets"][wildcards.dataset]),
        code=code.digest("toolnoise.datasets.preparation"),
    shell:
        "toolnoise prepare --study {params.study:q} --dataset {wildcards.dataset:q} --threads {threads}"
        " --out {output:q} >{log:q} 2>&1"


rule count_data:
    input:
        layout.DATA,
    output:
        layout.COUNTS,
    log:
        "logs/{study}/count/{dataset}.log",
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.datasets.counting"),
    shell:
        "toolnoise count --dataset {wildcards.dataset:q} --data {input:q} --out {output:q} >{log:q} 2>&1"
