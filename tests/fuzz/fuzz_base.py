"""The small finished study whose files and commands fuzz.py changes: made by the program itself, in one folder.

It has a job of each kind, as tests/workflow needs it, too: two frameworks, a model and data of its own, existing
programs, runs that were adopted, remedies, layers, recorded steps, overhead; and besides files that no study made:
predictions, logs, archives, keys.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import yaml

from toolnoise.base import arrays, program

EXAMPLES, CLASSES = 24, 4
# What is nested too deep, and what becomes too large: both in YAML.
DEEP = 20_000
LAUGHS = "a0: &a0 [x, x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 60))
BUILDER = """
import keras


def small(input_shape, classes, width=4):
    image = keras.Input(input_shape)
    hidden = keras.layers.Dense(width, activation="relu")(keras.layers.Flatten()(image))
    return keras.Model(image, keras.layers.Dense(classes)(hidden))


def text(input_shape, classes):
    tokens = keras.Input(input_shape, dtype="int32")
    hidden = keras.layers.Embedding(classes, 4)(tokens)
    return keras.Model(tokens, keras.layers.Dense(classes)(hidden))
"""
# A training program that leaves what lies in a folder, so that the fuzzer can change what it leaves.
PROGRAM = "sh -c 'cp -r left/$0/. \"$1\"' {} {{out}}"
# By program: its data set, and its outcome.
PROGRAMS = {"scores": ("outcome", "logits"), "classes": ("outcome", "classes"), "numbers": ("targets", "values")}
PROGRAMS |= {"metric": ("nothing", "metric")}
PROGRAMS |= {name: (f"of-{name}", name) for name in ("labels", "tokens", "masks", "losses")}


def block(model: str, dataset: str, hardware: str, *variants: str, **further: object) -> dict:
    """A block of the study's grid; a training program has no recipe."""
    task = {"models": [model], "datasets": [dataset], "hardware": [hardware], "variants": list(variants), "seeds": 2}
    return task | ({} if hardware == "command" else {"recipe": "short"}) | further


STUDY = {
    "study": "fuzz",
    "models": {
        "own": {"builder": "networks:small", "options": {"width": 3}},
        "text": {"builder": "networks:text"},
        **{
            name: {"command": PROGRAM.format(name), "sources": ["init"], "outcome": outcome}
            for name, (_, outcome) in PROGRAMS.items()
        },
    },
    "datasets": {
        "mine": {"reader": "npz", "path": "mine.npz"},
        "folder": {"reader": "npy", "path": "folder", "streamed": True},
        "text": {"reader": "npz", "path": "text.npz", "outcome": "tokens"},
        **{dataset: {"reader": "outcome"} for dataset, _ in PROGRAMS.values() if dataset != "outcome"},
        "faces": {"train_examples": 40, "test_examples": 24, "image_size": 8},
    },
    "recipes": {
        "short": {"epochs": 2, "batch_size": 16, "learning_rate": 0.01, "schedule": "cosine", "cycles": 2}
        | {"record_steps": True, "crop": 1},
        "plain": {"epochs": 1, "batch_size": 4, "learning_rate": 0.01},
    },
    "grid": [
        block("linear", "mine", "cpu", "control", remedies=["flip"], layers=6),
        block("linear", "mine", "cpu", "algo", "algo_impl"),
        block("linear", "mine", "cpu-jax", "control"),
        block("linear", "folder", "cpu", "control"),
        block("linear", "faces", "cpu", "control"),
        block("own", "mine", "cpu", "control"),
        block("text", "text", "cpu", "control", recipe="plain"),
        *(block(name, dataset, "command", "control") for name, (dataset, _) in PROGRAMS.items()),
    ],
    "overhead": {"models": ["linear"], "hardware": ["cpu"], "batch_size": 4, "image_size": 8, "classes": 4}
    | {"warmup": 1, "steps": 1, "repeats": 1},
    "figures": ["table2", "noise_by_source", "claims", "per_class"],
}


def _arrays(kind: str) -> dict[str, np.ndarray]:
    """Images of four classes, or segments of four tokens, each with the next of the tokens 0 to 3, in turn."""
    tokens = (np.arange(12)[:, np.newaxis] + np.arange(5)) % CLASSES
    images = np.random.default_rng(1).integers(0, 256, (2, EXAMPLES, 8, 8, 1), np.uint8)
    made = {}
    for number, part in enumerate(("train", "test")):
        made[f"{part}_images"] = tokens[:, :-1].astype(np.uint16) if kind == "text" else images[number]
        made[f"{part}_labels"] = tokens[:, 1:] if kind == "text" else np.arange(EXAMPLES) % CLASSES
    return made


