"""`toolnoise check` as a person runs it: planted causes are named first, clean programs pass, misuse gets one line."""

import json
import re
import shutil
import sys
import textwrap
from pathlib import Path

import pytest

from toolnoise.base.program import ROOT

pytestmark = pytest.mark.long

CLEAN_PROGRAM = Path(__file__).parent / "drivers/trained_in_numpy.py"
SEEDS = {"init": "--seed", "shuffle": "--data-seed", "augment": "--noise-seed", "dropout": "--drop-seed"}
OPTIONS = [word for source, option in SEEDS.items() for word in (option, f"{{{source}}}")]
# All that is installed and that a check does without.
OTHERS = (
    "snakemake",
    "jsonschema",
    "yaml",
    "scipy",
    "pandas",
    "sklearn",
    "tqdm",
    "tensorflow",
    "keras",
    "jax",
    "torch",
)
MARK = "  # here"


@pytest.fixture
def planted(tmp_path):
    """A copy of a clean program with faults: texts and what replaces them; and the line of the first."""

    def plant(*faults):
        text = CLEAN_PROGRAM.read_text()
        line = text[: text.index(faults[0][0])].count("\n") + 1 if faults else None
        for before, after in faults:
            assert text.count(before) == 1
            text = text.replace(before, after)
        (tmp_path / "train.py").write_text(text)
        return line

    return plant


@pytest.fixture
def check(tmp_path, toolnoise):
    def start(*arguments, options=(), **more):
        return toolnoise(tmp_path, "check", *options, "--", sys.executable, "train.py", *arguments, **more)

    return start


def test_a_clean_program_is_reproducible_and_needs_numpy_alone(planted, run, blocking, tmp_path):
    planted()
    # The program itself may import what it likes.
    inner = ["env", "-u", "PYTHONPATH", sys.executable, "train.py", *OPTIONS]
    command = [sys.executable, "-m", "toolnoise.cli", "check", "--json", "--", *inner]
    done = run(tmp_path, *command, env=blocking(*OTHERS))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert (found["passed"], found["reproducible"], found["difference"], found["ignored"]) == (True, True, None, [])
    assert {source: seed["counts"] for source, seed in found["seeds"].items()} == dict.fromkeys(SEEDS, True)
    # The initial weights differ before training, the others' seeds in its first epoch.
    assert [seed["epoch"] for seed in found["seeds"].values()] == [0, 1, 1, 1]
    assert found["not_compared"] == ["seconds of history.csv"]
    assert found["left"] == ["logits.npy", "labels.npy", "weights.npz", "history.csv"]
    assert [path.name for path in tmp_path.iterdir()] == ["train.py"]


def test_the_verdict_in_words(planted, check):
    planted()
    done = check(*OPTIONS, options=["--sources", "init"])
    lines = done.stdout.splitlines()
    assert done.returncode == 0, done.stdout + done.stderr
    assert lines[0].startswith("Reproducible: three runs with equal seeds are equal bit for bit (logits.npy, labels.np")
    assert lines[5].split()[0] == "init"
    assert lines[7] == "Every declared seed counts."
    ended = [line.split(":")[0] for line in done.stderr.splitlines() if not re.search(" (started|runs), ", line)]
    assert ended == ["control-1", "control-2", "control-3", "init"]


def test_the_right_cause_of_a_planted_fault_is_named(planted, check):
    line = planted(("default_rng(options.noise_seed)", "default_rng()"))
    done = check(*OPTIONS, options=["--json"])
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    (proven,) = found["proven"]
    assert (proven["cause"], proven["file"], proven["line"]) == ("generator", "train.py", line)
    assert {"logits.npy", "weights", "history.csv"} == {*found["difference"]["files"]}
    assert not found["seeds"]


def test_the_fault_in_words(planted, check):
    line = planted(("[table[name] for name in NAMES]", "[table[name] for name in set(NAMES)]"))
    done = check(*OPTIONS)
    assert done.returncode == 1
    lines = done.stdout.splitlines()
    assert lines[0] == "Not reproducible: two runs with equal seeds differ in logits.npy, weights, history.csv."
    assert lines[3:5] == ["  weights: 1 of 1 tensors, the first is kernel", "  history: first in epoch 1, column loss"]
    after = lines.index("Proven:")
    assert lines[after + 1 : after + 4] == [
        f"  train.py:{line}: features = [table[name] for name in set(NAMES)]",
        "    By experiment: with the value that the order of the set had here in one run, another run ends like it.",
        "    A set has another order in each process (hash seed, or addresses of objects): iterate over sorted(...), "
        "or over a list.",
    ]


