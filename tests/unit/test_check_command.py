"""What `toolnoise check` prints where its runs show little: a checklist, a metric instead of predictions."""

import json

import pytest

from toolnoise.base.program import ROOT
from toolnoise.checking import diagnosis, reproducibility, reproducibility_text
from toolnoise.checking.differences import Difference
from toolnoise.checking.reproducibility import Checked

EQUAL = Difference([], 0, 4, 0.0, {}, {}, [], 0, None, None, None, False)
CHANGED = EQUAL._replace(files=["metric.json"], changed=None, examples=None, largest=None, metrics={"loss": (1, 2.5)})


def checked(difference, seeds=(), why=None, left=("metric.json",)):
    ignored = [reproducibility.Ignored(source, "it has none", []) for source, changed in seeds if not changed.files]
    return Checked(["train"], list(left), [], [1.0, 1.0], difference, why, dict(seeds), ignored)


def test_a_checklist_stands_where_the_text_shows_nothing():
    found = checked(CHANGED, why=diagnosis.diagnose([], CHANGED, "no"))
    text = reproducibility_text.as_text(found)
    assert text.startswith("Not reproducible: two runs with equal seeds differ in metric.json.\n  loss: 1 and 2.5\n")
    assert "The text of the program shows no likely cause. Often forgotten:\n  PyTorch draws from its global" in text
    assert json.loads(json.dumps(reproducibility_text.as_json(found)))["difference"]["metrics"] == {"loss": [1, 2.5]}


def test_of_a_proven_hash_seed_only_its_causes_are_listed():
    text = reproducibility_text.as_text(checked(CHANGED, why=diagnosis.diagnose([], CHANGED, "hash seed")))
    listed = text[text.index("Often forgotten:") :].splitlines()[1:3]
    assert [line.strip().split(" ")[0] for line in listed] == ["the", "hash()"]
    assert "PyTorch" not in text


def test_a_small_change_may_not_show_in_a_metric():
    found = checked(EQUAL, [("init", CHANGED), ("shuffle", EQUAL)])
    lines = reproducibility_text.as_text(found).splitlines()
    assert [line.split("  ")[0] for line in lines[5:7]] == ["init", "shuffle"]
    assert "loss 1 and 2.5" in lines[5]
    assert lines[-2].startswith("shuffle is ignored: it has none. Leave it out of --sources")
    assert lines[-1] == "Without logits.npy or weights, a small change may not show."
    assert not found.passed
    assert reproducibility_text.as_json(found)["seeds"]["shuffle"]["counts"] is False


@pytest.mark.parametrize(
    ("words", "sources"),
    [
        (["train", "{shuffle}", "{init}"], ("init", "shuffle")),
        (["train {dropout} {out}"], ("dropout",)),
        (["train", "{out}"], ("init", "shuffle", "augment", "dropout")),
        (["python", str(ROOT / "examples/smallcnn_digits.py")], ("init", "shuffle", "augment")),
        (["python", str(ROOT / "examples/lightning_digits.py")], ("init", "shuffle", "dropout")),
    ],
)
def test_declared_sources_are_those_of_the_command(words, sources):
    assert reproducibility.command(words, None, "", None).sources == sources
    assert reproducibility.command(words, "augment", "--exact yes", 2)[1:4] == (("augment",), 120, True)
    assert reproducibility.command(words, None, "--exact yes", None).words[-2:] == ["--exact", "yes"]
