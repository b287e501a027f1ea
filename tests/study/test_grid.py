"""The grid of a study; studies that are shipped; and the papers' recipes: REFERENCE's facts, and how others differ."""

import json
import string
from pathlib import PurePosixPath

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolnoise import epoch_plan, streams
from toolnoise.base import program
from toolnoise.base.files import canonical_sha256
from toolnoise.base.program import ROOT
from toolnoise.papers import paper_items
from toolnoise.papers.notebook_values import recipe_differences
from toolnoise.study import config, figure_files, grid, layout, published
from toolnoise.study.cells import Cell, Pair, Profile
from toolnoise.study.expected import EXPECTED, METRICS
from toolnoise.study.variants import VARIANTS


def test_a_study_is_read_again_only_if_its_file_has_changed(tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    for folder, name in ((tmp_path, "one"), (tmp_path / "elsewhere", "two")):
        block = {"models": ["smallcnn"], "datasets": ["digits"], "hardware": ["cpu"], "variants": ["algo"], "seeds": 2}
        recipes = {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}}
        written = {"study": name, "grid": [block | {"recipe": "short"}], "recipes": recipes}
        (folder / "study.json").write_text(json.dumps(written))
    monkeypatch.chdir(tmp_path)
    first = grid.load_study("study.json")
    assert grid.load_study("study.json") is first
    changed = (tmp_path / "study.json").read_text().replace('"seeds": 2', '"seeds": 12')
    (tmp_path / "study.json").write_text(changed)
    assert len(grid.load_study("study.json").seeds[first.cells[0]]) == 12
    monkeypatch.chdir("elsewhere")
    assert grid.load_study("study.json").name == "two"


def test_the_demo_has_the_runs_that_the_readme_says():
    demo = grid.load_study(program.ROOT / "config.yaml")
    assert sum(map(len, demo.seeds.values())) == 85
    draws = [tuple(10_000 * draw + run for run in (1, 2)) for draw in range(1, 7)]
    assert demo.seeds[Cell("smallcnn", "digits", "cpu-portable", "impl")] == sum(draws, ())
    assert demo.pairs == tuple(
        Pair("smallcnn", "digits", "cpu-portable", "cpu-portable-sse41", variant) for variant in ("algo", "control")
    )


def test_only_leaves_out_everything_on_other_toolings_and_changes_no_run(written, built):
    written["figures"] = ["table2", "across_toolings"]
    whole, part = built(written), built(written | {"only": ["noisy"]})
    assert part.cells == tuple(cell for cell in whole.cells if cell.hardware == "noisy") != ()
    assert (whole.emulated(), part.emulated()) == (("cpu",), ())
    assert list(part.config["hardware"]) == ["noisy"]
    assert whole.pairs != part.pairs == ()
    assert [figure.name for figure in part.figures] == ["table2"], "two toolings are needed for the other"
    assert [part.spec(cell, 2) for cell in part.cells] == [whole.spec(cell, 2) for cell in part.cells]
    assert built(part.config) == part


def remedied(written, **more):
    """Two models, one of them trained in two cycles, of which remedies are asked for on `cpu` alone."""
    recipe = {"epochs": 4, "batch_size": 8, "learning_rate": 0.01, "schedule": "cosine"}
    block = written["grid"][0] | {"models": ["smallcnn", "smallcnn-snapshots"], "variants": ["algo", "control"]}
    return written | {
        "grid": [block | {"hardware": ["cpu"], "remedies": ["flip"], **more}, block | {"hardware": ["noisy"]}],
        "models": {"smallcnn-snapshots": {"builder": "toolnoise.models.smallcnn:build"}},
        "recipes": {"digits": recipe, "digits-smallcnn-snapshots-digits": recipe | {"cycles": 2}},
    }


