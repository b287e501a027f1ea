"""One harmful thing is done to finished studies, of every kind and against every rule: the audit names both.

docs/tables/audit-rules.txt lists the rules, docs/audit.md says how many kinds of damage there are; a test holds them to
that.

What is done to every kind is what the audit could overlook in one of them: a changed bit, a missing file, a missing
statement, and a statement that fits what was changed. Each is found by what one file and its statement say, so it is
done to all kinds at once. That the size is another is found by one line that asks for no kind: it is done to one.
"""

import contextlib
import copy
import functools
import hashlib
import json
import os
import re
import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import flips
import numpy as np
import pytest

from toolnoise.base import arrays, files
from toolnoise.provenance import history, repository, tree
from toolnoise.provenance.audit import digests, examine
from toolnoise.provenance.audit.rules import RULES
from toolnoise.provenance.statements import PROCESS, RESUMED, TIME, path_for

ROOT = Path(__file__).parents[2]
CELL = "smallcnn/digits/cpu"

# Every kind of artifact, by an example: its study, what it is called, and its path.
KINDS = {
    "study.json": ("small", "study.json"),
    "prepared data": ("small", "data/digits.npz"),
    "record of what was fetched": ("other", "data/mine.sources.json"),
    "weights": ("small", f"runs/{CELL}/impl/2/weights.npz"),
    "history": ("small", f"runs/{CELL}/algo_impl/1/history.csv"),
    "record of a run": ("small", f"runs/{CELL}/algo_impl/2/run.json"),
    "logits": ("small", f"predictions/{CELL}/algo_impl.npy"),
    "index of logits": ("small", f"predictions/{CELL}/impl.json"),
    "logits of an exchange": ("other", "exchanged/smallcnn/mine/cpu/control/cpu-jax.npy"),
    "index of an exchange": ("other", "exchanged/smallcnn/mine/cpu-jax/control/cpu.json"),
    "logits under remedies": ("other", "remedies/smallcnn/mine/cpu/control.npy"),
    "index of logits under remedies": ("other", "remedies/smallcnn/mine/cpu/control.json"),
    "verdict of the gate": ("small", f"control/{CELL}.json"),
    "metrics of a cell": ("small", f"metrics/cells/{CELL}/impl.csv"),
    "single runs of a cell": ("small", f"metrics/runs/{CELL}/impl.csv"),
    "identical runs of a cell": ("small", f"metrics/identical/{CELL}/impl.csv"),
    "convergence of a cell": ("small", f"metrics/convergence/{CELL}/impl.csv"),
    "ensembles of a cell": ("small", f"metrics/ensembles/{CELL}/impl.csv"),
    "ratios of a task": ("small", f"metrics/ratios/{CELL}.csv"),
    "metrics of a pair": ("small", f"metrics/pairs/{CELL}/cpu-eigen/control.csv"),
    "frameworks of a pair": ("other", "metrics/frameworks/smallcnn/mine/cpu/cpu-jax/control.csv"),
    "partings of a pair": ("other", "metrics/partings/smallcnn/mine/cpu/cpu-jax/control.csv"),
    "growth of a task": ("other", "metrics/growth/smallcnn/mine/cpu.csv"),
    "remedies of a cell": ("other", "metrics/remedies/smallcnn/mine/cpu/control.csv"),
    "counts of a data set": ("small", "metrics/data/digits.csv"),
    "metrics of the study": ("small", "metrics/stability.csv"),
    "single runs of the study": ("small", "metrics/runs.csv"),
    "identical runs of the study": ("small", "metrics/identical.csv"),
    "convergence of the study": ("small", "metrics/convergence.csv"),
    "ensembles of the study": ("small", "metrics/ensembles.csv"),
    "ratios of the study": ("small", "metrics/ratios.csv"),
    "claims of the study": ("small", "metrics/claims.csv"),
    "counts of the study": ("small", "metrics/data.csv"),
    "pairs of the study": ("small", "metrics/cross_tooling.csv"),
    "frameworks of the study": ("other", "metrics/frameworks.csv"),
    "partings of the study": ("other", "metrics/partings.csv"),
    "growth of the study": ("other", "metrics/growth.csv"),
    "remedies of the study": ("other", "metrics/remedies.csv"),
    "kernel times": ("other", "overhead/smallcnn/cpu/default/1.csv"),
    "record of a profile": ("other", "overhead/smallcnn/cpu/deterministic/1.json"),
    "overhead of a network": ("other", "metrics/overhead/smallcnn/cpu.csv"),
    "kernels of a network": ("other", "metrics/kernels/smallcnn/cpu.csv"),
    "overhead of the study": ("other", "metrics/overhead.csv"),
    "kernels of the study": ("other", "metrics/kernels.csv"),
    "Gram matrices of layers": ("other", "layers/smallcnn/mine/cpu/control.npy"),
    "index of Gram matrices": ("other", "layers/smallcnn/mine/cpu/control.json"),
    "layers of a cell": ("other", "metrics/layers/smallcnn/mine/cpu/control.csv"),
    "layers of the study": ("other", "metrics/layers.csv"),
    "measured speed": ("other", "speed/smallcnn/mine/cpu/control.json"),
    "figure (svg)": ("small", "figures/noise_by_source-cpu.svg"),
    "figure for small screens": ("small", "figures/noise_by_source-cpu.narrow.svg"),
    "figure (pdf)": ("small", "figures/noise_by_source-cpu.pdf"),
    "figure (png)": ("small", "figures/noise_by_source-cpu.png"),
    "table (html)": ("small", "figures/table2.html"),
    "table (csv)": ("small", "figures/table2.csv"),
    "table (md)": ("small", "figures/table2.md"),
    "table (tex)": ("small", "figures/table2.tex"),
    "executed notebook": ("small", "notebooks/table2.ipynb"),
    "cell of the page": ("small", "page/cells/smallcnn/digits/cpu/impl.js"),
    "page": ("small", "index.html"),
    "tables of the page": ("small", "page/tables.js"),
}
ROOTED = "index.html"
# What nothing is made from: a forger who also rewrites its statement is told by a signature, or by making it again.
ENDS = {"page", "tables of the page", "measured speed"}


