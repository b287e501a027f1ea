"""Which study file of a folder a command takes, and what Snakemake is given, read before Snakemake reads it."""

import json

import pytest

from toolnoise.base import files
from toolnoise.study import config, study_files

STUDY = "study: mine\ngrid: []\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def put(folder, *names, text=STUDY):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (STUDY, True),
        ("# mine\noverhead: {}\n'study': mine\n", True),
        ("study: mine\ngrid: [unclosed\n", True),
        ("study: mine\n", False),
        ("name: an environment\ndependencies:\n  study: 1\n  grid: 2\n", False),
        ("", False),
    ],
)
def test_a_study_file_is_known_by_its_keys(folder, text, found):
    put(folder, "one.yaml", text=text)
    assert study_files.is_study("one.yaml") == found


def test_a_study_kept_with_results_is_known_however_its_text_is_laid_out(folder, written):
    files.write_json(folder / "study.json", config.resolve(written, "tiny.yaml"))
    assert study_files.is_study("study.json")
    assert not study_files.is_study("absent.json")
    (folder / "record.json").write_text(json.dumps({"spec": {"study": 1, "grid": 2}}, indent=1))
    assert not study_files.is_study("record.json")


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["mine.yaml"], "mine.yaml"),
        (["mine.yml"], "mine.yml"),
        (["config.yaml"], "config.yaml"),
        (["mine.yaml", "config.yaml"], "mine.yaml"),
        (["mine.yaml", "results/other/study.json"], "mine.yaml"),
        (["config.yaml", "results/other/study.json"], "config.yaml"),
    ],
)
def test_the_only_study_file_of_a_folder_is_found_and_config_yaml_last(folder, names, found):
    put(folder, *names)
    put(folder, "environment.yaml", text="name: x\n")
    assert study_files.to_run() == study_files.to_read() == found


@pytest.mark.parametrize(
    "names", [("one.yaml", "two.yaml"), ("results/one/study.json", "results/two/study.json")], ids=str
)
def test_several_studies_are_refused_in_one_line_that_names_them(folder, refused, names):
    put(folder, *names)
    line = refused(study_files.to_read)
    assert line.startswith("command line: --study: 2 studies in this folder")
    assert line.endswith(", ".join(names))


def test_a_folder_without_a_study_is_refused_and_results_alone_can_be_read_and_not_run(folder, refused):
    assert "toolnoise init" in refused(study_files.to_read)
    put(folder, "results/mine/study.json")
    assert study_files.to_read() == "results/mine/study.json"
    assert "no study in this folder" in refused(study_files.to_run)


@pytest.fixture
def configs(folder):
    """Two configurations, one of which has a number that YAML 1.1 changes."""
    (folder / "good.yaml").write_text("study: a\n")
    (folder / "bad.yaml").write_text("study: a\nseed: 010\n")


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "--configfile", "bad.yaml"],
        ["-n", "--configfiles", "bad.yaml", "good.yaml", "--cores", "2"],
        ["--configfile=bad.yaml", "page", "--config", "seed=1"],
        ["--config", "seed=1", "--configfile", "good.yaml", "bad.yaml", "-j1", "--", "page"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("configs")
def test_every_file_among_the_words_is_read(words, refused):
    assert refused(study_files.require_readable, words).startswith(
        "bad.yaml: line 2: found 010, which YAML 1.1 reads as 8; "
    )


@pytest.mark.usefixtures("configs")
def test_values_are_read_as_they_are_written():
    entries = ["seed=3", "only=[cpu, 'v100']", "prices={cpu: 1e-3, v100: 2}", "study='010'", "figures="]
    assert study_files.read_strictly(["good.yaml"], entries) == [
        *({"study": "a"}, {"seed": 3}, {"only": ["cpu", "v100"]}, {"prices": {"cpu": 0.001, "v100": 2}}),
        *({"study": "010"}, {"figures": None}),
    ]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("seed=010", "--config seed: found 010, which YAML 1.1 reads as 8; allowed: a number such as 8"),
        ("seed=1_000", "--config seed: found 1_000, which YAML 1.1 reads as 1000"),
        ("study=yes", "--config study: found yes, which YAML 1.1 reads as true"),
        ("prices={cpu: 1:20}", "--config prices: found 1:20, which YAML 1.1 reads as 80"),
        ("prices={cpu: 1, cpu: 2}", "--config prices: key 'cpu' is repeated"),
        ("only=[cpu", "--config only: expected ',' or ']'"),
        ("seed=!!int '010'", "--config seed: found the tag"),
        ("seeds=3", "--config: found 'seeds=3'; KEY=VALUE, allowed keys: study, seed, grid, only"),
        ("seed", "--config: found 'seed'; KEY=VALUE"),
        ("a=1", "--config: found 'a=1'; KEY=VALUE"),
    ],
)
@pytest.mark.usefixtures("configs")
def test_a_value_that_would_be_changed_is_refused(entry, says, refused):
    assert says in refused(study_files.require_readable, ["--config", entry])


@pytest.mark.parametrize(("text", "found"), [("", "found null"), ("- a", 'found ["a"]'), ("a", 'found "a"')])
def test_a_file_without_keys_is_refused(text, found, folder, refused):
    (folder / "bad.yaml").write_text(text)
    assert refused(study_files.require_readable, ["--configfile", "bad.yaml"]).startswith(f"bad.yaml: {found}; ")