def test_remedies_are_those_of_the_block_and_of_runs_of_several_cycles_their_snapshots_too(written, built):
    tiny = built(remedied(written))
    one, several = Cell("smallcnn", "digits", "cpu", "algo"), Cell("smallcnn-snapshots", "digits", "cpu", "algo")
    assert tiny.remedies_of(one) == ("flip",)
    assert tiny.remedies_of(several) == ("flip", "snapshots", "snapshots+flip")
    assert tiny.remedies_of(one._replace(hardware="noisy")) == ()
    alone = built(remedied(written, remedies=[]))
    assert (alone.remedies_of(one), alone.remedies_of(several)) == ((), ("snapshots",))
    assert one in alone.views
    # Snapshots are held against the model that they are named after, if its remedies are asked for.
    assert (tiny.without_remedy(one), tiny.without_remedy(several)) == (one, one)
    assert built(remedied(written, models=["smallcnn-snapshots"])).without_remedy(several) == several


@pytest.mark.parametrize("only", [["v100"], ["cpu", "v100"]])
def test_only_names_toolings_of_the_grid_and_what_it_leaves_out_is_checked(only, written, built, refused):
    line = refused(built, written | {"only": only})
    assert line == "tiny.yaml: only: no tooling 'v100' in the study; allowed: cpu, noisy"
    block = written["grid"][0]
    written["grid"] = [block | {"hardware": ["cpu"]}, block | {"hardware": ["noisy"], "variants": ["weather"]}]
    assert refused(built, written | {"only": ["cpu"]}).startswith("tiny.yaml: grid[1].variants: ")


def test_implementation_noise_is_refused_where_none_is_to_be_had_and_no_other_variant(written, built, refused):
    written["hardware"]["noisy"]["impl_noise"] = "none"
    written["grid"][0]["variants"] = ["algo", "impl"]
    line = refused(built, written)
    assert line.startswith("tiny.yaml: grid[0].variants: 'impl' on 'noisy', whose impl_noise is 'none'; ")
    written["grid"][0]["variants"] = [name for name, sources in VARIANTS.items() if "impl" not in sources]
    assert len(built(written).cells) == 2 * (len(VARIANTS) - 2)


@pytest.mark.parametrize("variant", ["impl+shuffle", "bit_0", "algo+bit"])
def test_a_combination_that_is_none_is_one_line_that_says_how_one_is_spelt(variant, written, built, refused):
    written["grid"][0]["variants"] = [variant]
    line = refused(built, written)
    assert line.startswith(f"tiny.yaml: grid[0].variants: unknown variant '{variant}'; allowed: algo_impl, algo, ")
    assert "init, shuffle, augment, dropout, impl, bit in this order joined by '+'; bit_N" in line


def test_a_bit_may_be_moved_in_one_tensor_and_a_spec_says_so_only_then(written, built):
    written["grid"][0]["variants"] = ["bit", "shuffle"]
    plain = built(written).spec(CELL._replace(variant="bit"), 2).as_json()
    written["grid"][0]["bit_tensor"] = "conv1/kernel"
    named = built(written).spec(CELL._replace(variant="bit"), 2).as_json()
    assert "bit_tensor" not in plain["variant"]
    assert named == plain | {"variant": plain["variant"] | {"bit_tensor": "conv1/kernel"}}
    assert built(built(written).config) == built(written)
    assert "bit_tensor" not in built(written).spec(CELL._replace(variant="shuffle"), 2).as_json()["variant"]


@pytest.mark.parametrize(
    ("reader", "kind"),
    [({"reader": "text", "tokens": "words", "length": 8}, "tokens"), ({"reader": "npz", "outcome": "masks"}, "masks")],
)
def test_what_has_no_other_view_is_refused_one_before_any_run_is_trained(reader, kind, written, built, refused):
    written["datasets"] = {"novel": {"path": "novel"} | reader}
    written["grid"][0]["datasets"] = ["novel"]
    recipe = written["recipes"]["digits"]
    recipe |= {"crop": 0, "flip": False}
    written["grid"][0]["remedies"] = []
    built(written)
    written["grid"][0]["remedies"] = ["flip"]
    line = refused(built, written)
    expected = f"found flip, and data set 'novel' has {kind}; [], which measures snapshots alone"
    assert line == f"tiny.yaml: grid[0].remedies: {expected}"
    del written["grid"][0]["remedies"]
    for key, value, shown in (("crop", 1, "1"), ("flip", True, "true")):
        written["recipes"]["digits"] = recipe | {key: value}
        line = refused(built, written)
        expected = f"recipe 'digits' has {key}: {shown}, and data set 'novel' has {kind}; recipes without {key}"
        assert line == f"tiny.yaml: grid[0].recipe: {expected}"


