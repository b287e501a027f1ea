"""Bad input through the doors that people use: one line, exit code 2, no traceback, and results as they were."""

import pytest

RESULTS = "results/small"
CELL = ("smallcnn", "digits", "cpu", "control")
NAMES = [
    part
    for name, value in zip(("model", "dataset", "hardware", "variant"), CELL, strict=True)
    for part in (f"--{name}", value)
]


def everything(folder):
    return {path: path.read_bytes() for path in (folder / "results").rglob("*") if path.is_file()}


def dump(folder, verb):
    stem = folder / RESULTS / "predictions" / "/".join(CELL)
    records = [folder / RESULTS / "runs" / "/".join(CELL) / seed / "run.json" for seed in ("1", "2")]
    data = folder / RESULTS / "data/digits.npz"
    given = [] if verb == "check-control" else ["--data", data]
    return [*given, "--logits", f"{stem}.npy", "--index", f"{stem}.json", "--records", *records]


def truncate(path):
    path.write_bytes(path.read_bytes()[:-100])


# tests/study/test_config.py has the other keys.
def test_a_wrong_study_file_is_one_line_and_nothing_runs(copied, change_study, snakemake, toolnoise, refusal):
    before = everything(copied)
    change_study(copied, lambda study: study["grid"][0].update(models=["smalcnn"]))
    for done in (snakemake(copied), toolnoise(copied, "run")):
        line = refusal(done)
        for word in ("study.yaml", "grid[0].models", "'smallcnn'?"):
            assert word in line
    assert everything(copied) == before


TINY = """study: tiny
grid:
- {models: [linear], datasets: [digits], recipe: digits, hardware: [cpu], variants: [control], seeds: 2}
"""
# What Snakemake's own loader cannot read, or reads as something else.
UNREADABLE = {
    "UTF-16": (TINY.encode("utf-16"), "cannot be read ('utf-8' codec can't decode byte 0xff"),
    "no date": (f"{TINY}seed: !!timestamp 2020-99-99\n", "line 4: found the tag tag:yaml.org,2002:timestamp"),
    "tab": (f"{TINY}\tseed: 1\n", "line 4: found character '\\t'"),
    "unknown alias": (f"{TINY}seed: *seed\n", "line 4: found undefined alias 'seed'"),
    "two documents": (f"{TINY}---\n{TINY}", "line 4: but found another document"),
    "deep": (f"{TINY}seed: {'[' * 3000}\n", "maximum recursion depth exceeded"),
    "octal": (TINY.replace("seeds: 2", "seeds: 010"), "line 3: found 010, which YAML 1.1 reads as 8; allowed: "),
    "sexagesimal": (f"{TINY}seed: 1:20\n", "line 4: found 1:20, which YAML 1.1 reads as 80; allowed: "),
}


@pytest.mark.parametrize(("content", "says"), UNREADABLE.values(), ids=list(UNREADABLE))
def test_a_file_that_snakemake_reads_differently_is_refused_before_snakemake_starts(
    content, says, here, refused_by_verb
):
    (here / "study.yaml").write_bytes(content if isinstance(content, bytes) else content.encode())
    assert f"study.yaml: {says}" in refused_by_verb("run", "study.yaml", "-n")
    assert [path.name for path in here.iterdir()] == ["study.yaml"]


def test_what_snakemake_would_read_differently_is_refused_without_the_verb_too(tmp_path, snakemake, refusal):
    (tmp_path / "study.yaml").write_text(UNREADABLE["octal"][0])
    done = snakemake(tmp_path, "-n")
    assert f"study.yaml: {UNREADABLE['octal'][1]}" in refusal(done)
    assert [path.name for path in tmp_path.iterdir()] == ["study.yaml"]


def test_what_is_planned_is_what_is_written_in_files_and_in_values(tmp_path, snakemake, refusal):
    (tmp_path / "study.yaml").write_text(f"{TINY}prices: {{cpu: 1e-3}}\n")
    done = snakemake(tmp_path, "-n", "--quiet", "all", "--config", "recipes={digits: {learning_rate: 2e-3, epochs: 3}}")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "--config seed: found 1_0, which YAML" in refusal(snakemake(tmp_path, "-n", "--config", "seed=1_0"))


def verb(name, *arguments):
    return lambda folder: [name, *arguments, *dump(folder, name)]