class Folder:
    """A study's results, to be changed and restored."""

    def __init__(self, root, original):
        self.root, self.study, self.original = root, root.name, original
        self.marks = {name: mark(root / name) for name in original}

    def path(self, artifact):
        return self.root / artifact

    def name(self, artifact):
        return f"results/{self.study}/{artifact}"

    def stated(self, artifact):
        """The file of the statement that an artifact is an output of."""
        for path in sorted((self.root / "statements").rglob("*.json")):
            if any(one["name"] == self.name(artifact) for one in json.loads(path.read_text())["subject"]):
                return path
        raise AssertionError(artifact)

    def change(self, artifact, edit):
        """Edit the JSON of the statement of an artifact."""
        self.change_json(self.stated(artifact), edit)

    def change_json(self, path, edit):
        value = json.loads(path.read_text())
        edit(value)
        path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")

    def settle(self, *artifacts, everywhere=False):
        """Have the statements of artifacts, or all that speak of them, say what the files are now."""
        for path in sorted((self.root / "statements").rglob("*.json")):
            value = json.loads(path.read_text())
            lists = [value["subject"]]
            if everywhere:
                lists.append(value["predicate"]["buildDefinition"]["resolvedDependencies"])
            about = {self.name(one): self.path(one).read_bytes() for one in artifacts}
            found = [one for several in lists for one in several if one["name"] in about]
            for one in found:
                content = about[one["name"]]
                one["digest"] = {"sha256": hashlib.sha256(content).hexdigest()}
                one["annotations"]["size"] = len(content)
            if found:
                path.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n")

    def vouch(self):
        """Have the root name every statement as it is now."""
        paths = [path for path in (self.root / "statements").rglob("*.json") if path.name != "index.html.intoto.json"]
        chain = {self.name(path.relative_to(self.root).as_posix()): files.sha256(path) for path in paths}
        self.change(ROOTED, lambda root: definition(root)["internalParameters"].update(statements=chain))

    def restore(self):
        for path in sorted(self.root.rglob("*"), reverse=True):
            known = path.relative_to(self.root).as_posix()
            if path.is_symlink() or not path.is_dir():
                # A pipe, too, and before anybody waits for it.
                if path.is_symlink() or not path.is_file() or known not in self.original:
                    path.unlink()
            elif not any(name.startswith(f"{known}/") for name in self.original):
                shutil.rmtree(path)
        for name, content in self.original.items():
            path = self.root / name
            if not path.is_file() or mark(path) != self.marks[name]:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
                self.marks[name] = mark(path)

    def audit(self):
        return examine.examine(tree.load(self.root), threads=1)


def mark(path):
    """What is another after every write to a file: nothing sets ctime back."""
    found = path.stat()
    return found.st_ino, found.st_size, found.st_ctime_ns


@pytest.fixture(scope="module")
def both(small_study, other_study, tmp_path_factory):
    """Copies of both studies' results."""
    made = {}
    for folder, study in ((small_study, "small"), (other_study, "other")):
        root = tmp_path_factory.mktemp("audited") / "results" / study
        shutil.copytree(folder / "results" / study, root)
        files = (path for path in root.rglob("*") if path.is_file())
        made[study] = Folder(root, {path.relative_to(root).as_posix(): path.read_bytes() for path in files})
    return made


@pytest.fixture
def folders(both):
    """The same, restored afterwards."""
    yield both
    for folder in both.values():
        folder.restore()


def assert_found(folder, rule, *artifacts):
    found = folder.audit()
    assert not found.is_clean(strict=False)
    told = {one.artifact for one in found.findings if one.rule == rule}
    assert {folder.name(one) for one in artifacts} <= told, found.findings[:20]


@pytest.mark.parametrize("study", ["small", "other"])
def test_untouched_studies_are_clean_and_covered(study, both):
    found = both[study].audit()
    assert found.findings == found.stale == ()
    assert found.coverage.stated == found.coverage.files > 20
    assert "100 %" in str(found.coverage)
    (root,) = (one.tree.top.sha256 for one in found.evidence)
    assert examine.as_text(found, strict=True) == f"clean: {found.coverage.files} files, root {root}"


# What is done to an artifact of every kind
# -----------------------------------------


def flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)


def truncate(path):
    path.write_bytes(path.read_bytes()[:-1])


EVERY = {
    "a bit is flipped": (flip, "digests-match"),
    "it is deleted": (Path.unlink, "every-output-is-there"),
}
# By what is done, also the one kind that it is done to.
SIZES = {
    "the last byte is cut off": (truncate, "digests-match", "record of a run"),
    "it is emptied": (lambda path: path.write_bytes(b""), "digests-match", "weights"),
}


def of_study(study, kinds=frozenset(KINDS)):
    return [artifact for kind, (of, artifact) in KINDS.items() if of == study and kind in kinds]


# A file's finding depends on the file and its statement alone, so all kinds are harmed at once.
@pytest.mark.parametrize("study", ["small", "other"])
@pytest.mark.parametrize("what", EVERY)
def test_whatever_happens_to_an_artifact_of_any_kind_is_found(study, what, folders):
    harm, rule = EVERY[what]
    for artifact in of_study(study):
        harm(folders[study].path(artifact))
    assert_found(folders[study], rule, *of_study(study))


@pytest.mark.parametrize("what", SIZES)
def test_another_size_is_found(what, folders):
    harm, rule, kind = SIZES[what]
    study, artifact = KINDS[kind]
    harm(folders[study].path(artifact))
    assert_found(folders[study], rule, artifact)


@pytest.mark.parametrize("study", ["small", "other"])
def test_a_deleted_statement_is_found(study, folders):
    for artifact in of_study(study):
        # Several kinds may be outputs of one job.
        with contextlib.suppress(AssertionError):
            folders[study].stated(artifact).unlink()
    assert_found(folders[study], "every-file-is-stated", *of_study(study))


@pytest.mark.parametrize("study", ["small", "other"])
def test_an_artifact_that_another_takes_the_place_of_is_found(study, folders):
    folder, artifacts = folders[study], of_study(study)
    # Each has the content of the next; of a study with one cell, a table of the study may be that of the cell.
    taken = artifacts[1:] + artifacts[:1]
    for artifact, other in zip(artifacts, taken, strict=True):
        folder.path(artifact).write_bytes(folder.original[other])
    changed = [
        one for one, other in zip(artifacts, taken, strict=True) if folder.original[one] != folder.original[other]
    ]
    assert len(changed) > len(artifacts) - 8
    assert_found(folder, "digests-match", *changed)


# What finds an artifact whose statement was rewritten to fit: what was made from the old one, unless named here.
FORGED = {
    "study.json": "study-is-complete",
    "verdict of the gate": "control-is-bit-equal",
    "record of what was fetched": "data-is-the-declared",
}
OLDER = "statements-are-the-roots"


def forge(folder, kinds):
    """Other versions of the artifacts of some kinds, with statements that fit them."""
    for kind in kinds:
        text = folder.path(KINDS[kind][1])
        if kind in FORGED:
            # A letter of the first key: it stays JSON.
            text.write_text(re.sub(r'"([a-z_]+)([a-z])"', r'"\1_"', text.read_text(), count=1))
        else:
            flip(text)
    folder.settle(*(KINDS[kind][1] for kind in kinds))


def forgeable(study, besides=frozenset()):
    return [kind for kind, (of, _) in KINDS.items() if of == study and kind not in {*ENDS, *FORGED, *besides}]


# The page is the root: that it is an older one, `--not-before` says (tests/provenance/test_signing.py).
@pytest.mark.parametrize("study", ["small", "other"])
def test_older_versions_beside_their_statements_of_then_are_found(study, folders):
    folder, kinds = folders[study], forgeable(study)
    forge(folder, kinds)
    # A finding on a statement names the first output of its job.
    firsts = set()
    for artifact in of_study(study, frozenset(kinds)):
        move_times(folder, artifact, timedelta(days=-1))
        firsts.add(json.loads(folder.stated(artifact).read_text())["subject"][0]["name"])
    assert_found(folder, OLDER, *(name.removeprefix(folder.name("")) for name in firsts))


