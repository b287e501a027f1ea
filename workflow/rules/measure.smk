# The control gate, the measures of each cell, and the metric files of the study as a whole.


rule check_control:
    """Compare control runs bit for bit."""
    input:
        in_grid("check-control"),
        **WHOLE_RUNS,
        logits=lambda wildcards: study.path(layout.LOGITS, cell_at(wildcards)),
        index=lambda wildcards: study.path(layout.PREDICTIONS, cell_at(wildcards)),
    output:
        gate=layout.GATE,
        statement=statement_of(layout.GATE),
    log:
        "logs/{study}/check-control/{model}/{dataset}/{hardware}.log",
    wildcard_constraints:
        model=BUILT,
    conda:
        ENVIRONMENT
    params:
        cell=name_of_cell,
        code=code_of("check-control"),
    shell:
        "toolnoise check-control --cell {params.cell:q} --logits {input.logits:q} --index {input.index:q}"
        " --records {input.records:q} --out {output.gate:q} >{log:q} 2>&1"


rule check_program:
    """Compare what control runs of a training program left, bit for bit."""
    input:
        in_grid("check-program"),
        **WHOLE_RUNS,
    output:
        gate=layout.GATE,
        statement=statement_of(layout.GATE),
    log:
        "logs/{study}/check-program/{model}/{dataset}/{hardware}.log",
    wildcard_constraints:
        model=PROGRAMS,
    conda:
        ENVIRONMENT
    params:
        cell=name_of_cell,
        command=command_of,
        code=code_of("check-program"),
    shell:
        "toolnoise check-program --cell {params.cell:q} --command {params.command:q} --records {input.records:q}"
        " --out {output.gate:q} >{log:q} 2>&1"


rule measure_cell:
    """Accuracy, churn and weight distance of one cell, with intervals."""
    input:
        in_grid("stability"),
        **WHOLE_RUNS,
        data=layout.DATA,
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
    output:
        stability=METRICS["stability"].pattern,
        runs=METRICS["runs"].pattern,
        identical=METRICS["identical"].pattern,
        convergence=METRICS["convergence"].pattern,
        ensembles=METRICS["ensembles"].pattern,
        statement=statement_of(METRICS["stability"].pattern),
    log:
        "logs/{study}/measure/{model}/{dataset}/{hardware}/{variant}.log",
    wildcard_constraints:
        model=BUILT,
    group:
        group_of_cell
    conda:
        ENVIRONMENT
    params:
        cell=name_of_cell,
        study_seed=study.config["seed"],
        identical=text(study.config["identical"]),
        code=code_of("measure"),
    shell:
        "toolnoise measure --cell {params.cell:q} --study-seed {params.study_seed} --identical {params.identical:q}"
        " --data {input.data:q} --logits {input.logits:q} --index {input.index:q} --records {input.records:q}"
        " --out {output.stability:q} --out-runs {output.runs:q} --out-identical {output.identical:q}"
        " --out-convergence {output.convergence:q} --out-ensembles {output.ensembles:q} >{log:q} 2>&1"


rule measure_program:
    """The same for one cell of a training program whose runs leave scores of classes."""
    input:
        in_grid("stability"),
        **WHOLE_RUNS,
        data=layout.DATA,
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
    output:
        stability=METRICS["stability"].pattern,
        runs=METRICS["runs"].pattern,
        ensembles=METRICS["ensembles"].pattern,
        statement=statement_of(METRICS["stability"].pattern),
    log:
        "logs/{study}/measure-program/{model}/{dataset}/{hardware}/{variant}.log",
    wildcard_constraints:
        model=among(cell.model for cell in places.of_scoring_programs(study)),
    conda:
        ENVIRONMENT
    params:
        cell=name_of_cell,
        study_seed=study.config["seed"],
        code=code_of("measure-program"),
    shell:
        "toolnoise measure-program --cell {params.cell:q} --study-seed {params.study_seed} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --records {input.records:q} --out {output.stability:q}"
        " --out-runs {output.runs:q} --out-ensembles {output.ensembles:q} >{log:q} 2>&1"


rule measure_outcomes:
    """The same for one cell of a training program that leaves classes, values, losses or a metric."""
    input:
        in_grid("stability"),
        **WHOLE_RUNS,
        data=layout.DATA,
        logits=layout.LOGITS,
        index=layout.PREDICTIONS,
    output:
        stability=METRICS["stability"].pattern,
        runs=METRICS["runs"].pattern,
        statement=statement_of(METRICS["stability"].pattern),
    log:
        "logs/{study}/measure-outcomes/{model}/{dataset}/{hardware}/{variant}.log",
    wildcard_constraints:
        model=among(cell.model for cell in places.of_other_programs(study)),
    conda:
        ENVIRONMENT
    params:
        cell=name_of_cell,
        study_seed=study.config["seed"],
        outcome=outcome_of,
        code=code_of("measure-outcomes"),
    shell:
        "toolnoise measure-outcomes --cell {params.cell:q} --study-seed {params.study_seed}"
        " --outcome {params.outcome:q} --data {input.data:q} --logits {input.logits:q} --index {input.index:q}"
        " --records {input.records:q} --out {output.stability:q} --out-runs {output.runs:q} >{log:q} 2>&1"


rule measure_ratios:
    """Measure the noise of variants, and of batch normalisation, as ratios."""
    input:
        in_grid("ratios"),
        runs=lambda wildcards: parameters_at.compared_runs(study, task_at(wildcards)),
    output:
        ratios=METRICS["ratios"].pattern,
        statement=statement_of(METRICS["ratios"].pattern),
    log:
        "logs/{study}/measure-ratios/{model}/{dataset}/{hardware}.log",
    conda:
        ENVIRONMENT
    params:
        code=code_of("measure-ratios"),
    shell:
        "toolnoise measure-ratios --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --runs {input.runs:q} --out {output.ratios:q} >{log:q} 2>&1"


rule collect_metrics:
    """Put the metric files of one kind together, once the control cells have passed the gate."""
    input:
        metrics=parts_of_kind,
        gates=gates_of_kind,
    output:
        metrics=report("results/{study}/metrics/{kind}.csv", caption="../report/metrics.rst", category="5 Metric files"),
        statement=statement_of("results/{study}/metrics/{kind}.csv"),
    log:
        "logs/{study}/collect/{kind}.log",
    wildcard_constraints:
        kind=among(KIND_OF),
    conda:
        ENVIRONMENT
    params:
        kind=lambda wildcards: KIND_OF[wildcards.kind],
        code=lambda wildcards: code_digest("collect", kind=KIND_OF[wildcards.kind]),
    shell:
        "toolnoise collect --kind {params.kind:q} --metrics {input.metrics:q} --out {output.metrics:q} >{log:q} 2>&1"
