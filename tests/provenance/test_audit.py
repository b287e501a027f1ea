"""The audit's parts, apart from studies: digests of many files, what differs, machines, and what git knows."""

import hashlib
import json
import os
import subprocess
from pathlib import Path
from types import SimpleNamespace

import pytest
from toolnoise.provenance.audit.digests import BLOCK, sha256_of_all
from toolnoise.provenance.audit.evidence import RunFacts, differences, guarded
from toolnoise.provenance.audit.examine import Coverage
from toolnoise.provenance.audit.rules import RULES, code_origins, shared_draws, specs
from toolnoise.provenance.audit.rules import stated_files as files_rules
from toolnoise.provenance.audit.rules.where_and_when import _differs
from toolnoise.steps import STEPS, outputs

from toolnoise import steps, streams
from toolnoise.base import noise_sources
from toolnoise.base.files import sha256
from toolnoise.base.noise_sources import replicate
from toolnoise.base.spec import Spec
from toolnoise.epoch_plan import plan_epoch
from toolnoise.provenance import history
from toolnoise.provenance.statements import CODE, Artifact
from toolnoise.study.cells import MetricFile, Shown
from toolnoise.study.variants import VARIANTS


@pytest.mark.parametrize("threads", [1, 3])
def test_many_files_have_the_digests_that_each_has(threads, tmp_path):
    contents = {str(size): os.urandom(size) for size in (0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK)}
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    told = []
    found = sha256_of_all(((name, tmp_path / name) for name in contents), threads, told.append)
    assert {name: one.sha256 for name, one in found.items()} == {
        name: hashlib.sha256(content).hexdigest() for name, content in contents.items()
    }
    assert {name: one.size for name, one in found.items()} == {name: int(name) for name in contents}
    assert sum(told) == sum(map(len, contents.values()))


def test_what_cannot_be_read_is_told_beside_the_others(tmp_path):
    (tmp_path / "file").write_bytes(b"x")
    (tmp_path / "link").symlink_to("file")
    os.mkfifo(tmp_path / "pipe")
    names = ("file", "link", "pipe", "absent")
    found = sha256_of_all(((name, tmp_path / name) for name in names), 2, lambda _: None)
    assert [name for name in names if found[name].why] == ["link", "pipe", "absent"]
    assert found["absent"].why == "No such file or directory"
    assert found["file"].size == 1


def test_differences_are_told_by_their_keys():
    one = {"spec": {"recipe": {"epochs": 1, "flip": True}, "seed": 1}, "same": [1]}
    other = {"spec": {"recipe": {"epochs": 2, "flip": 1}}, "same": [1], "more": None}
    assert differences(one, other) == ["more", "spec.recipe.epochs", "spec.recipe.flip", "spec.seed"]
    assert differences(one, one) == []
    assert differences([1], [2]) == ["all"]


@pytest.mark.parametrize(
    "error", [KeyError("x"), TypeError("x"), RecursionError("x"), OverflowError("x"), MemoryError()]
)
def test_what_a_check_stumbles_over_is_a_finding_and_what_it_found_before_stays(error):
    def check():
        yield "first", "found"
        raise error

    (first, second) = guarded("artifact", check)
    assert first == ("first", "found")
    assert second[0] == "artifact"
    assert second[1].startswith(f"cannot be checked ({type(error).__name__}")


@pytest.mark.parametrize(
    ("stated", "files", "text"),
    [(9999, 10_000, "99.9 %"), (10_000, 10_000, "100 %"), (0, 3, "0 %"), (1, 10_000, "0 %"), (0, 0, "100 %")],
)
def test_coverage_is_never_rounded_up(stated, files, text):
    assert str(Coverage(files, stated, 0)).startswith(f"{text} of {files} files")


@pytest.mark.parametrize(
    ("changed", "shown", "missing"),
    [
        (["workflow/toolnoise/study/figure_kinds.py"], ["old.html", "runs.csv"], {"old.html", "runs.csv"}),
        # The present code knows the new kind, and without a page nobody says what is unknown.
        ([], ["old.html", "runs.csv"], {"old.html", "runs.csv", "new.html"}),
        (["workflow/toolnoise/study/figure_kinds.py"], None, {"old.html", "runs.csv", "new.html"}),
    ],
)
def test_a_figure_of_a_kind_that_the_code_of_a_page_did_not_have_is_not_missing(changed, shown, missing, monkeypatch):
    made = shown and SimpleNamespace(statement=SimpleNamespace(inputs=[Artifact(name, "0" * 64) for name in shown]))
    tree = SimpleNamespace(
        study=SimpleNamespace(path=lambda _: "index.html"), producer=lambda _: made, inside=str, lacks=lambda _: True
    )
    jobs = [(Shown("old"), "old.html"), (Shown("new"), "new.html"), (MetricFile("runs"), "runs.csv")]
    jobs = {name: SimpleNamespace(place=place, outputs=[(name, "out")], needed=True) for place, name in jobs}
    monkeypatch.setattr(files_rules, "changed_since", lambda *_: changed)
    found = files_rules.study_is_complete(SimpleNamespace(tree=tree, jobs=jobs))
    assert {name for name, _ in found} == missing


def test_every_rule_has_a_name_and_a_sentence():
    assert len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert rule.says.endswith(".")
        assert len(rule.says.splitlines()) == 1


GPU = {
    "name": "v100",
    "accelerator": "gpu",
    "device": "V100",
    "engine": "tensorflow",
    "kernels": "onednn",
    "isa": "avx2",
    "threads": 4,
    "precision": "float32",
    "tf32": False,
}


@pytest.mark.parametrize(
    ("device", "found"),
    [("Tesla V100-SXM2-16GB", []), ("Tesla T4", ["the device was 'Tesla T4'"]), ("cpu", ["the device was 'cpu'"])],
)
def test_a_gpu_is_the_declared_one_by_whole_words_of_its_name(device, found):
    from toolnoise.engines.tensorflow import Engine

    observed = {"deterministic": True, "precision": "float32", "tf32": False, "device": device, "cpu_flags": []}
    observed["variables"] = {**Engine().variables(GPU, deterministic=True), "CUDA_VISIBLE_DEVICES": "1"}
    assert _differs(GPU, [], observed) == found
    any_gpu = {**GPU, "device": ""}
    assert _differs(any_gpu, [], observed) == ([] if device != "cpu" else found)


PROGRAMS = {"datasets": ["outcome"], "hardware": ["command"], "variants": ["control", "algo"]}


def test_every_verb_that_makes_results_has_paths(built, written):
    (block,) = written["grid"]
    both = {"hardware": ["cpu", "cpu-torch"]}
    written["grid"] = [
        block | both | {"remedies": ["flip"], "layers": 12},
        block | both | {"models": ["smallcnn-bn"]},
        block | {"datasets": ["faces"]},
        block | {"datasets": ["mine"]},
        block | {"datasets": ["poem"], "recipe": "plain"},
        block | {"models": ["own"]},
        *({"models": [name], **PROGRAMS, "seeds": 2} for name in ("leaves-logits", "leaves-values", "there")),
    ]
    written["datasets"] = {"mine": {"reader": "npz", "path": "mine.npz"}}
    written["datasets"]["poem"] = {"reader": "npz", "path": "poem.npz", "outcome": "tokens"}
    written["models"] = {f"leaves-{kind}": {"command": "train", "outcome": kind} for kind in ("logits", "values")}
    written["models"]["there"] = {"adopted": "adopted/there"}
    written["models"]["own"] = {"builder": "json:loads"}
    written["recipes"]["plain"] = {"epochs": 1, "batch_size": 4, "learning_rate": 0.1}
    written["recipes"]["digits"]["record_steps"] = True
    study = built(written | {"overhead": {"models": ["smallcnn"], "hardware": ["cpu"]}})
    found = list(steps.jobs(study))
    assert {job.verb for job in found} == {*STEPS}
    names = [name for job in found for name, _ in job.outputs]
    assert len(set(names)) == len(names)
    made = set()
    for job in found:
        assert STEPS[job.verb].place_of(json.loads(json.dumps(job.parameters))) == job.place
        assert job.outputs == outputs(job.verb, job.parameters, study.name)
        assert {name for name, _ in job.inputs} <= made | set(names)
        made |= {name for name, _ in job.outputs}


COMBINED = [*VARIANTS, "shuffle+impl", "init+bit", "bit_1", "augment+impl+bit_2"]


def asked(study, variant, seed=2):
    """What a run is asked for, as a statement has it."""
    (cell,) = (cell for cell in study.cells if (cell.hardware, cell.variant) == ("cpu", variant))
    return json.loads(json.dumps(steps.stated({"spec": study.spec(cell, seed).as_json()})))


def judged(rule, parameters):
    """What a rule finds in the statement of one run."""
    statement = SimpleNamespace(verb="train", parameters=parameters, name="run")
    return list(rule(SimpleNamespace(tree=SimpleNamespace(statements=[SimpleNamespace(statement=statement)]))))


@pytest.fixture
def combined(built, written):
    """A study of every variant that has a name, and of some that are combined."""
    written["grid"][0]["variants"] = COMBINED
    written["recipes"]["digits"]["epochs"] = 3
    return built(written)


@pytest.mark.parametrize("variant", COMBINED)
def test_keys_follow_for_every_variant_and_what_varies_is_what_its_name_says(variant, combined):
    parameters = asked(combined, variant)
    assert judged(specs.keys_follow, parameters) == []
    said = parameters["spec"]["variant"]
    was, said["bit_after"] = said.get("bit_after"), 7
    assert judged(specs.keys_follow, parameters) == [
        ("run", f"the variant {variant} does not move a bit after 7 epochs")
    ]
    said.pop("bit_after") if was is None else said.update(bit_after=was)
    said["varying"] = ["bit"] if said["varying"] != ["bit"] else []
    assert len(judged(specs.keys_follow, parameters)) == 1


def test_what_is_no_variant_is_told(combined):
    parameters = asked(combined, "shuffle+impl")
    parameters["spec"]["variant"]["name"] = "impl+shuffle"
    assert judged(specs.keys_follow, parameters) == [("run", "there is no variant 'impl+shuffle'")]


def drawn(parameters):
    """What a run of these parameters says of its draws; its weights are what their stream is."""
    spec = Spec.read(parameters["spec"])
    start = f"{streams.key(spec.study_seed, 'init', replicate('init', spec)):x}"
    epochs = tuple(plan_epoch(spec, 50, epoch).digest() for epoch in range(2))
    name = f"{spec.variant.name}/{spec.seed}"
    return RunFacts(name, name, spec, "data", start, (), (), epochs, (), None)


def test_runs_of_combined_variants_share_their_draws(combined):
    runs = [drawn(asked(combined, variant, seed)) for variant in COMBINED for seed in (1, 2, 3)]
    evidence = SimpleNamespace(runs=(runs, []))
    assert list(shared_draws.initial_weights_are_shared(evidence)) == []
    assert list(shared_draws.draws_are_shared(evidence)) == []
    odd = [run if run.name != "bit_1/2" else run._replace(initial_sha256="x", draws=("x", "x")) for run in runs]
    evidence = SimpleNamespace(runs=(odd, []))
    assert [name for name, _ in shared_draws.initial_weights_are_shared(evidence)] == ["bit_1/2"]
    assert [name for name, _ in shared_draws.draws_are_shared(evidence)] == ["bit_1/2"]


HERE = Path(__file__).parents[2]


@pytest.fixture
def head():
    """The commit that is checked out, where there is a repository."""
    asked = subprocess.run(["git", "-C", HERE, "rev-parse", "HEAD"], capture_output=True, text=True)
    if asked.returncode:
        pytest.skip("no repository")
    return asked.stdout.strip()


def test_git_tells_of_many_files_what_it_tells_of_each(head):
    names = ["README.md", "absent\nfile", "workflow", "absent", "workflow/toolnoise/cli.py", "README.md"]
    found = history.files_of(head, names)
    assert set(found) == {"README.md", "workflow/toolnoise/cli.py"}
    for name, digest in found.items():
        assert digest == hashlib.sha256(history.show(head, name)).hexdigest()
    assert history.files_of("0" * 40, names) == {}
    assert history.files_of("--help", names) == {}


def test_a_commit_has_a_time_and_what_is_none_has_not(head):
    assert history.committed(head).year > 2000
    assert history.committed("0" * 40) is None
    assert history.committed("HEAD") is None


MINE, OURS = "mine:build", "toolnoise.models.lenet:build"


@pytest.mark.parametrize(
    ("builder", "stated", "found"),
    [
        (MINE, ["mine.py", "workflow/toolnoise/training/loop.py"], False),
        (MINE, ["mine/__init__.py"], False),
        (MINE, ["lib/mine.py"], False),
        (MINE, ["other/mine.pyc", "notmine.py"], True),
        (MINE, ["workflow/toolnoise/training/mine.py"], True),
        (MINE, [], True),
        (OURS, ["workflow/toolnoise/models/lenet.py"], False),
        (OURS, ["toolnoise/models/lenet.py"], True),
        (OURS, ["lenet.py"], True),
    ],
)
def test_the_module_of_a_builder_must_be_stated_and_this_packages_lies_in_this_package(builder, stated, found):
    statement = SimpleNamespace(parameters={"spec": {"model": {"builder": builder}}}, name="run")
    told = [("run", f"does not state the module of its network's builder, {builder}")]
    assert list(code_origins._builder(statement, stated)) == (told if found else [])


def test_a_module_that_has_a_syntax_error_by_now_is_a_finding(tmp_path):
    module = tmp_path / "module_of_a_study.py"
    module.write_text("x = 1\n")
    made_by = (Artifact(module.name, sha256(module), kind=CODE),)
    results = tmp_path / "results/mine"
    assert code_origins._judged(made_by, None, False, results, frozenset()) == (code_origins.CURRENT,)
    module.write_text("def (:\n")
    code_origins._here.cache_clear()
    code_origins._judged.cache_clear()
    assert code_origins._judged(made_by, None, False, results, frozenset()) == (code_origins.UNKNOWN,)


def test_an_index_may_say_which_sources_a_training_does_without_but_no_others(make_spec):
    spec = make_spec("shuffle", 1, "noisy").as_json()
    output = SimpleNamespace(role="index", name="index.json")
    stated = SimpleNamespace(
        verb="predict", name="index.json", parameters={"spec": spec}, outputs=[output], observed={}
    )

    def judged(unused, **changed):
        index = {"spec": {key: value for key, value in spec.items() if key != "seed"}, "observed": {}, "seeds": [1, 2]}
        index |= {"unused": unused, "draws": noise_sources.draws(Spec.read(spec), [1, 2], unused) | changed}
        tree = SimpleNamespace(statements=[SimpleNamespace(statement=stated)])
        return list(specs.records_agree(SimpleNamespace(tree=tree, record=lambda _: index, job=lambda _: None)))

    assert judged([]) == judged(["augment", "dropout"]) == []
    for findings in (judged(["init"]), judged(["dropout"], augment=None)):
        ((_, found),) = findings
        assert found.startswith("has draws that do not follow from its seeds")
