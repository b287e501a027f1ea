"""The workflow as a module of another one, which gives it its configuration; and as snakedeploy lays it out."""

import json
import sys

import pytest
import yaml

from toolnoise.base import program
from toolnoise.base.program import ROOT

pytestmark = pytest.mark.long

STUDY = {
    "study": "part",
    "grid": [
        {"models": ["smallcnn"], "datasets": ["digits"], "recipe": "short", "hardware": ["cpu"]}
        | {"variants": ["control"], "seeds": 2}
    ],
    "recipes": {"short": {"epochs": 1, "batch_size": 64, "learning_rate": 0.01}},
    "figures": ["noise_by_source"],
}
# Its wildcards have the names of the module's and other values.
WHOLE = f"""
configfile: "config.yaml"


module noise:
    snakefile:
        {str(program.path_of("workflow/Snakefile"))!r}
    config:
        config["noise"]


use rule * from noise as noise_*


rule count:
    input:
        rules.noise_metrics.input,
    output:
        "counts/{{seed}}-{{study}}.txt",
    shell:
        "cat {{input}} | wc -l >{{output}}"


rule whole:
    default_target: True
    input:
        "counts/abc-9.txt",
        rules.noise_page.input,
"""


@pytest.fixture
def whole(run, tmp_path):
    """Run Snakemake on another workflow with these studies in its configuration."""

    def start(config, *arguments):
        (tmp_path / "Snakefile").write_text(WHOLE)
        (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
        return run(tmp_path, sys.executable, "-m", "snakemake", "--cores", 2, *arguments)

    return start


def test_a_module_has_the_configuration_that_it_is_given_and_a_mistake_in_it_is_one_line(whole, refusal, tmp_path):
    line = refusal(whole({"noise": STUDY | {"seeds": 3}}, "--dry-run"))
    assert "config.yaml" in line
    assert "unknown key 'seeds'" in line
    config = {"noise": STUDY, "other": {"study": 7}}
    done = whole(config, "--dry-run", "--config", "study=not-this")
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    assert "noise_train_run" in said
    # A dry run writes nothing.
    assert not (tmp_path / "results").exists()
    done = whole(config, "results/part/study.json", "--config", "study=not-this")
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads((tmp_path / "results/part/study.json").read_text())["study"] == "part"


def test_a_module_runs_to_its_page_and_to_a_report_and_is_a_study_like_any_other(whole, toolnoise, run, tmp_path):
    done = whole({"noise": STUDY})
    assert done.returncode == 0, done.stdout + done.stderr
    assert int((tmp_path / "counts/abc-9.txt").read_text()) > 10
    assert (tmp_path / "results/part/index.html").exists()
    again = whole({"noise": STUDY}, "--dry-run")
    assert "Nothing to be done" in again.stdout + again.stderr
    command = [sys.executable, "-m", "snakemake", "--snakefile", program.snakefile(), "--dry-run"]
    alone = run(tmp_path, *command, "--configfile", "results/part/study.json")
    assert "Nothing to be done" in alone.stdout + alone.stderr
    audited = toolnoise(tmp_path, "audit", "--strict")
    assert audited.returncode == 0, audited.stdout
    reported = whole({"noise": STUDY}, "--report", "mine.html")
    assert reported.returncode == 0, reported.stdout + reported.stderr
    report = (tmp_path / "mine.html").read_text()
    assert "in study <em>part</em>: SD of test accuracy" in report
    assert "<p>How much of a trained network is noise" in report


@pytest.fixture
def deployed(run, checkout, tmp_path):
    """The folder into which snakedeploy has laid the workflow out."""
    snakedeploy = ROOT / ".environments/snakedeploy/bin/snakedeploy"
    if not snakedeploy.exists():
        pytest.skip("snakedeploy is not installed: make .environments/snakedeploy")
    done = run(tmp_path, snakedeploy, "deploy-workflow", checkout, "mine", "--tag", "any", "--name", "toolnoise")
    assert done.returncode == 0, done.stdout + done.stderr
    return tmp_path / "mine"


def test_snakedeploy_lays_out_a_workflow_that_plans_the_demo(deployed, checkout, run):
    assert (deployed / "config/README.md").read_text() == (ROOT / "config/README.md").read_text()
    assert (deployed / "config/config.yaml").read_text() == (ROOT / "config.yaml").read_text()
    snakefile = deployed / "workflow/Snakefile"
    # A local source is declared by its path in the source, as if it lay beside what is laid out.
    declared = snakefile.read_text()
    assert declared.count('"workflow/Snakefile"') == 1
    snakefile.write_text(declared.replace('"workflow/Snakefile"', repr(str(checkout / "workflow/Snakefile"))))
    # The profile is laid out, too, and taken unasked: both run as they are typed.
    for words in ([], ["fig5"]):
        done = run(deployed, sys.executable, "-m", "snakemake", *words, "--dry-run")
        assert done.returncode == 0, done.stdout + done.stderr
        assert "train_run" in done.stdout
        assert "workflow specific profile profiles/default" in done.stderr


def test_the_catalogue_finds_what_it_asks_for():
    usage = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text())["usage"]
    assert set(usage) == {"mandatory-flags", "software-stack-deployment", "report"}
    assert (ROOT / "workflow/Snakefile").exists()
    assert (ROOT / "config/README.md").exists()
    readme = (ROOT / "README.md").read_text().lower()
    assert "snakemake" in readme
    assert "workflow" in readme