@pytest.mark.parametrize("study", ["small", "other"])
def test_a_flipped_bit_is_found_where_the_statement_was_rewritten_to_fit(study, folders):
    folder, kinds = folders[study], forgeable(study)
    forge(folder, kinds)
    found = folder.audit()
    assert not [one for one in found.findings if one.rule == "digests-match"]
    told = {one.artifact for one in found.findings if one.rule == "inputs-are-what-was-made"}
    assert {folder.name(artifact) for artifact in of_study(study, frozenset(kinds))} <= told


@pytest.mark.parametrize("kind", FORGED)
def test_a_changed_key_is_found_where_the_statement_was_rewritten_to_fit(kind, folders):
    folder = folders[KINDS[kind][0]]
    forge(folder, [kind])
    assert FORGED[kind] in {one.rule for one in folder.audit().findings}


# One harmful thing each
# ----------------------


class Mutation(NamedTuple):
    """What is done to a study, the rule that finds it and where."""

    what: str
    study: str
    rule: str
    artifacts: tuple[str, ...]
    harm: object


MUTATIONS = {}


def mutation(rule, *artifacts, study="small"):
    def registered(harm):
        what = harm.__name__.replace("_", " ")
        assert what not in MUTATIONS
        MUTATIONS[what] = Mutation(what, study, rule, artifacts, harm)
        return harm

    return registered


RUN = f"runs/{CELL}/algo_impl/1"
OTHER_RUN = f"runs/{CELL}/algo_impl/2"
CONTROL = f"runs/{CELL}/control/2"
WEIGHTS, HISTORY, RECORD = (f"{RUN}/{name}" for name in ("weights.npz", "history.csv", "run.json"))
INDEX = f"predictions/{CELL}/impl.json"
METRICS, STABILITY, TABLE = f"metrics/cells/{CELL}/impl.csv", "metrics/stability.csv", "figures/table2.html"


def definition(statement):
    return statement["predicate"]["buildDefinition"]


def asked(statement):
    return definition(statement)["externalParameters"]


def observed(statement):
    return definition(statement)["internalParameters"]["observed"]


def made_from(statement, kind):
    return [one for one in definition(statement)["resolvedDependencies"] if one["annotations"]["kind"] == kind]


def change_record(folder, artifact, edit):
    """A record and its statement's digest of it, as a thorough forger changes them, and all that was made from it."""
    folder.change_json(folder.path(artifact), edit)
    folder.settle(artifact, everywhere=True)


def swap(one, other):
    kept = one.read_bytes()
    one.write_bytes(other.read_bytes())
    other.write_bytes(kept)


def move_times(folder, artifact, by):
    def move(statement):
        times = statement["predicate"]["runDetails"]["metadata"]
        for key, value in times.items():
            if key in (PROCESS, RESUMED):
                continue
            times[key] = (datetime.strptime(value, TIME) + by).strftime(TIME)

    folder.change(artifact, move)


@mutation("digests-match", WEIGHTS, f"{OTHER_RUN}/weights.npz")
def the_weights_of_two_seeds_are_swapped(folder):
    swap(folder.path(WEIGHTS), folder.path(f"{OTHER_RUN}/weights.npz"))


@mutation("records-agree", RECORD, f"{OTHER_RUN}/run.json")
def all_files_of_two_seeds_are_swapped_and_stated_anew_everywhere(folder):
    both = [[f"{run}/{name}" for name in ("weights.npz", "history.csv", "run.json")] for run in (RUN, OTHER_RUN)]
    for one, other in zip(*both, strict=True):
        swap(folder.path(one), folder.path(other))
    folder.settle(*both[0], *both[1], everywhere=True)


@mutation("path-says-the-spec", WEIGHTS, f"{OTHER_RUN}/weights.npz")
def the_statements_of_two_seeds_are_swapped_and_renamed_to_fit(folder):
    paths = [folder.stated(f"{run}/weights.npz") for run in (RUN, OTHER_RUN)]
    swap(*paths)
    for path, run in zip(paths, (RUN, OTHER_RUN), strict=True):
        text = path.read_text()
        for other in (RUN, OTHER_RUN):
            text = text.replace(folder.name(other), folder.name(run))
        path.write_text(text)


@mutation("statements-lie-in-place", METRICS, f"metrics/cells/{CELL}/control.csv")
def two_statements_are_swapped(folder):
    swap(folder.stated(METRICS), folder.stated(f"metrics/cells/{CELL}/control.csv"))


@mutation("inputs-are-what-was-made", METRICS)
def a_digit_of_a_csv_and_the_digest_in_its_statement_are_edited(folder):
    path = folder.path(METRICS)
    path.write_text(re.sub(r"\d(?=\n$)", lambda digit: str((int(digit[0]) + 1) % 10), path.read_text()))
    folder.settle(METRICS)


@mutation("collected-are-their-parts", STABILITY)
def a_number_of_the_whole_study_is_changed_and_stated_anew_everywhere(folder):
    path = folder.path(STABILITY)
    path.write_text(re.sub(r"0\.\d", lambda found: "0.1" if found[0] != "0.1" else "0.2", path.read_text(), count=1))
    folder.settle(STABILITY, everywhere=True)
    folder.vouch()


@mutation("final-weights-are-the-histories", WEIGHTS)
def the_weights_of_a_run_are_of_another_and_stated_anew_everywhere(folder):
    shutil.copy(folder.path(f"{OTHER_RUN}/weights.npz"), folder.path(WEIGHTS))
    folder.settle(WEIGHTS, everywhere=True)
    folder.vouch()


@mutation("accuracies-are-the-logits", HISTORY)
def the_last_accuracy_of_a_run_is_embellished_and_stated_anew_everywhere(folder):
    path = folder.path(HISTORY)
    *before, last = path.read_text().splitlines(keepends=True)
    fields = last.split(",")
    fields[4] = str(float(fields[4]) + 0.01)
    path.write_text("".join([*before, ",".join(fields)]))
    folder.settle(HISTORY, everywhere=True)
    folder.vouch()


@mutation("statements-are-the-roots", METRICS)
def a_time_in_a_statement_is_moved(folder):
    move_times(folder, METRICS, timedelta(microseconds=1))


@mutation("statements-are-the-roots", TABLE)
def the_root_does_not_name_a_statement(folder):
    def forget(root):
        chain = definition(root)["internalParameters"]["statements"]
        del chain[next(one for one in chain if "figures/table2" in one)]

    folder.change(ROOTED, forget)


@mutation("digests-match", "figures/noise_by_source-cpu.png")
def a_figure_is_replaced_by_another_studys(folder):
    shutil.copy(folder.path("figures/batch_norm-cpu.png"), folder.path("figures/noise_by_source-cpu.png"))


@mutation("inputs-are-what-was-made", "figures/noise_by_source-cpu.png")
def a_figure_is_replaced_and_stated_anew(folder):
    a_figure_is_replaced_by_another_studys(folder)
    folder.settle("figures/noise_by_source-cpu.png")


