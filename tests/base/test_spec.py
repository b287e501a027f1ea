"""Specs, variants and values as text: read as they were written, nothing in them changes, and what is refused."""

import copy
import dataclasses
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from toolnoise.base.errors import BadInput
from toolnoise.base.key_values import values_as_text, values_in_text
from toolnoise.base.noise_sources import ALGORITHMIC, SOURCES, replicate
from toolnoise.base.spec import Spec
from toolnoise.study.cells import MODES, Cell, Profile
from toolnoise.study.variants import VARIANTS, Variant, variant

RUN = {
    "study_seed": 7,
    "model": {"name": "mine", "command": "python train.py", "outcome": "values", "sources": ["init"]},
    "dataset": {"name": "tables", "reader": "outcome"},
    "recipe": {"name": "program"},
    "hardware": {"name": "cpu", "engine": "command", "impl_noise": "native", "threads": 1},
    "variant": {"name": "init+bit", "varying": ["init", "bit"], "bit_after": 2},
    "seed": 20003,
    "draw": 2,
}


def as_bytes(value):
    return json.dumps(value, sort_keys=True, indent=1).encode()


def test_its_json_is_what_it_was_read_from_also_with_keys_of_another_version():
    value = copy.deepcopy(RUN) | {"later": [1, {"a": None}]}
    value["model"]["earlier"] = {"deep": True}
    before = as_bytes(value)
    assert as_bytes(Spec.read(value).as_json()) == before
    assert Spec.read(json.loads(before)) == Spec.read(value)


@pytest.mark.parametrize("variant", VARIANTS)
def test_specs_of_a_study_are_read_again_from_their_json(variant, make_spec):
    spec = make_spec(variant, 3)
    assert Spec.read(json.loads(as_bytes(spec.as_json()))) == spec
    assert [source for source in SOURCES if spec.varies(source)] == [one for one in SOURCES if one in VARIANTS[variant]]
    assert Cell.of(spec) == ("smallcnn", "digits", "cpu", variant)


def test_a_measurement_has_images_and_steps_and_no_data_set(written, built):
    sizes = {"image_size": 8, "channels": 3, "classes": 10, "batch_size": 4, "warmup": 1, "steps": 2, "repeats": 1}
    study = built(written | {"overhead": {"models": ["smallcnn"], "hardware": ["cpu"], **sizes}})
    for mode in MODES:
        spec = study.profile_spec(Profile("smallcnn", "cpu", mode, 1))
        assert (spec.dataset, spec.draw, spec.steps, spec.images["classes"]) == (
            None,
            None,
            {"warmup": 1, "steps": 2},
            10,
        )
        assert Spec.read(json.loads(as_bytes(spec.as_json()))) == spec