ORIGINALS = {"reader": "image-folder", "path": "mine", "image_size": 8, "stored_size": "original", "streamed": True}
BOXES = {"area": [0.1, 1], "aspect": [0.75, 1.25]}


@pytest.mark.parametrize(
    ("change", "line"),
    [
        (
            {"data": {"stored_size": 8}},
            "grid[0].recipe: recipe 'digits' has resized_crop, and data set 'mine' keeps no originals; "
            "stored_size: original",
        ),
        ({"recipe": {"crop": 4}}, "recipes.digits.resized_crop: found it with crop: 4; crop: 0"),
        (
            {"recipe": {"resized_crop": BOXES | {"area": [1, 0.5]}}},
            "recipes.digits.resized_crop.area: found [1, 0.5]; the lower first",
        ),
        ({"data": {"image_size": 224}, "block": {"remedies": ["flip", "crops9-16"]}}, None),
        (
            {"data": {"image_size": 220}, "block": {"remedies": ["flip", "crops9-16", "flip+crops25"]}},
            "grid[0].remedies: found crops9-16, and data set 'mine' keeps originals; shifts of at most 15 pixels",
        ),
    ],
    ids=["pixels", "crop", "order", "within", "remedies"],
)
def test_what_boxes_of_originals_do_not_go_with_is_refused(change, line, written, built, refused):
    written["datasets"] = {"mine": ORIGINALS | change.get("data", {})}
    written["recipes"]["digits"] |= {"crop": 0, "resized_crop": BOXES} | change.get("recipe", {})
    written["grid"][0] |= {"datasets": ["mine"]} | change.get("block", {})
    if line is None:
        assert built(written)
    else:
        assert refused(built, written) == f"tiny.yaml: {line}"


def test_a_cell_stands_in_one_block_only_and_a_task_has_one_recipe(written, built, refused):
    block = written["grid"][0]
    written["grid"] = [block, block | {"hardware": ["noisy"], "variants": ["algo"]}]
    line = refused(built, written)
    assert line == "tiny.yaml: grid[1]: smallcnn/digits/noisy/algo is already in an earlier block; each cell once"
    written["recipes"]["other"] = {"epochs": 1, "batch_size": 1, "learning_rate": 0.1}
    written["grid"] = [block | {"hardware": ["cpu"]}, block | {"hardware": ["noisy"], "recipe": "other"}]
    line = refused(built, written)
    assert line.startswith("tiny.yaml: grid[1].recipe: smallcnn/digits has recipe 'other' here and 'digits' before; ")


def test_a_family_gives_each_model_on_each_data_set_the_nearest_of_its_recipes(written, built):
    entry = {"batch_size": 8, "learning_rate": 0.1}
    names = ("mine", "mine-digits", "mine-smallcnn-more", "mine-smallcnn-bn-digits")
    written["recipes"] |= {name: entry | {"epochs": number} for number, name in enumerate(names, 1)}
    written["datasets"] = {"more": {"reader": "npz", "path": "more.npz"}}
    written["grid"][0] |= {"models": ["smallcnn", "smallcnn-bn"], "datasets": ["digits", "more"], "recipe": "mine"}
    study = built(written)
    expected = {
        ("smallcnn", "digits"): "mine-digits",
        ("smallcnn", "more"): "mine-smallcnn-more",
        ("smallcnn-bn", "digits"): "mine-smallcnn-bn-digits",
        ("smallcnn-bn", "more"): "mine",
    }
    assert study.recipe_of == expected
    # The complete study holds them by name, and is read again as the same.
    assert set(study.config["recipes"]) == set(expected.values())
    assert built(study.config).recipe_of == expected
    spec = study.spec(Cell("smallcnn", "more", "cpu", "algo"), 1)
    assert (spec.recipe["name"], spec.recipe["epochs"]) == ("mine-smallcnn-more", 3)