@mutation("digests-match", "notebooks/table2.ipynb")
def a_number_in_an_executed_notebook_is_altered(folder):
    path = folder.path("notebooks/table2.ipynb")
    path.write_text(path.read_text().replace("smallcnn", "smallCNN", 1))


@mutation("inputs-are-what-was-made", "notebooks/table2.ipynb")
def an_executed_notebook_is_altered_and_stated_anew(folder):
    a_number_in_an_executed_notebook_is_altered(folder)
    folder.settle("notebooks/table2.ipynb")


@mutation("digests-match", RECORD)
def the_spec_in_a_run_json_is_changed(folder):
    folder.change_json(folder.path(RECORD), lambda record: record["spec"]["recipe"].update(learning_rate=0.02))


@mutation("made-for-this-study", WEIGHTS)
def the_spec_in_a_run_json_and_in_its_statement_is_changed(folder):
    change_record(folder, RECORD, lambda record: record["spec"]["recipe"].update(learning_rate=0.02))
    folder.change(RECORD, lambda statement: asked(statement)["spec"]["recipe"].update(learning_rate=0.02))


@mutation("keys-follow", "runs/smallcnn-bn/digits/cpu/impl/20002/weights.npz")
def a_run_says_that_it_is_of_another_draw(folder):
    run = "runs/smallcnn-bn/digits/cpu/impl/20002"
    change_record(folder, f"{run}/run.json", lambda record: record["spec"].update(draw=1))
    folder.change(f"{run}/weights.npz", lambda statement: asked(statement)["spec"].update(draw=1))


@mutation("records-agree", "exchanged/smallcnn/mine/cpu/control/cpu-jax.json", study="other")
def an_exchange_says_that_its_runs_were_trained_elsewhere(folder):
    index = "exchanged/smallcnn/mine/cpu/control/cpu-jax.json"
    change_record(folder, index, lambda found: found.update(trained_on="cpu-eigen"))


@mutation("path-says-the-spec", "exchanged/smallcnn/mine/cpu/control/cpu-jax.npy", study="other")
def the_statement_of_an_exchange_says_that_its_runs_were_trained_elsewhere(folder):
    logits = "exchanged/smallcnn/mine/cpu/control/cpu-jax.npy"
    folder.change(logits, lambda statement: asked(statement).update(trained_on="cpu-jax"))


@mutation("hardware-is-the-declared", "exchanged/smallcnn/mine/cpu/control/cpu-jax.npy", study="other")
def an_exchange_is_said_to_have_been_computed_where_its_runs_were_trained(folder):
    one, trained = "exchanged/smallcnn/mine/cpu/control/cpu-jax.npy", "predictions/smallcnn/mine/cpu/control.npy"
    there = json.loads(folder.stated(trained).read_text())
    folder.change(one, lambda statement: observed(statement).update(variables=observed(there)["variables"]))


@mutation("records-agree", "overhead/smallcnn/cpu/default/1.json", study="other")
def the_steps_of_a_profile_are_changed_in_its_record(folder):
    artifact = "overhead/smallcnn/cpu/default/1.json"
    change_record(folder, artifact, lambda record: record["spec"]["steps"].update(steps=2))


@mutation("records-agree", "speed/smallcnn/mine/cpu/control.json", study="other")
def a_measured_speed_says_another_machine(folder):
    artifact = "speed/smallcnn/mine/cpu/control.json"
    change_record(folder, artifact, lambda record: record["observed"].update(host="elsewhere"))


@mutation("hardware-is-the-declared", WEIGHTS)
def the_recorded_device_is_changed_in_record_and_statement(folder):
    change_record(folder, RECORD, lambda record: record["observed"].update(device="Tesla V100-SXM2-16GB"))
    folder.change(RECORD, lambda statement: observed(statement).update(device="Tesla V100-SXM2-16GB"))


def observing(edit):
    """A change to what was observed, in a record and in its statement."""

    def harm(folder):
        change_record(folder, RECORD, lambda record: edit(record["observed"]))
        folder.change(RECORD, lambda statement: edit(observed(statement)))

    return harm


OBSERVED = {
    "the determinism switch is said to have been on": lambda of: of.update(deterministic=True),
    "half precision is said to have been used": lambda of: of.update(precision="mixed_float16"),
    "TF32 is said to have been on": lambda of: of.update(tf32=True),
    "the CPU is said to have no AVX2": lambda of: of.update(cpu_flags=["sse4_1"]),
    "another instruction set is said to have been set": lambda of: of["variables"].update(ONEDNN_MAX_CPU_ISA="SSE41"),
    "more threads are said to have computed": lambda of: of["variables"].update(TF_NUM_INTRAOP_THREADS="8"),
    "other kernels are said to have computed": lambda of: of["variables"].update(TF_ENABLE_ONEDNN_OPTS="0"),
    "a variable that nobody declared is said to have been set": lambda of: of["variables"].update(XLA_FLAGS="--fast"),
    "no variables are said to have been set": lambda of: of["variables"].clear(),
}
for what, edit in OBSERVED.items():
    MUTATIONS[what] = Mutation(what, "small", "hardware-is-the-declared", (WEIGHTS,), observing(edit))


