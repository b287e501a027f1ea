# Some steps of each task on each tooling, timed where that tooling is; only estimates depend on them.


rule measure_speed:
    input:
        data=layout.DATA,
    output:
        layout.SPEED,
    log:
        layout.SPEED_LOG,
    conda:
        "../../environment.yml"
    threads: get_threads
    resources:
        gpu=get_gpus,
        gpu_model=get_gpu_model,
        mem_mb=get_memory,
    params:
        study=study.path(layout.STUDY),
        spec=get_spec_digest,
        code=get_code_digest("toolnoise.timing.speed_probe"),
    shell:
        "toolnoise measure-speed --study {params.study:q} --model {wildcards.model:q}"
        " --dataset {wildcards.dataset:q} --hardware {wildcards.hardware:q} --variant {wildcards.variant:q}"
        " --data {input.data:q} --out {output:q} >{log:q} 2>&1"
