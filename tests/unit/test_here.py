import json

import pytest

from toolnoise.base import files
from toolnoise.study import config, here

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
    assert here.is_study("one.yaml") == found


def test_a_study_kept_with_results_is_known_however_its_text_is_laid_out(folder, written):
    files.write_json(folder / "study.json", config.resolve(written, "tiny.yaml"))
    assert here.is_study("study.json")
    assert not here.is_study("absent.json")
    (folder / "record.json").write_text(json.dumps({"spec": {"study": 1, "grid": 2}}, indent=1))
    assert not here.is_study("record.json")


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
    assert here.to_run("STUDY") == here.to_read("--study") == found


def test_results_alone_can_be_read_and_not_run(folder, refused):
    put(folder, "results/mine/study.json")
    assert here.to_read("--study") == "results/mine/study.json"
    assert "no study in this folder" in refused(here.to_run, "STUDY")


@pytest.mark.parametrize(
    "names", [("one.yaml", "two.yaml"), ("results/one/study.json", "results/two/study.json")], ids=str
)
def test_several_studies_are_refused_in_one_line_that_names_them(folder, refused, names):
    put(folder, *names)
    line = refused(here.to_read, "--study")
    assert line.startswith("command line: --study: 2 studies in this folder")
    assert line.endswith(", ".join(names))


@pytest.mark.usefixtures("folder")
def test_a_folder_without_a_study_is_refused_in_one_line(refused):
    assert "toolnoise init" in refused(here.to_read, "--study")
