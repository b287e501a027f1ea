"""The audit's rules that know what a study and a run are.

Statements and files are not trusted: an exception becomes a finding. A result by other code is compared with the study
only in the parts that all versions share: its spec, and the names in its paths.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from toolnoise import engines
from toolnoise.base import arrays, code_digest, command_words, environment
from toolnoise.base.arrays import bit_equal
from toolnoise.base.errors import BadInput
from toolnoise.base.files import canonical_sha256, read_bytes, read_json, readable, sha256
from toolnoise.base.noise_sources import OPTIONAL, draws_of_runs, replicate_of
from toolnoise.base.spec import Spec
from toolnoise.checks.expected_jobs import ExpectedJob, expected_jobs
from toolnoise.datasets import prepared, sources
from toolnoise.engines import accelerators
from toolnoise.epoch_plan import count_cycles
from toolnoise.formulas.accuracy import predictions
from toolnoise.measures import control_gate
from toolnoise.models.initial import Parameter
from toolnoise.provenance import repository
from toolnoise.provenance.audit import ODD, Found, Rule, each, guarded, rule
from toolnoise.provenance.diff import changes_of_values
from toolnoise.provenance.statements import LOCK, SOURCE, Statement
from toolnoise.provenance.tree import CHECKPOINTS, STUDY_FILE, Tree
from toolnoise.study import config, environments, grid, job_code, layout, programs, runs
from toolnoise.study.cells import Cell
from toolnoise.study.entries import records_steps
from toolnoise.study.runs import weight_digests
from toolnoise.study.study import Study
from toolnoise.training import bitflip

# Jobs that train or adopt a run; jobs that use files from outside of the study; jobs that need not read a file.
TRAINS = ("train", "run-program", "adopt-run")
OUTSIDE = ("configure", "fetch", "prepare", "adopt-run")
READS_NOTHING = (*OUTSIDE, "profile", "run-program")
# Jobs with a spec that compute wherever Snakemake runs.
ANYWHERE = ("adopt-run", "dump-outcomes")
# Parameters that are the same in statements of all versions.
COMMON = ("spec", "keys", "cell", "pair", "dataset", "model", "hardware", "trained_on")
# Inference on another machine may differ in the last bits: if this share of the classes changes, it is no finding.
BORDERLINE = 1 / 1000


def rules_of(tree: Tree) -> list[Rule]:
    """The rules for a study's results, with those that compare them with study.json if it can be read."""
    trained, damaged = _trained_runs(tree)
    of_runs = [
        rule(record),
        rule(shared_draws, "draws", trained, damaged),
        rule(control, "control", trained),
        rule(numbers, "numbers", trained),
    ]
    path = tree.root / STUDY_FILE
    try:
        study = grid.build_study(config.resolve(read_json(path), path), path)
    except (BadInput, *ODD) as error:
        return [rule(_unread, "complete", f"cannot be read ({error})"), *of_runs]
    jobs = {job.outputs[0]: job for job in expected_jobs(study)}
    of_study = [(complete, "complete"), (this_study, "study"), (declared, "inputs"), (checkpoints, "unknown")]
    _note_variables(study, tree)
    return [*(rule(check, name, jobs) for check, name in of_study), *of_runs]


def _unread(problem: str, tree: Tree) -> Found:
    """The study that these are the results of can be read."""
    made = tree.producer(tree.named(STUDY_FILE))
    if made and made.path in tree.stale:
        tree.notes.append(f"study.json is of an earlier version: nothing was held against it ({problem})")
    # Single figures and runs can be made without study.json.
    elif tree.top or STUDY_FILE in tree.files:
        yield tree.named(STUDY_FILE), problem


def _note_variables(study: Study, tree: Tree) -> None:
    texts = (model.get(key, "") for model in study.config["models"].values() for key in ("command", "deterministic"))
    if named := dict.fromkeys(f"{{{name}}}" for text in texts for name in command_words.variable_names(text)):
        what = f"the values of {', '.join(named)} are not recorded, so runs with other values have equal specs"
        tree.notes.append(what)


