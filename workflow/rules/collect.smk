# Metric files of the whole study, which is measured only if its control cells pass the gate. Counts of examples, names
# of classes and times of steps do not come from runs.
GATED = set(METRICS) - {"counts", "labels", "overhead", "kernels"}


# One rule per kind, so that `snakemake -n` names the kinds.
for kind in METRICS:

    rule:
        name:
            f"collect_{kind}"
        input:
            metrics=steps.metric_files(study)[kind],
            gates=steps.gates(study) if kind in GATED else [],
        output:
            out=report(
                layout.COLLECTED.replace("{file}", layout.FILE_OF.get(kind, kind)),
                caption="../report/metrics.rst",
                category="5 Metric files",
            ),
        log:
            STEPS["collect"].log("collect").replace("{kind}", kind),
        conda:
            ENVIRONMENT
        params:
            study=study.path(layout.STUDY),
            kind=kind,
            planned=steps.planned(STEPS["collect"].parameters(study, MetricFile(kind))),
            code=STEPS["collect"].code_digest({"kind": kind}),
        shell:
            "toolnoise collect --study {params.study:q} --kind {params.kind:q} --metrics {input.metrics:q}"
            " --out {output.out:q} --planned {params.planned:q} >{log:q} 2>&1"