def test_ignored_seeds_are_found_with_the_reason(planted, check):
    planted(("default_rng(options.drop_seed)", "default_rng(5)"), ("rng_noise.normal(size=x[batch].shape)", "0"))
    done = check(*OPTIONS[:-2], options=["--sources", "init,augment,dropout", "--json"])
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["reproducible"], found["passed"], found["seeds"]["init"]["counts"]) == (True, False, True)
    assert {one["source"]: one["why"] for one in found["ignored"]} == {
        "augment": "another {augment} changes nothing",
        "dropout": "the command has no {dropout}, and its text does not read TOOLNOISE_SEED_DROPOUT",
    }
    done = check(*OPTIONS, options=["--sources", "dropout"])
    assert done.returncode == 1
    said = "dropout is ignored: another {dropout} changes nothing. Leave it out of --sources if the program has no such"
    assert f"{said} noise." in done.stdout.splitlines()
    assert "`numpy.random.default_rng` is the same whatever {dropout} is." in done.stdout


def test_a_program_may_read_its_seeds_from_the_environment(check, tmp_path):
    (tmp_path / "train.py").write_text(
        "import json, os, sys\n"
        "job = json.load(open(os.environ['TOOLNOISE_JOB']))\n"
        "assert job['deterministic'] and sys.argv[1:] == ['--safe', 'a b']\n"
        "assert os.path.isdir(os.environ['TOOLNOISE_CHECKPOINT'])\n"
        "metric = {'loss': int(os.environ['TOOLNOISE_SEED_INIT']) / 7, 'done': 1}\n"
        "json.dump(metric, open(job['out'] + '/metric.json', 'w'))\n"
    )
    done = check(options=["--deterministic=--safe 'a b'", "--keep"])
    assert done.returncode == 0, done.stdout + done.stderr
    kept = Path(done.stderr.splitlines()[-1].removeprefix("outcomes and logs are kept in "))
    assert sorted(path.name for path in (kept / "outcomes").iterdir()) == [
        *("control-1", "control-2", "control-3", "init")
    ]
    shutil.rmtree(kept)


SILENT = "it printed nothing"


@pytest.mark.parametrize(
    ("options", "text", "line"),
    [
        (["--sources", "seed"], "", "command line: --sources: found 'seed'; allowed: init, shuffle, augment, dropout"),
        (["--limit", "0"], "", "command line: --limit: found 0; more than 0 minutes"),
        (["--limit", "0.05"], "import time; time.sleep(60)", f"still runs after 3 s; a higher limit; {SILENT}"),
        ([], "print('so far'); raise SystemExit(3)", "ended with exit code 3; its last lines: so far"),
        ([], "", f"or one of logits.npy, predictions.npy, nll.npy, losses.npy, metric.json in TOOLNOISE_OUT; {SILENT}"),
        (
            [],
            "import os; open(os.environ['TOOLNOISE_OUT'] + '/model.pt', 'w').close(); print('done')",
            "its last lines: done; --output, for one of the files that it wrote: {out}/model.pt",
        ),
    ],
)
def test_misuse_is_refused_in_one_line_and_leaves_no_folder(
    options, text, line, check, refusal, tmp_path, tmp_path_factory
):
    temporary = tmp_path_factory.mktemp("temporary")
    (tmp_path / "train.py").write_text(text)
    said = refusal(check(options=options, env={"TMPDIR": str(temporary)}))
    assert said.endswith(line)
    assert list(temporary.iterdir()) == []
    if text:
        assert said.startswith("toolnoise: control-1 (the first run): ")


def test_a_command_is_needed(toolnoise, refusal, tmp_path):
    said = refusal(toolnoise(tmp_path, "check"))
    assert said == "toolnoise: command line: no program; such as: python train.py --seed {init}"
    assert "unknown placeholder {seed}" in refusal(toolnoise(tmp_path, "check", "--", "train {seed}"))


def test_a_result_that_an_option_names_needs_no_labels(check, tmp_path):
    program = "import sys\nimport numpy as np\nnp.save(sys.argv[1] + '/predictions.npy', np.arange(9) + 0.5)\n"
    (tmp_path / "train.py").write_text(program)
    done = check("{out}", options=["--output", "{out}/predictions.npy", "--sources", ""])
    assert done.returncode == 0, done.stderr
    assert "three runs with equal seeds are equal bit for bit" in done.stdout


