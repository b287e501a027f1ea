# Figures, tables and the page, from metric files alone. One rule a notebook: each kind has a caption of its own. A
# figure needs the cells that it shows and no others: `snakemake fig3` trains what figure 3 is about.
import re

from toolnoise import figures

METRICS = {
    **({"stability": study.path(layout.STABILITY), "counts": study.path(layout.DATA_COUNTS)} if study.cells else {}),
    **({"cross_tooling": study.path(layout.CROSS_TOOLING)} if study.pairs else {}),
    **({"overhead": study.path(layout.OVERHEAD), "kernels": study.path(layout.KERNELS)} if study.networks else {}),
}
FIGURES = {figure.name: figure for figure in study.figures}
CAPTIONS = tuple(f"workflow/report/{name}.rst" for name in ("workflow", "metrics", *study.figure_kinds))


def get_metrics(name):
    return lambda wildcards: study.metric_files(FIGURES[wildcards.figure])[name]


def get_options(_wildcards, input):
    return [part for name, files in input.items() if name != "gates" for part in ("--read", name, *files)]


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
    about = figures.KINDS[kind]
    shown, *further = about.formats
    reads = [*about.reads, *(name for name in about.also if name in METRICS)]

    rule:
        name:
            f"render_{kind}"
        input:
            **{name: get_metrics(name) for name in reads},
            gates=get_metrics("gates") if "stability" in reads else [],
        output:
            report(
                f"{layout.FIGURE}.{shown}",
                caption=f"../report/{kind}.rst",
                category=about.category,
                labels={"result": "{figure}"},
            ),
            [f"{layout.FIGURE}.{suffix}" for suffix in further],
            executed=layout.NOTEBOOK,
        log:
            layout.RENDER_LOG,
        wildcard_constraints:
            figure="|".join(re.escape(name) for name, figure in FIGURES.items() if figure.notebook == kind),
        conda:
            "../../environment.yml"
        params:
            study=study.path(layout.STUDY),
            # As a digest, not as an input: touching a notebook changes nothing.
            code=code.digest(*figures.MODULES, files=(f"notebooks/{kind}.ipynb", *about.files)),
            metrics=get_options,
            stem=lambda wildcards: layout.FIGURE.format(**wildcards),
            emulated=",".join(study.emulated()),
        shell:
            "toolnoise render --study {params.study:q} --figure {wildcards.figure:q} {params.metrics:q}"
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
