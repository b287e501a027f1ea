# What determinism costs: training steps timed kernel by kernel, in either mode, each time in a process of its own.


rule profile_step:
    output:
        kernels=layout.KERNEL_TIMES,
        record=layout.PROFILE_RECORD,
    log:
        layout.PROFILE_LOG,
    conda:
        "../../environment.yml"
    threads: get_threads
    resources:
        gpu=get_gpus,
        gpu_model=get_gpu_model,
        mem_mb=get_memory,
    params:
        study=study.path(layout.STUDY),
        spec=lambda wildcards: canonical_sha256(study.profile_spec(get_profile(wildcards))),
        code=lambda wildcards: code.digest("toolnoise.timing.profile", *study.modules(get_profile(wildcards))),
    shell:
        "toolnoise profile --study {params.study:q} --model {wildcards.model:q} --hardware {wildcards.hardware:q}"
        " --mode {wildcards.mode:q} --repeat {wildcards.repeat:q} --out {output.kernels:q}"
        " --record {output.record:q} >{log:q} 2>&1"


rule measure_overhead:
    input:
        records=get_profiles(layout.PROFILE_RECORD),
        kernels=get_profiles(layout.KERNEL_TIMES),
    output:
        overhead=layout.NETWORK_OVERHEAD,
        kernels=layout.NETWORK_KERNELS,
    log:
        "logs/{study}/measure/overhead/{model}/{hardware}.log",
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        code=code.digest("toolnoise.measures.measuring"),
    shell:
        "toolnoise measure-overhead --study {params.study:q} --model {wildcards.model:q}"
        " --hardware {wildcards.hardware:q} --records {input.records:q} --out-overhead {output.overhead:q}"
        " --out-kernels {output.kernels:q} >{log:q} 2>&1"
