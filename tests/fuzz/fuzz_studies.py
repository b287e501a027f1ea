"""Study files that are wrong on purpose: each is read and planned, and an oracle knows what may come of it.

A case takes a study with nearly all keys of the schema, changes one thing in its text, and reads, resolves and plans
it in this process. A case fails with a traceback, a refusal that is not one line with the file's name, if it takes
too long, or if the outcome is not one that the change allows: what YAML 1.1 reads as something else must be
refused, a number that is accepted must be the number in the text, read as a decimal, and a change of form alone, such
as an alias, must change nothing.

    python tests/fuzz/fuzz_studies.py --cases 3000 --seed 1
    python tests/fuzz/fuzz_studies.py --seed 1 --only 123
"""

import argparse
import contextlib
import copy
import itertools
import json
import os
import random
import re
import signal
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import fuzz_base
import yaml
from jsonschema import Draft202012Validator

from toolnoise.base.errors import BadInput
from toolnoise.checks.expected_jobs import expected_jobs
from toolnoise.study import config, grid, study_files

SECONDS = 20
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
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


class Case(NamedTuple):
    """A file, and what may come of it: `allowed` says why an accepted study is wrong, or that it is not."""

    content: bytes
    kind: str
    said: str
    allowed: Callable[[dict], str]
    # It must not be refused.
    sense: bool = False
    suffix: str = ".yaml"


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


def written(study: dict, *, flow: bool = False, **marked: str) -> str:
    """A study as YAML, in blocks or in JSON's style; texts take the place of their marks as they are."""
    # Shared parts would become aliases.
    plain = json.loads(json.dumps(study))
    text = yaml.safe_dump(plain, default_flow_style=flow or None, sort_keys=False, width=10**6)
    for mark, other in marked.items():
        text = text.replace(mark, other)
    return text


# The schema, and places in a study


def rules_of(value: Any, rule: dict, at: tuple = ()) -> Iterator[tuple[tuple, dict]]:
    """Every place in a study with its rule."""
    while name := rule.get("$ref"):
        rule = config.study_schema()["$defs"][name.rpartition("/")[2]] | {
            key: part for key, part in rule.items() if key != "$ref"
        }
    if isinstance(value, dict) and "properties" not in rule and "$ref" in (then := rule.get("then", {})):
        rule = config.study_schema()["$defs"][then["$ref"].rpartition("/")[2]] | {"type": rule["type"]}
    yield at, rule
    if isinstance(value, dict):
        for key, part in value.items():
            known = rule.get("properties", {}).get(key, rule.get("additionalProperties") or {})
            yield from rules_of(part, known if isinstance(known, dict) else {}, (*at, key))
    if isinstance(value, list):
        for number, part in enumerate(value):
            yield from rules_of(part, rule.get("items", rule.get("then", {}).get("items", {})), (*at, number))


def takes(rule: dict, value: Any) -> bool:
    """Whether the schema takes a scalar; a number in another form than that of whole numbers is a decimal."""
    own = {key: part for key, part in rule.items() if key in ("type", "enum", "pattern", "minLength") or "imum" in key}
    is_readable = not (CONTROL.search(value) if isinstance(value, str) else abs(value) >= Decimal(2) ** 1024)
    return is_readable and Draft202012Validator(own).is_valid(value)


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
    at, rule = rng.choice([one for one in rules_of(base, config.study_schema()) if one[0]])
    kind = rng.choice(("number", "number", "trap", "trap", "quoted trap", "text", "word"))
    value = None
    if kind == "number":
        text = number_text(rng, rule)
        exact = Decimal(text)
        if abs(exact) < Decimal(2) ** 1024 and (not exact or float(text)):
            value = int(text) if re.fullmatch("[-+]?[0-9]+", text) else exact
    elif kind == "trap":
        text = trap_text(rng)
    elif kind == "word":
        # In a list, nothing at all is no value.
        text = rng.choice(("true", "false", "True", "FALSE", "null", "~", "" if isinstance(at[-1], str) else "Null"))
        value = {"true": True, "false": False}.get(text.lower())
    else:
        value = rng.choice(TEXTS) if kind == "text" else trap_text(rng)
        is_plain = "'" not in value and re.fullmatch("[ -~]*", value)
        text = f"'{value}'" if is_plain and rng.random() < 0.2 else json.dumps(value)
    study = copy.deepcopy(base)
    put(study, at, "MARK")
    sense = kind == "number" and value is not None and at[-1] in FREE and "overhead" not in at and takes(rule, value)
    return Case(file_of(study, rng, MARK=text), kind, f"{at}: {text[:60]}", scalar_oracle(at, rule, text, value), sense)


