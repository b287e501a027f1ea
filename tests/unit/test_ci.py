"""What other tools are told of the checks is what .ci/run and the Makefile say."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from toolnoise.base.program import ROOT

SCRIPT = (ROOT / ".ci/run").read_text()
PARTS = re.search(r"^parts=\((.*)\)$", SCRIPT, re.MULTILINE)[1].split()
MAKEFILE = (ROOT / "Makefile").read_text()
DOCKERFILE = (ROOT / "Dockerfile").read_text()


def test_every_part_of_the_checks_is_run_by_default():
    functions = set(re.findall(r"^(\w+)\(\) {", SCRIPT, re.MULTILINE))
    assert functions == {*PARTS, "need"}
    assert subprocess.run(["bash", "-n", ROOT / ".ci/run"]).returncode == 0


def test_github_runs_every_part():
    text = (ROOT / ".github/workflows/checks.yml").read_text()
    (job,) = yaml.safe_load(text)["jobs"].values()
    assert ["tools", *job["strategy"]["matrix"]["part"]] == PARTS
    assert job["steps"][-1] == {"run": ".ci/run tools ${{ matrix.part }}"}
    assert "://" not in text


def test_github_runs_actions_of_known_commits_without_rights():
    text = (ROOT / ".github/workflows/checks.yml").read_text()
    workflow = yaml.safe_load(text)
    (job,) = workflow["jobs"].values()
    assert workflow["permissions"] == {"contents": "read"}
    assert "permissions" not in job
    used = [step for step in job["steps"] if "uses" in step]
    pinned = re.findall(r"uses: ([\w-]+/[\w-]+)@[0-9a-f]{40} # v\d+\.\d+\.\d+$", text, re.MULTILINE)
    assert pinned == [step["uses"].partition("@")[0] for step in used]
    (checkout,) = [step for step in used if step["uses"].startswith("actions/checkout@")]
    assert checkout["with"]["persist-credentials"] is False


def test_whatever_pip_installs_for_a_check_has_hashes():
    texts = [MAKEFILE.replace("\\\n", ""), SCRIPT, (ROOT / "requirements/lock.sh").read_text()]
    lines = [line for text in texts for line in text.splitlines() if re.search(r"/pip\"? .*\binstall\b", line)]
    assert len(lines) > 5
    assert [line for line in lines if "--require-hashes" not in line and "--no-deps --no-build" not in line] == []


def test_each_tool_of_make_lint_is_a_hook_of_pre_commit():
    recipe = re.search(r"^lint: .*\n((?:\t@.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    entries = [re.sub(r"^bash -c '(.*)'$", r"\1", hook["entry"]) for hook in local["hooks"]]
    assert entries == re.findall(r"\t@(.*)\n", recipe)
    assert all(hook["language"] == "system" and not hook["pass_filenames"] for hook in local["hooks"])


def test_the_image_is_made_by_steps_of_the_checks_and_of_the_makefile():
    lines = [line for line in DOCKERFILE.splitlines() if line and not line.startswith("#")]
    assert re.fullmatch(r"FROM python:3\.11-\S+@sha256:[0-9a-f]{64}", lines[0])
    assert {line.split()[0] for line in lines[1:]} <= {"ARG", "WORKDIR", "COPY", "RUN", "USER", "ENV", "CMD"}
    as_root, as_user = DOCKERFILE.split("\nUSER $UID\n")
    runs = [command for line in re.findall(r"^RUN (.*)", as_root, re.MULTILINE) for command in line.split(" && ")]
    assert runs == ['useradd --create-home --uid "$UID" toolnoise', 'chown "$UID" .', ".ci/run tools"]
    assert PARTS[0] == "tools"
    locked = re.search(r"^LOCKED = (.*)", MAKEFILE, re.MULTILINE)[1].split()
    installed = re.findall(r"^RUN make (.*)", as_user, re.MULTILINE)
    assert installed
    assert set(installed) <= set(locked)
    assert as_user.count("RUN") == len(installed)


def test_hadolint_has_nothing_to_say():
    hadolint = Path(sys.executable).with_name("hadolint")
    if not hadolint.exists():
        pytest.skip("hadolint is not installed")
    said = subprocess.run([hadolint, ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (said.returncode, said.stdout) == (0, "")
