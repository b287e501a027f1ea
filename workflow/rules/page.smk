# The page of the study, which all its jobs lead to; Snakemake's own report; and times for estimates.


rule show_cell:
    """Write a cell's part of the page: its runs, their curves, where they part."""
    input:
        in_grid("show-cell"),
        **WHOLE_RUNS,
        **DUMPED,
        metrics=METRIC["stability"],
        values=METRIC["runs"],
    output:
        part=layout.PAGE_CELL,
        statement=statement_of(layout.PAGE_CELL),
    log:
        in_study("logs/{study}/show-cell/{model}/{dataset}/{hardware}/{variant}.log"),
    group:
        group_of_cell
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        points=lambda wildcards: parameters_at.page_cell(study, cell_at(wildcards))["points"],
        code=code_of("show-cell"),
    shell:
        "toolnoise show-cell --cell {params.cell:q} --points {params.points} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --records {input.records:q} --metrics {input.metrics:q}"
        " --values {input.values:q} --out {output.part:q} >{log:q} 2>&1"


rule write_page:
    """Write the page; its statement names those of all jobs that came before it."""
    input:
        study=layout.STUDY,
        shows=SHOWN,
        cells=[study.path(layout.PAGE_CELL, cell) for cell in study.cells],
        gates=figure_files.gates(study),
    output:
        page=layout.PAGE,
        tables=layout.PAGE_TABLES,
        statement=statement_of(layout.PAGE),
    log:
        in_study("logs/{study}/write-page.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of("write-page"),
    shell:
        "toolnoise write-page --study {input.study:q} --shows {input.shows:q} {input.cells:q} --gates {input.gates:q}"
        " --out {output.page:q} --out-tables {output.tables:q} >{log:q} 2>&1"


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
