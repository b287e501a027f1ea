import copy
import itertools
import json
import re

import pytest
import yaml

from toolnoise.base import files, program
from toolnoise.study import config, grid, strict_yaml, study_files

GRID = """
study: tiny
grid:
- models: [smallcnn]
  datasets: [digits]
  recipe: digits
  hardware: [cpu]
  variants: [control]
  seeds: 2
"""


def put(written, path, value):
    """Set what lies at a path such as grid.0.seeds."""
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    for part in parents:
        written = written[part]
    written[last] = value


def cost_of(**changes):
    return {"models": ["smallcnn"], "hardware": ["cpu"], **changes}


def novel(**keys):
    return {"mine": {"reader": "text", "path": "novel.txt", "tokens": "words", "length": 8, "test_share": 0.1, **keys}}


BAD_VALUES = [
    # Where it is put | what else of the key is named (^: the one around it), what, what is said was found, is allowed
    ("grid.0.recipe", "cifar", "no recipe 'cifar' for smallcnn on digits", ", digits, "),
    ("grid.0.variants", ["weather"], "'weather'", "allowed: algo_impl, algo, impl, control, data, init"),
    ("grid.0.models", ["smalcnn"], "did you mean 'smallcnn'?", "smallcnn"),
    ("grid.0.models", ["smallcnn", "smallcnn"], '["smallcnn", "smallcnn"]', "each once"),
    ("grid.0.seeds", 0, "found 0", "from 1 up"),
    ("grid.0.seeds", 80001, "found 80001", "1 to 80000"),
    ("recipes.digits.epochs", 2.5, "found 2.5", "from 1 to 1000000"),
    ("recipes.digits.learning_rate", 10**400, f"found 1{'0' * 56}...", "above 0"),
    ("recipes.digits|.schedule", {"cycles": 2}, 'found "step" with cycles: 2', "cosine"),
    ("recipes.digits|.cycles", {"schedule": "cosine", "cycles": 3}, "found 3", "a divisor of its 20 epochs"),
    ("recipes.digits.epoch|^", 3, "'epoch' (did you mean 'epochs'?)", "allowed: batch_size, "),
    ("recipes.mine", {"epochs": 3}, "lacks the key 'batch_size'", "required: epochs, "),
    ("hardware.cpu|.kernels", {"portable": True, "kernels": "eigen"}, "with portable: true", "onednn"),
    ("models|.mine.builder", {"mine": {"builder": "no module"}}, '"no module"', "package.module:function"),
    ("datasets|.celeba.target", {"celeba": {"targets": ["Bald", "Male"]}}, "'Blond_Hair'", "targets: Bald, "),
    ("datasets|.mine.train_examples", novel(train_examples=99), "with reader 'text'", "reader: faces"),
    ("datasets|.mine.most", novel(tokens="bytes", most=9), "with tokens 'bytes'", "tokens: words"),
    ("overhead|.hardware[0]", cost_of(hardware=["tpu-v2-8"]), "'tpu-v2-8' is a TPU", "cpu or gpu"),
    ("figures|[0]", ["figure1"], "found 'figure1'", "allowed: across_toolings, "),
    ("only", [], "found []", "leave it out"),
    ("grid.0.remedies|[0]", ["flop"], 'found "flop"', "allowed: crops25, crops81, crops9, crops9-16, flip, "),
    ("sede|^", 1, "unknown key 'sede' (did you mean 'seed'?)", "allowed: claims, datasets, "),
    ("grid", [], "found []", "a list of blocks; empty if"),
]


@pytest.mark.parametrize(("where", "value", "found", "allowed"), BAD_VALUES)
def test_a_bad_value_is_one_line_naming_file_key_what_was_found_and_what_is_allowed(
    where, value, found, allowed, written, built, refused
):
    path, _, further = where.partition("|")
    put(written, path, value)
    key = path.rpartition(".")[0] if further == "^" else path + further
    line = refused(built, written, "my.yaml")
    named = re.sub(r"\.(\d+)", r"[\1]", key)
    assert line.startswith(f"my.yaml: {named}: " if key else "my.yaml: ")
    problem, _, permitted = line.partition("; ")
    assert found in problem
    assert allowed in permitted


# What readers must be told, by the part of the entry that lacks it.
TEXT = {"reader": "text", "tokens": "bytes", "length": 8}
NEEDED = [
    *(({"reader": reader}, "", "path") for reader in ("cifar", "image-folder", "npy", "npz")),
    *(({"reader": reader}, "", "files") for reader in ("celeba", "imagenet", "mnist")),
    ({"reader": "celeba", "files": {}}, "", "target"),
    ({"reader": "celeba", "target": "Bald", "files": {}}, ".files", "attributes"),
    ({"reader": "digits"}, "", "test_examples"),
    ({"reader": "faces"}, "", "image_size"),
    ({"reader": "text", "path": "a"}, "", "tokens"),
    (TEXT, "", "path"),
    (TEXT | {"embedded": "paradise-lost"}, "", "test_share"),
]


@pytest.mark.parametrize(("entry", "where", "needed"), NEEDED, ids=[f"{one[0]['reader']} {one[2]}" for one in NEEDED])
def test_what_a_reader_needs_is_missed_while_the_study_is_read(entry, where, needed, written, built, refused):
    written["datasets"] = {"mine": entry}
    line = refused(built, written, "my.yaml")
    assert line.startswith(f"my.yaml: datasets.mine{where}: lacks the key ")
    assert needed in line.partition("; required: ")[2].split(", ")


NAMED = ["study", "grid.0.models", "grid.0.datasets", "grid.0.hardware", "grid.0.recipe", "grid.0.variants"]
BAD_NAMES = ["../x", "/x", "a b", "$(x)", "x;y", "a.b", "-x", "", "x\n", "ü", "{x}", "a" * 65]


@pytest.mark.parametrize("path", NAMED)
@pytest.mark.parametrize("name", [*BAD_NAMES, 7, None])
def test_what_could_be_anything_but_a_name_is_refused(path, name, written, built, refused):
    put(written, path, name if path in ("study", "grid.0.recipe") else [name])
    assert "a name of letters, digits, '-', '_' and '+'" in refused(built, written)


BAD_FILES = {
    "empty": ("", "found null"),
    "text": ("study", 'found "study"'),
    "repeated key": (GRID + "study: other\n", "line 10: key 'study' is repeated"),
    "broken": (GRID + "seed: [1\n", "line 11: "),
    "object": (
        GRID + "seed: !!python/object/apply:os.getcwd []\n",
        "line 10: found the tag tag:yaml.org,2002:python",
    ),
    "unknown alias": (GRID + "seed: *seed\n", "found undefined alias"),
    "no date": (GRID + "seed: !!timestamp 2020-99-99\n", "line 10: found the tag tag:yaml.org,2002:timestamp"),
    "tab": (GRID + "\tseed: 1\n", "line 10: found character '\\t'"),
    "two documents": (f"{GRID}---\n{GRID}", "line 10: but found another document"),
    "deep": (f"{GRID}seed: {'[' * 3000}\n", "maximum recursion depth exceeded"),
    "date": (GRID + "seed: 2026-10-21\n", "line 10: found 2026-10-21; allowed: "),
    "circle": (GRID + "models: &all {mine: *all}\n", "more than 1000000 values, with each alias in full"),
    "bomb": (
        "a: &a [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]\n"
        + "".join(
            f"{after}: &{after} [{', '.join([f'*{before}'] * 10)}]\n"
            for before, after in itertools.pairwise("abcdefgh")
        ),
        "more than 1000000 values",
    ),
}


@pytest.mark.parametrize(("text", "found"), BAD_FILES.values(), ids=list(BAD_FILES))
def test_a_file_that_is_no_configuration_is_one_line(text, found, tmp_path, refused):
    path = tmp_path / "my.yaml"
    path.write_text(text)
    line = refused(grid.load_study, path)
    assert line.startswith(f"{path}: ")
    assert found.lower() in line.lower()


