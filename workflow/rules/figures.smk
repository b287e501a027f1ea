# Figures and tables, from metric files alone. A figure needs only the cells that it shows: `snakemake fig3` trains only
# the cells of figure 3.


report: "../report/workflow.rst"


rule render_figure:
    """Draw a figure, also in a form for small screens."""
    input:
        metrics=metrics_of_figure,
        gates=gates_of_figure,
    output:
        svg=report(f"{layout.FIGURE}.svg", **IN_REPORT),
        pdf=f"{layout.FIGURE}.pdf",
        png=f"{layout.FIGURE}.png",
        narrow=f"{layout.FIGURE}.narrow.svg",
        notebook=layout.NOTEBOOK,
        statement=statement_of(f"{layout.FIGURE}.svg"),
    log:
        in_study("logs/{study}/render/{figure}.log"),
    wildcard_constraints:
        figure=rendered_as("svg", "pdf", "png", "narrow.svg"),
    # A cluster's profile says how many figures share a job.
    group:
        "figures"
    conda:
        ENVIRONMENT
    params:
        **RENDERED,
    shell:
        "toolnoise render --figure {wildcards.figure:q} --notebook {params.notebook} --shown {params.shown:q}"
        " --metrics {input.metrics:q} --out {output.svg:q} {output.pdf:q} {output.png:q} {output.narrow:q}"
        " --executed {output.notebook:q} >{log:q} 2>&1"


rule render_wide_figure:
    """Draw a figure that no small screen has room for."""
    input:
        metrics=metrics_of_figure,
        gates=gates_of_figure,
    output:
        svg=report(f"{layout.FIGURE}.svg", **IN_REPORT),
        pdf=f"{layout.FIGURE}.pdf",
        png=f"{layout.FIGURE}.png",
        notebook=layout.NOTEBOOK,
        statement=statement_of(f"{layout.FIGURE}.svg"),
    log:
        in_study("logs/{study}/render/{figure}.log"),
    wildcard_constraints:
        figure=rendered_as("svg", "pdf", "png"),
    group:
        "figures"
    conda:
        ENVIRONMENT
    params:
        **RENDERED,
    shell:
        "toolnoise render --figure {wildcards.figure:q} --notebook {params.notebook} --shown {params.shown:q}"
        " --metrics {input.metrics:q} --out {output.svg:q} {output.pdf:q} {output.png:q}"
        " --executed {output.notebook:q} >{log:q} 2>&1"


rule render_table:
    """Write a table for browsers, spreadsheets and papers."""
    input:
        metrics=metrics_of_figure,
        gates=gates_of_figure,
    output:
        html=report(f"{layout.FIGURE}.html", **IN_REPORT),
        csv=f"{layout.FIGURE}.csv",
        md=f"{layout.FIGURE}.md",
        tex=f"{layout.FIGURE}.tex",
        notebook=layout.NOTEBOOK,
        statement=statement_of(f"{layout.FIGURE}.html"),
    log:
        in_study("logs/{study}/render/{figure}.log"),
    wildcard_constraints:
        figure=rendered_as("html", "csv", "md", "tex"),
    group:
        "figures"
    conda:
        ENVIRONMENT
    params:
        **RENDERED,
    shell:
        "toolnoise render --figure {wildcards.figure:q} --notebook {params.notebook} --shown {params.shown:q}"
        " --metrics {input.metrics:q} --out {output.html:q} {output.csv:q} {output.md:q} {output.tex:q}"
        " --executed {output.notebook:q} >{log:q} 2>&1"


for item in paper_items.TARGETS:

    rule:
        """A table or figure of Zhuang et al., by the paper's name."""
        name:
            item
        input:
            layout.STUDY,
            files_of_item(item),


rule paper:
    """Every table and figure of Zhuang et al. that this study can feed."""
    input:
        layout.STUDY,
        [files_of(found) for found in paper_items.by_target(study.figures).values()],


rule metrics:
    """The metric files of the whole study, and the verdicts on claims."""
    input:
        layout.STUDY,
        figure_files.summaries(study),


rule figures:
    """All figures and tables, and the metric files of the whole study."""
    input:
        rules.metrics.input,
        files_of(study.figures),