STUDY = ["--study", f"{RESULTS}/study.json"]
TRAINS = ["--data", "d.npz", "--weights", "w.npz", "--history", "h.csv", "--record", "r.json", "--checkpoint", "c.npz"]
TABLE = ["table2.html", "table2.csv", "table2.md", "table2.tex"]
RENDERS = ["render", *STUDY, "--figure", "table2", "--executed", "e", "--out"]
STABILITY = f"{RESULTS}/metrics/stability.csv"
MEASURES = [
    *("--out", "out.csv", "--out-runs", "out.runs.csv"),
    *("--out-identical", "out.identical.csv", "--out-convergence", "out.convergence.csv"),
    *("--out-ensembles", "out.ensembles.csv"),
]
DAMAGED = {
    "predict": (f"{RESULTS}/runs/{'/'.join(CELL)}/2/weights.npz", verb("predict", *STUDY, *NAMES)),
    "measure": (f"{RESULTS}/predictions/{'/'.join(CELL)}.npy", verb("measure", *STUDY, *NAMES, *MEASURES)),
    "gate": (
        f"{RESULTS}/predictions/{'/'.join(CELL)}.npy",
        verb("check-control", *STUDY, *NAMES[:6], "--out", "out.json"),
    ),
    "record": (f"{RESULTS}/runs/{'/'.join(CELL)}/1/run.json", verb("measure", *STUDY, *NAMES, *MEASURES)),
    "data": (f"{RESULTS}/data/digits.npz", verb("measure", *STUDY, *NAMES, *MEASURES)),
}


@pytest.mark.parametrize("case", DAMAGED)
def test_a_truncated_file_is_one_line_that_names_it(copied, monkeypatch, toolnoise, refusal, refused_by_verb, case):
    monkeypatch.chdir(copied)
    damaged, command = DAMAGED[case]
    truncate(copied / damaged)
    before = everything(copied)
    # The one that imports a framework does so in a process of its own.
    line = refusal(toolnoise(copied, *command(copied))) if case == "predict" else refused_by_verb(*command(copied))
    assert damaged in line
    assert everything(copied) == before
    assert not list(copied.glob("out.*"))


@pytest.mark.parametrize("name", ["collect", "render"])
def test_a_metric_file_that_lacks_a_column_is_one_line_that_names_it(copied, toolnoise, refusal, name):
    path = copied / STABILITY
    path.write_text(path.read_text().replace(",n_missing", "", 1))
    before = everything(copied)
    command = {
        "collect": [*STUDY, "--kind", "stability", "--metrics", STABILITY, "--out", f"{RESULTS}/new.csv"],
        "render": [
            *[*STUDY, "--figure", "table2", "--read", "stability", STABILITY],
            *["--executed", f"{RESULTS}/notebooks/table2.ipynb"],
            *["--out", *(f"{RESULTS}/figures/{name}" for name in TABLE)],
        ],
    }[name]
    assert "n_missing" in refusal(toolnoise(copied, name, *command))
    assert everything(copied) == before


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["tarin"], "tarin"),
        (["summary", "--study", "study.yaml", "--loud"], "--loud"),
        (["train"], "--study"),
        (["train", *STUDY, *NAMES, *TRAINS, "--seed", "one"], "'one'"),
        (["train", *STUDY, *NAMES, *TRAINS, "--seed", "9"], "seed 9"),
        (["prepare", *STUDY, "--dataset", "mnist", "--out", "o"], "mnist"),
        (["report", "--study", "nowhere.yaml", "--shows", STABILITY, "--out", "o"], "nowhere.yaml"),
        ([*RENDERS, *TABLE, "--read", "counts", "c.csv"], "it reads stability"),
        ([*RENDERS, *TABLE, "--read", "stability", STABILITY, "--read", "counts", "c.csv"], "it reads stability"),
        ([*RENDERS, *TABLE, "--read", "stability"], "found stability without a file"),
        ([*RENDERS, *TABLE[1:], "--read", "stability", STABILITY], "one path with each of html"),
    ],
)
def test_a_wrong_command_line_is_one_line(small_study, monkeypatch, refused_by_verb, arguments, word):
    monkeypatch.chdir(small_study)
    assert word in refused_by_verb(*arguments)
