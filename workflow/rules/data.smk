# Writes the study; fetches, verifies and prepares its data sets.


rule write_study:
    """Write the complete study, with every default and registry entry, beside its results."""
    output:
        # Snakemake must not remove the old file first: the study may be read from it.
        study=update(layout.STUDY),
        statement=statement_of(layout.STUDY),
    log:
        in_study("logs/{study}/write_study.log"),
    localrule: True
    params:
        configuration=canonical_sha256(study.config),
    run:
        from toolnoise.provenance import recorder

        recorder.write_study(output.study, study.config, FILE)


rule fetch_data:
    """Download or find the files of a data set, and verify them."""
    input:
        in_grid("fetch"),
        own_files,
    output:
        sources=layout.SOURCES,
        statement=statement_of(layout.SOURCES),
    log:
        in_study("logs/{study}/fetch/{dataset}.log"),
    # Downloads need the network. It is available where Snakemake runs, but often not where its jobs run.
    localrule: True
    conda:
        ENVIRONMENT
    params:
        data=lambda wildcards: values_as_text(data_set(wildcards)["entry"]),
        code=code_of("fetch"),
    shell:
        "toolnoise fetch --dataset {wildcards.dataset:q} --entry {params.data:q} --out {output.sources:q} >{log:q} 2>&1"


rule prepare_data:
    """Read a data set and write its prepared form."""
    input:
        in_grid("prepare"),
        fetched,
    output:
        data=layout.DATA,
        statement=statement_of(layout.DATA),
    log:
        in_study("logs/{study}/prepare/{dataset}.log"),
    wildcard_constraints:
        dataset=among(place.dataset for place in places.prepared_places(study)),
    conda:
        ENVIRONMENT
    threads: lambda wildcards: entries.preparing_cores(data_at(wildcards))
    resources:
        mem_mb=memory,
        # Enough for ImageNet's 1.3 million pictures.
        runtime=lambda wildcards, attempt: 24 * 60 * attempt,
    params:
        data=lambda wildcards: values_as_text(data_set(wildcards)["entry"]),
        code=lambda wildcards: job_code.digest_of_job("prepare", data_set(wildcards)),
    shell:
        "toolnoise prepare --dataset {wildcards.dataset:q} --entry {params.data:q} --threads {threads}"
        " --out {output.data:q} >{log:q} 2>&1"


rule gather_labels:
    """Write the test set that comes with the runs of a training program."""
    input:
        in_grid("gather-labels"),
        record=first_outcome,
        weights=lambda wildcards: first_outcome(wildcards).replace("run.json", "weights.npz"),
    output:
        data=layout.DATA,
        statement=statement_of(layout.DATA),
    log:
        in_study("logs/{study}/gather-labels/{dataset}.log"),
    wildcard_constraints:
        dataset=among(place.dataset for place in places.left_by_programs(study)),
    conda:
        ENVIRONMENT
    params:
        code=code_of("gather-labels"),
    shell:
        "toolnoise gather-labels --dataset {wildcards.dataset:q} --record {input.record:q} --out {output.data:q}"
        " >{log:q} 2>&1"


rule count_data:
    """Count the examples of a data set, by class and sub-group."""
    input:
        in_grid("counts"),
        data=layout.DATA,
    output:
        counts=METRIC["counts"],
        statement=statement_of(METRIC["counts"]),
    log:
        in_study("logs/{study}/count/{dataset}.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of("count"),
    shell:
        "toolnoise count --dataset {wildcards.dataset:q} --data {input.data:q} --out {output.counts:q} >{log:q} 2>&1"


rule name_classes:
    """Write the names that a data set's files give its classes."""
    input:
        in_grid("labels"),
        data=layout.DATA,
    output:
        labels=METRIC["labels"],
        statement=statement_of(METRIC["labels"]),
    log:
        in_study("logs/{study}/name-classes/{dataset}.log"),
    conda:
        ENVIRONMENT
    params:
        code=code_of("name-classes"),
    shell:
        "toolnoise name-classes --dataset {wildcards.dataset:q} --data {input.data:q} --out {output.labels:q}"
        " >{log:q} 2>&1"
