"""`toolnoise check` as a person runs it: from the wheel, in a folder without a study, on planted faults."""

import json
import shutil
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

DRIVERS = Path(__file__).parent / "drivers"
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


@pytest.fixture
def planted(tmp_path):
    """A copy of a clean program with faults: texts and what replaces them; and the line of the first."""

    def plant(kind, *faults):
        text = (DRIVERS / f"trained_in_{kind}.py").read_text()
        line = text[: text.index(faults[0][0])].count("\n") + 1 if faults else None
        for before, after in faults:
            assert text.count(before) == 1
            text = text.replace(before, after)
        (tmp_path / "train.py").write_text(text)
        return line

    return plant


@pytest.fixture
def check(tmp_path, run, installed, monkeypatch):
    # Nothing of this checkout is on the path of programs.
    monkeypatch.delenv("PYTHONPATH", raising=False)
    command = [installed / "toolnoise", "check"]

    def start(*arguments, options=(), **more):
        return run(tmp_path, *command, *options, "--", installed / "python", "train.py", *arguments, **more)

    return start


def test_a_clean_program_is_reproducible_and_needs_numpy_alone(planted, run, blocking, tmp_path):
    planted("numpy")
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


def test_a_clean_program_of_pytorch_is_reproducible(planted, check, skip_without):
    skip_without("torch")
    planted("torch")
    done = check(*OPTIONS)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("Reproducible: three runs with equal seeds are equal bit for bit")
    assert "Every declared seed counts." in done.stdout


def test_the_verdict_in_words(planted, check):
    planted("numpy")
    done = check(*OPTIONS, options=["--sources", "init"])
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert lines[0].startswith(
        "Reproducible: three runs with equal seeds are equal bit for bit (logits.npy, labels.npy"
    )
    assert lines[5].split()[0] == "init"
    assert lines[7:] == [
        "Every declared seed counts.",
        "Not compared, since they look like times: seconds of history.csv.",
    ]
    ended = [line.split(":")[0] for line in done.stderr.splitlines() if " started, " not in line]
    assert ended == ["control-1", "control-2", "control-3", "init"]


NUMPY = {
    "numpy": [("default_rng(options.noise_seed)", "default_rng()")],
    "random": [("random.Random(int(rng_order.integers(1 << 30))).shuffle", "random.shuffle")],
    "set": [("[table[name] for name in NAMES]", "[table[name] for name in set(NAMES)]")],
    "hash": [("zlib.crc32(name.encode())", "hash(name)")],
    "clock": [("default_rng(options.seed)", "default_rng(int(time.time()))")],
    "path": [("default_rng(options.drop_seed)", "default_rng(zlib.crc32(options.out.encode()))")],
}
TORCH = {
    "torch": [("self.first = nn.Linear", "self.first = nn.Linear"), ("    torch.manual_seed(options.seed)\n", "")],
    "loader": [
        ("loader = DataLoader(TensorDataset(x, y), 16, shuffle=True, generator=torch.Generator().manual_seed("
         "options.data_seed))", "loader = DataLoader(TensorDataset(x, y), 16, shuffle=True)"),
        ("torch.manual_seed(options.drop_seed)", ""),
        ("nn.Dropout(0.2)", "nn.Identity()"),
    ],
    "dropout": [("self.last(self.drop(", "self.last(self.drop("), ("torch.manual_seed(options.drop_seed)", "")],
}  # fmt: skip
CAUSES = {"numpy": "generator", "clock": "clock", "path": "folder", "set": "set", "hash": "hash"}
PHASES = {("numpy", "clock"): "start", ("torch", "torch"): "start"}


@pytest.mark.parametrize(
    ("kind", "cause"), [*(("numpy", cause) for cause in NUMPY), *(("torch", cause) for cause in TORCH)]
)
def test_the_right_cause_of_a_planted_fault_is_named(kind, cause, planted, check, skip_without):
    skip_without(kind)
    line = planted(kind, *(NUMPY if kind == "numpy" else TORCH)[cause])
    done = check(*OPTIONS, options=["--json"])
    assert done.returncode == 1, done.stdout + done.stderr
    found = json.loads(done.stdout)
    (proven,) = found["proven"]
    assert (proven["cause"], proven["file"], proven["line"]) == (CAUSES.get(cause, "unseeded"), "train.py", line)
    assert found["phase"] == PHASES.get((kind, cause), "training")
    assert {"logits.npy", "weights", "history.csv"} == {*found["difference"]["files"]}
    assert not found["seeds"]