CELL = Cell("smallcnn", "digits", "cpu", "algo")


def spec_digest(study, cell=CELL, seed=1):
    return canonical_sha256(study.spec(cell, seed).as_json())


@pytest.mark.parametrize(
    "change",
    [
        {"seed": 8},
        {"recipes": {"digits": {"label_smoothing": 0.1}}},
        {"models": {"smallcnn": {"options": {"batch_norm": True}}}},
        {"datasets": {"digits": {"test_examples": 400}}},
        {"hardware": {"noisy": {"accelerator": "cpu"}, "cpu": {"threads": 2}}},
        {"hardware": {"noisy": {"accelerator": "cpu"}, "cpu": {"impl_noise": "native"}}},
    ],
    ids=str,
)
def test_a_specs_digest_follows_whatever_may_influence_the_run(change, written, built):
    assert spec_digest(built(written | change)) != spec_digest(built(written))


@pytest.mark.parametrize(
    "change",
    [
        {"study": "renamed"},
        {"figures": ["table2"]},
        {"only": ["cpu"]},
        {
            "recipes": {
                "digits": {"flip": True, "batch_size": 8, "crop": 2},
                "unused": {"epochs": 1, "batch_size": 1, "learning_rate": 1},
            }
        },
        {"hardware": {"noisy": {"accelerator": "cpu", "threads": 2}}},
        {"hardware": {"noisy": {"accelerator": "cpu"}, "cpu": {"gpu_model": "tesla_v100", "constraint": "v100"}}},
        {"datasets": {"digits": {"memory_mb": 64000, "cores": 16}}},
    ],
    ids=["study", "figures", "only", "recipe", "tooling", "what a scheduler calls it", "what jobs need"],
)
def test_a_specs_digest_does_not_follow_what_cannot(change, written, built):
    assert spec_digest(built(written | change)) == spec_digest(built(written))


def test_runs_of_a_study_have_specs_of_their_own_which_more_seeds_and_variants_leave_alone(written, built):
    tiny = built(written)
    more = built(written | {"grid": [written["grid"][0] | {"seeds": 9, "variants": ["algo", "impl"]}]})
    assert spec_digest(more) == spec_digest(tiny)
    digests = {spec_digest(tiny, cell, seed) for cell in tiny.cells for seed in tiny.seeds[cell]}
    paths = {path for cell in tiny.cells for path in tiny.runs(layout.RECORD, cell)}
    assert len(digests) == len(paths) == 2 * (3 * len(VARIANTS) - 1)


# Names as the schema allows them.
FIRST = string.ascii_letters + string.digits
NAMES = st.tuples(st.sampled_from(FIRST), st.text(FIRST + "_+-", max_size=63)).map("".join)
PATTERNS = [
    value for value in vars(layout).values() if isinstance(value, str) and value.startswith(("results/", "logs/"))
]
PATTERNS += [metric.pattern for metric in METRICS.values()]
PATTERNS += [pattern for one in EXPECTED.values() for pattern in one.patterns]
WILDCARDS = ("study", "model", "dataset", "hardware", "other_hardware", "variant", "mode", "figure", "kind", "file")


@given(st.fixed_dictionaries(dict.fromkeys(WILDCARDS, NAMES)), st.integers(1, 2**31 - 1))
def test_every_path_stays_below_the_studys_folders(names, seed):
    for pattern in PATTERNS:
        written = pattern.format(**names, seed=seed, repeat=seed, suffix="svg")
        path = PurePosixPath(written)
        assert path.parts[:2] in (("results", names["study"]), ("logs", names["study"]))
        assert ".." not in path.parts
        assert str(path) == written