# By the rule that finds it and the artifact that it names: what is done to the artifact's statement, or to a record and
# all digests of it.
IN_STATEMENTS = {
    ("records-agree", RECORD): {
        "the recorded device is changed in the statement": lambda made: observed(made).update(cpu="Another CPU"),
    },
    ("lock-is-kept", WEIGHTS): {
        "another version of the framework is said to have computed": lambda made: observed(made)["versions"].update(
            tensorflow="2.20.0"
        ),
        "a library that the lock does not pin is said to have computed": lambda made: observed(made)["versions"].update(
            {"nvidia-cudnn-cu12": "9.10.2.21"}
        ),
    },
    ("keys-follow", WEIGHTS): {
        "a key of the streams is changed": lambda made: asked(made)["keys"]["init"].update(key="0" * 32),
        "a replicate is changed": lambda made: asked(made)["keys"]["shuffle"].update(replicate=0),
        "the seed of a study is changed in a statement": lambda made: asked(made)["spec"].update(study_seed=1),
        "a source is taken from those that may vary": lambda made: asked(made)["spec"]["variant"]["varying"].remove(
            "init"
        ),
    },
    ("made-for-this-study", METRICS): {
        "the parameters of a measure are changed": lambda made: asked(made).update(study_seed=5),
        "the parameters of a statement are of other types": lambda made: asked(made).update(cell=[{}, None, 3, [[]]]),
    },
    ("made-for-this-study", TABLE): {
        "the parameters of a table are changed": lambda made: asked(made).update(emulated=[]),
    },
    ("commit-is-known", METRICS): {
        "git did not say what had changed": lambda made: made_from(made, "commit")[0].update(
            annotations={"kind": "commit", "dirty": True}
        ),
    },
    ("path-says-the-spec", METRICS): {
        "a statement is of another verb": lambda made: definition(made).update(buildType="urn:toolnoise:count:1"),
    },
    ("nothing-else-is-there", METRICS): {
        "a statement is of a verb that nobody knows": lambda made: definition(made).update(
            buildType="urn:toolnoise:dream-up:1"
        ),
    },
    ("path-says-the-spec", RECORD): {
        "the outputs of a statement stand in another order": lambda made: made["subject"].reverse(),
    },
    ("every-file-is-stated", HISTORY): {
        "an output is taken out of a statement": lambda made: made["subject"].pop(1),
    },
    ("digests-match", METRICS): {
        "a stated size is huge": lambda made: made["subject"][0]["annotations"].update(size=10**300),
        "a stated size is left out": lambda made: made["subject"][0]["annotations"].pop("size"),
    },
    ("hardware-is-the-declared", WEIGHTS): {
        "a statement lacks what was observed": lambda made: observed(made).clear(),
    },
    ("inputs-are-the-jobs", METRICS): {
        "an input is left out": lambda made: drop(made, "run.json"),
    },
    ("inputs-are-the-jobs", TABLE): {
        "a table is made without a cell": lambda made: drop(made, f"{CELL}/impl.csv"),
    },
    ("inputs-are-what-was-made", METRICS): {
        "an input is made by no statement": lambda made: made_from(made, "input")[0].update(
            name="results/small/data/x.npz"
        ),
    },
    ("chains-end-in-sources", METRICS): {
        "a result is given out for a source": lambda made: made_from(made, "input")[0]["annotations"].update(
            kind="source"
        ),
        "a dependency is of an unknown kind": lambda made: made_from(made, "input")[0]["annotations"].update(
            kind="magic"
        ),
    },
    ("code-is-known", WEIGHTS): {
        "the digest of a module is changed": lambda made: made_from(made, "code")[0]["digest"].update(sha256="0" * 64),
    },
    ("code-is-known", TABLE): {
        "the digest of a notebook is changed": lambda made: made_from(made, "resource")[0]["digest"].update(
            sha256="0" * 64
        ),
    },
    ("code-is-known", METRICS): {
        "a module from elsewhere is stated": lambda made: made_from(made, "code")[0].update(name="/tmp/evil.py"),
        "the digest of the lock file is changed": lambda made: made_from(made, "lock")[0]["digest"].update(
            sha256="0" * 64
        ),
    },
    ("code-is-whole", METRICS): {
        "a module is left out": lambda made: drop(made, "formulas/churn.py"),
    },
    ("code-is-whole", TABLE): {
        "the notebook is left out": lambda made: drop(made, "notebooks/table2.ipynb"),
    },
    ("lock-is-kept", METRICS): {
        "no lock file is stated": lambda made: drop(made, repository.lock("")),
    },
    ("commit-is-known", WEIGHTS): {
        "the commit is changed": lambda made: made_from(made, "commit")[0]["digest"].update(gitCommit="0" * 40),
        "no commit is stated": lambda made: drop(made, "repository"),
    },
}
IN_RECORDS = {
    ("records-agree", RECORD): {
        "the spec in a run json is changed and stated anew everywhere": lambda record: record["spec"]["recipe"].update(
            learning_rate=0.02
        ),
    },
    ("records-agree", INDEX): {
        "the index of a dump says another order of seeds": lambda record: record["seeds"].reverse(),
        "the index of a dump says that its runs had draws of their own": lambda record: record["draws"].update(
            init=[1, 2]
        ),
    },
    ("runs-share-their-data", RECORD): {
        "a run says that it was trained on other data": lambda record: record.update(data_sha256="0" * 64),
    },
    ("initial-weights-are-shared", f"{CONTROL}/run.json"): {
        "a run that must share its initial weights says others": lambda record: record.update(initial_sha256="0" * 64),
    },
    ("control-is-bit-equal", f"control/{CELL}.json"): {
        "the gate says of other weights that they are equal": lambda record: record.update(weights_sha256="0" * 64),
    },
}


def in_table(edits, change):
    """Mutations by such a table; `change` edits an artifact's statement or record."""
    for (rule, artifact), by_name in edits.items():
        for what, edit in by_name.items():
            harm = functools.partial(change, artifact=artifact, edit=edit)
            MUTATIONS[what] = Mutation(what, "small", rule, (artifact,), harm)


in_table(IN_STATEMENTS, Folder.change)
in_table(IN_RECORDS, change_record)


@mutation("made-for-this-study", "runs/smallcnn-bn/digits/cpu/control/1/weights.npz")
def a_recipe_is_changed_in_study_json_and_stated_anew(folder):
    folder.change_json(folder.path("study.json"), lambda study: study["recipes"]["normed"].update(epochs=9))
    folder.settle("study.json")


@mutation("study-is-complete", f"runs/{CELL}/impl/3/run.json")
def a_seed_is_added_to_study_json(folder):
    folder.change_json(folder.path("study.json"), lambda study: study["grid"][0].update(seeds=3))
    folder.settle("study.json")


@mutation("nothing-else-is-there", f"runs/{CELL}/impl/2/weights.npz")
def a_seed_is_taken_from_study_json(folder):
    folder.change_json(folder.path("study.json"), lambda study: study["grid"][0].update(seeds=1, control_seeds=1))
    folder.settle("study.json")


@mutation("study-is-complete", "study.json")
def study_json_becomes_another_file(folder):
    folder.path("study.json").write_text("[]")
    folder.settle("study.json")


@mutation("study-is-complete", METRICS)
def an_artifact_and_its_statement_are_deleted(folder):
    folder.stated(METRICS).unlink()
    folder.path(METRICS).unlink()


@mutation("study-is-complete", f"{RUN}/run.json")
def a_run_is_deleted_with_its_statement(folder):
    folder.stated(WEIGHTS).unlink()
    shutil.rmtree(folder.path(RUN))


@mutation("study-is-complete", "index.html", "figures/table2.html")
def all_statements_and_figures_are_deleted(folder):
    for name in ("statements", "figures", "index.html"):
        path = folder.path(name)
        shutil.rmtree(path) if path.is_dir() else path.unlink()


@mutation("only-what-slim-leaves-out-is", METRICS)
def a_metric_is_deleted_and_listed_as_left_out(folder):
    listed = {METRICS: hashlib.sha256(folder.path(METRICS).read_bytes()).hexdigest()}
    folder.path(METRICS).unlink()
    folder.path("left-out.json").write_text(json.dumps(listed))


@mutation("every-file-is-stated", "figures/more.png")
def a_file_is_added(folder):
    folder.path("figures/more.png").write_bytes(b"more")


def state_as(folder, artifact, of):
    """A statement for an artifact, like the one of another."""
    value = json.loads(folder.stated(of).read_text())
    value["subject"] = [copy.deepcopy(value["subject"][0])]
    value["subject"][0]["name"] = folder.name(artifact)
    path = folder.root.parent.parent / path_for(folder.name(artifact))
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))
    folder.settle(artifact)