@functools.cache
def _digest(modules: tuple[str, ...], files: tuple[str, ...]) -> str:
    return code_digest.digest_of_code(*modules, files=files)


def counted(statement: Statement) -> str | None:
    """The digest of the present code that affects a job's outputs; None if it is not known here."""
    verb, parameters = statement.verb, statement.parameters
    if verb not in job_code.JOBS:
        return None
    try:
        return _digest(job_code.modules_of_job(verb, parameters), job_code.files_of_job(verb, parameters))
    except (BadInput, *ODD):
        return None


# The study
# ---------


def complete(jobs: dict[str, ExpectedJob], tree: Tree) -> Found:
    """Every file that the study expects is there."""
    if tree.is_part or tree.top is None:
        return
    # Other code may expect other files, but the same runs.
    is_stale = tree.top.path in tree.stale
    for job in jobs.values():
        if job.needed and (job.verb in TRAINS or not is_stale):
            yield from ((name, "is missing") for name in job.outputs if tree.lacks(name))


@each
def this_study(jobs: dict[str, ExpectedJob], tree: Tree, statement: Statement) -> Found:
    """Every statement is that of a job of this study, with its outputs, its parameters and the keys of its draws."""
    name, job = statement.name, jobs.get(statement.name)
    yield from ((name, what) for what in unlike(job, statement, is_stale=statement.path in tree.stale))
    if job is None or job.verb != statement.verb:
        return
    if not statement.inputs and statement.verb not in READS_NOTHING:
        yield name, f"a {statement.verb} job without inputs"
    if statement.made_of(SOURCE) and statement.verb not in OUTSIDE:
        yield name, f"a {statement.verb} job cannot be made from a file from outside"


def unlike(job: ExpectedJob | None, statement: Statement, *, is_stale: bool = False) -> Iterator[str]:
    """How a statement differs from a job of the study; if `is_stale`, only the parts that all versions share count."""
    if job is None or job.verb != statement.verb:
        # Other code may have had other jobs, but no other runs.
        if not is_stale or statement.verb in TRAINS:
            yield f"states a {statement.verb} job that is not part of the study"
        return
    other = sorted({output.name for output in statement.outputs} ^ set(job.outputs))
    if other and not is_stale:
        yield f"does not have the outputs of its job: {', '.join(other[:3])}"
    given, wanted = statement.parameters, job.stated()
    if is_stale:
        shared = [key for key in COMMON if key in given and key in wanted]
        given, wanted = ({key: both[key] for key in shared} for both in (given, wanted))
    yield from (what for _, what in _differing("", "was made for another study", wanted, given))
    records = {needed.name for needed in statement.inputs if needed.name.endswith("/run.json")}
    if job.records and records != job.records:
        yield f"is not of the runs of its cell: {', '.join(sorted(records ^ job.records)[:3])}"


def _differing(name: str, what: str, value: Any, expected: Any) -> Found:
    """A finding if two JSON values differ: what is wrong, and the keys that differ, such as `recipe.epochs`."""
    if keys := [change.key or "all" for change in changes_of_values(value, expected)]:
        yield name, f"{what}: {', '.join(keys[:5])}"


def checkpoints(jobs: dict[str, ExpectedJob], tree: Tree) -> Found:
    """A checkpoint is that of an unfinished run: a finished one that is made again would start from it."""
    for path in tree.files:
        folder, _, run = path.removesuffix(".npz").partition("/")
        weights, record = (tree.named(f"runs/{run}/{name}") for name in ("weights.npz", "run.json"))
        if folder == CHECKPOINTS and (weights not in jobs or not tree.lacks(record)):
            yield tree.named(path), "is not the checkpoint of an unfinished run of the study: remove it"


