# Data sets: fetched and verified, and brought to their prepared form.


rule fetch_data:
    input:
        get_own_files,
    output:
        out=layout.SOURCES,
    log:
        STEPS["fetch"].log("fetch"),
    # Downloads need the network. It is available where Snakemake runs, but often not where its jobs run.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        study=study.path(layout.STUDY),
        planned=get_planned("fetch"),
        code=get_code("fetch"),
    shell:
        "toolnoise fetch --study {params.study:q} --dataset {wildcards.dataset:q} --out {output.out:q}"
        " --planned {params.planned:q} >{log:q} 2>&1"


rule prepare_data:
    input:
        get_fetched,
    output:
        out=layout.DATA,
    log:
        STEPS["prepare"].log("prepare"),
    wildcard_constraints:
        **get_own("prepare"),
    conda:
        ENVIRONMENT
    threads: get_preparing_threads
    resources:
        **get_resources("prepare"),
        mem_mb=get_memory,
    params:
        study=study.path(layout.STUDY),
        planned=get_planned("prepare"),
        code=get_code("prepare"),
    shell:
        "toolnoise prepare --study {params.study:q} --dataset {wildcards.dataset:q} --threads {threads}"
        " --out {output.out:q} --planned {params.planned:q} >{log:q} 2>&1"