@mutation("nothing-else-is-there", "metrics/cells/smallcnn/digits/cpu/better.csv")
def a_file_is_added_with_a_statement(folder):
    artifact = "metrics/cells/smallcnn/digits/cpu/better.csv"
    shutil.copy(folder.path(METRICS), folder.path(artifact))
    state_as(folder, artifact, METRICS)


@mutation("path-says-the-spec", "metrics/cells/smallcnn/digits/cpu/better.csv")
def a_file_is_added_with_the_statement_of_another(folder):
    a_file_is_added_with_a_statement(folder)


@mutation("every-file-is-stated", "figures/a\nb.png")
def a_file_with_a_newline_in_its_name_is_added(folder):
    folder.path("figures/a\nb.png").write_bytes(b"")


@mutation("only-plain-files", f"{RUN}/.weights.npz.x7")
def a_scratch_file_is_left(folder):
    folder.path(f"{RUN}/.weights.npz.x7").write_bytes(b"half")


@mutation("nothing-else-is-there", "checkpoints/note.txt")
def a_file_is_hidden_among_checkpoints(folder):
    folder.path("checkpoints").mkdir()
    folder.path("checkpoints/note.txt").write_text("")


@mutation("no-checkpoint-is-left", WEIGHTS.replace("runs/", "checkpoints/").replace("/weights.npz", ".npz"))
def a_checkpoint_is_planted_beside_a_finished_run(folder):
    planted = folder.path(WEIGHTS.replace("runs/", "checkpoints/").replace("/weights.npz", ".npz"))
    planted.parent.mkdir(parents=True)
    planted.write_text("")


@mutation("only-plain-files", WEIGHTS)
def a_file_becomes_a_link_out_of_the_tree(folder):
    elsewhere = folder.root.parent.parent / "elsewhere.npz"
    shutil.move(folder.path(WEIGHTS), elsewhere)
    folder.path(WEIGHTS).symlink_to(elsewhere)


@mutation("only-plain-files", "figures/all")
def a_folder_is_a_link_out_of_the_tree(folder):
    folder.path("figures/all").symlink_to("/")


@mutation("only-plain-files", STABILITY)
def a_file_becomes_a_pipe(folder):
    folder.path(STABILITY).unlink()
    os.mkfifo(folder.path(STABILITY))


@mutation("every-file-is-stated", METRICS)
def a_file_is_stated_twice(folder):
    shutil.copy(folder.stated(METRICS), folder.root / "statements/metrics/again.intoto.json")


@mutation("every-output-is-there", "results/elsewhere/x.csv")
def a_statement_speaks_of_another_study(folder):
    folder.change(METRICS, lambda statement: statement["subject"][0].update(name="results/elsewhere/x.csv"))


@mutation("every-output-is-there", "../../etc/passwd")
def a_statement_speaks_of_a_path_that_climbs(folder):
    folder.change(METRICS, lambda statement: statement["subject"][0].update(name="../../etc/passwd"))


STATEMENT = f"statements/{METRICS}.intoto.json"


@mutation("statements-can-be-read", STATEMENT)
def a_statement_is_no_json(folder):
    folder.path(STATEMENT).write_text("{")


@mutation("statements-can-be-read", STATEMENT)
def a_statement_is_of_another_version(folder):
    folder.change(METRICS, lambda statement: statement.update(_type="https://in-toto.io/Statement/v0.1"))


@mutation("statements-can-be-read", STATEMENT)
def a_statement_is_nested_deeply(folder):
    folder.path(STATEMENT).write_text("[" * 200_000)


@mutation("statements-can-be-read", STATEMENT)
def a_statement_holds_a_huge_number(folder):
    folder.path(STATEMENT).write_text('{"_type": ' + "9" * 100_000 + "}")


@mutation("statements-can-be-read", "statements/readme.txt")
def a_file_that_is_no_statement_lies_among_them(folder):
    folder.path("statements/readme.txt").write_text("read me")


def drop(statement, name):
    dependencies = definition(statement)["resolvedDependencies"]
    dependencies.remove(next(one for one in dependencies if one["name"].endswith(name)))


@mutation("inputs-are-what-was-made", "data/digits.npz")
def the_digest_of_an_input_is_changed(folder):
    edit = {"sha256": "0" * 64}
    folder.change(METRICS, lambda statement: made_from(statement, "input")[0]["digest"].update(edit))


def older(statement):
    """Have a statement say that its metrics were others then."""
    (shown,) = [one for one in made_from(statement, "input") if one["name"].endswith(STABILITY)]
    shown["digest"] = {"sha256": "0" * 64}


@mutation("inputs-are-what-was-made", STABILITY)
def the_page_shows_earlier_metrics(folder):
    folder.change("index.html", older)


@mutation("inputs-are-what-was-made", STABILITY)
def a_report_shows_earlier_metrics(folder):
    report = json.loads(folder.stated("index.html").read_text())
    folder.path("report.html").write_text("<html>")
    report["subject"] = [report["subject"][0] | {"name": folder.name("report.html")}]
    definition(report)["buildType"] = "urn:toolnoise:report:1"
    older(report)
    path = folder.root / "statements/report.html.intoto.json"
    path.write_text(json.dumps(report))
    folder.settle("report.html")


@mutation("chains-have-no-circle", "data/digits.npz", METRICS)
def data_is_made_from_what_is_made_from_it(folder):
    def turn(statement):
        about = json.loads(folder.stated(METRICS).read_text())["subject"][0] | {
            "annotations": {"kind": "input", "role": "data", "size": 0}
        }
        definition(statement)["resolvedDependencies"].append(about)

    folder.change("data/digits.npz", turn)


@mutation("data-is-the-declared", "data/mine.npz", study="other")
def the_digest_of_a_source_is_changed(folder):
    folder.change(
        "data/mine.npz", lambda statement: made_from(statement, "source")[0]["digest"].update(sha256="0" * 64)
    )


@mutation("data-is-the-declared", "data/mine.npz", study="other")
def data_comes_from_another_file_than_the_declared(folder):
    folder.change("data/mine.npz", lambda statement: made_from(statement, "source")[0].update(name="yours.npz"))


@mutation("data-is-the-declared", "data/mine.npz", study="other")
def data_states_no_source(folder):
    folder.change("data/mine.npz", lambda statement: drop(statement, "mine.npz"))


@mutation("data-is-the-declared", "data/digits.npz")
def the_digest_of_a_packages_file_is_changed(folder):
    edit = {"sha256": "0" * 64}
    folder.change("data/digits.npz", lambda statement: made_from(statement, "package")[0]["digest"].update(edit))


@mutation("initial-weights-are-shared", f"{OTHER_RUN}/run.json")
def a_run_says_the_initial_weights_of_another_replicate(folder):
    initial = json.loads(folder.path(RECORD).read_text())["initial_sha256"]
    change_record(folder, f"{OTHER_RUN}/run.json", lambda record: record.update(initial_sha256=initial))


def change_history(folder, run, column, row=-1, value="0" * 64):
    path = folder.path(f"{run}/history.csv")
    lines = path.read_text().splitlines()
    cells = lines[row].split(",")
    cells[lines[0].split(",").index(column)] = value
    lines[row] = ",".join(cells)
    path.write_text("\n".join(lines) + "\n")
    folder.settle(f"{run}/history.csv", everywhere=True)


