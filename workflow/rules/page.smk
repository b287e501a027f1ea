# The page of the study, which depends on all other jobs; Snakemake's own report; and times for estimates.


rule show_cell:
    """Write a cell's page: its runs, their curves and where they diverge."""
    input:
        in_grid("show-cell"),
        **WHOLE_RUNS,
        **DUMPED,
        metrics=METRIC["stability"],
        values=METRIC["runs"],
    output:
        page=layout.PAGE_CELL,
        examples=layout.PAGE_EXAMPLES,
        statement=statement_of(layout.PAGE_CELL),
    log:
        in_study("logs/{study}/show-cell/{model}/{dataset}/{hardware}/{variant}.log"),
    group:
        group_of_cell
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        code=code_of("show-cell"),
    shell:
        "toolnoise show-cell --cell {params.cell:q} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --records {input.records:q} --metrics {input.metrics:q}"
        " --values {input.values:q} --out {output.page:q} --out-examples {output.examples:q} >{log:q} 2>&1"


rule write_page:
    """Write the page; its statement refers to the statements of all jobs before it."""
    input:
        study=layout.STUDY,
        shows=SHOWN,
        examples=[study.path(layout.PAGE_EXAMPLES, cell) for cell in study.cells],
        gates=figure_files.gate_files(study),
    output:
        page=layout.PAGE,
        statement=statement_of(layout.PAGE),
    log:
        in_study("logs/{study}/write-page.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of("write-page"),
    shell:
        "toolnoise write-page --study {input.study:q} --shows {input.shows:q} {input.examples:q} --gates {input.gates:q}"
        " --out {output.page:q} >{log:q} 2>&1"


rule write_report:
    """Write Snakemake's own report on the study."""
    input:
        study=layout.STUDY,
        shows=SHOWN,
    output:
        report=layout.REPORT,
        statement=statement_of(layout.REPORT),
    log:
        in_study("logs/{study}/report.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of("report"),
    shell:
        "toolnoise report --study {input.study:q} --shows {input.shows:q} --out {output.report:q} >{log:q} 2>&1"


rule speed:
    """Time some steps of every kind of training, for estimates."""
    input:
        layout.STUDY,
        [study.path(layout.SPEED, cells[0]) for cells in study.alike if not study.is_program(cells[0])],