def scalar_oracle(at: tuple, rule: dict, text: str, value: Any) -> Callable[[dict], str]:
    """An accepted scalar is one that the schema takes, and is read as what the text says."""

    def allowed(resolved: dict) -> str:
        if value is None:
            return never(resolved)
        if not takes(rule, value):
            return "accepted, and the schema does not take it"
        found = found_at(resolved, at)
        if isinstance(value, str | bool):
            same = type(found) is type(value) and found == value
        else:
            same = type(found) in (int, float) and found == (value if isinstance(found, int) else float(text))
        return "" if same or found is MISSING else f"read as {found!r}"

    return allowed


def names(base: dict, rng: random.Random) -> Case:
    """A key, such as an entry's name, that is none, or that is there twice."""
    study = copy.deepcopy(base)
    at = rng.choice([at for at, _ in rules_of(base, config.study_schema()) if isinstance(found_at(base, at), dict)])
    mapping = found_at(study, at)
    old = rng.choice(list(mapping))
    no_names = [one for one in TEXTS if not re.fullmatch("[A-Za-z0-9][A-Za-z0-9_+-]*", one) or len(one) > 64]
    keys = {
        "trap as key": [one for one in TRAPS if ":" not in one and one[0] not in "!=*@`%&"],
        "path as key": [json.dumps(one) for one in no_names],
        "unknown key": [json.dumps(one) for one in (old + "x", old.upper() + "_", "__use_yte__", "?if", "<<", "$ref")],
        "repeated key": [f"{old} ", json.dumps(old), f"'{old}'"],
        "odd key": ["null", "~", "true", "1.5", "[x]", "{x: y}", "? x", "- x", "1e3"],
    }
    kind = rng.choice(sorted(keys))
    key = rng.choice(keys[kind])
    mapping["MARK"] = mapping[old]
    # An entry of another name is one more entry, if a name it is.
    allowed = (lambda _: "") if at[-1:] in NAMED and kind == "unknown key" else never
    return Case(file_of(study, rng, flow=False, MARK=key), kind, f"{at}: {key[:60]}", allowed)


def form(base: dict, rng: random.Random) -> Case:
    """Another form of the same study, or one that is none."""
    text, plain = written(base, flow=rng.random() < 0.3), written(base)
    line = rng.choice(plain.splitlines())
    good: dict[str, bytes] = {
        "JSON": json.dumps(base).encode(),
        "byte order mark": b"\xef\xbb\xbf" + text.encode(),
        "line ends": text.replace("\n", "\r\n").encode(),
        "document marks": f"---\n{text}...\n".encode(),
        "comments": ("# é\n" + text.replace("\n", " # x\n")).encode(),
        "anchor": plain.replace("models: [", "models: &m [", 1).encode(),
    }
    bad: dict[str, bytes] = {
        **{name: text.encode(name) for name in ("utf-16", "utf-16-le", "utf-32", "utf-32-be")},
        "latin-1": f"# é\n{text}".encode("latin-1"),
        "two documents": f"{text}---\n{text}".encode(),
        "tab": plain.replace("\n", "\n\t", 1).encode(),
        "NUL": (text + "\0").encode(),
        "escape": plain.replace(line, line + "\x1b[2J").encode(),
        "laughs": (fuzz_base.LAUGHS + plain).encode(),
        "circle": f"{plain}x: &x [*x]\n".encode(),
        "deep": f"{plain}x: {'[' * fuzz_base.DEEP}\n".encode(),
        "half a character": plain.encode() + b"\xed\xa0\x80",
        "empty": b"",
        "quote": f"{plain}x: 'a\n".encode(),
        "twice": (plain + plain).encode(),
        "merged twice": f'{plain}<<: {{}}\n" <<": {{}}\n'.encode(),
        "long number": f"{plain}x: {'9' * 10**5}\n".encode(),
    }
    if rng.random() < 0.5:
        kind = rng.choice(sorted(good))
        return Case(good[kind], "form", kind, unchanged(base), True, ".json" if kind == "JSON" else ".yaml")
    kind = rng.choice(sorted(bad))
    return Case(bad[kind], "bad form", kind, never)