def test_the_fault_in_words(planted, check):
    line = planted("numpy", *NUMPY["set"])
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


def test_a_hash_seed_that_the_user_fixes_is_left_as_it_is(planted, check):
    planted("numpy", *NUMPY["hash"])
    done = check(*OPTIONS, options=["--sources", "init"], env={"PYTHONHASHSEED": "7"})
    assert (done.returncode, done.stdout.splitlines()[0].split(":")[0]) == (0, "Reproducible")


def test_ignored_seeds_are_found_with_the_reason(planted, check):
    planted(
        "numpy", ("default_rng(options.drop_seed)", "default_rng(5)"), ("rng_noise.normal(size=x[batch].shape)", "0")
    )
    done = check(*OPTIONS[:-2], options=["--sources", "init,augment,dropout", "--json"])
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert (found["reproducible"], found["passed"], found["seeds"]["init"]["counts"]) == (True, False, True)
    assert {one["source"]: one["why"] for one in found["ignored"]} == {
        "augment": "another {augment} changes nothing",
        "dropout": "the command has no {dropout}, and its text does not read TOOLNOISE_SEED_DROPOUT",
    }


def test_an_option_that_is_taken_and_never_used_is_named(planted, check):
    planted("numpy", ("default_rng(options.drop_seed)", "default_rng(5)"))
    done = check(*OPTIONS, options=["--sources", "dropout"])
    assert done.returncode == 1
    said = "dropout is ignored: its text does not read the value of --drop-seed by that name. Leave it out of --sources"
    assert f"{said} if the program has no such noise." in done.stdout.splitlines()


def test_the_global_seed_that_a_loader_follows_is_among_those_named_where_its_own_is_ignored(
    planted, check, skip_without
):
    skip_without("torch")
    fault = TORCH["loader"][0]
    # The program reads the value, and nothing follows from it.
    planted("torch", (fault[0], f"unused = torch.Generator().manual_seed(options.data_seed)\n{fault[1]}"))
    done = check(*OPTIONS, options=["--sources", "shuffle", "--json"])
    assert done.returncode == 1
    (ignored,) = json.loads(done.stdout)["ignored"]
    assert {place["cause"] for place in ignored["places"]} == {"fixed"}
    assert any(place["code"].startswith("torch.manual_seed(") for place in ignored["places"])


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
        "control-1",
        "control-2",
        "control-3",
        "init",
    ]
    shutil.rmtree(kept)


SILENT = "it printed nothing"


@pytest.mark.parametrize(
    ("options", "text", "line"),
    [
        (["--sources", "seed"], "", "command line: --sources: found 'seed'; allowed: init, shuffle, augment, dropout"),
        (["--limit", "0"], "", "command line: --limit: found 0; more than 0 minutes"),
        (
            ["--limit", "0.05"],
            "import time; time.sleep(60)",
            "still runs after 3 s; a higher limit; it printed nothing",
        ),
        ([], "print('so far'); raise SystemExit(3)", "ended with exit code 3; its last lines: so far"),
        ([], "", "or one of logits.npy, predictions.npy, nll.npy, losses.npy, metric.json in TOOLNOISE_OUT; " + SILENT),
        (["--output", "no.pt"], "", "no.pt: the program did not write it; a file that each run writes; " + SILENT),
        (
            ["--output", "no.pt"],
            "import os; os.makedirs('runs/1'); open('runs/1/model.pt', 'w').close()",
            "it printed nothing; --output, for one of the files that it wrote: runs/1/model.pt",
        ),
        (
            [],
            "import os; open(os.environ['TOOLNOISE_OUT'] + '/model.pt', 'w').close(); print('done')",
            "its last lines: done; --output, for one of the files that it wrote: {{out}}/model.pt",
        ),
    ],
)
def test_misuse_is_refused_in_one_line_and_leaves_no_folder(
    options, text, line, check, refusal, tmp_path, tmp_path_factory
):
    temporary = tmp_path_factory.mktemp("temporary")
    (tmp_path / "train.py").write_text(text)
    said = refusal(check(options=options, env={"TMPDIR": str(temporary)}))
    assert said.endswith(line.format())
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