def test_what_code_asks_has_a_name_and_nothing_changes():
    spec = Spec.read(RUN)
    assert (spec.study_seed, spec.seed, spec.draw, spec.dataset.name) == (7, 20003, 2, "tables")
    assert (spec.model.command, spec.model.builder, spec.model.adopted) == ("python train.py", None, None)
    assert (spec.variant.varying, spec.variant.bit_after, spec.hardware.engine) == (("init", "bit"), 2, "command")
    for part, key in ((spec, "seed"), (spec.model, "command"), (spec.hardware, "engine"), (spec.variant, "varying")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(part, key, 1)
        with pytest.raises(TypeError, match="does not support item assignment"):
            part.json[key] = 1
    with pytest.raises(TypeError, match="does not support item assignment"):
        spec.recipe["epochs"] = 1
    spec.as_json()["seed"] = 1
    assert spec.as_json() == RUN


@pytest.mark.parametrize("path", ["study_seed", "seed", "recipe", "model.name", "hardware.engine", "variant.varying"])
def test_a_key_that_lacks_is_a_key_error_and_a_part_that_is_none_a_type_error(path):
    value = copy.deepcopy(RUN)
    *parts, key = path.split(".")
    of = value[parts[0]] if parts else value
    del of[key]
    with pytest.raises(KeyError, match=key):
        Spec.read(value)
    for part in parts:
        for other in (3, None, ["name"], "name"):
            with pytest.raises(TypeError):
                Spec.read(value | {part: other})


def test_what_each_variant_lets_vary():
    assert VARIANTS == {
        "algo_impl": ("init", "shuffle", "augment", "dropout", "impl"),
        "algo": ("init", "shuffle", "augment", "dropout"),
        "impl": ("impl",),
        "control": (),
        "data": ("data",),
        "init": ("init",),
        "shuffle": ("shuffle",),
        "augment": ("augment",),
        "dropout": ("dropout",),
        "bit": ("bit",),
    }
    assert ["data", *ALGORITHMIC, "impl", "bit"] == list(SOURCES)
    assert all(variant(name) == Variant(sources, 0) for name, sources in VARIANTS.items())


@pytest.mark.parametrize(
    ("name", "sources", "bit_after"),
    [
        ("shuffle+impl", ("shuffle", "impl"), 0),
        ("shuffle+augment+impl", ("shuffle", "augment", "impl"), 0),
        ("init+bit", ("init", "bit"), 0),
        ("bit_1", ("bit",), 1),
        ("dropout+bit_100", ("dropout", "bit"), 100),
        ("+".join(SOURCES), SOURCES, 0),
    ],
)
def test_any_sources_may_be_combined_and_a_bit_may_be_moved_later(name, sources, bit_after):
    assert variant(name) == Variant(sources, bit_after)


NO_VARIANTS = "+ weather all impl+shuffle shuffle+shuffle shuffle+ +impl algo+bit control+impl shuffle+weather"
NO_VARIANTS += " bit_0 bit_01 bit_ bit_-1 bit_1.5 bit_\u0661 bit_1+bit impl_3 bit+init"


def test_anything_else_is_no_variant():
    assert [name for name in ("", *NO_VARIANTS.split()) if variant(name) is not None] == []


@pytest.mark.parametrize("name", VARIANTS)
def test_a_source_has_the_runs_seed_if_it_may_vary_and_else_that_of_no_run(name, make_spec):
    spec = make_spec(name, 5)
    assert {source: replicate(source, spec) for source in SOURCES} == {
        source: 5 if source in VARIANTS[name] else 0 for source in SOURCES
    }


# Values as text on command lines: what is read is what was written


KEYS = st.text(min_size=1).filter(lambda key: "=" not in key and not any(map(str.isspace, key)))
# Texts that look like other things are likelier than chance has them.
LIKE_OTHERS = st.text(alphabet='aZ_./1-" {}[]\\=\n\t,', max_size=8) | st.sampled_from(["true", "null", "NaN", "1"])
TEXTS = st.text() | LIKE_OTHERS
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
JSON = st.recursive(LEAVES, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8)


@given(st.dictionaries(KEYS, JSON, max_size=5))
@example({"a": "", "b": "1", "c": 1, "d": 1.0, "e": "true", "f": True, "g": "x y", "h": 'say "{}"\n', "i": "größer"})
@example({"learning_rate": 0.1 + 0.2, "path": "./a/b.npz", "url": "https://a.b/c?d=e", "options": {"width": 4}})
def test_values_are_read_as_they_were_written(values):
    line = values_as_text(values)
    assert "\n" not in line
    # As JSON, 1 and 1.0 differ, and NaN equals itself.
    assert json.dumps(values_in_text(line, "--x"), sort_keys=True) == json.dumps(values, sort_keys=True)


def test_people_can_read_them():
    values = {"name": "a-b_c.1", "epochs": 2, "rate": 0.1, "decay": False, "steps": [1, 2], "said": "two words"}
    assert values_as_text(values) == 'name=a-b_c.1 decay=false epochs=2 rate=0.1 said="two words" steps=[1,2]'


@pytest.mark.parametrize(
    "line",
    ["a", "=1", "a=", "a=1 a=2", "a=1  b=2", " a=1", "a=01", "a={", "a='b'", 'a="b"c=1', "a=b\tc=1", "a=b c", "a=1b"],
)
def test_what_is_no_such_text_is_refused_in_one_line(line):
    with pytest.raises(BadInput, match=r"^command line: --x: found ") as refused:
        values_in_text(line, "--x")
    assert "\n" not in str(refused.value)