def references(base: dict, rng: random.Random) -> Case:
    """Parts that other places refer to."""
    order = [at for at, _ in rules_of(base, config.study_schema())]
    places = [at for at in order if at and isinstance(found_at(base, at), list | dict)]
    at = rng.choice(places)
    value, kind = found_at(base, at), rng.choice(("alias", "merge", "circle", "later", "unknown"))
    equal = [other for other in places if found_at(base, other) == value and other != at and other[: len(at)] != at]
    study, said, allowed, sense, second = copy.deepcopy(base), f"{at}: {kind}", unchanged(base), True, ""
    put(study, at, "MARK")
    if kind == "merge" and isinstance(value, dict):
        first, *rest = value
        others = json.dumps({key: value[key] for key in rest})[1:]
        text = f"{{<<: {json.dumps({first: value[first]})}, {others}"
    elif kind == "alias" and equal:
        # The first in the file has the anchor.
        other = rng.choice(equal)
        put(study, other, "OTHER")
        text, second = f"&a {json.dumps(value)}", "*a"
        if order.index(other) < order.index(at):
            text, second = second, text
    else:
        text = {"circle": "&a [*a]", "later": "*later", "unknown": "*nowhere"}.get(kind, "&a {<<: *a}")
        said, allowed, sense = f"{at}: {text}", never, False
    content = file_of(study, rng, MARK=text, OTHER=second)
    return Case(content, "reference" if sense else "bad reference", said, allowed, sense)


def file_of(study: dict, rng: random.Random, *, flow: bool | None = None, **marked: str) -> bytes:
    flow = rng.random() < 0.2 if flow is None else flow
    return written(study, flow=flow, **marked).encode("utf-8", "surrogatepass")


CHANGES = (scalar,) * 8 + (names,) * 3 + (form, references)


# Reading and judging


def case(number: int, seed: int) -> Case:
    """A case by its number."""
    rng = random.Random(f"{seed}/{number}")
    return rng.choice(CHANGES)(rng.choice((PLAIN, OWN)), rng)


def outcome(file: str) -> tuple[str, dict | None]:
    """The refusal of a study, or the study as it is kept, after all of its jobs have been planned."""
    try:
        # As the Snakefile does it.
        (content,) = study_files.read_strictly([file], [])
        study = grid.build_study(config.resolve(content, file), file)
        kept = as_kept(study.config)
        if as_kept(config.resolve(copy.deepcopy(kept), "results/fuzzed/study.json")) != kept:
            raise AssertionError("the resolved study resolves to another one")
        for job in itertools.islice(expected_jobs(study), 400):
            json.dumps(job.parameters, allow_nan=False)
    except BadInput as error:
        return str(error), None
    return "", kept


def judged(one: Case, file: str) -> tuple[list[str], dict | None]:
    """Why a case fails, nothing if it does not; and the study, if it was accepted."""
    try:
        with limit(SECONDS):
            refusal, kept = outcome(file)
    except TimeoutError:
        return [f"takes longer than {SECONDS} s"], None
    except Exception:
        return [traceback.format_exc()], None
    reasons = []
    if kept is None and (not refusal.startswith(file) or len(refusal.splitlines()) != 1 or len(refusal) > 2000):
        reasons.append(f"not one line about the file: {refusal[:300]}")
    if kept is None and one.sense:
        reasons.append(f"refused, and makes sense: {refusal[:300]}")
    if kept is not None and (wrong := one.allowed(kept)):
        reasons.append(wrong)
    return reasons, kept


@contextlib.contextmanager
def limit(seconds: int) -> Iterator[None]:
    """Raise TimeoutError in a block that takes too long."""

    def late(_number: int, _frame: FrameType | None) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, late)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def main() -> None:
    """Parse the command line and fuzz."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--cases", type=int, default=3000, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="K")
    parser.add_argument("--only", type=int, metavar="NUMBER", help="one case, with its file")
    options = parser.parse_args()
    kinds, failed, accepted = Counter(), Counter(), 0
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("networks.py").write_text("def small(input_shape, classes, **options): ...\n")
        for base in (PLAIN, OWN):
            resolved_of(base)
        for number in [options.only] if options.only else range(1, options.cases + 1):
            one = case(number, options.seed)
            file = f"case{one.suffix}"
            Path(file).write_bytes(one.content)
            reasons, kept = judged(one, file)
            kinds[one.kind] += 1
            accepted += kept is not None
            if reasons:
                failed[one.kind] += 1
                print(f"case {number}: {one.kind}: {one.said}\n  " + "\n  ".join(reasons))
            if reasons or options.only:
                print(one.content[:6000].decode("utf-8", "backslashreplace"), flush=True)
    for kind, count in kinds.most_common():
        print(f"{count:5} {kind}: {failed[kind]} failed")
    print(f"{failed.total()} of {kinds.total()} failed, {accepted} were accepted (seed {options.seed})")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
