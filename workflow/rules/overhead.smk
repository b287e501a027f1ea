# The cost of determinism: training steps timed kernel by kernel in each mode, with a new process for each measurement.


rule profile_step:
    """Time a training step kernel by kernel."""
    input:
        in_grid("profile"),
    output:
        kernels=layout.PROFILE_TABLE,
        record=layout.PROFILE_RECORD,
        statement=statement_of(layout.PROFILE_TABLE),
    log:
        in_study("logs/{study}/profile/{model}/{hardware}/{mode}/{repeat}.log"),
    # Profiles run before all other jobs, so that each has the same other work beside it on this machine. Otherwise the
    # two modes of a tooling could differ because of that work.
    priority: 3
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
    params:
        model=profile_part("model"),
        recipe=profile_part("recipe"),
        tooling=profile_part("hardware"),
        variant=profile_part("variant"),
        seed=lambda wildcards: values_as_text({"study_seed": study.config["seed"], "seed": int(wildcards.repeat)}),
        images=profile_part("images"),
        steps=profile_part("steps"),
        code=code_of_profile,
    shell:
        "toolnoise profile --model {params.model:q} --recipe {params.recipe:q} --tooling {params.tooling:q}"
        " --variant {params.variant:q} --seed {params.seed:q} --images {params.images:q} --steps {params.steps:q}"
        " --out {output.kernels:q} --record {output.record:q} >{log:q} 2>&1"


rule measure_overhead:
    """Measure the cost of determinism for a network on a tooling."""
    input:
        in_grid("overhead"),
        records=asked(parameters_at.profile_records, network_at),
        kernels=beside(asked(parameters_at.profile_records, network_at), ".json", ".csv"),
    output:
        overhead=METRIC["overhead"],
        kernels=METRIC["kernels"],
        statement=statement_of(METRIC["overhead"]),
    log:
        in_study("logs/{study}/measure-overhead/{model}/{hardware}.log"),
    conda:
        ENVIRONMENT
    params:
        accelerator=lambda wildcards: study.tooling(wildcards.hardware)["accelerator"],
        overhead=values_as_text(study.config.get("overhead", {})),
        code=code_of("measure-overhead"),
    shell:
        "toolnoise measure-overhead --model {wildcards.model:q} --hardware {wildcards.hardware:q}"
        " --accelerator {params.accelerator:q} --overhead {params.overhead:q} --records {input.records:q}"
        " --out-overhead {output.overhead:q} --out-kernels {output.kernels:q} >{log:q} 2>&1"


rule measure_speed:
    """Time some training steps of a cell; only estimates depend on them."""
    input:
        in_grid("measure-speed"),
        data=layout.DATA,
    output:
        speed=layout.SPEED,
        statement=statement_of(layout.SPEED),
    log:
        in_study("logs/{study}/measure-speed/{model}/{dataset}/{hardware}/{variant}.log"),
    wildcard_constraints:
        model=BUILT,
    conda:
        environment_of
    threads: threads_of
    resources:
        **ON_TOOLING,
    params:
        **SPEC,
        code=code_of_spec("measure-speed"),
    # A cold start, because the verb measures how long a start takes.
    shell:
        f"TOOLNOISE_START=cold toolnoise measure-speed {SPEC_OPTIONS}"
        " --data {input.data:q} --out {output.speed:q} >{log:q} 2>&1"
