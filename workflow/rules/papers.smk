# Measurements from the papers beyond the noise of each cell, and their claims.


rule measure_remedies:
    """Measure how much of a cell's noise remains under remedies."""
    input:
        in_grid("remedies"),
        **DUMPED,
        remedied=asked(parameters_at.remedied_dump, cell_at),
        remedied_index=beside(asked(parameters_at.remedied_dump, cell_at), ".npy", ".json"),
        single=asked(parameters_at.single_dump, cell_at),
        single_index=beside(asked(parameters_at.single_dump, cell_at), ".npy", ".json"),
    output:
        remedies=METRIC["remedies"],
        statement=statement_of(METRIC["remedies"]),
    log:
        in_study("logs/{study}/measure-remedies/{model}/{dataset}/{hardware}/{variant}.log"),
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        study_seed=study.config["seed"],
        code=code_of("measure-remedies"),
    shell:
        "toolnoise measure-remedies --cell {params.cell:q} --study-seed {params.study_seed} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --remedied {input.remedied:q} --single {input.single:q}"
        " --out {output.remedies:q} >{log:q} 2>&1"


rule measure_layers:
    """Measure how similar corresponding layers of a cell's runs are."""
    input:
        in_grid("layers"),
        grams=layout.GRAMS,
        index=layout.LAYERS_INDEX,
    output:
        layers=METRIC["layers"],
        statement=statement_of(METRIC["layers"]),
    log:
        in_study("logs/{study}/measure-layers/{model}/{dataset}/{hardware}/{variant}.log"),
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        code=code_of("measure-layers"),
    shell:
        "toolnoise measure-layers --cell {params.cell:q} --grams {input.grams:q} --index {input.index:q}"
        " --out {output.layers:q} >{log:q} 2>&1"


rule measure_growth:
    """Measure how the differences between runs from equal starts grow, step by step."""
    input:
        in_grid("growth"),
        records=asked(parameters_at.growing_records, task_at),
        weights=beside(asked(parameters_at.growing_records, task_at), "run.json", "weights.npz"),
    output:
        growth=METRIC["growth"],
        statement=statement_of(METRIC["growth"]),
    log:
        in_study("logs/{study}/measure-growth/{model}/{dataset}/{hardware}.log"),
    conda:
        ENVIRONMENT
    params:
        references=lambda wildcards: json.dumps(parameters_at.growth(study, task_at(wildcards))["references"]),
        code=code_of("measure-growth"),
    shell:
        "toolnoise measure-growth --model {wildcards.model:q} --dataset {wildcards.dataset:q}"
        " --hardware {wildcards.hardware:q} --references {params.references:q} --records {input.records:q}"
        " --out {output.growth:q} >{log:q} 2>&1"


rule measure_language:
    """Measure how far apart a cell's runs end as language models."""
    input:
        in_grid("language"),
        **DUMPED,
        texts=layout.TEXTS,
        texts_index=layout.TEXTS_INDEX,
    output:
        language=METRIC["language"],
        statement=statement_of(METRIC["language"]),
    log:
        in_study("logs/{study}/measure-language/{model}/{dataset}/{hardware}/{variant}.log"),
    conda:
        ENVIRONMENT
    params:
        cell=name_of(cell_at),
        study_seed=study.config["seed"],
        code=code_of("measure-language"),
    shell:
        "toolnoise measure-language --cell {params.cell:q} --study-seed {params.study_seed} --data {input.data:q}"
        " --logits {input.logits:q} --index {input.index:q} --texts {input.texts:q}"
        " --texts-index {input.texts_index:q} --out {output.language:q} >{log:q} 2>&1"


rule measure_pair:
    """Measure how far the runs on two toolings differ."""
    input:
        in_grid("cross_tooling"),
        **dumped(0),
        **dumped(1, "other_"),
        data=layout.DATA,
    output:
        cross_tooling=METRIC["cross_tooling"],
        statement=statement_of(METRIC["cross_tooling"]),
    log:
        in_study("logs/{study}/measure-pair/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.log"),
    conda:
        ENVIRONMENT
    params:
        pair=name_of(pair_at),
        code=code_of("measure-pair"),
    shell:
        "toolnoise measure-pair --pair {params.pair:q} --data {input.data:q} --logits {input.logits:q}"
        " --index {input.index:q} --records {input.records:q} --other-logits {input.other_logits:q}"
        " --other-index {input.other_index:q} --other-records {input.other_records:q} --out {output.cross_tooling:q}"
        " >{log:q} 2>&1"


rule measure_frameworks:
    """Measure how far two frameworks differ, in training and in inference alone."""
    input:
        in_grid("frameworks"),
        **dumped(0),
        **dumped(1, "other_"),
        exchanged=layout.EXCHANGED,
        exchanged_index=layout.EXCHANGED_INDEX,
        other_exchanged=exchanged_back(layout.EXCHANGED),
        other_exchanged_index=exchanged_back(layout.EXCHANGED_INDEX),
    output:
        frameworks=METRIC["frameworks"],
        partings=METRIC["partings"],
        statement=statement_of(METRIC["frameworks"]),
    log:
        in_study("logs/{study}/measure-frameworks/{model}/{dataset}/{hardware}/{other_hardware}/{variant}.log"),
    conda:
        ENVIRONMENT
    params:
        pair=name_of(pair_at),
        code=code_of("measure-frameworks"),
    shell:
        "toolnoise measure-frameworks --pair {params.pair:q} --logits {input.logits:q}"
        " --exchanged {input.exchanged:q} --records {input.records:q} --other-logits {input.other_logits:q}"
        " --other-exchanged {input.other_exchanged:q} --other-records {input.other_records:q}"
        " --out {output.frameworks:q} --out-partings {output.partings:q} >{log:q} 2>&1"


rule judge_claims:
    """Judge claims on published numbers and on this study."""
    input:
        # The study's collected metric files of these kinds, where it has them.
        **{kind: COLLECTED.get(kind, []) for kind in job_code.JUDGED},
    output:
        claims=report(layout.CLAIMS, caption="../report/metrics.rst", category="5 Metric files"),
        statement=statement_of(layout.CLAIMS),
    log:
        in_study("logs/{study}/judge-claims.log"),
    conda:
        ENVIRONMENT
    params:
        claims=json.dumps(CLAIMS["claims"], ensure_ascii=False, sort_keys=True),
        toolings=values_as_text(CLAIMS["toolings"]),
        label_of=values_as_text(CLAIMS.get("label_of", {})),
        synthetic=CLAIMS.get("synthetic", []),
        judged=CLAIMS.get("judged", []),
        code=code_of("judge-claims"),
    shell:
        "toolnoise judge-claims --claims {params.claims:q} --toolings {params.toolings:q}"
        " --label-of {params.label_of:q} --synthetic {params.synthetic:q} --judged {params.judged:q}"
        " --stability {input.stability:q} --runs {input.runs:q} --overhead {input.overhead:q}"
        " --remedies {input.remedies:q} --counts {input.counts:q} --kernels {input.kernels:q}"
        " --identical {input.identical:q} --out {output.claims:q} >{log:q} 2>&1"