def _foreign(folder: Path) -> None:
    """Files from elsewhere: predictions to compare and to adopt, labels, what programs leave."""
    draw = np.random.default_rng(2)
    labels = np.arange(EXAMPLES) % CLASSES
    for arm in "ab":
        rows = "\n".join(f"{seed},{draw.normal():.3f}" for seed in range(1, 7))
        (folder / f"losses-{arm}.csv").write_text(f"seed,loss\n{rows}\n")
    runs = (2 * np.eye(CLASSES)[labels] + draw.normal(size=(2, 4, EXAMPLES, CLASSES))).astype(np.float32)
    np.save(folder / "y.npy", labels)
    np.save(folder / "values.npy", runs[0, 0, :, 1])
    (folder / "values").mkdir()
    for arm, stack in zip("ab", runs, strict=True):
        np.save(folder / f"{arm}.npy", stack)
        np.savez(folder / f"{arm}.npz", logits=stack)
        np.savetxt(folder / f"{arm}.csv", stack.argmax(2), delimiter=",", fmt="%d")
        lines = [
            f"{seed},{example},{'abcd'[run.argmax()]},{'abcd'[label]}"
            for seed, of in enumerate(stack)
            for example, (run, label) in enumerate(zip(of, labels, strict=True))
        ]
        (folder / f"{arm}-named.csv").write_text("\n".join(["seed,id,pred,label", *lines]) + "\n")
        names = ",".join(f"correct_seed{seed}" for seed in range(len(stack)))
        right = (stack.argmax(2) == labels).T
        np.savetxt(folder / f"{arm}-right.csv", right, delimiter=",", fmt="%d", header=names, comments="")
        _logs(folder, arm, right.T[:2])
        for seed, run in enumerate(stack, 1):
            (folder / f"found/{arm}").mkdir(parents=True, exist_ok=True)
            np.save(folder / f"found/{arm}/seed{seed}.npy", run)
            np.save(folder / f"values/{arm}-{seed}.npy", run[:, 0])
    rows = [f"found/{arm}/seed{seed}.npy,{arm},{seed},0.{seed}" for arm in "ab" for seed in range(1, 5)]
    (folder / "found.csv").write_text("\n".join(["file,arm,seed,score", *rows]) + "\n")
    # Metrics: a model a line, and a chart that W&B exported.
    (folder / "wide.csv").write_text("model,seed1,seed2,seed3\na,0.5,0.25,\nb,0.75,0.5,nan\nc,0.9,0.8,0.7\n")
    curves = [f'"{arm}-seed{seed} - acc{end}"' for arm in "ab" for seed in (1, 2) for end in ("", "__MIN", "__MAX")]
    steps = [",".join([str(step), *([f"0.{step + 1}"] * 9), *["", "", ""]]) for step in range(3)]
    (folder / "curves.csv").write_text("\n".join([",".join(['"Step"', *curves]), *steps]) + "\n")
    # Three rows of eight: segments of tokens, or pictures of two rows.
    many, losses = (labels % 2).reshape(3, 8), np.abs(runs[0, :, :, 1]).astype(float).reshape(4, 3, 8)
    losses[:, 2, 5:] = np.nan
    np.save(folder / "many.npy", many)
    np.save(folder / "words.npy", labels.reshape(3, 8))
    for arm, stack in zip("ab", runs, strict=True):
        np.save(folder / f"{arm}-odds.npy", stack[:, :, 1].reshape(4, 3, 8))
        np.save(folder / f"{arm}-words.npy", stack.reshape(4, 3, 8, CLASSES))
        np.save(folder / f"{arm}-nll.npy", losses)
        for kind, of_runs in (("many", stack[:, :, 1].reshape(4, 3, 8)), ("losses", losses)):
            (folder / f"{arm}-{kind}").mkdir()
            for seed, run in enumerate(of_runs, 1):
                np.save(folder / f"{arm}-{kind}/{seed}.npy", run)
        np.save(folder / f"{arm}-values.npy", stack[:, :, 0])
    left = {
        "labels": {"logits": runs[0, 0, :, 1].reshape(3, 8), "labels": many},
        "tokens": {"logits": runs[0, 0].reshape(3, 8, CLASSES), "labels": labels.reshape(3, 8)},
        "masks": {"logits": runs[0, 0].reshape(3, 2, 4, CLASSES), "labels": labels.reshape(3, 2, 4)},
        "losses": {"nll": losses[0]},
        "scores": {"logits": runs[0, 0], "labels": labels},
        "classes": {"predictions": runs[0, 0].argmax(1), "labels": labels},
        "numbers": {"predictions": runs[0, 0, :, 0], "labels": runs[0, 1, :, 0]},
        "metric": {},
    }
    for name, outcome in left.items():
        (folder / "left" / name).mkdir(parents=True)
        for file, array in outcome.items():
            np.save(folder / f"left/{name}/{file}.npy", array)
        np.savez(folder / f"left/{name}/weights.npz", dense=np.arange(6, dtype=np.float32))
        (folder / f"left/{name}/history.csv").write_text("epoch,loss\n1,0.5\n2,0.25\n")
    np.savez(folder / "left/scores/groups.npz", odd=labels % 2 == 1)
    (folder / "left/metric/metric.json").write_text('{"score": 0.5, "other": 1}\n')


