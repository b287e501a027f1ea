# What determinism costs: training steps timed kernel by kernel, in either mode, each time in a process of its own.
OVERHEAD = {"overhead": layout.OVERHEAD, "kernels": layout.KERNELS}


rule profile_step:
    output:
        kernels=layout.KERNEL_TIMES,
        record=layout.PROFILE_RECORD,
    log:
        "logs/{study}/profile/{model}/{hardware}/{mode}/{repeat}.log",
    conda:
        "../../environment.yml"
    threads: get_threads
    params:
        study=study.path(layout.STUDY),
        spec=lambda wildcards: canonical_sha256(study.profile_spec(get_profile(wildcards))),
        code=lambda wildcards: code.digest("toolnoise.profiling", *study.modules(get_profile(wildcards))),
    shell:
        "toolnoise profile --study {params.study:q} --model {wildcards.model:q} --hardware {wildcards.hardware:q}"
        " --mode {wildcards.mode:q} --repeat {wildcards.repeat:q} --kernels {output.kernels:q}"
        " --record {output.record:q} >{log:q} 2>&1"


rule measure_overhead:
    input:
        records=[study.path(layout.PROFILE_RECORD, profile) for profile in study.profiles],
        kernels=[study.path(layout.KERNEL_TIMES, profile) for profile in study.profiles],
    output:
        overhead=report(layout.OVERHEAD, caption="../report/metrics.rst", category="3 Metric files"),
        kernels=report(layout.KERNELS, caption="../report/metrics.rst", category="3 Metric files"),
    log:
        "logs/{study}/collect/overhead.log",
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        code=code.digest("toolnoise.measuring"),
    shell:
        "toolnoise measure-overhead --study {params.study:q} --records {input.records:q}"
        " --overhead {output.overhead:q} --kernels {output.kernels:q} >{log:q} 2>&1"