# Small programs. Each writes preds.npy; the line that ends with "# here" is the fault's. Further ones are in
# test_observed_programs.py, and in the packs of bench/unseen.py.
DIFFERENT = {
    "sklearn": """
        import numpy as np
        from sklearn.model_selection import train_test_split
        x, _ = train_test_split(np.arange(99))  # here
        np.save('preds.npy', x)
    """,
    "memory": """
        import numpy as np
        names = np.array([f'{number}.png' for number in range(320)], dtype=object)
        del names
        x = np.empty(640, 'int32')  # here
        np.save('preds.npy', x)
    """,
    "shared": """
        import threading
        import numpy as np
        rng, out = np.random.default_rng(1), np.zeros((4, 90000))
        def work(row):
            for column in range(90000):
                out[row, column] = rng.normal()  # here
        threads = [threading.Thread(target=work, args=(row,)) for row in range(4)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        np.save('preds.npy', out)
    """,
    "files": """
        import os
        import numpy as np
        names = [name for name in os.listdir('pictures')]  # here
        np.save('preds.npy', [int(name) for name in names])
    """,
}  # fmt: skip
CLEAN = {
    "times": """
        import time
        import numpy as np
        start = time.time()
        np.save('preds.npy', np.random.default_rng(1).normal(size=9))
        print(f'wall_clock {time.time() - start:.9f}')
    """,
    "checkpoint": """
        import os
        import numpy as np
        last = os.environ['TOOLNOISE_CHECKPOINT'] + '/last.npz'
        weights = np.load(last)['weights'] if os.path.exists(last) else np.ones(9)
        np.savez(last, weights=weights)
        np.save('preds.npy', weights)
    """,
}  # fmt: skip
# A listing as on another file system at each start: what Python imports at its start, and has to import still.
SHUFFLED = """
import os, random
listed = os.listdir
def shuffled(*folder):
    names = listed(*folder)
    return random.SystemRandom().sample(names, len(names)) if folder == ('pictures',) else names
os.listdir = shuffled
"""


@pytest.fixture
def checked(check, tmp_path):
    """Check a small program, beside what it reads; and the line of its fault."""

    def start(text, *options):
        text = textwrap.dedent(text).strip() + "\n"
        (tmp_path / "train.py").write_text(text)
        (tmp_path / "pictures").mkdir()
        for number in range(20):
            (tmp_path / f"pictures/{number}").touch()
        (tmp_path / "path").mkdir()
        (tmp_path / "path/sitecustomize.py").write_text(SHUFFLED)
        line = next((number for number, line in enumerate(text.splitlines(), 1) if line.endswith(MARK)), None)
        options = ["--sources", "", "--output", "preds.npy", *options]
        return check(options=options, env={"PYTHONPATH": str(tmp_path / "path")}), line

    return start


@pytest.mark.parametrize("name", DIFFERENT)
def test_the_cause_is_named_first(name, checked):
    done, line = checked(DIFFERENT[name], "--json")
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    first = found["proven"][0]
    assert (first["file"], first["line"]) == ("train.py", line)
    assert not found["possible"]
    assert found["difference"]["outputs"].keys() == {"preds.npy"}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_program_passes(name, checked):
    options = ["--metric", "wall_clock ([0-9.]+)"] if name == "times" else []
    done, _ = checked(CLEAN[name], *options)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproducible: three runs with equal seeds are equal bit for bit (preds.npy")
    assert (name == "times") == ("Not compared, since they look like times: wall_clock of the output." in done.stdout)


# `--world` of training programs in examples/unseen: bugs and clean ones are told apart


@pytest.mark.parametrize(
    ("name", "verdict"),
    [
        ("no_sampler", "another program"),
        ("distributeddataparallel", "rounding"),
        ("masks_of_each_process", "other draws"),
    ],
)
def test_two_processes_are_told_from_a_bug(name, verdict, skip_without, bench, tmp_path):
    skip_without("torch")
    unseen = bench("unseen")
    programs = unseen.unpacked(ROOT / "examples/unseen/processes.tar.xz", tmp_path)
    (packed,) = [each for each in programs if each.folder.name == name]
    packed.program["command"] += ["--epochs", "1"]
    packed.program["check"][1] = "1,2"  # processes
    said = unseen.checked(packed)
    assert unseen.scored(packed, said).verdict == "right"
    (way,) = said["other_ways"]
    assert (way["name"], way["verdict"], way["passed"]) == ("world 2", verdict, verdict != "another program")
    # Two runs with two processes have the same bits.
    assert way["again"]
    assert (way["difference"]["changed"] > 0) == (verdict != "rounding")
