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
        code=lambda wildcards: code.digest("toolnoise.profiling", *study.modules(get_profile(wildcards))),
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
        code=code.digest("toolnoise.measuring"),
    shell:
        "toolnoise measure-overhead --study {params.study:q} --model {wildcards.model:q}"
        " --hardware {wildcards.hardware:q} --records {input.records:q} --out-overhead {output.overhead:q}"
        " --out-kernels {output.kernels:q} >{log:q} 2>&1"


rule collect_overhead:
    input:
        [study.path(layout.NETWORK_OVERHEAD, network) for network in study.networks],
    output:
        report(layout.OVERHEAD, caption="../report/metrics.rst", category="5 Metric files"),
    log:
        "logs/{study}/collect/overhead.log",
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.metrics.table"),
    shell:
        "toolnoise collect --kind overhead --metrics {input:q} --out {output:q} >{log:q} 2>&1"


rule collect_kernels:
    input:
        [study.path(layout.NETWORK_KERNELS, network) for network in study.networks],
    output:
        report(layout.KERNELS, caption="../report/metrics.rst", category="5 Metric files"),
    log:
        "logs/{study}/collect/kernels.log",
    conda:
        "../../environment.yml"
    params:
        code=code.digest("toolnoise.metrics.table"),
    shell:
        "toolnoise collect --kind kernels --metrics {input:q} --out {output:q} >{log:q} 2>&1"
