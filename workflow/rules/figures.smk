# Figures, tables and the page, from metric files alone. There is one rule per notebook, because each kind reads its own
# files. A figure needs only the cells that it shows: `snakemake fig3` trains only the cells of figure 3.
import re


report: "../report/workflow.rst"


for kind in study.figure_kinds:
    about = figure_kinds.KINDS[kind]
    shown, *further = about.suffixes
    reads = [*about.reads, *(name for name in about.also if name in METRICS)]

    rule:
        name:
            f"render_{kind}"
        input:
            **{name: get_metrics(name) for name in reads},
            gates=get_gates if not GATED.isdisjoint(reads) else [],
        output:
            figure=report(
                f"{layout.FIGURE}.{shown}",
                caption="../report/figure.rst",
                category=about.category,
                labels={"result": "{figure}"},
            ),
            further=[f"{layout.FIGURE}.{suffix}" for suffix in further],
            executed=layout.NOTEBOOK,
        log:
            STEPS["render"].log("render"),
        wildcard_constraints:
            figure="|".join(re.escape(name) for name, figure in FIGURES.items() if figure.notebook == kind),
        # A cluster's profile says how many figures share a job.
        group:
            "figures"
        conda:
            ENVIRONMENT
        params:
            study=study.path(layout.STUDY),
            planned=get_planned("render"),
            # A digest, not an input: touching a notebook changes nothing.
            code=get_code("render"),
            metrics=get_options,
            caption=get_caption(kind),
        shell:
            "toolnoise render --study {params.study:q} --figure {wildcards.figure:q} {params.metrics:q}"
            " --out {output.figure:q} {output.further:q} --executed {output.executed:q} --planned {params.planned:q}"
            " >{log:q} 2>&1"


rule write_report:
    input:
        steps.summaries(study),
        list(get_files(study.figures)),
    output:
        layout.REPORT,
    log:
        STEPS["report"].log("report"),
    conda:
        ENVIRONMENT
    params:
        study=study.path(layout.STUDY),
        planned=get_planned("report"),
        code=get_code("report"),
    shell:
        "toolnoise report --study {params.study:q} --shows {input:q} --out {output:q} --planned {params.planned:q}"
        " >{log:q} 2>&1"
