# The control gate, the measures of each cell, and the metric files of the study as a whole.


rule check_control:
    """Compare control runs bit for bit."""
    input:
        in_grid("check-control"),
        **WHOLE_RUNS,
        logits=of_cell(layout.LOGITS),
        index=of_cell(layout.PREDICTIONS),
    output:
        gate=layout.GATE,
        statement=statement_of(layout.GATE),
    log:
        in_study("logs/{study}/check-control/{model}/{dataset}/{hardware}.log"),
    wildcard_constraints:
        model=BUILT,
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        code=code_of("check-control"),
    shell:
        "toolnoise check-control --cell {params.cell:q} --logits {input.logits:q} --index {input.index:q}"
        " --records {input.records:q} --out {output.gate:q} >{log:q} 2>&1"


rule check_program:
    """Compare the outcomes of a training program's control runs bit for bit."""
    input:
        in_grid("check-program"),
        **WHOLE_RUNS,
    output:
        gate=layout.GATE,
        statement=statement_of(layout.GATE),
    log:
        in_study("logs/{study}/check-program/{model}/{dataset}/{hardware}.log"),
    wildcard_constraints:
        model=PROGRAMS,
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        command=lambda wildcards: study.config["models"][wildcards.model].get("command", ""),
        code=code_of("check-program"),
    shell:
        "toolnoise check-program --cell {params.cell:q} --command {params.command:q} --records {input.records:q}"
        " --out {output.gate:q} >{log:q} 2>&1"


rule measure_cell:
    """Measure accuracy, churn and weight distance of one cell, with intervals."""
    input:
        in_grid("stability"),
        **WHOLE_RUNS,
        **DUMPED,
    output:
        stability=METRIC["stability"],
        runs=METRIC["runs"],
        identical=METRIC["identical"],
        convergence=METRIC["convergence"],
        ensembles=METRIC["ensembles"],
        statement=statement_of(METRIC["stability"]),
    log:
        in_study("logs/{study}/measure/{model}/{dataset}/{hardware}/{variant}.log"),
    wildcard_constraints:
        model=BUILT,
    group:
        group_of_cell
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        study_seed=study.config["seed"],
        identical=values_as_text(study.config["identical"]),
        code=code_of("measure"),
    shell:
        "toolnoise measure --cell {params.cell:q} --study-seed {params.study_seed} --identical {params.identical:q}"
        " --data {input.data:q} --logits {input.logits:q} --index {input.index:q} --records {input.records:q}"
        " --out {output.stability:q} --out-runs {output.runs:q} --out-identical {output.identical:q}"
        " --out-convergence {output.convergence:q} --out-ensembles {output.ensembles:q} >{log:q} 2>&1"


rule measure_program:
    """Measure one cell of a training program whose runs write class scores."""
    input:
        in_grid("stability"),
        **WHOLE_RUNS,
        **DUMPED,
    output:
        stability=METRIC["stability"],
        runs=METRIC["runs"],
        ensembles=METRIC["ensembles"],
        statement=statement_of(METRIC["stability"]),
    log:
        in_study("logs/{study}/measure-program/{model}/{dataset}/{hardware}/{variant}.log"),
    wildcard_constraints:
        model=among(cell.model for cell in places.scored_by_programs(study)),
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        study_seed=study.config["seed"],
        code=code_of("measure-program"),
    shell:
        "toolnoise measure-program --cell {params.cell:q} --study-seed {params.study_seed} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --records {input.records:q} --out {output.stability:q}"
        " --out-runs {output.runs:q} --out-ensembles {output.ensembles:q} >{log:q} 2>&1"


rule measure_outcomes:
    """Measure one cell of a training program whose runs write classes, values, losses or a metric."""
    input:
        in_grid("stability"),
        **WHOLE_RUNS,
        **DUMPED,
    output:
        stability=METRIC["stability"],
        runs=METRIC["runs"],
        statement=statement_of(METRIC["stability"]),
    log:
        in_study("logs/{study}/measure-outcomes/{model}/{dataset}/{hardware}/{variant}.log"),
    wildcard_constraints:
        model=among(cell.model for cell in places.scored_by_programs(study, scored=False)),
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        study_seed=study.config["seed"],
        outcome=lambda wildcards: parameters_at.outcomes(study, cell_at(wildcards))["outcome"],
        code=code_of("measure-outcomes"),
    shell:
        "toolnoise measure-outcomes --cell {params.cell:q} --study-seed {params.study_seed}"
        " --outcome {params.outcome:q} --data {input.data:q} --logits {input.logits:q} --index {input.index:q}"
        " --records {input.records:q} --out {output.stability:q} --out-runs {output.runs:q} >{log:q} 2>&1"


rule measure_ratios:
    """Measure the noise of variants, and of batch normalisation, as ratios."""
    input:
        in_grid("ratios"),
        runs=asked(parameters_at.compared_runs, task_at),
    output:
        ratios=METRIC["ratios"],
        statement=statement_of(METRIC["ratios"]),
    log:
        in_study("logs/{study}/measure-ratios/{model}/{dataset}/{hardware}.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of("measure-ratios"),
    shell:
        "toolnoise measure-ratios --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --runs {input.runs:q} --out {output.ratios:q} >{log:q} 2>&1"


rule collect_metrics:
    """Combine the metric files of one kind, once the control cells have passed the gate."""
    input:
        metrics=parts_of_kind,
        gates=gates_of_kind,
    output:
        metrics=report(layout.COLLECTED, caption="../report/metrics.rst", category="5 Metric files"),
        statement=statement_of(layout.COLLECTED),
    log:
        in_study("logs/{study}/collect/{file}.log"),
    wildcard_constraints:
        file=among(KIND_OF),
    conda:
        ENVIRONMENT
    params:
        kind=lambda wildcards: KIND_OF[wildcards.file],
        code=lambda wildcards: code_digest("collect", kind=KIND_OF[wildcards.file]),
    shell:
        "toolnoise collect --kind {params.kind:q} --metrics {input.metrics:q} --out {output.metrics:q} >{log:q} 2>&1"
