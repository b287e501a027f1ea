import json
import string
from pathlib import PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolnoise import streams
from toolnoise.base import program
from toolnoise.base.files import canonical_sha256
from toolnoise.study import config, expected, grid, layout
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
    first = grid.load("study.json")
    assert grid.load("study.json") is first
    changed = (tmp_path / "study.json").read_text().replace('"seeds": 2', '"seeds": 12')
    (tmp_path / "study.json").write_text(changed)
    assert len(grid.load("study.json").seeds[first.cells[0]]) == 12
    monkeypatch.chdir("elsewhere")
    assert grid.load("study.json").name == "two"


def test_the_demo_has_the_runs_that_the_readme_says():
    demo = grid.load(program.ROOT / "config.yaml")
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


@pytest.fixture
def boxed(written):
    """A study whose recipe shows boxes of originals."""
    written["datasets"] = {"mine": ORIGINALS}
    written["grid"][0]["datasets"] = ["mine"]
    written["recipes"]["digits"] |= {"crop": 0, "resized_crop": BOXES}
    return written


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
def test_what_boxes_of_originals_do_not_go_with_is_refused(change, line, boxed, built, refused):
    boxed["datasets"] = {"mine": ORIGINALS | change.get("data", {})}
    boxed["recipes"]["digits"] |= change.get("recipe", {})
    boxed["grid"][0] |= change.get("block", {})
    if line is None:
        assert built(boxed)
    else:
        assert refused(built, boxed) == f"tiny.yaml: {line}"


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
    figures = {figure.name: expected.metric_files(tiny, figure) for figure in tiny.figures}
    gates = {figure.name: expected.gates(tiny, figure) for figure in tiny.figures}
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
    replicates = {source: about["replicate"] for source, about in streams.keys(spec).items()}
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
    assert grid.build(config.resolve(found.config, "kept.json"), "kept.json") == found
    # In an earlier version Control had every seed: results of it keep them.
    before = json.loads(json.dumps(found.config))
    del before["grid"][0]["control_seeds"]
    (tmp_path / "study.json").write_text(json.dumps(before))
    kept = grid.load(tmp_path / "study.json")
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
    assert grid.load(tmp_path / "study.json").seeds == built(written).seeds
    assert "unknown key" in refused(grid.load, tmp_path / "study.yaml")
    before["grid"][0] |= {"atlas": True}
    (tmp_path / "study.json").write_text(json.dumps(before))
    assert "unknown key" in refused(grid.load, tmp_path / "study.json")