def test_a_figure_needs_what_it_shows_and_no_more(written, built):
    written["grid"][0] |= {"models": ["smallcnn", "smallcnn-bn"], "variants": ["algo", "control"]}
    written["figures"] = ["noise_by_source", "across_toolings", "table4"]
    tiny = built(written)
    figures = {figure.name: figure_files.metric_files(tiny, figure) for figure in tiny.figures}
    gates = {figure.name: figure_files.gate_files(tiny, figure) for figure in tiny.figures}
    stem = "results/tiny/metrics"
    on_cpu = figures["noise_by_source-cpu"]
    models = ("smallcnn", "smallcnn-bn")
    assert on_cpu["stability"] == [
        f"{stem}/cells/{model}/digits/cpu/{variant}.csv" for model in models for variant in ("algo", "control")
    ]
    assert gates["noise_by_source-cpu"] == [f"results/tiny/control/{model}/digits/cpu.json" for model in models]
    assert on_cpu["cross_tooling"] == []
    across = figures["across_toolings-smallcnn-bn-digits"]
    pairs = [f"{stem}/pairs/smallcnn-bn/digits/cpu/noisy/{variant}.csv" for variant in ("algo", "control")]
    assert across["cross_tooling"] == pairs
    assert len(across["stability"]) == 4
    assert figures["table4"]["counts"] == [f"{stem}/data/digits.csv"]


def test_draws_repeat_what_a_variant_fixes_and_nothing_else(written, built):
    block = written["grid"][0] | {"hardware": ["noisy"], "seeds": [1, 7], "draws": 2}
    written["grid"] = [block | {"variants": ["impl", "dropout", "algo", "control"]}]
    found = built(written)
    seeds = {cell.variant: found.seeds[cell] for cell in found.cells}
    assert seeds == dict.fromkeys(("impl", "dropout"), (10001, 10007, 20001, 20007)) | dict.fromkeys(
        ("algo", "control"), (1, 7)
    )
    cell = next(cell for cell in found.cells if cell.variant == "impl")
    spec = found.spec(cell, 20007)
    replicates = {source: about["replicate"] for source, about in streams.keys_of_run(spec).items()}
    assert replicates == dict.fromkeys(("init", "shuffle", "augment", "dropout"), 2) | {"impl": 7, "bit": 0}
    assert "draw" not in found.spec(cell._replace(variant="algo"), 7).json


def control(built, written, variants, **keys):
    """The seeds of Control in a block, and the study."""
    written["grid"] = [written["grid"][0] | {"hardware": ["cpu"], "variants": variants} | keys]
    found = built(written)
    return found.seeds[found.controls[0]], found


def test_control_uses_the_first_two_seeds_beside_other_variants(written, built):
    seeds, found = control(built, written, ["algo", "control"], seeds=[3, 1, 7])
    assert seeds == (3, 1)
    assert found.seeds[found.cells[0]] == (3, 1, 7)
    assert control(built, written, ["control", "algo"], seeds=1)[0] == (1,)


def test_a_resolved_study_has_the_runs_of_control_written_out(written, built, tmp_path):
    seeds, found = control(built, written, ["algo", "control"], seeds=5)
    assert found.config["grid"][0]["control_seeds"] == len(seeds) == 2
    assert grid.build_study(config.resolve(found.config, "kept.json"), "kept.json") == found
    # In an earlier version Control had every seed: results of it keep them.
    before = json.loads(json.dumps(found.config))
    del before["grid"][0]["control_seeds"]
    (tmp_path / "study.json").write_text(json.dumps(before))
    kept = grid.load_study(tmp_path / "study.json")
    assert {len(seeds) for seeds in kept.seeds.values()} == {5}


def test_what_overhead_excepts_is_not_measured(written, built):
    written["overhead"] = {"models": ["smallcnn", "vgg19"], "hardware": ["cpu", "cpu-eigen"]}
    written["overhead"]["except"] = {"cpu-eigen": ["vgg19"]}
    study = built(written)
    assert study.networks == (("smallcnn", "cpu"), ("smallcnn", "cpu-eigen"), ("vgg19", "cpu"))
    assert study.profiles[:6] == (
        *(Profile("smallcnn", "cpu", "default", repeat) for repeat in range(1, 6)),
        Profile("smallcnn", "cpu", "deterministic", 1),
    )
    assert len(study.profiles) == len(set(study.profiles)) == 3 * 2 * 5
    assert {(profile.model, profile.hardware) for profile in study.profiles} == set(study.networks)
    assert built(written | {"only": ["cpu"]}).networks == (("smallcnn", "cpu"), ("vgg19", "cpu"))