def _logs(folder: Path, arm: str, right: np.ndarray) -> None:
    """Evaluation logs of one arm, from right answers of two runs, [2, N]: of both programs, and as a table."""
    docs = [{"question": f"question {place}", "passage": f"p{place // 4}"} for place in range(right.shape[1])]
    for run, answers in enumerate(right.tolist(), 1):
        lines = [
            {"doc_id": place, "doc": doc, "target": "yes", "resps": [["yes" if hit else "no"]], "filter": of}
            | {"filtered_resps": ["yes" if hit else "no"], "metrics": ["acc", "f1"], "acc": float(hit), "f1": hit}
            | {"arguments": {"gen_args_0": {"arg_0": doc["question"]}}, "doc_hash": doc["question"]}
            for of in ("strict", "flexible")
            for place, (doc, hit) in enumerate(zip(docs, answers, strict=True))
        ]
        (folder / f"{arm}{run}-log.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    samples = [
        {"id": place, "epoch": epoch, "input": doc["question"], "target": "yes", "metadata": doc}
        | {"scores": {"match": {"value": "CI"[not hit], "answer": "yes" if hit else "no"}, "graded": {"value": 0.5}}}
        for epoch, answers in enumerate(right.tolist(), 1)
        for place, (doc, hit) in enumerate(zip(docs, answers, strict=True))
    ]
    header = {"version": 2, "status": "success", "eval": {"task": "yes"}}
    (folder / f"{arm}-log.json").write_text(json.dumps(header | {"samples": samples}, indent=2))
    with zipfile.ZipFile(folder / f"{arm}.eval", "w", zipfile.ZIP_DEFLATED) as log:
        for sample in samples:
            log.writestr(f"samples/{sample['id']}_epoch_{sample['epoch']}.json", json.dumps(sample))
        log.writestr("header.json", json.dumps(header))
    rows = [
        f"{place},{doc['passage']},{seed},{int(hit)},{'yes' if hit else 'no'},yes"
        for seed, answers in enumerate(right.tolist())
        for place, (doc, hit) in enumerate(zip(docs, answers, strict=True))
    ]
    (folder / f"{arm}-log.csv").write_text("\n".join(["id,passage,seed,correct,pred,target", *rows]) + "\n")


def code() -> str:
    """A digest of the code here: a study that other code made is not this program's."""
    root = program.path_of_snakefile().parent.resolve()
    paths = (path for top in ("workflow", "resources", "tests/fuzz") for path in (root / top).rglob("*.*"))
    files = sorted(path for path in paths if path.is_file() and path.suffix != ".pyc")
    lines = [f"{path} {hashlib.sha256(path.read_bytes()).hexdigest()}" for path in files]
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def write_inputs(folder: Path) -> None:
    """Write all that the studies are made from, and their files, into an empty folder."""
    arrays.write_npz(folder / "mine.npz", _arrays("images"))
    arrays.write_npz(folder / "text.npz", _arrays("text"))
    (folder / "folder").mkdir()
    for name, array in _arrays("images").items():
        np.save(folder / f"folder/{name}.npy", array)
    (folder / "networks.py").write_text(BUILDER)
    (folder / "empty").mkdir()
    (folder / "null").symlink_to("/dev/null")
    (folder / "own").mkdir()
    (folder / "own/model.py").write_text(BUILDER)
    _foreign(folder)
    _do(folder, "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "fuzz", "-f", "key")
    _do(folder, "toolnoise", "adopt", "found/{arm}/seed{seed}.npy", "--labels", "y.npy", "--name", "taken")
    taken = yaml.safe_load((folder / "taken.yaml").read_text())
    whole = STUDY | {"models": STUDY["models"] | taken["models"], "grid": STUDY["grid"] + taken["grid"]}
    (folder / "study.yaml").write_text(yaml.safe_dump(whole, sort_keys=False))


def make(folder: Path) -> None:
    """Make the study, or leave it if it is whole."""
    if (folder / "made").exists():
        return
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    write_inputs(folder)
    snakemake = (sys.executable, "-m", "snakemake", "--snakefile", str(program.path_of_snakefile()), "--cores", "2")
    _do(folder, *snakemake, "all", "speed", "--configfile", "study.yaml")
    lines = _command_lines(folder, "study.yaml", "all", "speed", "results/fuzz/report.html")
    shutil.rmtree(folder / ".snakemake", ignore_errors=True)
    _do(folder, "toolnoise", "sign", "results/fuzz", "--key", "key")
    _do(folder, "toolnoise", "export", "results/fuzz", "--out", "fuzz.tar.gz")
    # The same study at another site, that has prepared its data.
    for name in ("data", "statements/data"):
        shutil.copytree(folder / "results/fuzz" / name, folder / "elsewhere" / name)
    shutil.copyfile(folder / "results/fuzz/study.json", folder / "elsewhere/study.json")
    (folder / "made").write_text(json.dumps(lines))


def _command_lines(folder: Path, study: str, *targets: str) -> list[list[str]]:
    """What its rule calls for each job of a study."""
    planned = str(program.ROOT / "tests/planned_jobs.py")
    said = _do(folder, sys.executable, planned, str(program.path_of_snakefile()), study, *targets)
    return sorted(job["words"] for job in json.loads(said)["jobs"] if job["words"])


def _do(folder: Path, *command: str) -> str:
    print(f"making the study: {' '.join(command[-4:])[-100:]}", flush=True)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=os.environ | {"PATH": path})
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout
