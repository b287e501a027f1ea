"""What the package stands on: advisories are asked for, and listed in a bill of materials (.environments/supply)."""

import http.server
import json
import re
import shutil
import subprocess
import threading

import pytest

from toolnoise.base.program import ROOT

PYTHON = ROOT / ".environments/supply/bin/python"
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(not PYTHON.exists(), reason="supply is not installed: make .environments/supply"),
]
ADVISORY = {
    "id": "PYSEC-2026-1",
    "summary": "made up",
    "affected": [
        {
            "package": {"name": "numpy", "ecosystem": "PyPI"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "99.1"}]}],
        }
    ],
}


@pytest.fixture
def osv():
    """OSV as pip-audit asks it: its address, what it answers to a package's name, and the packages it was asked for."""

    class Answers(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.asked.append((asked["package"]["name"], asked["version"]))
            self.send_response(503 if asked["package"]["name"] in served.silent else served.status)
            self.end_headers()
            self.wfile.write(json.dumps(served.answers.get(asked["package"]["name"], {})).encode())

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Answers) as served:
        served.address = f"http://127.0.0.1:{served.server_port}"
        served.status, served.silent, served.answers, served.asked = 200, set(), {}, []
        thread = threading.Thread(target=served.serve_forever)
        thread.start()
        yield served
        served.shutdown()
        thread.join()


@pytest.fixture
def ask(run, tmp_path):
    """Run the script on the lock files of a folder."""

    def start(address, *options, root=ROOT):
        command = [PYTHON, root / ".ci/advisories.py", "--osv-url", address, "--cache-dir", tmp_path / "cache"]
        return run(tmp_path, *command, *options, env={"no_proxy": "127.0.0.1"})

    return start


@pytest.fixture
def one_package(tmp_path):
    """A folder with the script and with one lock file, of NumPy."""
    (tmp_path / ".ci").mkdir()
    shutil.copyfile(ROOT / ".ci/advisories.py", tmp_path / ".ci/advisories.py")
    (tmp_path / "requirements").mkdir()
    (tmp_path / "requirements/cpu.txt").write_text(f"numpy==2.4.6 --hash=sha256:{64 * 'a'}\n")
    return tmp_path


def test_every_locked_package_is_asked_for_and_none_of_an_old_environment(ask, osv):
    done = ask(osv.address)
    assert done.returncode == 0, done.stdout + done.stderr
    folders = ("", "tools")
    locks = [path for folder in folders for path in (ROOT / "requirements" / folder).glob("*.txt")]
    lines = re.findall(r"^(\S+)==([^\s;]+)(.*)", "\n".join(path.read_text() for path in locks), re.MULTILINE)
    assert {(name, version) for name, version, marker in lines if not marker.strip(" \\")} <= set(osv.asked)
    assert set(osv.asked) <= {(name, version) for name, version, _ in lines}
    summary = f"{len(set(osv.asked))} packages of {len(locks)} lock files were asked for."
    assert done.stdout == f"No advisory is known.\n{summary}\n"


def test_a_known_advisory_fails_until_it_is_named(ask, osv, one_package):
    osv.answers["numpy"] = {"vulns": [ADVISORY]}
    done = ask(osv.address, root=one_package)
    assert done.returncode == 1
    assert done.stdout.splitlines()[0] == "numpy 2.4.6: PYSEC-2026-1, mended in 99.1"
    assert ask(osv.address, "--ignore-vuln", "PYSEC-2026-1", root=one_package).returncode == 0


def test_without_an_answer_it_says_so_and_fails_nothing(ask, osv, one_package):
    osv.status = 503
    for done in (ask(osv.address, root=one_package), ask("http://127.0.0.1:1", root=one_package)):
        assert done.returncode == 0, done.stderr
        assert re.fullmatch(r"The advisories could not be asked for: \S+Error.*\n", done.stdout)


def test_what_is_known_before_the_answers_end_fails(ask, osv, one_package):
    (one_package / "requirements/tools").mkdir()
    (one_package / "requirements/tools/other.txt").write_text(f"scipy==1.17.1 --hash=sha256:{64 * 'b'}\n")
    osv.answers["numpy"], osv.silent = {"vulns": [ADVISORY]}, {"scipy"}
    done = ask(osv.address, root=one_package)
    assert done.returncode == 1
    first, counted, unanswered = done.stdout.splitlines()
    assert (first, counted) == (
        "numpy 2.4.6: PYSEC-2026-1, mended in 99.1",
        "1 packages of 1 lock files were asked for.",
    )
    assert unanswered.startswith("The advisories could not be asked for: ")


def test_a_lock_file_without_hashes_fails(ask, osv, one_package):
    (one_package / "requirements/cpu.txt").write_text("numpy==2.4.6\n")
    done = ask(osv.address, root=one_package)
    assert done.returncode == 1
    assert "numpy==2.4.6 does not contain a hash" in done.stderr
    assert osv.asked == []


def test_the_bill_of_materials_is_the_lock_file_with_its_hashes(tmp_path):
    for name in ("Makefile", "pyproject.toml", "README.md", "LICENSE", "requirements/cpu.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / name)
    (tmp_path / ".environments").symlink_to(ROOT / ".environments")
    made = []
    for _ in range(2):
        subprocess.run(["make", "--silent", "-o", ".environments/supply", "sbom"], cwd=tmp_path, check=True)
        made.append((tmp_path / "dist/toolnoise.cdx.json").read_bytes())
    assert made[0] == made[1]
    bill = json.loads(made[0])
    assert (bill["metadata"]["component"]["name"], bill["metadata"]["component"]["version"]) == ("toolnoise", "0.1.0")
    listed = {
        (part["name"], part["version"]): {known["content"] for known in part["externalReferences"][0]["hashes"]}
        for part in bill["components"]
    }
    entries = re.split(r"\n(?=\S)", (ROOT / "requirements/cpu.txt").read_text())
    assert listed == {
        re.match(r"(\S+)==([^\s;]+)", entry).groups(): set(re.findall(r"sha256:(\w+)", entry)) for entry in entries
    }
