# Figures and tables, from metric files alone. A figure needs only the cells that it shows: `snakemake fig3` trains only
# the cells of figure 3.


report: "../report/workflow.rst"


rule render_figure:
    """Draw a figure."""
    input:
        metrics=metrics_of_figure,
        gates=gates_of_figure,
    output:
        formats=[report(f"{layout.FIGURE}.svg", **IN_REPORT), f"{layout.FIGURE}.pdf", f"{layout.FIGURE}.png"],
        notebook=layout.NOTEBOOK,
        statement=statement_of(f"{layout.FIGURE}.svg"),
    log:
        in_study("logs/{study}/render/{figure}.log"),
    wildcard_constraints:
        figure=rendered_as("svg", "pdf", "png"),
    # A cluster's profile says how many figures share a job.
    group:
        "figures"
    conda:
        ENVIRONMENT
    params:
        notebook=notebook_of,
        shown=lambda wildcards: values_as_text(notebook_values.notebook_values(study, figure_at(wildcards))),
        # A digest, not an input: touching a notebook changes nothing.
        code=lambda wildcards: code_digest("render", notebook=notebook_of(wildcards)),
        caption=lambda wildcards: figure_kinds.caption_in(notebook_of(wildcards), study.name),
    shell:
        "toolnoise render --figure {wildcards.figure:q} --notebook {params.notebook} --shown {params.shown:q}"
        " --metrics {input.metrics:q} --out {output.formats:q} --executed {output.notebook:q} >{log:q} 2>&1"


# Only the outputs differ.
use rule render_figure as render_table with:
    """Write a table for browsers, spreadsheets and papers."""
    output:
        formats=[
            report(f"{layout.FIGURE}.html", **IN_REPORT),
            f"{layout.FIGURE}.csv",
            f"{layout.FIGURE}.md",
            f"{layout.FIGURE}.tex",
        ],
        notebook=layout.NOTEBOOK,
        statement=statement_of(f"{layout.FIGURE}.html"),
    wildcard_constraints:
        figure=rendered_as("html", "csv", "md", "tex"),


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
        [files_of(shown) for shown in paper_items.by_target(study.figures).values()],


rule metrics:
    """The metric files of the whole study, and the verdicts on claims."""
    input:
        layout.STUDY,
        figure_files.summary_files(study),


rule figures:
    """All figures and tables, and the metric files of the whole study."""
    input:
        rules.metrics.input,
        files_of(study.figures),
