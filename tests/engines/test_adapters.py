"""A run that starts from the weights of another: what is frozen stays, adapters are drawn, and misfits are one line."""

import numpy as np
import pytest

from toolnoise.base import arrays

SIZE = {"width": 8, "heads": 2, "layers": 1}
TEXT = {"reader": "text", "embedded": "as-you-like-it", "tokens": "bytes", "length": 32, "test_share": 0.1}
BASE = {"model": "plain", "dataset": "play", "hardware": "cpu", "variant": "control", "seed": 1}
OF_BASE = "base/weights.npz"


@pytest.fixture(scope="module")
def here(tmp_path_factory, write_study, workshop_in, framework, toolings):
    block = {"datasets": ["play"], "recipe": "short", "hardware": ["cpu"], "seeds": 2}
    builder = "toolnoise.models.transformer:build"
    written = {
        "study": "workshop",
        "grid": [
            block | {"models": ["adapted"], "variants": ["control", "init"]},
            block | {"models": ["plain"], "variants": ["control"]},
        ],
        "hardware": {"cpu": toolings[framework]},
        "models": {
            "plain": {"builder": builder, "options": SIZE},
            "adapted": {"builder": builder, "options": {**SIZE, "dropout": 0.1, "rank": 2}, "base": BASE},
        },
        "datasets": {"play": TEXT},
        "recipes": {"short": {"epochs": 1, "batch_size": 512, "learning_rate": 0.01}},
    }
    return workshop_in(write_study(tmp_path_factory.mktemp("workshop"), written))


@pytest.fixture(scope="module")
def trained(here, attempts):
    """The base, two runs of Control and one of init that start from it, by name."""
    (plain,) = (cell for cell in here.study.cells if cell.model == "plain")
    files = ["--weights", OF_BASE, "--history", "base/history.csv", "--record", "base/run.json"]
    files += ["--checkpoint", "base.npz", "--data", here.data]
    base = ["train", *here.options_of(here.study.spec(plain, 1)), *files]
    runs = {f"{variant} {seed}": (variant, seed) for variant, seed in (("control", 1), ("control", 2), ("init", 1))}
    commands = [[*here.command(*run, out=here.named(*run)), "--base", OF_BASE] for run in runs.values()]
    done = attempts(*((here.folder, command) for command in (base, *commands)))
    assert [one.returncode for one in done] == [0] * 4, [one.stdout for one in done]
    return {"base": here.read("base")} | {name: here.read(here.named(*run)) for name, run in runs.items()}


def test_all_that_the_base_has_is_frozen_and_adapters_alone_are_trained(trained):
    base, tuned = trained["base"].weights, trained["control 1"].weights
    adapters = tuned.keys() - base.keys()
    assert {path.rpartition("/")[0].rpartition("_")[2] for path in adapters} == {"down", "up"}
    assert set(trained["control 1"].record["trainable"]) == adapters
    assert base.keys() <= tuned.keys()
    for path, tensor in base.items():
        np.testing.assert_array_equal(tuned[path], tensor)
    # What leads up again starts at zero.
    assert all(np.abs(tuned[path]).max() > 0 for path in adapters)


def test_its_control_runs_are_bit_equal_and_init_draws_other_adapters(trained):
    assert trained["control 1"].weight_bytes == trained["control 2"].weight_bytes
    starts = {name: run.record["initial_sha256"] for name, run in trained.items()}
    assert starts["control 1"] == starts["control 2"] != starts["init 1"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda weights: weights.pop("positions/vectors"), "positions/vectors: no such tensor"),
        (
            lambda weights: weights.update({"logits/kernel": weights["logits/kernel"][:4]}),
            "logits/kernel: found shape (4, 256)",
        ),
    ],
    ids=["lacks a frozen tensor", "another shape"],
)
def test_a_base_that_does_not_fit_is_one_line(change, said, here, trained, attempts):
    weights = dict(trained["base"].weights)
    change(weights)
    arrays.write_npz(here.folder / "other.npz", weights)
    (done,) = attempts((here.folder, [*here.command(out="other"), "--base", "other.npz"]))
    assert done.returncode == 2
    assert f"other.npz: {said}" in done.stdout