@each
def declared(jobs: dict[str, ExpectedJob], tree: Tree, statement: Statement) -> Found:
    """Data come from the declared files, with their published digests; adopted files are as they were."""
    job = jobs.get(statement.name)
    if statement.verb == "adopt-run":
        yield from _as_adopted(tree, statement)
    if statement.verb != "prepare" or job is None:
        return
    asked, files = sources.sources_of(job.parameters["entry"]), statement.made_of(SOURCE)
    if len(asked) != len(files):
        yield statement.name, f"comes from {len(files)} files; the study declares {len(asked)}"
        return
    for source, file in zip(asked, files, strict=True):
        if source["path"] != file.name and not source["path"].endswith(f"/{file.name}"):
            yield statement.name, f"comes from {file.name}; the study declares {source['path']}"
        algorithm, _, published = source.get("checksum", "").lower().partition(":")
        if algorithm == "sha256" and published != file.sha256:
            yield statement.name, f"comes from a {file.name} that differs from the published one"


def _as_adopted(tree: Tree, statement: Statement) -> Found:
    """The files that a run was adopted from are unchanged, where they lie beside the results."""
    for source in statement.made_of(SOURCE):
        path = tree.root.parents[1] / source.name
        is_beside = ".." not in path.parts and path.is_relative_to(tree.root.parents[1]) and path.is_file()
        if is_beside and (path.stat().st_size, sha256(path)) != (source.size, source.sha256):
            yield statement.name, f"was adopted from a {source.name} that differs from the one here"


# Records
# -------


@each
def record(tree: Tree, statement: Statement) -> Found:
    """Every record repeats the spec and the machine of its statement, and the machine is the declared one."""
    if "spec" not in statement.parameters:
        return
    for output in statement.outputs:
        if output.name.endswith(".json") and not tree.lacks(output.name):
            yield from guarded(output.name, lambda name=output.name: repeats(tree, name, statement))
    locks = [one.name for one in statement.made_of(LOCK)]
    declared = environments.environment_of(statement.parameters)
    is_other = any(lock.startswith(repository.VERSIONS) for lock in locks)
    if locks != [environments.lock_of(declared)] if declared else is_other:
        found = ", ".join(locks) or "no lock file"
        yield statement.name, f"was made in the environment of {found}; declared: {declared or 'the workflow'}"
    if statement.verb not in ANYWHERE:
        spec = Spec.read(statement.parameters["spec"])
        for what in _other_machine(spec.hardware.json, spec.variant.varying, statement.observed):
            yield statement.name, f"{what}; declared: {spec.hardware.name}"


def repeats(tree: Tree, name: str, statement: Statement) -> Found:
    """The differences of a record or an index from the statement of its job."""
    about, spec = _json(tree, name), statement.parameters["spec"]
    if "seeds" in about:
        made_from = [Path(needed.name).parent.name for needed in statement.inputs if needed.role == "records"]
        if list(map(str, about["seeds"])) != made_from:
            yield name, f"has the seeds {about['seeds']}; it was made from {', '.join(made_from)}"
        # Only the network knows which sources it does not use. Dumps of earlier versions have no draws in the index.
        unused = set(about.get("unused", ())).intersection(OPTIONAL)
        drawn = draws_of_runs(Spec.read(spec), about["seeds"], unused) if "draws" in about else {}
        yield from _differing(name, "has draws that do not follow from its seeds", drawn, about.get("draws", {}))
        spec = {key: value for key, value in spec.items() if key not in ("seed", "draw")}
    wanted = {"spec": spec, "observed": statement.observed}
    if "trained_on" in statement.parameters:
        wanted["trained_on"] = statement.parameters["trained_on"]
    repeated = {key: about.get(key) for key in wanted}
    yield from _differing(name, "differs from its statement", repeated, wanted)


def _other_machine(tooling: dict[str, Any], varying: Sequence[str], observed: dict[str, Any]) -> list[str]:
    """How device, precision, instruction set, threads, kernels and determinism differ from the declared ones."""
    device, variables = observed["device"], observed["variables"]
    on_cpu = tooling["accelerator"] == "cpu"
    is_called = device != "cpu" and accelerators.is_called(tooling["device"] or device, device)
    wrong = [] if (device == "cpu" if on_cpu else is_called) else [f"the device was {device!r}"]
    if tooling["engine"] == programs.ENGINE:
        wanted = programs.thread_variables(tooling)
    else:
        settings = {"deterministic": "impl" not in varying, "precision": tooling["precision"], "tf32": tooling["tf32"]}
        wrong += [f"{key} was {observed[key]!r}" for key, value in settings.items() if observed[key] != value]
        if on_cpu and environment.FLAGS[tooling["isa"]] not in observed["cpu_flags"]:
            wrong.append(f"the CPU has no {tooling['isa']}")
        wanted = engines.load(tooling["engine"]).variables(tooling, "impl" not in varying)
    wrong += [f"{name} was {variables.get(name)!r}" for name, value in wanted.items() if variables.get(name) != value]
    others = variables.keys() - wanted.keys() - set(environment.VISIBLE)
    return wrong + [f"{name} was set" for name in sorted(others)]


# Runs
# ----


class TrainedRun(NamedTuple):
    """The facts of a run that other runs must agree with; digests stand for the rows of its history."""

    name: str  # the name of its run.json
    path: str  # the path of its folder in the study
    spec: Spec
    start: tuple[Any, ...]  # determines its initial weights
    plan: tuple[Any, ...]  # determines the draws of its epochs
    data: str
    initial: str
    epochs: tuple[str, ...]  # without seconds
    weights: tuple[str, ...]
    draws: tuple[str, ...]

    @property
    def task(self) -> tuple[str, str]:
        """Its model and its data set."""
        return self.start[:2]


def _trained_runs(tree: Tree) -> tuple[list[TrainedRun], list[tuple[str, str]]]:
    """Every readable run, and why others cannot be read. Training programs make their own draws: they are left out."""
    known, damaged = [], []
    for statement in tree.statements:
        if statement.verb == "train":
            outputs = statement.outputs
            name = next((output.name for output in outputs if output.role == "record"), statement.name)
            try:
                known.append(_trained(tree, name))
            except (BadInput, *ODD) as error:
                damaged.append((name, f"cannot be checked ({error})"[:300]))
    return known, damaged


def _trained(tree: Tree, record: str) -> TrainedRun:
    run = runs.read_run(_whole(tree, record))
    folder = record.removesuffix("/run.json")
    _whole(tree, f"{folder}/history.csv")
    spec, rows = run.spec, run.history()
    start = (spec.model.name, spec.dataset.name, spec.study_seed, replicate_of("init", spec))
    # The whole recipe except learning rates.
    recipe, replicates = (
        spec.recipe,
        (replicate_of(source, spec) for source in ("data", "shuffle", "augment", "dropout")),
    )
    shape = (recipe["batch_size"], recipe.get("last_batch"), recipe["crop"], recipe["flip"])
    emulated = replicate_of("impl", spec) if spec.hardware.impl_noise == "reduction-order" else 0
    plan = (spec.dataset.name, spec.study_seed, *shape, str(recipe.get("resized_crop")), *replicates, emulated)
    return TrainedRun(
        record,
        tree.inside(folder),
        spec,
        start,
        plan,
        str(run.record["data_sha256"]),
        str(run.record["initial_sha256"]),
        tuple(canonical_sha256({**row, "seconds": None}) for row in rows),
        tuple(row["weights_sha256"] for row in rows),
        tuple(row["draws_sha256"] for row in rows),
    )


def shared_draws(trained: list[TrainedRun], damaged: list[tuple[str, str]], _tree: Tree) -> Found:
    """Runs that must share data, initial weights or draws do, on every tooling, and runs with other seeds do not."""
    yield from damaged
    for alike in _groups(trained, lambda run: run.spec.dataset.name):
        for run, other in _odd_ones(alike, lambda run: run.data):
            yield run.name, f"was trained on other data than {other.name}"
    for alike in _groups(trained, lambda run: run.start):
        for run, other in _odd_ones(alike, lambda run: run.initial):
            yield run.name, f"starts from different weights than {other.name}"
    for alike in _groups(trained, lambda run: (run.task, run.initial)):
        for run in alike:
            if run.start != alike[0].start:
                yield run.name, f"starts from the weights of {alike[0].name}, which has a different init replicate"
    for alike in _groups(trained, lambda run: run.plan):
        blamed = set()
        for epoch in range(max(len(run.draws) for run in alike)):
            # A run that diverged has fewer draws.
            drew = [run for run in alike if epoch < len(run.draws) and run.name not in blamed]
            for run, other in _odd_ones(drew, lambda run, epoch=epoch: run.draws[epoch]):
                blamed.add(run.name)
                yield run.name, f"has different draws than {other.name} from epoch {epoch + 1} on"


def _groups(trained: Iterable[TrainedRun], key: Callable[[TrainedRun], Any]) -> list[list[TrainedRun]]:
    groups: dict[Any, list[TrainedRun]] = {}
    for run in trained:
        groups.setdefault(key(run), []).append(run)
    return list(groups.values())


def _odd_ones(alike: list[TrainedRun], key: Callable[[TrainedRun], str]) -> Iterator[tuple[TrainedRun, TrainedRun]]:
    """The runs that differ from the majority, each with one of the others; all runs if there is no majority."""
    values = Counter(map(key, alike)).most_common(2)
    if len(values) > 1:
        usual = values[0][0] if values[0][1] > values[1][1] else None
        for run in alike:
            if key(run) != usual:
                yield run, next(other for other in alike if key(other) != key(run) and usual in (None, key(other)))


def control(trained: list[TrainedRun], tree: Tree) -> Found:
    """Control runs are bit-equal, in weights, histories and logits, and the gate's verdict follows from them."""
    of_control = sorted((run for run in trained if run.spec.variant.name == "control"), key=lambda run: run.spec.seed)
    for alike in _groups(of_control, lambda run: (*run.task, run.spec.hardware.name)):
        cell = Cell(*alike[0].task, alike[0].spec.hardware.name, "control")
        gate = layout.GATE.format(study=tree.name, **cell._asdict())
        yield from guarded(gate, lambda cell=cell, alike=alike, gate=gate: _equal(tree, cell, alike, gate))


def _equal(tree: Tree, cell: Cell, alike: list[TrainedRun], gate: str) -> Found:
    first = alike[0]
    for run in alike[1:]:
        pairs = enumerate(itertools.zip_longest(first.epochs, run.epochs), 1)
        if parted := next((epoch for epoch, (row, other) in pairs if row != other), None):
            yield run.name, f"differs from {first.name} from epoch {parted} on"
        if len({tree.hashed.get(f"{of.path}/weights.npz") for of in (run, first)}) > 1:
            yield run.name, f"has different weights than {first.name}"
    logits = layout.LOGITS.format(study=tree.name, **cell._asdict())
    if tree.inside(logits) in tree.files:
        stack = arrays.read_npy(_whole(tree, logits))
        if len(stack) != len(alike) or not all(bit_equal(stack[0], layer) for layer in stack[1:]):
            yield logits, f"does not have equal logits of {len(alike)} runs"
    if tree.inside(gate) in tree.files:
        seeds = [run.spec.seed for run in alike]
        if _json(tree, gate) != control_gate.passing_verdict(cell, seeds, first.weights[-1]):
            yield gate, "the gate's verdict does not follow from its runs"


# Numbers
# -------


def numbers(trained: list[TrainedRun], tree: Tree) -> Found:
    """Weights, moved bits, accuracies and collected tables follow from the files that they are of."""
    for run in trained:
        if f"{run.path}/weights.npz" in tree.files:
            name = tree.named(f"{run.path}/weights.npz")
            yield from guarded(name, lambda name=name, run=run: _weights(tree, name, run))
    for statement in tree.statements:
        check = {"collect": _collected, "predict": _accuracies}.get(statement.verb)
        files = [*statement.inputs, *statement.outputs]
        # Files that an archive left out cannot be compared, and other rules report missing files.
        if check and all(tree.inside(file.name) in tree.files for file in files):
            yield from guarded(statement.name, lambda of=statement, check=check: check(tree, of))


