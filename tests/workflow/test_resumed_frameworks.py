"""`toolnoise check --resume` on trainers as users write them: where they save is found, and what is lost is seen."""

import json
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.long

PROGRAMS = Path(__file__).parent / "drivers/resumed"
# The package that a program needs, what its faulty version changes, and what is named, if the text shows it.
FAULTY = {
    "lightning_loop": (
        "pytorch_lightning",
        ("num_workers=0", "num_workers=1"),
        ["the sampler's epoch"],
    ),
    "transformers_loop": (
        "transformers",
        ("save_only_model=False", "save_only_model=True"),
        ["the optimiser, the scheduler and the states of the generators"],
    ),
    "keras_loop": (
        "keras",
        ("Dropout(0)", "Dropout(0.2)"),
        ["the state of the generator that dropout draws from"],
    ),
    "orbax_loop": (
        "orbax",
        (
            "state = manager.restore(last, args=kind(state))",
            'state["net"] = manager.restore(last, args=kind(state))["net"]',
        ),
        [],
    ),
}


@pytest.fixture(params=FAULTY)
def resumed(request, toolnoise, tmp_path, skip_without):
    package, change, named = FAULTY[request.param]
    skip_without(package)
    text = (PROGRAMS / f"{request.param}.py").read_text()

    def start(*, faulty):
        assert text.count(change[0]) == 1
        (tmp_path / "train.py").write_text(text.replace(*change) if faulty else text)
        options = ["--sources", "", "--output", "preds.npy", "--resume", "--json"]
        done = toolnoise(tmp_path, "check", *options, "--", sys.executable, "-W", "ignore", "train.py")
        assert done.stdout, done.stderr
        assert "its checkpoints, as its text says: kept" in done.stderr
        return done, json.loads(done.stdout)["resumed"], named

    return start


def test_a_clean_trainer_goes_on_to_the_same_bits(resumed):
    done, found, _ = resumed(faulty=False)
    assert done.returncode == 0, done.stdout
    assert [each["difference"]["files"] for each in found["interruptions"]] == [[], []]
    assert all(each["kept"] for each in found["interruptions"])


def test_a_faulty_trainer_ends_elsewhere_and_the_first_difference_is_named(resumed):
    done, found, named = resumed(faulty=True)
    assert done.returncode == 1, done.stdout
    assert [lost["what"] for lost in found["omissions"]] == named
    first = next(each for each in found["interruptions"] if each["difference"]["files"])
    assert first["line"]["resumed"] != first["line"]["whole"]
