"""What the workflow's tests share: copies of a finished study, and plans of what would run."""

import re
import shutil

import pytest
import yaml


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