@pytest.mark.parametrize(
    "change", [{"seed": 9}, {"variant": "init"}, {"hardware": "noisy"}, {"model": "tuned"}], ids=str
)
def test_a_base_is_a_run_of_the_grid_that_has_none_itself(change, written, built, refused):
    block = written["grid"][0] | {"hardware": ["cpu"], "variants": ["control"], "models": ["smallcnn"]}
    base = {"model": "smallcnn", "dataset": "digits", "hardware": "cpu", "variant": "control", "seed": 1}
    models = {"tuned": {"builder": "toolnoise.models.smallcnn:build", "base": base}}
    written |= {"grid": [block, block | {"models": ["tuned"]}], "models": models}
    assert built(written).base("tuned") == (*base.values(),)
    assert built(written).base("smallcnn") is None
    models["tuned"]["base"] = base | change
    assert "models.tuned.base: found" in refused(built, written)


def test_results_of_a_version_with_what_is_parked_are_read_if_they_did_without(written, built, tmp_path, refused):
    before = json.loads(json.dumps(built(written).config))
    before["grid"][0] |= {"atlas": False}
    for name in ("study.json", "study.yaml"):
        (tmp_path / name).write_text(json.dumps(before))
    assert grid.load_study(tmp_path / "study.json").seeds == built(written).seeds
    assert "unknown key" in refused(grid.load_study, tmp_path / "study.yaml")
    before["grid"][0] |= {"atlas": True}
    (tmp_path / "study.json").write_text(json.dumps(before))
    assert "unknown key" in refused(grid.load_study, tmp_path / "study.json")


# The study of the whole paper: every run behind its tables and figures, under the paper's names


@pytest.fixture(scope="module")
def paper():
    return grid.load_study(ROOT / "workflow/studies/paper.yaml")


GPUS = ("p100", "rtx5000", "v100")
CIFAR = (("smallcnn", "cifar10"), ("resnet18", "cifar10"), ("resnet18", "cifar100"))
PAPERS = ("algo_impl", "algo", "impl")
ITEMS = {  # each item's tasks by tooling, as in the paper
    "table2": dict.fromkeys(GPUS, CIFAR) | {"v100": (*CIFAR, ("resnet50-v15", "imagenet"))},
    "table5": {"v100": [("resnet18", "celeba")]},
    "fig2": {"v100": (*CIFAR, ("resnet50-v15", "imagenet"))},
    "fig3": {"v100": [("smallcnn", "cifar10"), ("smallcnn-bn", "cifar10")]},
    "fig4": {"v100": [("resnet18", "celeba")]},
    "fig5": {"v100": CIFAR[1:]},
    "fig6": dict.fromkeys((*GPUS, "rtx5000-tc"), CIFAR[2:]),
    "fig11": {"p100": CIFAR},
    "fig13": {"rtx5000": CIFAR},
}


@pytest.mark.parametrize("item", ITEMS)
def test_an_item_shows_exactly_the_papers_cells_and_control(paper, item):
    figures = paper_items.by_target(paper.figures)[item]
    shown = {cell for cell in paper.cells for figure in figures if figure.shows(cell)}
    expected = {
        Cell(*task, hardware, variant)
        for hardware, tasks in ITEMS[item].items()
        for task in tasks
        for variant in (*PAPERS, "control")
    }
    if item == "fig6":
        expected |= {Cell("resnet18", "cifar100", "tpu-v2-8", variant) for variant in ("algo_impl", "control")}
    assert shown == expected


