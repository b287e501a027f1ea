"""A page, a crate and an archive without names: nothing in them says on whose machine the study ran."""

import getpass
import json
import re
import tarfile
from pathlib import Path

import pytest

# Binary files have every short name somewhere.
TEXTS = (".html", ".js", ".json", ".csv", ".md", ".tex", ".svg", ".ipynb", ".cff", ".py", ".yaml", ".smk")


@pytest.fixture(scope="module")
def results(small_study):
    return small_study / "results/small"


@pytest.fixture(scope="module")
def shared(small_study, toolnoise, tmp_path_factory):
    """What each of the three verbs wrote, as folders, and what the verbs printed."""
    folder, said = tmp_path_factory.mktemp("shared"), {}
    for verb, out in (("page", "page"), ("crate", "crate"), ("export", "export.tar")):
        done = toolnoise(small_study, verb, "results/small", "--out", folder / out, "--anonymous")
        assert done.returncode == 0, done.stderr
        said[verb] = done.stdout
    with tarfile.open(folder / "export.tar") as archive:
        archive.extractall(folder / "export", filter="data")
    return folder, said


def texts(folder):
    return [path for path in folder.rglob("*") if path.is_file() and path.name.endswith(TEXTS)]


def found(folder, results):
    """The files below a folder that have the name of a host, of a user, or a path of the study's machine."""
    host = json.loads((results / "runs/smallcnn/digits/cpu/impl/1/run.json").read_text())["observed"]["host"]
    names = [rf"(?<!\w){re.escape(host)}(?!\w)", re.escape(str(results.parent.parent)), re.escape(str(Path.home()))]
    if getpass.getuser() != "root":
        names.append(rf"(?<!\w){re.escape(getpass.getuser())}(?!\w)")
    pattern = re.compile("|".join(names))
    return {path.relative_to(folder).as_posix() for path in texts(folder) if pattern.search(path.read_text())}


@pytest.mark.parametrize("what", ["page", "crate", "export"])
def test_no_host_user_or_path_is_found(shared, results, what):
    folder, _ = shared
    assert texts(folder / what)
    assert found(folder / what, results) == set()
    # The originals have them.
    assert "runs/smallcnn/digits/cpu/impl/1/run.json" in found(results, results)


def test_crate_and_archive_say_that_their_statements_are_not_the_originals(shared):
    folder, said = shared
    assert "no signature of the originals fits them" in said["crate"]
    assert "no signature of the originals fits them" in said["export"]
    assert "no signature of the originals fits them" in (folder / "crate/README.md").read_text()
    for what in ("crate", "export"):
        (path,) = (folder / what).rglob("impl/1/weights.npz.intoto.json")
        assert json.loads(path.read_text())["predicate"]["runDetails"]["metadata"]["toolnoise_anonymised"] is True


def test_a_crate_names_no_author_and_lacks_the_part_of_the_page_that_has_every_statement(shared):
    folder, said = shared
    people = [one for one in metadata(folder) if one["@type"] in ("Person", "Organization")]
    assert "Anonymous authors" in {one["name"] for one in people}
    assert not (folder / "crate/CITATION.cff").exists()
    assert "left out, because they name somebody: " in said["crate"]
    for part in ("statements", "audit"):
        assert not (folder / f"crate/results/small/page/{part}.js").exists()


def metadata(folder):
    return json.loads((folder / "crate/ro-crate-metadata.json").read_text())["@graph"]


def test_the_audit_of_an_anonymous_copy_compares_its_files_and_says_what_it_cannot(shared, toolnoise):
    folder, _ = shared
    done = toolnoise(folder, "audit", folder / "crate/results/small", "--json")
    told = json.loads(done.stdout)
    assert {one["rule"] for one in told["findings"]} <= {"study-is-complete", "every-output-is-there"}
    assert any("the statements are not those that the jobs left" in note for note in told["notes"])
    (folder / "crate/results/small/metrics/stability.csv").write_text("changed")
    told = json.loads(toolnoise(folder, "audit", folder / "crate/results/small", "--json").stdout)
    assert "digests-match" in {one["rule"] for one in told["findings"]}


def test_another_site_imports_an_anonymous_archive(shared, small_study, toolnoise, tmp_path):
    folder, _ = shared
    (tmp_path / "study.yaml").write_text((small_study / "study.yaml").read_text())
    data = tmp_path / "results/small/data/digits.npz"
    data.parent.mkdir(parents=True)
    data.write_bytes((small_study / "results/small/data/digits.npz").read_bytes())
    done = toolnoise(tmp_path, "import", folder / "export.tar", "--study", "study.yaml")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "results/small/runs/smallcnn/digits/cpu/impl/1/run.json").is_file()
