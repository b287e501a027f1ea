"""Single jobs of the small study, by the command of their rule: what they state, and what they refuse in one line."""

import json
import shutil

import pytest

from toolnoise.provenance import statements
from toolnoise.study import job_code

CELL = "smallcnn/digits/cpu/control"
RUN = f"runs/{CELL}/1/weights.npz"
MEASURED = f"metrics/cells/{CELL}.csv"


def everything(folder):
    return {path: path.read_bytes() for path in (folder / "results").rglob("*") if path.is_file()}


def test_a_job_that_is_done_again_says_the_same_but_for_times_and_no_secret(command_for, toolnoise, tmp_path):
    secrets = {"TF_TOKEN_app_terraform_io": "secret", "NVIDIA_API_KEY": "secret", "CUDA_TOKEN": "secret"}
    said = []
    for name in ("one", "other"):
        folder = tmp_path / name
        folder.mkdir()
        done = toolnoise(folder, *command_for("data/digits.npz"), env={"OMP_NUM_THREADS": "1", **secrets})
        assert done.returncode == 0, done.stderr
        path = folder / "results/small/statements/data/digits.npz.intoto.json"
        assert "secret" not in path.read_text()
        # NumPy computes by it.
        assert statements.read(path).observed["variables"]["OMP_NUM_THREADS"] == "1"
        said.append(json.loads(path.read_text()))
        del said[-1]["predicate"]["runDetails"]["metadata"]
    assert said[0] == said[1]


# What each reads, and a job that reads it. The one that imports a framework does so in a process of its own.
DAMAGED = {
    f"runs/{CELL}/2/weights.npz": f"predictions/{CELL}.npy",
    f"predictions/{CELL}.npy": "control/smallcnn/digits/cpu.json",
    f"runs/{CELL}/1/run.json": MEASURED,
    "data/digits.npz": MEASURED,
}


@pytest.mark.parametrize("damaged", DAMAGED)
def test_a_truncated_file_is_one_line_that_names_it_and_changes_nothing(
    damaged, copied, command_for, monkeypatch, toolnoise, refusal, refused_by_verb
):
    monkeypatch.chdir(copied)
    path = copied / "results/small" / damaged
    path.write_bytes(path.read_bytes()[:-100])
    before, words = everything(copied), command_for(DAMAGED[damaged])
    line = refusal(toolnoise(copied, *words)) if words[0] == "predict" else refused_by_verb(*words)
    assert f"results/small/{damaged}" in line
    assert everything(copied) == before


@pytest.mark.parametrize("made", ["metrics/stability.csv", "figures/table2.csv"])
def test_a_metric_file_that_lacks_a_column_is_one_line_that_names_it(made, copied, command_for, toolnoise, refusal):
    path = copied / f"results/small/{MEASURED}"
    path.write_text(path.read_text().replace(",n_missing", "", 1))
    before = everything(copied)
    assert "n_missing" in refusal(toolnoise(copied, *command_for(made)))
    assert everything(copied) == before


@pytest.mark.parametrize(
    ("made", "changed", "says"),
    [
        (RUN, {"seed": "seed=one"}, "no spec"),
        (RUN, {"recipe": "plain"}, "--recipe: found 'plain'; key=value, each key once"),
        (RUN, {"data": "absent.npz"}, "absent.npz"),
        (MEASURED, {"study-seed": "one"}, "'one'"),
        ("metrics/stability.csv", {"kind": "stabilty"}, "stabilty"),
        ("figures/table2.csv", {"metrics": "results/small/metrics/data/digits.csv"}, "it reads stability"),
        ("figures/table2.csv", {"out": "table2.csv"}, "one path with each of html"),
    ],
)
def test_a_wrong_command_line_is_one_line(made, changed, says, copied, command_for, monkeypatch, refused_by_verb):
    monkeypatch.chdir(copied)
    before = everything(copied)
    assert says in refused_by_verb(*command_for(made, **changed))
    assert everything(copied) == before


@pytest.mark.parametrize("words", [["tarin"], ["summary", "--study", "study.yaml", "--loud"], ["train"]])
def test_a_slip_in_a_verb_or_an_option_is_one_line(words, refused_by_verb):
    assert words[-1] in refused_by_verb(*words)


def test_a_file_that_changes_while_it_is_read_is_refused_and_nothing_is_stated(
    copied, command_for, monkeypatch, refused_by_verb
):
    monkeypatch.chdir(copied)
    perform, data = job_code.perform, copied / "results/small/data/digits.npz"
    stated = copied / f"results/small/statements/{MEASURED}.intoto.json"
    stated.unlink()

    def changing(*job):
        observed = perform(*job)
        data.write_bytes(data.read_bytes())
        return observed

    monkeypatch.setattr(job_code, "perform", changing)
    assert "results/small/data/digits.npz: changed while it was read" in refused_by_verb(*command_for(MEASURED))
    assert not stated.exists()


def test_a_checkpoint_stays_until_the_statement_is_written(copied, command_for, toolnoise):
    kept = copied / f"results/small/checkpoints/{CELL}/1.npz"
    kept.parent.mkdir(parents=True)
    # Of another run: it is told in the log, and must be gone at the end.
    shutil.copyfile(copied / f"results/small/{RUN}", kept)
    statement = copied / f"results/small/statements/{RUN}.intoto.json"
    statement.unlink()
    statement.mkdir()
    (statement / "in the way").touch()
    assert toolnoise(copied, *command_for(RUN)).returncode != 0
    assert kept.exists()
    shutil.rmtree(statement)
    done = toolnoise(copied, *command_for(RUN))
    assert done.returncode == 0, done.stderr
    assert "training starts over" in done.stdout + done.stderr
    assert not kept.exists()
    assert not statements.read(statement).resumed


def test_without_its_environment_a_job_ends_in_one_line(command_for, toolnoise, refusal, tmp_path):
    words = command_for(RUN)
    tooling = words[words.index("--tooling") + 1].replace("name=cpu ", "name=elsewhere environment=tensorflow-2.16 ")
    wanted = ".environments/tensorflow-2.16 is missing: run `make .environments/tensorflow-2.16`"
    line = refusal(toolnoise(tmp_path, *command_for(RUN, tooling=tooling)))
    assert line == f"toolnoise: hardware elsewhere: environment: {wanted}"