@pytest.mark.parametrize("name", ["paper", "authors"])
def test_every_published_number_of_a_training_is_held_against_cells_with_as_many_runs(name, request):
    study = request.getfixturevalue(name)
    numbers = [number for number in published.read_published() if number.model and number.dataset]
    assert {number.model for number in numbers} == {"smallcnn", "smallcnn-bn", "resnet18", "resnet50-v15"}
    for number in numbers:
        cells = [cell for cell in study.cells if cell[:3] == number[1:4] and cell.variant in number.variants]
        assert len(cells) == (1 if number.variant else len(PAPERS)), number
        assert {len(study.seeds[cell]) for cell in cells} == {int(number.n_runs)}, number


def test_the_papers_control_has_two_runs_and_tensor_cores_no_small_network(paper):
    assert {len(seeds) for cell, seeds in paper.seeds.items() if cell.variant == "control"} == {2}
    assert {cell.task for cell in paper.cells if cell.hardware == "rtx5000-tc"} == set(CIFAR[1:])
    assert {cell.variant for cell in paper.cells if cell.hardware != "tpu-v2-8"} == {*PAPERS, "control"}


def test_every_item_of_the_paper_is_there_by_its_own_figures(paper):
    found = paper_items.by_target(paper.figures)
    assert {target: tuple(figure.name for figure in mine) for target, mine in found.items()} == paper_items.TARGETS


def test_todays_hardware_has_the_papers_tasks_recipes_and_runs_in_three_frameworks(paper):
    modern = grid.load_study(ROOT / "workflow/studies/paper-modern.yaml")

    def trained(study):
        names = {(*cell.task, cell.variant): len(seeds) for cell, seeds in study.seeds.items()}
        recipes = {task: study.config["recipes"][name] for task, name in study.recipe_of.items()}
        return names, recipes

    assert trained(modern) == trained(paper)
    assert modern.config["overhead"] | {"hardware": []} == paper.config["overhead"] | {"hardware": []}
    engines = {(name.partition("-")[0], entry["engine"]) for name, entry in modern.config["hardware"].items()}
    machines, frameworks = ("a100", "h100", "h200", "cpu"), ("tensorflow", "jax", "torch")
    assert engines == {(machine, framework) for machine in machines for framework in frameworks}


# The study of the authors' code: the paper's cells, by the recipes and with the sources of the code


@pytest.fixture(scope="module")
def authors():
    return grid.load_study(ROOT / "workflow/studies/authors.yaml")


def test_augmentation_varies_in_no_variant(authors):
    varying = {tuple(authors.spec(cell, 1).variant.varying) for cell in authors.cells}
    assert varying == {("init", "shuffle", "impl"), ("init", "shuffle"), ("impl",), ()}


# The papers' recipes: REFERENCE's facts, reached through the families `paper` and `authors`


KNOWN = config.registry_entries("recipes")


def recipe(family, model, dataset):
    return KNOWN[config.recipe_for(family, model, dataset, KNOWN)]


def rate(entry, epoch):
    """The rate of the last step of an epoch of four steps."""
    return float(epoch_plan.learning_rates(entry, 4, epoch)[-1])