@mutation("draws-are-shared", f"{CONTROL}/run.json")
def a_run_that_must_share_its_draws_says_others(folder):
    change_history(folder, CONTROL, "draws_sha256")


@mutation("draws-are-shared", "runs/smallcnn/digits/cpu-eigen/control/1/run.json")
def a_run_on_another_tooling_says_other_draws(folder):
    change_history(folder, "runs/smallcnn/digits/cpu-eigen/control/1", "draws_sha256")


@mutation("draws-are-shared", "runs/smallcnn-bn/digits/cpu/algo_impl/1/run.json")
def a_run_of_another_model_says_other_draws(folder):
    change_history(folder, "runs/smallcnn-bn/digits/cpu/algo_impl/1", "draws_sha256")


@mutation("control-is-bit-equal", f"{CONTROL}/run.json")
def the_history_of_a_control_run_parts_from_the_others(folder):
    change_history(folder, CONTROL, "weights_sha256")


@mutation("control-is-bit-equal", f"{CONTROL}/run.json")
def the_accuracy_of_a_control_run_is_embellished(folder):
    change_history(folder, CONTROL, "test_accuracy", value="0.999")


@mutation("control-is-bit-equal", f"{CONTROL}/run.json")
def the_weights_of_a_control_run_are_of_another_and_stated_anew_everywhere(folder):
    shutil.copy(folder.path(WEIGHTS), folder.path(f"{CONTROL}/weights.npz"))
    folder.settle(f"{CONTROL}/weights.npz", everywhere=True)


SNAPSHOTS = "runs/smallcnn/mine/cpu/control/1/weights.npz"


@mutation("snapshots-are-the-histories", SNAPSHOTS, study="other")
def a_snapshot_is_changed_and_stated_anew_everywhere(folder):
    tensors = arrays.read_npz(folder.path(SNAPSHOTS))
    tensors["conv1/kernel/"][0].flat[7] += 1e-6
    arrays.write_npz(folder.path(SNAPSHOTS), tensors)
    folder.settle(SNAPSHOTS, everywhere=True)


@mutation("snapshots-are-the-histories", SNAPSHOTS, study="other")
def the_snapshots_of_a_run_are_taken_away_and_it_is_stated_anew_everywhere(folder):
    tensors = arrays.read_npz(folder.path(SNAPSHOTS))
    left = {path: of for path, of in tensors.items() if not path.endswith("/") or path.endswith("//")}
    arrays.write_npz(folder.path(SNAPSHOTS), left)
    folder.settle(SNAPSHOTS, everywhere=True)


@mutation("recorded-steps-are-the-histories", SNAPSHOTS, study="other")
def the_weights_after_a_recorded_step_are_changed_and_stated_anew_everywhere(folder):
    tensors = arrays.read_npz(folder.path(SNAPSHOTS))
    tensors["conv1/kernel//"][-1].flat[7] += 1e-6
    arrays.write_npz(folder.path(SNAPSHOTS), tensors)
    folder.settle(SNAPSHOTS, everywhere=True)


@mutation("recorded-steps-are-the-histories", SNAPSHOTS, study="other")
def the_recorded_steps_of_a_run_are_taken_away_and_it_is_stated_anew_everywhere(folder):
    tensors = arrays.read_npz(folder.path(SNAPSHOTS))
    arrays.write_npz(folder.path(SNAPSHOTS), {path: of for path, of in tensors.items() if not path.endswith("//")})
    folder.settle(SNAPSHOTS, everywhere=True)


@mutation("moved-bits-are-the-drawn", "runs/smallcnn/mine/cpu/bit/1/run.json", study="other")
def a_run_says_that_it_moved_another_bit(folder):
    artifact = "runs/smallcnn/mine/cpu/bit/1/run.json"
    change_record(folder, artifact, lambda record: record["moved_bit"].update(up=not record["moved_bit"]["up"]))


@mutation("moved-bits-are-the-drawn", RECORD)
def a_run_says_that_it_moved_a_bit(folder):
    moved = {"tensor": "conv1/kernel", "index": [0, 0, 0, 0], "up": True, "after_epoch": 0}
    change_record(folder, RECORD, lambda record: record.update(moved_bit=moved))


@mutation("control-is-bit-equal", f"predictions/{CELL}/control.npy")
def a_logit_of_a_control_run_is_changed_and_stated_anew_everywhere(folder):
    path = folder.path(f"predictions/{CELL}/control.npy")
    stack = np.array(arrays.read_npy(path))
    stack[1, 0, 0] = np.nextafter(stack[1, 0, 0], np.float32(np.inf))
    arrays.write_npy(path, stack)
    folder.settle(f"predictions/{CELL}/control.npy", everywhere=True)


@mutation("runs-can-be-read", RECORD)
def an_epoch_is_cut_from_a_history_and_stated_anew_everywhere(folder):
    path = folder.path(HISTORY)
    path.write_text("".join(path.read_text().splitlines(keepends=True)[:-1]))
    folder.settle(HISTORY, everywhere=True)


@mutation("runs-can-be-read", RECORD)
def a_record_is_nested_deeply_and_stated_anew_everywhere(folder):
    folder.path(RECORD).write_text("[" * 100_000)
    folder.settle(RECORD, everywhere=True)


@mutation("code-is-known", METRICS)
def no_code_is_stated(folder):
    def clear(statement):
        kept = [one for one in definition(statement)["resolvedDependencies"] if one["annotations"]["kind"] != "code"]
        definition(statement)["resolvedDependencies"] = kept

    folder.change(METRICS, clear)


YEAR = timedelta(days=366)


@mutation("times-are-possible", METRICS)
def a_result_is_backdated(folder):
    move_times(folder, METRICS, -YEAR)


@mutation("times-are-possible", "data/digits.npz")
def data_is_backdated_to_before_the_code_that_made_it(folder):
    move_times(folder, "data/digits.npz", -10 * YEAR)


@mutation("times-are-possible", "index.html")
def a_result_is_from_the_future(folder):
    move_times(folder, "index.html", YEAR)


@mutation("times-are-possible", METRICS)
def an_input_is_younger_than_what_was_made_from_it(folder):
    move_times(folder, "data/digits.npz", timedelta(hours=1))


@mutation("times-are-possible", METRICS)
def a_job_ended_before_it_began(folder):
    def turn(statement):
        times = statement["predicate"]["runDetails"]["metadata"]
        times["startedOn"], times["finishedOn"] = times["finishedOn"], times["startedOn"]

    folder.change(METRICS, turn)


@mutation("statements-can-be-read", STATEMENT)
def a_time_is_none(folder):
    def edit(statement):
        statement["predicate"]["runDetails"]["metadata"]["startedOn"] = "yesterday"

    folder.change(METRICS, edit)


@pytest.mark.parametrize("what", MUTATIONS)
def test_a_harmful_thing_is_found_under_its_rule(what, folders):
    one = MUTATIONS[what]
    folder = folders[one.study]
    one.harm(folder)
    found = folder.audit()
    told = {finding.artifact for finding in found.findings if finding.rule == one.rule}
    wanted = {name if name.startswith(("results/", "../")) else folder.name(name) for name in one.artifacts}
    assert wanted <= told, [tuple(finding) for finding in found.findings][:20]
    # Told to a person on lines that can be printed, and to a program.
    assert examine.as_text(found, strict=False).encode()
    json.dumps(examine.as_json(found, strict=False))


def test_every_rule_has_its_mutation():
    tried = {one.rule for one in MUTATIONS.values()} | {rule for _, rule in EVERY.values()} | set(FORGED.values())
    assert {rule for _, rule, _ in SIZES.values()} <= tried
    assert tried == {rule.name for rule in RULES}


def test_the_docs_have_every_rule_and_the_number_of_kinds_and_of_mutations():
    page = (ROOT / "docs/audit.md").read_text()
    table = (ROOT / "docs/tables/audit-rules.txt").read_text().splitlines()
    rows = {tuple(cell.strip() for cell in line.split("|")[1:-1]) for line in table if line[:2] == "| "}
    assert rows - {("rule", "promise")} == {(f"`{rule.name}`", rule.says) for rule in RULES}
    words = " ".join(page.split())
    assert f"Each of {len(KINDS)} kinds of artifact" in words
    assert f"{len(MUTATIONS)} more kinds of damage hit one artifact each" in words


def test_a_flip_anywhere_in_any_statement_is_found_from_the_root(both):
    root = both["small"].root
    found = [flips.flipped(root, path, range(0, 10**5, 997)) for path in flips.statements(root, 8)]
    assert sum(one.tried for one in found) > 80
    assert [one.missed for one in found] == [[]] * 8


# What is no harm
# ---------------


def test_statements_change_no_plan(small_study, tmp_path, planned):
    copied = shutil.copytree(small_study, tmp_path / "copy")
    statements = sorted((copied / "results/small/statements").rglob("*.json"))
    for number, path in enumerate(statements):
        path.write_text("{}") if number % 2 else path.unlink()
    assert planned(copied) == {}
    shutil.rmtree(copied / "results/small/statements")
    assert planned(copied) == {}


def test_moved_and_renamed_results_are_clean(both, tmp_path):
    moved = shutil.copytree(both["small"].root, tmp_path / "received")
    found = examine.examine(tree.load(moved))
    assert found.findings == found.stale == ()


def test_results_by_code_that_has_changed_since_are_stale_and_clean(folders):
    """The notebook is as a commit has it, and not as it is here."""
    from toolnoise.provenance import repository

    folder, name = folders["small"], "README.md"
    log = repository.git("log", "--format=%H", "--", name).decode().split()
    old = next(sha for sha in log if history.show(sha, name) != (ROOT / name).read_bytes())

    def state(statement):
        about = {"name": name, "annotations": {"kind": "resource"}}
        about["digest"] = {"sha256": hashlib.sha256(history.show(old, name)).hexdigest()}
        definition(statement)["resolvedDependencies"].append(about)
        made_from(statement, "commit")[0]["digest"]["gitCommit"] = old
        made_from(statement, "commit")[0]["annotations"] |= {"dirty": True, "diff_sha256": "0" * 64}
        # Code of another day may have read less.
        made_from(statement, "input")[0]["annotations"]["role"] = "read cells"

    folder.change(TABLE, state)
    folder.vouch()
    found = folder.audit()
    assert found.findings == ()
    assert [(one.artifact, one.changed) for one in found.stale] == [(folder.name(TABLE), (name,))]
    assert found.is_clean(strict=False)
    assert not found.is_clean(strict=True)
    assert "1 results are stale" in examine.as_text(found, strict=False)


def test_what_nothing_is_made_from_can_be_forged_with_its_statement_as_the_docs_say(folders):
    page, speed = (folders[KINDS[kind][0]].path(KINDS[kind][1]) for kind in ("page", "measured speed"))
    page.write_text(page.read_text() + " ")
    folders["other"].change_json(speed, lambda record: record["seconds"].update(training=0.001))
    for kind in ENDS:
        study, artifact = KINDS[kind]
        folders[study].settle(artifact)
        folders[study].vouch()
    assert [folders[study].audit().findings for study in ("small", "other")] == [(), ()]
    assert "(the page, or a measured speed)" in " ".join((ROOT / "docs/audit.md").read_text().split())


def test_a_clock_that_is_a_minute_ahead_is_no_future(both):
    now = datetime.now(UTC).replace(tzinfo=None)
    finished = max(one.statement.finished for one in tree.load(both["small"].root).trees[0].statements)
    assert examine.examine(tree.load(both["small"].root), 1, finished - timedelta(minutes=1)).findings == ()
    assert examine.examine(tree.load(both["small"].root), 1, finished - timedelta(minutes=3)).findings
    assert finished < now


def test_a_file_that_vanishes_while_it_is_read_is_found(folders, monkeypatch):
    opened = digests.open_plain

    def vanish(path):
        if path.name == "index.html":
            path.unlink()
        return opened(path)

    monkeypatch.setattr(digests, "open_plain", vanish)
    assert_found(folders["small"], "digests-match", "index.html")


def test_what_lies_beside_the_studies_is_found(both, tmp_path):
    shutil.copytree(both["small"].root, tmp_path / "results/small")
    (tmp_path / "results/note.txt").write_text("")
    found = examine.examine(tree.load(tmp_path / "results"))
    assert [(one.rule, one.artifact) for one in found.findings] == [("nothing-else-is-there", "note.txt")]


# The verb and the target
# -----------------------


def test_the_verb_says_clean_and_finds_harm_by_its_exit_code(small_study, tmp_path, toolnoise, refusal):
    copied = shutil.copytree(small_study, tmp_path / "copy")
    done = toolnoise(copied, "audit")
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("clean: 154 files, root ")
    assert done.stdout.count("\n") == 1
    (copied / "results/small/index.html").write_text("")
    done = toolnoise(copied, "audit", "results/small", "--json")
    assert done.returncode == 1
    found = json.loads(done.stdout)
    assert not found["clean"]
    assert [one["artifact"] for one in found["findings"]] == ["results/small/index.html"]
    assert {one["rule"]: one["findings"] for one in found["rules"]}["digests-match"] == 1
    assert "no such folder" in refusal(toolnoise(copied, "audit", "elsewhere"))
    assert "--processes" in refusal(toolnoise(copied, "audit", "--processes", "0"))


def test_the_target_prints_and_fails_as_the_verb_does(small_study, tmp_path, snakemake):
    copied = shutil.copytree(small_study, tmp_path / "copy")
    done = snakemake(copied, "audit")
    assert done.returncode == 0, done.stdout + done.stderr
    assert (copied / "logs/small/audit.log").read_text().startswith("clean: 154 files")
    (copied / "results/small/index.html").write_text("")
    done = snakemake(copied, "audit")
    assert done.returncode == 1
    assert "digests-match: results/small/index.html" in (copied / "logs/small/audit.log").read_text()
