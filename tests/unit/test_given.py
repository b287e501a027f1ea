"""What Snakemake is given is read strictly before Snakemake reads it."""

import pytest

from toolnoise.base.program import ROOT
from toolnoise.study import given

OWN = ["--snakefile", str(ROOT / "Snakefile")]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "good.yaml").write_text("study: a\n")
    (tmp_path / "bad.yaml").write_text("study: a\nseed: 010\n")
    return tmp_path


@pytest.mark.parametrize(
    "words",
    [
        [*OWN, "-n", "--configfile", "bad.yaml"],
        ["-s", str(ROOT / "workflow/Snakefile"), "--configfiles", "bad.yaml", "good.yaml", "--cores", "2"],
        ["--configfile=bad.yaml", "--snakefile=" + str(ROOT / "Snakefile"), "page", "--config", "seed=1"],
        [*OWN, "--config", "seed=1", "--configfile", "good.yaml", "bad.yaml", "-j1", "--", "page"],
    ],
    ids=lambda words: words[0],
)
def test_every_file_among_the_words_is_read(words, refused):
    assert refused(given.require_readable, words).startswith("bad.yaml: line 2: found 010, which YAML 1.1 reads as 8; ")


def test_the_snakefile_of_the_folder_is_found_as_snakemake_finds_it(folder, refused, monkeypatch):
    words = ["--configfile", "bad.yaml"]
    given.require_readable(words)
    (folder / "workflow").mkdir()
    (folder / "workflow/Snakefile").symlink_to(ROOT / "workflow/Snakefile")
    assert "found 010" in refused(given.require_readable, words)
    # Another workflow's files are no matter of this one.
    (folder / "Snakefile").write_text("")
    given.require_readable(words)
    monkeypatch.chdir(ROOT)
    assert "found 010" in refused(given.require_readable, ["--configfile", str(folder / "bad.yaml")])


@pytest.mark.parametrize("words", [["--mode", "subprocess"], ["--mode=remote"], ["--configfile"]], ids=str)
def test_jobs_read_nothing_again_and_what_snakemake_refuses_is_left_to_it(words, refused):
    start = [*OWN, "--configfile", "bad.yaml"]
    assert "found 010" in refused(given.require_readable, start)
    given.require_readable([*start, *words])


def test_values_are_read_as_they_are_written():
    entries = ["seed=3", "only=[cpu, 'v100']", "prices={cpu: 1e-3, v100: 2}", "study='010'", "figures="]
    assert given.read(["good.yaml"], entries) == [
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
def test_a_value_that_would_be_changed_is_refused(entry, says, refused):
    assert says in refused(given.require_readable, [*OWN, "--config", entry])


@pytest.mark.parametrize(("text", "found"), [("", "found null"), ("- a", 'found ["a"]'), ("a", 'found "a"')])
def test_a_file_without_keys_is_refused(text, found, folder, refused):
    (folder / "bad.yaml").write_text(text)
    assert refused(given.require_readable, [*OWN, "--configfile", "bad.yaml"]).startswith(f"bad.yaml: {found}; ")
