# Rules that read the statements of all jobs. No statement is an input or an output of a rule: they change no plan.


# Prints its findings, and fails if there are any.
rule audit:
    log:
        study.path("logs/{study}/audit.log"),
    localrule: True
    conda:
        ENVIRONMENT
    params:
        results=study.path("results/{study}"),
    shell:
        "toolnoise audit {params.results:q} 2>&1 | tee {log:q}"
