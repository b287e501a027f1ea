# Figures, tables and the page, from metric files alone. One rule a notebook: each kind has a caption of its own.
METRICS = {
    "stability": study.path(layout.STABILITY),
    **({"cross_tooling": study.path(layout.CROSS_TOOLING)} if study.pairs else {}),
}
EXECUTED = [study.path(layout.NOTEBOOK, figure=figure.name) for figure in study.figures]
CAPTIONS = tuple(f"workflow/report/{name}.rst" for name in ("workflow", "metrics", *study.figure_kinds))


report: "../report/workflow.rst"


for kind in study.figure_kinds:
    category, shown, further = (
        ("1 Table 2: accuracy", "html", ["csv", "md", "tex"])
        if kind == "table2"
        else ("2 Figures", "svg", ["pdf", "png"])
    )

    rule:
        name:
            f"render_{kind}"
        input:
            **METRICS,
        output:
            report(
                f"{layout.FIGURE}.{shown}",
                caption=f"../report/{kind}.rst",
                category=category,
                labels={"result": "{figure}"},
            ),
            [f"{layout.FIGURE}.{suffix}" for suffix in further],
            executed=layout.NOTEBOOK,
        log:
            "logs/{study}/render/{figure}.log",
        wildcard_constraints:
            figure=f"{kind}(-.*)?",
        conda:
            "../../environment.yml"
        params:
            study=study.path(layout.STUDY),
            # As a digest, not as an input: touching a notebook changes nothing.
            code=code.digest(
                "toolnoise.rendering", "toolnoise.plots", "toolnoise.tables", files=(f"notebooks/{kind}.ipynb",)
            ),
            cross_tooling=lambda wildcards: study.path(layout.CROSS_TOOLING),
            stem=lambda wildcards: layout.FIGURE.format(**wildcards),
            emulated=",".join(study.emulated()),
        shell:
            "toolnoise render --study {params.study:q} --figure {wildcards.figure:q}"
            " --stability {input.stability:q} --cross-tooling {params.cross_tooling:q} --stem {params.stem:q}"
            " --executed {output.executed:q} >{log:q} 2>&1"


rule write_report:
    input:
        list(METRICS.values()),
        EXECUTED,
    output:
        layout.REPORT,
    log:
        "logs/{study}/report.log",
    conda:
        "../../environment.yml"
    params:
        study=study.path(layout.STUDY),
        code=code.digest("toolnoise.rendering", files=CAPTIONS),
    shell:
        "toolnoise report --study {params.study:q} --out {output:q} >{log:q} 2>&1"
