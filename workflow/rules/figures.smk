# Figures, tables and the page, from metric files alone. One rule a notebook: each kind has a caption of its own.
from toolnoise import figures

METRICS = {
    "stability": study.path(layout.STABILITY),
    **({"cross_tooling": study.path(layout.CROSS_TOOLING)} if study.pairs else {}),
    "data": study.path(layout.DATA_COUNTS),
}
CAPTIONS = tuple(f"workflow/report/{name}.rst" for name in ("workflow", "metrics", *study.figure_kinds))


def get_files(some):
    """Every file of some figures."""
    for figure in some:
        yield study.path(layout.NOTEBOOK, figure=figure.name)
        for suffix in figures.KINDS[figure.notebook].formats:
            yield f"{study.path(layout.FIGURE, figure=figure.name)}.{suffix}"


def get_target(name):
    def get_its_files(_wildcards):
        with told_in_one_line():
            return list(get_files(figures.of_target(name, study.figures, FILE)))

    return get_its_files


report: "../report/workflow.rst"


for kind in study.figure_kinds:
    shown, *further = figures.KINDS[kind].formats

    rule:
        name:
            f"render_{kind}"
        input:
            **{name: METRICS[name] for name in figures.KINDS[kind].reads if name in METRICS},
        output:
            report(
                f"{layout.FIGURE}.{shown}",
                caption=f"../report/{kind}.rst",
                category=figures.KINDS[kind].category,
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
            stem=lambda wildcards: layout.FIGURE.format(**wildcards),
            emulated=",".join(study.emulated()),
        shell:
            "toolnoise render --study {params.study:q} --figure {wildcards.figure:q} --metrics {input:q}"
            " --stem {params.stem:q} --executed {output.executed:q} >{log:q} 2>&1"


rule write_report:
    input:
        list(METRICS.values()),
        list(get_files(study.figures)),
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