def _weights(tree: Tree, name: str, run: TrainedRun) -> Found:
    trained = runs.read_run(_whole(tree, name).with_name("run.json"))
    about, (*kept, final) = trained.record, trained.snapshots()
    by_epoch = [(len(run.weights), final)]
    if count_cycles(run.spec.recipe) > 1:
        epochs = runs.snapshot_epochs(run.spec.recipe, len(run.weights))
        by_epoch += zip(epochs, kept, strict=True)
    if records_steps(run.spec.recipe):
        recorded = trained.recorded()
        if about["recorded_steps"] != list(recorded):
            yield run.name, "has recorded_steps that are not those of its recipe"
        for step, arrays_then in recorded.items():
            epoch, within = divmod(step, about["steps_per_epoch"])
            if epoch and not within:
                tensors = {path: tensor for path, tensor in arrays_then.items() if path != runs.LOGITS}
                by_epoch.append((epoch, tensors))
    for epoch, tensors in by_epoch:
        if weight_digests(tensors)[0] != run.weights[epoch - 1]:
            yield name, f"has weights after epoch {epoch} that differ from its history"
    moved = None
    if run.spec.varies("bit"):
        # The weight whose bit a run must have moved follows from its seeds and tensors.
        parameters = [Parameter(path, one.shape, path in about["trainable"], "", {}) for path, one in final.items()]
        moved = bitflip.record_of_move(bitflip.of_run(parameters, run.spec), run.spec, len(run.weights))
    wrong = "has a moved_bit that does not follow from its seeds"
    yield from _differing(run.name, wrong, moved, about.get("moved_bit"))


def _collected(tree: Tree, statement: Statement) -> Found:
    heads, bodies = zip(*(_split(_whole(tree, part.name)) for part in statement.inputs), strict=True)
    if _split(_whole(tree, statement.name)) != (heads[0], b"".join(bodies)):
        yield statement.name, f"does not have the rows of its {len(statement.inputs)} parts"


def _split(path: Path) -> tuple[bytes, bytes]:
    """The version and the names of the columns of a metric file, and its rows."""
    with readable(path, "a metric file"):
        version, columns, *rows = read_bytes(path).split(b"\n", 2)
    return version + b"\n" + columns, b"".join(rows)


def _accuracies(tree: Tree, statement: Statement) -> Found:
    (data,) = (needed.name for needed in statement.inputs if needed.role == "data")
    records = [needed.name for needed in statement.inputs if needed.role == "records"]
    stack = arrays.read_npy(_whole(tree, statement.name))
    labels = prepared.targets_of_test(_whole(tree, data))["test_labels"].reshape(-1)
    if stack.ndim not in (2, 3) or stack.shape[:2] != (len(records), len(labels)):
        found = f"{len(records)} runs x {len(labels)} examples"
        raise BadInput(statement.name, "shape", f"found {stack.shape}", found)
    for name, layer in zip(records, stack, strict=True):
        yield from guarded(name, lambda name=name, layer=layer: _accuracy(tree, name, layer, labels))


def _accuracy(tree: Tree, name: str, layer: np.ndarray, labels: np.ndarray) -> Found:
    run = runs.read_run(_whole(tree, name))
    if run.diverged:
        return
    statement = float(run.history()[-1]["test_accuracy"])
    computed = float((predictions(layer[np.newaxis])[0] == labels).mean())
    allowed = max(1, int(BORDERLINE * len(labels))) / len(labels)
    if not abs(statement - computed) <= allowed * (1 + 1e-9):
        history = name.replace("run.json", "history.csv")
        yield history, f"ends with a test accuracy of {statement:.6g}; that of its logits is {computed:.6g}"


# Files that may be damaged
# -------------------------


def _json(tree: Tree, name: str) -> dict[str, Any]:
    """The JSON object in an artifact."""
    value = read_json(path := _whole(tree, name))
    if not isinstance(value, dict):
        raise BadInput(path, "", f"found {type(value).__name__}", "an object")
    return value


def _whole(tree: Tree, name: str) -> Path:
    """The path of an artifact, which must have the stated size: a larger file could fill the memory."""
    path, made = tree.inside(name), tree.producer(name)
    sizes = {output.name: output.size for output in made.outputs} if made else {}
    if path not in tree.files or tree.files[path] != sizes.get(name):
        raise BadInput(name, "", "is missing, or has another size than its statement says", "the stated file")
    return tree.root / path
