"""Studies with nearly all keys of the schema, and changes of them, each with an oracle: what may come of the change.

The oracle reads the schema by itself, and the text of a number as a decimal.
"""

import copy
import json
import random
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NamedTuple

import fuzz_mutations
import yaml

from toolnoise.study import config

# Known names only, so that a dry run needs nothing else.
PLAIN = yaml.safe_load("""
study: fuzzed
seed: 7
recipes:
  short: {epochs: 4, batch_size: 8, optimizer: sgd, momentum: 0.5, learning_rate: 0.25, schedule: step,
    step_epochs: [2, 3], step_factor: 0.5, warmup_epochs: 1, warmup: plain, cycles: 1, weight_decay: 0.125,
    decay_normalisation: true,
    bias_rate: 2, scale_rate: 0.5, label_smoothing: 0.125, normalise: unit, crop: 1, flip: true,
    last_batch: kept, undecayed: [bias, logits], whole_scale_rate: [stem_bn]}
hardware:
  mine: {engine: tensorflow, accelerator: cpu, precision: float32, tf32: false, kernels: eigen, isa: sse41,
    formulas: common, threads: 2, impl_noise: reduction-order, device: "", gpu_model: "", environment: "",
    constraint: "v100|t4"}
  same: {engine: torch, accelerator: cpu, portable: true}
prices: {cpu: 0.5, mine: 2}
identical: {criteria: [last, patience], accuracy: criterion, weak: {reference: best, margin: -0.25}}
claims:
  mine: {paper: a paper, says: IMPL is larger, source: table 9, measure: accuracy_sd, test: ratio, of: {variant: impl},
    over: [{variant: algo}], where: {group: all}, direction: above, reference: 1.5, parts: every,
    note: a note, cannot_fail: "", published: {items: [table2], measure: sd, reference: 2}}
judged: [mine, rarity]
overhead: {models: [linear], hardware: [cpu], batch_size: 4, image_size: 8, channels: 1, classes: 4, warmup: 2,
  steps: 3, repeats: 2}
only: [cpu, mine]
figures: [table2]
figure_width: 3.5
grid:
- {models: [linear, smallcnn], datasets: [digits], recipe: short, hardware: [cpu, mine], variants: [control, impl],
   seeds: 3, draws: 2, minutes: 30, control_seeds: 2, excluded_from: [per_class]}
- {models: [linear], datasets: [digits], recipe: short, hardware: [cpu], variants: [algo], seeds: [1, 5, 9], layers: 8,
   remedies: [flip], bit_tensor: logits/kernel}
""")
# What of one's own a study may have: read and planned, and not run.
OWN = PLAIN | yaml.safe_load("""
models:
  own: {builder: "networks:small", options: {width: 3, rate: 0.5, kind: a, wide: true}}
  outside: {command: "python train.py --seed {init} --out {out}", sources: [init], deterministic: --fix,
    outcome: classes, limit: 1.5}
  there: {adopted: adopted/there, outcome: metric}
datasets:
  own: {reader: npz, path: mine.npz, memory_mb: 4000, cores: 2}
  pictures: {reader: image-folder, path: pictures.tar, url: "https://example.org/a", page: "https://example.org/b",
    checksum: "md5:00000000000000000000000000000000", image_size: 8, stored_size: 9, streamed: true}
  photos: {reader: imagenet, files: {train: {path: a.tar}, test: {path: b.tar}, devkit: {path: c.tar.gz}},
    image_size: 8, stored_size: original, streamed: true}
  people: {reader: celeba, files: {images: {path: a.zip}, attributes: {path: a.txt}, partition: {path: b.txt}},
    image_size: 8, target: Blond_Hair, targets: all, groups: {Male: Male, Female: not Male}}
  numbers: {reader: faces, train_examples: 20, test_examples: 10, image_size: 8, attributes: 2}
  novel: {reader: text, path: novel.txt, tokens: words, length: 8, test_share: 0.25, vocabulary: words.txt, most: 50,
    unknown: "?", frequency: [1, 10]}
  poem: {reader: text, embedded: paradise-lost, tokens: characters, length: 64, test_share: 0.1}
only: [cpu, mine, command, adopted]
""")
# Text is not cropped or mirrored.
OWN["recipes"] = PLAIN["recipes"] | {
    f"short-{text}": PLAIN["recipes"]["short"] | {"crop": 0, "flip": False} for text in ("novel", "poem")
}
OWN["recipes"]["short-photos"] = PLAIN["recipes"]["short"] | {
    "crop": 0,
    "resized_crop": {"area": [0.125, 1], "aspect": [0.75, 1.25], "covered": 0.25},
}
OWN["grid"] = [
    PLAIN["grid"][0]
    | {"models": ["own"], "datasets": ["own", "pictures", "photos", "people", "numbers", "novel", "poem"]},
    PLAIN["grid"][1] | {"remedies": []},
    *yaml.safe_load("""
- {models: [outside], datasets: [outcome], hardware: [command], variants: [control], seeds: 2}
- {models: [there], datasets: [outcome], hardware: [adopted], variants: [algo_impl], seeds: 2}
"""),
]
# A number here may be any that the schema allows: nothing else in the study depends on it.
FREE = {"seed", "batch_size", "learning_rate", "momentum", "weight_decay", "bias_rate", "scale_rate", "label_smoothing"}
FREE |= {"step_factor", "minutes", "threads", "cpu", "mine", "rate", "width", "limit", "warmup", "steps", "repeats"}
# Read as something else by YAML 1.1, by YAML 1.2, or by neither.
_PLAIN = """
010 017 -017 +08 08 007 0o17 0x1F 0b11 00 1_000 1_0.5 0_1 1:20 190:20:30 1:30.5 -1:20 .nan .NaN .inf -.INF
1e400 -1e999 1e-400 1_0e3 01.5 00.5 0e_1 yes no on off Yes NO On OFF 2020-01-01 2020-99-99
2001-12-14t21:59:43.10-05:00 = *nowhere @x `x %x
"""
_TAGGED = """
!!int 5
!!int '0x1F'
!!str x
!!float 1
!!timestamp 2020-99-99
!!binary aGk=
!!set {x}
! 5
!x 5
!!python/object/apply:os.getcwd []
&a *a
!!bool abc
!!null x
"""
TRAPS = [*_PLAIN.split(), *_TAGGED.strip().splitlines()]
_TEXTS = """
x ../evil /tmp/evil a/b .. . -x 1 0.5 nan true {seed} { * $x ~ Linear size any all con '
"""
TEXTS = [*_TEXTS.split(), "x" * 64, "x" * 65, "x" * 5000]
TEXTS += ["", " ", "a b", "a\nb", "\xe9", "\uff44igits", "\u0663", "\u202ex", "x\u200b", "\x00", "\x1b[2J", "\x7f"]
TEXTS += ["\x85", "digits\n", "linear ", "a\\b", "\u2028", '"', "\t"]
# Mappings from names that a study chooses.
NAMED = {("models",), ("datasets",), ("recipes",), ("hardware",), ("claims",), ("prices",), ("classes",), ("groups",)}
NAMED.add(("options",))
MISSING = object()


class Raw(str):
    """Text that goes into the file as it is."""


class Case(NamedTuple):
    """A file, and what may come of it: `allowed` says why an accepted study is wrong, or that it is not."""

    content: bytes
    kind: str
    said: str
    allowed: Callable[[dict], str]
    # It must not be refused.
    sense: bool = False
    suffix: str = ".yaml"


# Text


def written(value: Any, indent: str = "", *, flow: bool = False) -> str:
    """A study as YAML, in blocks or in JSON's style, with `Raw` texts as they are."""
    if isinstance(value, Raw):
        return str(value)
    if isinstance(value, dict) and value and not flow:
        return "".join(
            f"\n{indent}{key if isinstance(key, Raw) else _text(key)}: {written(part, indent + '  ')}"
            for key, part in value.items()
        )
    if isinstance(value, list) and any(isinstance(part, dict) for part in value) and not flow:
        return "".join(f"\n{indent}- {written(part, indent + '  ').lstrip()}" for part in value)
    if isinstance(value, dict):
        pairs = (f"{_text(key)}: {written(part, flow=True)}" for key, part in value.items())
        return "{" + ", ".join(pairs) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(written(part, flow=True) for part in value) + "]"
    return _text(value) if isinstance(value, str) else json.dumps(value)


def _text(text: str) -> str:
    plain = re.fullmatch("[a-z][a-z0-9_-]+", text) and text not in ("yes", "no", "on", "off", "true", "false", "null")
    return str(text) if plain or isinstance(text, Raw) else json.dumps(text)


# The schema, read by itself


def rules_of(value: Any, rule: dict, at: tuple = ()) -> Iterator[tuple[tuple, dict]]:
    """Every place in a study with its rule."""
    while name := rule.get("$ref"):
        rule = config.schema()["$defs"][name.rpartition("/")[2]] | {
            key: part for key, part in rule.items() if key != "$ref"
        }
    if isinstance(value, dict) and "properties" not in rule and "$ref" in (then := rule.get("then", {})):
        rule = config.schema()["$defs"][then["$ref"].rpartition("/")[2]] | {"type": rule["type"]}
    yield at, rule
    if isinstance(value, dict):
        for key, part in value.items():
            known = rule.get("properties", {}).get(key, rule.get("additionalProperties") or {})
            yield from rules_of(part, known if isinstance(known, dict) else {}, (*at, key))
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from rules_of(part, rule.get("items", rule.get("then", {}).get("items", {})), (*at, number))


def takes(rule: dict, text: str, value: Any) -> bool:
    """Whether the schema takes a scalar, whose text is this."""
    kinds = rule.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if "enum" in rule:
        return any(type(value) is type(one) and value == one for one in rule["enum"])
    if isinstance(value, bool):
        return "boolean" in kinds
    if isinstance(value, str):
        fits = re.search(rule.get("pattern", ""), value) and len(value) >= rule.get("minLength", 0)
        return "string" in kinds and bool(fits) and not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]", value)
    if isinstance(value, int | Decimal):
        whole = re.fullmatch(r"[-+]?[0-9]+", text) is not None
        exact = Decimal(text)
        least, most = rule.get("minimum", -(10**400)), rule.get("maximum", 10**400)
        inside = Decimal(least) <= exact <= Decimal(most) and abs(exact) < Decimal(2) ** 1024
        above = "exclusiveMinimum" not in rule or exact > Decimal(rule["exclusiveMinimum"])
        below = "exclusiveMaximum" not in rule or exact < Decimal(rule["exclusiveMaximum"])
        return ("number" in kinds or ("integer" in kinds and whole)) and inside and above and below
    return False


def found_at(study: Any, at: tuple) -> Any:
    """What a resolved study has at a place."""
    for part in at:
        try:
            study = study[part]
        except (KeyError, IndexError, TypeError):
            return MISSING
    return study


def put(study: Any, at: tuple, value: Any) -> None:
    """Set what lies at a place."""
    found_at(study, at[:-1])[at[-1]] = value


def never(_resolved: dict) -> str:
    return "accepted, and must be refused"


def unchanged(base: dict) -> Callable[[dict], str]:
    expected = resolved_of(base)
    return lambda resolved: "" if resolved == expected else "accepted as another study"


def resolved_of(study: dict) -> dict:
    return as_kept(config.resolve(copy.deepcopy(study), "base"))


def as_kept(resolved: dict) -> dict:
    """A resolved study as study.json has it."""
    return json.loads(json.dumps(resolved, allow_nan=False))


# Changes of a study


def number_text(rng: random.Random, rule: dict) -> str:
    """A number in some form, often near a bound of its rule."""
    bounds = [rule[key] for key in ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum") if key in rule]
    if bounds and rng.random() < 0.5:
        bound = rng.choice(bounds)
        near = [bound, bound - 1, bound + 1, bound * 2, -bound, float(bound), float(bound) + 1e-9, float(bound) - 1e-9]
        text = str(rng.choice(near))
    elif rng.random() < 0.3:
        text = rng.choice(["0", "-0", "1", "2", "3", "8", str(2**31), str(2**63), str(10**30), str(10**400), "-1"])
    else:
        text = rng.choice(
            (str(rng.randrange(1, 10 ** rng.randint(1, 12))), repr(rng.random()), f"{rng.uniform(-3, 3):.3e}")
        )
    if "e" in text and rng.random() < 0.5:
        mantissa, _, power = text.partition("e")
        text = f"{mantissa}{rng.choice('eE')}{int(power):{rng.choice(('', '+'))}d}"
    elif re.fullmatch("[0-9]+", text) and rng.random() < 0.2:
        text += rng.choice((".", ".0", "e0", "E+0", "e3", ".5e1"))
    elif text.startswith("0.") and rng.random() < 0.3:
        text = text[1:]
    return f"+{text}" if text[0] not in "+-" and rng.random() < 0.1 else text


def trap_text(rng: random.Random) -> str:
    """A text that YAML 1.1 reads as something else."""
    digits = str(rng.randrange(1, 10**6))
    made = (f"0{digits}", f"{digits}_{digits}", f"{digits}:{rng.randrange(60)}", f"0x{digits}", f"-0{digits}")
    return rng.choice(TRAPS) if rng.random() < 0.7 else rng.choice(made)


def scalar(base: dict, rng: random.Random) -> Case:
    """Another scalar at any place."""
    at, rule = rng.choice([one for one in rules_of(base, config.schema()) if one[0]])
    kind = rng.choice(("number", "number", "trap", "trap", "quoted trap", "text", "word"))
    if kind == "number":
        text = number_text(rng, rule)
        value = Decimal(text)
        if value.is_infinite() or (abs(value) >= Decimal(2) ** 1024) or (value and not float(text)):
            value = None
    elif kind == "trap":
        text, value = trap_text(rng), None
    elif kind == "word":
        # In a list, nothing at all is no value.
        text = rng.choice(("true", "false", "True", "FALSE", "null", "~", "" if isinstance(at[-1], str) else "Null"))
        value = {"true": True, "false": False}.get(text.lower())
    else:
        value = rng.choice(TEXTS) if kind == "text" else trap_text(rng)
        text = json.dumps(value) if rng.random() < 0.8 or "'" in value else f"'{value}'"
        if text[0] == "'" and not re.fullmatch("[ -~]*", value):
            text = json.dumps(value)
    study = copy.deepcopy(base)
    put(study, at, Raw(text))
    allowed = never if value is None else scalar_oracle(at, rule, text, value)
    sense = isinstance(value, Decimal) and at[-1] in FREE and takes(rule, text, value) and "overhead" not in at
    return Case(_file(study, rng), kind, f"{at}: {text[:60]}", allowed, sense)


def scalar_oracle(at: tuple, rule: dict, text: str, value: Any) -> Callable[[dict], str]:
    def allowed(resolved: dict) -> str:
        if not takes(rule, text, value):
            return "accepted, and the schema does not take it"
        found = found_at(resolved, at)
        if found is MISSING:
            return ""
        if isinstance(value, Decimal):
            same = isinstance(found, int | float) and not isinstance(found, bool)
            same = same and (Decimal(found) == value if isinstance(found, int) else found == float(text))
        else:
            same = type(found) is type(value) and found == value
        return "" if same else f"read as {found!r}"

    return allowed


def names(base: dict, rng: random.Random) -> Case:
    """A key, such as an entry's name, that is none."""
    places = [at for at, _ in rules_of(base, config.schema()) if isinstance(found_at(base, at), dict)]
    at = rng.choice(places)
    study = copy.deepcopy(base)
    mapping = found_at(study, at)
    kind = rng.choice(("trap as key", "path as key", "unknown key", "repeated key", "merged twice", "odd key"))
    old = rng.choice(list(mapping))
    if kind == "trap as key":
        key = Raw(rng.choice([one for one in TRAPS if ":" not in one and one[0] not in "!=*@`%&"]))
    elif kind == "path as key":
        bad = [one for one in TEXTS if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_+-]*", one) or len(one) > 64]
        key = Raw(json.dumps(rng.choice(bad)))
    elif kind == "unknown key":
        key = Raw(json.dumps(rng.choice((old + "x", old.upper() + "_", "__use_yte__", "?if", "<<", "$ref"))))
    elif kind == "repeated key":
        key = Raw(rng.choice((f"{old} ", json.dumps(old), f"'{old}'")))
    elif kind == "merged twice":
        mapping[Raw("<<")] = Raw("{}")
        mapping[Raw(" <<")] = Raw("{}")
        return Case(_file(study, rng, flow=False), kind, f"{at}", never)
    else:
        key = Raw(rng.choice(("null", "~", "true", "1.5", "[x]", "{x: y}", "? x", "- x", "1e3")))
    mapping[key] = copy.deepcopy(mapping[old])
    # An entry of another name is one more entry, if a name it is.
    named = at[-1:] in NAMED
    allowed = may_be_an_entry if named and kind == "unknown key" else never
    return Case(_file(study, rng, flow=False), kind, f"{at}: {key[:60]}", allowed)


def may_be_an_entry(_resolved: dict) -> str:
    return ""


def form(base: dict, rng: random.Random) -> Case:
    """Another form of the same study, or one that is none."""
    text = written(base, flow=rng.random() < 0.3).lstrip("\n") + "\n"
    plain = written(base).lstrip("\n") + "\n"
    good: dict[str, tuple[bytes, str]] = {
        "JSON": (json.dumps(base).encode(), ".json"),
        "byte order mark": (b"\xef\xbb\xbf" + text.encode(), ".yaml"),
        "line ends": (text.replace("\n", "\r\n").encode(), ".yaml"),
        "document marks": (f"---\n{text}...\n".encode(), ".yaml"),
        "comments": (("# é\n" + text.replace("\n", " # x\n")).encode(), ".yaml"),
        "anchor": (plain.replace("models: [", "models: &m [", 1).encode(), ".yaml"),
    }
    line = rng.choice(plain.splitlines())
    bad: dict[str, bytes] = {
        **{name: text.encode(name) for name in ("utf-16", "utf-16-le", "utf-32", "utf-32-be")},
        "latin-1": f"# é\n{text}".encode("latin-1"),
        "two documents": f"{text}---\n{text}".encode(),
        "tab": plain.replace("\n", "\n\t", 1).encode(),
        "NUL": (text + "\0").encode(),
        "escape": plain.replace(line, line + "\x1b[2J").encode(),
        "laughs": (fuzz_mutations.LAUGHS + plain).encode(),
        "circle": f"{plain}x: &x [*x]\n".encode(),
        "deep": f"{plain}x: {'[' * fuzz_mutations.DEEP}\n".encode(),
        "half a character": plain.encode() + b"\xed\xa0\x80",
        "empty": b"",
        "quote": f"{plain}x: 'a\n".encode(),
        "twice": (plain + plain).encode(),
        "long number": f"{plain}x: {'9' * 10**5}\n".encode(),
    }
    if rng.random() < 0.5:
        kind = rng.choice(sorted(good))
        content, suffix = good[kind]
        return Case(content, "form", kind, unchanged(base), True, suffix)
    kind = rng.choice(sorted(bad))
    return Case(bad[kind], "bad form", kind, never)


def references(base: dict, rng: random.Random) -> Case:
    """Parts that other places refer to."""
    study = copy.deepcopy(base)
    places = [at for at, _ in rules_of(base, config.schema()) if at and isinstance(found_at(base, at), list | dict)]
    at = rng.choice(places)
    value, kind = found_at(base, at), rng.choice(("alias", "merge", "circle", "later", "unknown"))
    if kind == "merge" and isinstance(value, dict):
        first, *rest = value
        put(
            study,
            at,
            Raw(
                "{<<: {"
                + f"{first}: {written(value[first], flow=True)}"
                + "}, "
                + written({k: value[k] for k in rest}, flow=True)[1:]
            ),
        )
        return Case(_file(study, rng), "reference", f"{at} {kind}", unchanged(base), True)
    parts = [found for found in places if found_at(base, found) == value and found != at and found[: len(at)] != at]
    if kind == "alias" and parts:
        # The first in the file has the anchor.
        order = [found for found, _ in rules_of(base, config.schema())]
        first, second = sorted((at, rng.choice(parts)), key=order.index)
        put(study, first, Raw(f"&a {written(value, flow=True)}"))
        put(study, second, Raw("*a"))
        return Case(_file(study, rng), "reference", f"{first} = {second}", unchanged(base), True)
    text = {"circle": "&a [*a]", "later": "*later", "unknown": "*nowhere"}.get(kind, "&a {<<: *a}")
    put(study, at, Raw(text))
    return Case(_file(study, rng), "bad reference", f"{at}: {text}", never)


def _file(study: dict, rng: random.Random, *, flow: bool | None = None) -> bytes:
    flow = rng.random() < 0.2 if flow is None else flow
    return (written(study, flow=flow).lstrip("\n") + "\n").encode("utf-8", "surrogatepass")


CHANGES = (scalar,) * 8 + (names,) * 3 + (form, references)