FACTS = [
    # Of a family's recipe for some models and data sets: keys, and the rates at the end of epochs.
    (
        ("paper", ("smallcnn", "smallcnn-bn", "resnet18"), ("cifar10", "cifar100")),
        {"epochs": 200, "batch_size": 128, "optimizer": "adam", "crop": 4, "flip": True},
        {0: 4e-4, 49: 4e-4, 50: 4e-5, 99: 4e-5, 100: 4e-6, 149: 4e-6, 150: 4e-7, 199: 4e-7},
    ),
    (
        ("paper", ("resnet18",), ("celeba",)),
        {"epochs": 20, "batch_size": 128, "crop": 0, "flip": False},
        {0: 1e-3, 4: 1e-3, 5: 1e-4, 19: 1e-6},
    ),
    (
        ("authors", ("smallcnn", "smallcnn-bn"), ("cifar10",)),
        {"normalise": "unit", "crop": 0, "flip": False},
        {49: 4e-4, 50: 4e-5, 100: 4e-6, 199: 4e-6},
    ),
    (
        ("authors", ("resnet50-v15",), ("imagenet",)),
        # Keras's l2(1e-4) is 1e-4 of the sum of squares: its gradient is twice that times the weight.
        {"label_smoothing": 0.1, "normalise": "imagenet", "weight_decay": 2e-4},
        {0: 0.02, 1: 0.04, 4: 0.1, 5: 0.1, 29: 0.1, 30: 0.01, 59: 0.01, 60: 1e-3, 79: 1e-3, 80: 1e-4, 89: 1e-4},
    ),
    (
        ("pham", ("lenet1", "lenet4", "lenet5"), ("mnist",)),
        {"epochs": 50, "batch_size": 128, "optimizer": "sgd", "momentum": 0},
        {},
    ),
    (
        ("pham", ("resnet38", "resnet56"), ("cifar10",)),
        {},
        {80: 1e-3, 81: 1e-4, 120: 1e-4, 121: 1e-5, 160: 1e-5, 161: 1e-6, 199: 1e-6},
    ),
    # Their lr_schedule: a fifth in each epoch, counted from 0, above 60, 120 and 160.
    (
        ("pham", ("wrn-28-10",), ("cifar100",)),
        {},
        {0: 0.1, 60: 0.1, 61: 0.02, 120: 0.02, 121: 0.004, 160: 0.004, 161: 0.0008, 199: 0.0008},
    ),
]


@pytest.mark.parametrize(("recipes", "keys", "rates"), FACTS, ids=[str(fact[0]) for fact in FACTS])
def test_a_family_trains_each_task_as_the_papers_or_their_code_did(recipes, keys, rates):
    family, models, datasets = recipes
    for entry in (recipe(family, model, dataset) for model in models for dataset in datasets):
        assert {key: entry[key] for key in keys} == keys
        assert {epoch: rate(entry, epoch) for epoch in rates} == pytest.approx(rates)


@pytest.mark.parametrize(
    ("model", "dataset", "cycles"),
    [("resnet14", "cifar10", 1), ("linear", "mnist", 1), ("resnet14-snapshots", "cifar10", 5)],
)
def test_summers_and_dinneen_train_500_epochs_of_cosines_each_with_3_of_warm_up(model, dataset, cycles):
    entry, length = recipe("summers", model, dataset), 500 // cycles
    assert (entry["epochs"], entry["batch_size"], entry["optimizer"]) == (500, 512, "sgd")
    assert (entry["momentum"], entry["weight_decay"], entry["cycles"]) == (0.9, 5e-4, cycles)
    assert (entry["padding"], entry["last_batch"]) == ("black", "kept")
    for start in range(0, 500, length):
        rates = [rate(entry, start + epoch) for epoch in (0, 1, 2, length // 2, length - 1)]
        # Their train.py:185-218, at the same steps: linear, then half the cosine of the whole cycle.
        expected = [0.4 * at / 3 for at in (0.75, 1.75, 2.75)]
        expected += [0.2 * (1 + np.cos(np.pi * at / length)) for at in (length // 2 + 0.75, length - 0.25)]
        assert rates == pytest.approx(expected, rel=1e-6, abs=1e-9)


# How a recipe differs from the paper's: from that of its code, unless it is that of its text


SMALL = ("smallcnn", "cifar10")


@pytest.mark.parametrize(
    ("task", "name", "changed", "words"),
    [
        (SMALL, "authors-smallcnn-cifar10", {}, []),
        (SMALL, "paper-cifar10", {}, ["recipe of the text"]),
        (SMALL, "authors-smallcnn-cifar10", {"epochs": 8, "crop": 4, "flip": True}, ["epochs (8)", "recipe"]),
        (("resnet18", "celeba"), "paper-celeba", {"epochs": 3}, ["epochs (3)", "recipe of the text"]),
        (("mine", "digits"), "digits", {}, []),
    ],
)
def test_a_recipe_differs_from_that_of_the_code_in_its_epochs_and_in_the_rest(task, name, changed, words):
    assert recipe_differences(*task, KNOWN[name] | changed) == words
