"""The rule of `audit --recompute`: which jobs are performed again, and what becomes a finding."""

from types import SimpleNamespace

from toolnoise.verify.rebuild import rebuilding, recompute
from toolnoise.verify.rebuild.rebuilding import CANNOT, DIFFERS, LACKING, REPRODUCED, Rebuilt


def test_what_needs_no_training_is_made_again_and_what_differs_is_found(monkeypatch):
    tried = []

    def rebuilt(jobs, keep):
        assert not keep
        for made, verdict in zip(jobs, (REPRODUCED, DIFFERS, LACKING, CANNOT), strict=False):
            tried.append(made.statement.verb)
            yield Rebuilt(made, verdict, ("line 1", "line 2"))

    monkeypatch.setattr(rebuilding, "rebuild", rebuilt)
    verbs = ("configure", "fetch", "train", "run-program", "predict", "measure", "collect", "render", "write-page")
    statements = [
        SimpleNamespace(path=verb, statement=SimpleNamespace(verb=verb, name=verb)) for verb in (*verbs, "of-nobody")
    ]
    found = list(recompute.results_are_reproduced(SimpleNamespace(tree=SimpleNamespace(statements=statements))))
    assert tried == ["predict", "measure", "collect", "render"]
    assert found == [("measure", f"{DIFFERS}: line 1; line 2"), ("collect", f"{LACKING}: line 1; line 2")]
    assert recompute.RULE.name == "results-are-reproduced"