# What YAML 1.1, or another reader, takes for something else than is written.
CHANGED = ["010", "1_000", "0x1F", "1_0.5", ".NaN", "yes", "on", "2026-10-21"]
CHANGED += ["08", "0o17", "1e400", "1e-400", "1_0e3", "9" * 5000, "1" + ":20" * 2000, "="]


@pytest.mark.parametrize("text", CHANGED, ids=lambda text: text[:10])
@pytest.mark.parametrize("place", ["seed: {}", "study: {}", "models: {{{}: {{builder: 'a:b'}}}}", "grid: [[{}]]"])
def test_what_yaml_would_change_silently_is_refused_with_its_line(place, text, tmp_path, refused):
    path = tmp_path / "my.yaml"
    path.write_text(f"# A study\n\n{place.format(text)}\n")
    line = refused(config.read_yaml, path)
    assert line.startswith(f"{path}: line 3: found ")
    assert "allowed: " in line


def test_the_same_text_in_quotes_is_text(tmp_path):
    path = tmp_path / "my.yaml"
    texts = [*CHANGED, "1e3", "+.5", "null", "true"]
    path.write_text("".join(f"- {text!r}\n" for text in texts))
    assert config.read_yaml(path) == texts
    path.write_text(strict_yaml.dump_yaml(texts))
    assert config.read_yaml(path) == yaml.safe_load(path.read_text()) == texts


