"""A study for a GPU as a small one for CPUs, which `bench/gpu.py trial` runs to its end.

The jobs are of the same kinds as on the GPU, with every block, variant and precision of the study and every model that
it trains. So a study that cannot be planned, trained or measured fails here first. On a CPU implementation noise is
emulated, and times say nothing about a GPU.
"""

from collections.abc import Mapping
from typing import Any

from toolnoise.study import config

# What makes a study long, and how much of it a trial has at most.
MOST = {"seeds": 2, "draws": 2, "control_seeds": 2}
EPOCHS, TEST_SHARE, NETWORKS = 2, 0.01, 2
TIMED = {"batch_size": 8, "image_size": 64, "warmup": 1, "steps": 3, "repeats": 2}
# Options of networks that would keep a CPU busy for long, by builder.
OPTIONS = {"toolnoise.models.transformer:build": {"width": 16, "heads": 2, "layers": 1}}
# In place of pictures, which a user brings: these are embedded.
PICTURES = "digits"

Entries = Mapping[str, Mapping[str, Any]]


def small(whole: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a trial's study file, from that of a study."""
    models, datasets, recipes, hardware = (
        config.registered(name) | {**whole.get(name, {})} for name in config.REGISTRIES
    )
    texts = {name: _text(entry) for name, entry in datasets.items() if entry["reader"] == "text"}
    trial = {
        **whole,
        "study": f"{whole['study']}-trial",
        "grid": [_block(one, hardware, texts) for one in whole["grid"]],
    }
    blocks = [*whole["grid"], *([whole["overhead"]] if "overhead" in whole else [])]
    trial["hardware"] = {name: entry for block in blocks for name, entry in _toolings(block, hardware).items()}
    trial["datasets"] = {name: texts[name] for block in trial["grid"] for name in block["datasets"] if name in texts}
    trial["recipes"] = {name: {**recipes[name], "epochs": EPOCHS} for name in whole.get("recipes", {})}
    trial["models"] = {name: _model(models[name]) for name in whole.get("models", {})}
    if "overhead" in whole:
        networks, toolings = whole["overhead"]["models"][:NETWORKS], [*_toolings(whole["overhead"], hardware)]
        changed = {**TIMED, "models": networks, "hardware": toolings}
        trial["overhead"] = {key: value for key, value in (whole["overhead"] | changed).items() if key != "except"}
    return trial


def _block(block: Mapping[str, Any], hardware: Entries, texts: Entries) -> dict[str, Any]:
    few = {key: _few(block[key], most) for key, most in MOST.items() if key in block}
    named = dict.fromkeys(name if name in texts else PICTURES for name in block["datasets"])
    return {**block, **few, "datasets": [*named], "hardware": [*_toolings(block, hardware)]}


def _few(value: int | list[int], most: int) -> int | list[int]:
    return value[:most] if isinstance(value, list) else min(value, most)


def _toolings(block: Mapping[str, Any], hardware: Entries) -> dict[str, Mapping[str, Any]]:
    """A tooling on a CPU for each framework and precision of a block."""
    found = {}
    for tooling in map(hardware.__getitem__, block["hardware"]):
        name, precision = f"cpu-{tooling['engine']}", tooling.get("precision", "float32")
        changed = {} if precision == "float32" else {"precision": precision}
        found["-".join([name, *changed.values()])] = {**hardware[name], **changed}
    return found


def _text(entry: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**entry} | ({"test_share": TEST_SHARE} if "test_share" in entry else {})


def _model(entry: Mapping[str, Any]) -> dict[str, Any]:
    few = OPTIONS.get(entry.get("builder", ""), {})
    return {**entry, "options": entry.get("options", {}) | few}
