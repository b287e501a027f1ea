"""What the workflow's tests share: copies of a finished study, plans of what would run, and a checkout elsewhere."""

import re
import shutil
import subprocess

import pytest
import yaml

from toolnoise.code import ROOT


@pytest.fixture
def copied(small_study, tmp_path):
    """A finished study of one's own, to change."""
    return shutil.copytree(small_study, tmp_path / "copy")


@pytest.fixture(scope="session")
def change_study():
    """Change the study file in a folder."""

    def change(folder, edit):
        path = folder / "study.yaml"
        study = yaml.safe_load(path.read_text())
        edit(study)
        path.write_text(yaml.safe_dump(study, sort_keys=False))

    return change


@pytest.fixture(scope="session")
def planned(snakemake):
    """How many jobs of each rule a dry run plans."""

    def plan(folder, *targets, **options):
        done = snakemake(folder, *targets, "--dry-run", **options)
        said = done.stdout + done.stderr
        assert done.returncode == 0, said
        if "Nothing to be done" in said:
            return {}
        table = re.search(r"^job +count\n[- ]+\n(.*?)^total ", said, re.MULTILINE | re.DOTALL)
        return {rule: int(count) for rule, count in (line.split() for line in table[1].splitlines())}

    return plan


@pytest.fixture(scope="session")
def checkout(tmp_path_factory):
    """A fresh copy of this source tree, as git would check it out: no results, and every file new."""
    tree = tmp_path_factory.mktemp("elsewhere") / "tree"
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        if (ROOT / name).is_file():
            (tree / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, tree / name)
    return tree