def test_plain_numbers_booleans_and_text_are_read_as_they_are_written(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(
        "[8, -0, +5, 0.5, .5, 5., 1e3, 1E-3, 2.e-3, -0.0, +.5, -.25, "
        "true, False, ~, y, 1.5.2, 12ab, 1e, 1e3a, v0.1_2, 7: 8]"
    )
    numbers = [8, 0, 5, 0.5, 0.5, 5.0, 1000.0, 0.001, 0.002, -0.0, 0.5, -0.25]
    read = [*numbers, True, False, None, "y", "1.5.2", "12ab", "1e", "1e3a", "v0.1_2", {"7": 8}]
    assert repr(config.read_yaml(path)) == repr(read)


@pytest.mark.parametrize("text", ["a\0b", "\x1b[2J", "\ud800", "\x7f"])
def test_text_that_no_path_or_terminal_takes_is_refused(text, written, built, refused):
    put(written, "models", {"mine": {"builder": "a:b", "options": {"name": text}}})
    assert "models.mine.options.name: found " in refused(built, written)
    put(written, "datasets", {"celeba": {"groups": {text: "Young"}}})
    assert "datasets.celeba.groups: found " in refused(built, written)


@pytest.mark.parametrize("content", [None, b"study: \xff", "study: é".encode("utf-16")])
def test_a_file_that_cannot_be_read_is_one_line(content, tmp_path, refused):
    path = tmp_path / "my.yaml"
    if content:
        path.write_bytes(content)
    assert refused(grid.load_study, path).startswith(f"{path}: cannot be read (")
    assert refused(grid.load_study, tmp_path).startswith(f"{tmp_path}: cannot be read (")


def test_merging_entries_repeats_no_key(tmp_path):
    path = tmp_path / "my.yaml"
    path.write_text(
        GRID.replace("[cpu]", "[third]")
        + "models: {mine: {builder: 'a:b', options: &one {depth: 1}}, other: {builder: 'a:b', options: &two {<<: *one, "
        + "depth: 2}}}\nhardware: {first: &first {accelerator: cpu, threads: 1}, second: &second {<<: *first, "
        + "threads: 2}, third: {<<: *second, threads: 3, isa: sse41}}\n"
        + "recipes: {digits: {<<: {crop: 3}, flip: true}}\n"
    )
    assert config.read_configuration(path)["hardware"]["third"]["threads"] == 3


def test_what_is_resolved_resolves_to_itself_and_what_was_written_is_left_alone(written):
    before = copy.deepcopy(written)
    once = config.resolve(written, "one.yaml")
    assert written == before
    assert config.resolve(copy.deepcopy(once), "two.yaml") == once
    assert json.loads(json.dumps(once)) == once


@pytest.mark.parametrize("rate", [5e-05, 1.5e-07, 1e16, 1e30, 5e-324, 0.1, 1.0, 0.9999999999999999])
def test_a_number_of_a_kept_study_is_read_as_it_was_written(rate, written, tmp_path):
    put(written, "recipes.digits.learning_rate", rate)
    files.write_json(tmp_path / "study.json", config.resolve(written, "one.yaml"))
    found = config.read_configuration(tmp_path / "study.json")["recipes"]["digits"]["learning_rate"]
    assert (found, type(found)) == (rate, float)


def test_changing_one_key_of_a_registry_entry_keeps_the_others(written):
    plain = config.resolve({**written, "recipes": {}}, "one.yaml")["recipes"]["digits"]
    changed = config.resolve({**written, "recipes": {"digits": {"crop": 3}}}, "one.yaml")["recipes"]["digits"]
    assert plain["crop"] != 3
    assert changed == plain | {"crop": 3}
    again = config.resolve({**written, "recipes": {}}, "one.yaml")["recipes"]["digits"]
    assert again == plain, "an override must not leak into the registry"


@pytest.mark.parametrize("registry", config.REGISTRIES)
def test_every_registry_entry_can_be_named(registry, written):
    for name, entry in yaml.safe_load((program.ROOT / "resources" / f"{registry}.yaml").read_text()).items():
        # Tested with the programs that they are for.
        if "command" in (entry.get("engine"), name) or entry.get("reader") == "outcome":
            continue
        written["grid"][0]["recipe" if registry == "recipes" else registry] = name if registry == "recipes" else [name]
        assert name in config.resolve(written, "one.yaml")[registry]


def schema_keys(rules, path=""):
    """Every key of the schema: its path, its name and its rules."""
    for name, rule in rules.get("properties", {}).items():
        if "$ref" in rule:
            rule = config.study_schema()["$defs"][rule["$ref"].rpartition("/")[2]]
        yield f"{path}{name}", name, rule
        for inner in (rule.get("items"), rule.get("additionalProperties")):
            if isinstance(inner, dict) and "$ref" in inner:
                yield from schema_keys(
                    config.study_schema()["$defs"][inner["$ref"].rpartition("/")[2]], f"{path}{name}."
                )


KEYS = list(schema_keys(config.study_schema()))


@pytest.fixture(scope="module")
def manual():
    return (program.ROOT / "config.yaml").read_text()


@pytest.mark.parametrize(("name", "rule"), [key[1:] for key in KEYS], ids=[key[0] for key in KEYS])
def test_a_key_of_the_schema_is_typed_and_described_and_the_manual_shows_it_with_its_default(name, rule, manual):
    assert "enum" in rule or ("type" in rule and ("description" in rule or rule["type"] == "object"))
    lines = manual.splitlines()
    places = [number for number, line in enumerate(lines) if re.search(rf"(^|[# ]){name}(:|\b.*:)", line)]
    assert places, f"config.yaml does not name {name}"
    if "default" in rule and name not in config.REGISTRIES:
        default = f"default: {value if (value := rule['default']) and isinstance(value, str) else json.dumps(value)}"
        told = [f"{lines[number - 1]}\n{lines[number]}" for number in places]
        assert any(re.search(rf"{re.escape(default)}(?![\w.])", text) for text in told), default


def test_what_the_manual_has_commented_out_is_valid_too(manual, built):
    # A commented line of YAML has one space and then a key or a list; its nested lines have more spaces.
    text = re.sub(r"(?m)^( *)# ((?:  )*(?!default)[a-z_]+:(?: .*)?)$", r"\1\2", manual)
    assert text != manual
    written = yaml.safe_load(text)
    assert {"models", "datasets", "hardware", "figures", "only"} <= set(written)
    block = written["grid"][0]
    block["models"].append("mine")
    block["datasets"].append("mine")
    block["hardware"].append("mine")
    written["only"].append("mine")
    assert built(written, "config.yaml").config["hardware"]["mine"]["impl_noise"] == "native"


# Which study file of a folder a command takes, and what Snakemake is given, read before Snakemake reads it


STUDY = "study: mine\ngrid: []\n"


def put_files(folder, *names, text=STUDY):
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


@pytest.mark.parametrize(
    ("names", "found"),
    [
        (["mine.yaml"], "mine.yaml"),
        (["config.yaml"], "config.yaml"),
        (["mine.yaml", "config.yaml"], "mine.yaml"),
        (["mine.yaml", "results/other/study.json"], "mine.yaml"),
    ],
)
def test_the_only_study_file_of_a_folder_is_found_and_config_yaml_last(here, names, found):
    put_files(here, *names)
    put_files(here, "environment.yaml", text="name: x\n")
    assert study_files.to_run() == study_files.to_read() == found


@pytest.mark.parametrize(
    "names", [("one.yaml", "two.yaml"), ("results/one/study.json", "results/two/study.json")], ids=str
)
def test_several_studies_are_refused_in_one_line_that_names_them(here, refused, names):
    put_files(here, *names)
    line = refused(study_files.to_read)
    assert line.startswith("command line: --study: 2 studies in this folder")
    assert line.endswith(", ".join(names))


def test_a_folder_without_a_study_is_refused_and_results_alone_can_be_read_and_not_run(here, refused):
    assert "toolnoise init" in refused(study_files.to_read)
    put_files(here, "results/mine/study.json")
    assert study_files.to_read() == "results/mine/study.json"
    assert "no study in this folder" in refused(study_files.to_run)


@pytest.fixture
def configs(here):
    """Two configurations, one of which has a number that YAML 1.1 changes."""
    (here / "good.yaml").write_text("study: a\n")
    (here / "bad.yaml").write_text("study: a\nseed: 010\n")


@pytest.mark.parametrize(
    "words",
    [
        ["-n", "--configfiles", "bad.yaml", "good.yaml", "--cores", "2"],
        ["--configfile=bad.yaml", "page", "--config", "seed=1"],
        ["--config", "seed=1", "--configfile", "good.yaml", "bad.yaml", "-j1", "--", "page"],
    ],
    ids=lambda words: words[0],
)
@pytest.mark.usefixtures("configs")
def test_every_file_among_the_words_is_read(words, refused):
    assert refused(study_files.require_readable, words).startswith("bad.yaml: line 2: found 010; allowed: ")


@pytest.mark.usefixtures("configs")
def test_values_are_read_as_they_are_written():
    entries = ["seed=3", "only=[cpu, 'v100']", "prices={cpu: 1e-3, v100: 2}", "study='010'", "figures="]
    assert study_files.read_strictly(["good.yaml"], entries) == [
        *({"study": "a"}, {"seed": 3}, {"only": ["cpu", "v100"]}, {"prices": {"cpu": 0.001, "v100": 2}}),
        *({"study": "010"}, {"figures": None}),
    ]


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ("seed=010", "--config seed: found 010; allowed: a number such as 8"),
        ("prices={cpu: 1:20}", "--config prices: found 1:20; allowed: a number"),
        ("only=[cpu", "--config only: expected ',' or ']'"),
        ("seeds=3", "--config: found 'seeds=3'; KEY=VALUE, allowed keys: study, seed, grid, only"),
        ("seed", "--config: found 'seed'; KEY=VALUE"),
    ],
)
@pytest.mark.usefixtures("configs")
def test_a_value_that_would_be_changed_is_refused(entry, says, refused):
    assert says in refused(study_files.require_readable, ["--config", entry])
