"""Finished results to be damaged and forged, and what `toolnoise audit` says of them, called in this process.

A forger changes files, and then everything that names them: `settle` has a job's own statement fit its outputs,
`settle_upwards` has every statement fit, up to the root.
"""

import contextlib
import copy
import hashlib
import io
import json
import shutil
from datetime import datetime, timedelta
from typing import NamedTuple

from toolnoise import cli

ROOTED = "index.html"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


class Said(NamedTuple):
    """What a verb printed, and its exit code."""

    code: int
    out: str
    err: str


class Audited(NamedTuple):
    """What an audit found: its exit code, its findings, and the verdict as JSON."""

    code: int
    findings: list[dict[str, str]]
    json: dict[str, object]

    def told(self, rules, names):
        """Whether one of some artifacts has a finding under one of some rules."""
        return any(one["rule"] in rules and one["artifact"] in names for one in self.findings)

    @property
    def root(self):
        """The digest of the statement that names all others."""
        (study,) = self.json["studies"]
        return study["root"]

    @property
    def shown(self):
        """The findings, for the message of a test."""
        return [tuple(one.values()) for one in self.findings[:30]]


def said(*words):
    """Call a verb."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main([str(word) for word in words])
        except SystemExit as ended:
            code = ended.code or 0
    return Said(code, out.getvalue(), err.getvalue())


def audited(folder, *options):
    """Audit a folder or a file; findings are one line each and exit code 1, or there are none and it is 0."""
    done = said("audit", folder, *options, "--json")
    assert "Traceback" not in done.err
    found = json.loads(done.out)
    assert done.code in (0, 1)
    assert found["clean"] == (done.code == 0)
    assert done.code or not found["findings"]
    for one in found["findings"]:
        assert {*one} == {"rule", "artifact", "what"}
        assert len(f"{one['rule']} {one['what']}".splitlines()) == 1
    return Audited(done.code, found["findings"], found)


def sha256(content):
    """The digest as statements have it."""
    return hashlib.sha256(content).hexdigest()


def written(value):
    """JSON as a file of results has it."""
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def definition(statement):
    """What a statement says of its job."""
    return statement["predicate"]["buildDefinition"]


def asked(statement):
    """The parameters in a statement."""
    return definition(statement)["externalParameters"]


def observed(statement):
    """What a statement says of the machine."""
    return definition(statement)["internalParameters"]["observed"]


def chain(statement):
    """The digests of all others in the root's statement."""
    return definition(statement)["internalParameters"]["statements"]


def made_from(statement, *kinds):
    """The dependencies of these kinds."""
    return [one for one in definition(statement)["resolvedDependencies"] if one["annotations"]["kind"] in kinds]


def dependency(statement, end):
    """The dependency whose name ends so."""
    return next(one for one in definition(statement)["resolvedDependencies"] if one["name"].endswith(end))


def drop(statement, end):
    """Have a statement not say that something was read."""
    definition(statement)["resolvedDependencies"].remove(dependency(statement, end))


def move_times(statement, by):
    """Have a job have been earlier or later."""
    times = statement["predicate"]["runDetails"]["metadata"]
    for key in ("startedOn", "finishedOn"):
        times[key] = (datetime.strptime(times[key], TIME) + by).strftime(TIME)


def ended(statement):
    """When a job ended."""
    return datetime.strptime(statement["predicate"]["runDetails"]["metadata"]["finishedOn"], TIME)


def flipped(content, place, bit=0):
    """Bytes with another bit."""
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    return bytes(changed)


def mark(path):
    """What is another after every write to a file: nothing sets ctime back."""
    found = path.lstat()
    return found.st_ino, found.st_size, found.st_ctime_ns


class Folder:
    """A copy of a study's results, to be changed and restored."""

    def __init__(self, results, parent):
        self.study = results.name
        self.root = shutil.copytree(results, parent / "results" / results.name)
        paths = [path for path in self.root.rglob("*") if path.is_file()]
        self.original = {path.relative_to(self.root).as_posix(): path.read_bytes() for path in paths}
        self.marks = {path: mark(self.root / path) for path in self.original}
        self.stated, self.beside = {}, {}
        for path in self.statements:
            outputs = [one["name"].split("/", 2)[2] for one in json.loads(self.original[path])["subject"]]
            self.stated |= dict.fromkeys(outputs, path)
            self.beside[path] = outputs

    @property
    def statements(self):
        """The paths of all statements as they were."""
        return sorted(path for path in self.original if path.startswith("statements/"))

    @property
    def files(self):
        """The paths of all other files as they were."""
        return sorted(self.original.keys() - {*self.statements})

    def path(self, artifact):
        """Where a file lies."""
        return self.root / artifact

    def name(self, artifact):
        """What statements call a file."""
        return f"results/{self.study}/{artifact}"

    def names(self, *artifacts):
        """What a finding may be about, if something is wrong with the job of a file: its statement and its outputs."""
        jobs = [self.stated.get(one, one) for one in artifacts]
        return {self.name(one) for job in jobs for one in (job, *self.beside.get(job, ()))} | {*artifacts}

    def put(self, artifact, content):
        """Write a file, with the folders that it needs."""
        self.path(artifact).parent.mkdir(parents=True, exist_ok=True)
        self.path(artifact).write_bytes(content)

    def edit(self, artifact, change):
        """Edit a JSON file."""
        value = json.loads(self.path(artifact).read_bytes())
        change(value)
        self.put(artifact, written(value))

    def restate(self, artifact, change):
        """Edit the statement of a file."""
        self.edit(self.stated[artifact], change)

    def delete(self, *artifacts, stated=False):
        """Delete files, and with `stated` their statements."""
        for one in artifacts:
            self.path(one).unlink()
        for one in {self.stated[one] for one in artifacts} if stated else ():
            self.path(one).unlink()

    def swap(self, one, other):
        """Have two files change places."""
        contents = self.path(one).read_bytes(), self.path(other).read_bytes()
        self.put(other, contents[0])
        self.put(one, contents[1])

    def state_as(self, artifact, of, verb=None):
        """A statement for a new file, like that of another, also of another verb."""
        value = json.loads(self.path(self.stated[of]).read_bytes())
        value["subject"] = [copy.deepcopy(value["subject"][0]) | {"name": self.name(artifact)}]
        definition(value)["buildType"] = f"urn:toolnoise:{verb}:1" if verb else definition(value)["buildType"]
        definition(value)["internalParameters"].pop("statements", None)
        self._describe(value["subject"][0], self.path(artifact).read_bytes())
        self.put(f"statements/{artifact}.intoto.json", written(value))

    def settle(self, *artifacts):
        """Have the own statements of files fit them, and nothing else."""
        for one in artifacts:
            value = json.loads(self.path(self.stated[one]).read_bytes())
            (about,) = [output for output in value["subject"] if output["name"] == self.name(one)]
            self._describe(about, self.path(one).read_bytes())
            self.put(self.stated[one], written(value))

    def settle_upwards(self):
        """Have every statement fit what was changed, also other statements, up to the root."""
        changed = {
            self.name(path): content
            for path in self.files
            if self.path(path).is_file() and (content := self.path(path).read_bytes()) != self.original[path]
        }
        before = {name: sha256(self.original[name.split("/", 2)[2]]) for name in changed}
        values, digests = {}, {}
        for path in sorted(self.root.glob("statements/**/*.json")):
            with contextlib.suppress(ValueError):
                name = path.relative_to(self.root).as_posix()
                values[name] = json.loads(path.read_bytes())
                was = sha256(self.original.get(name, path.read_bytes()))
                digests[name] = [was, sha256(path.read_bytes())]
        for name, value in values.items():
            about = [*value["subject"], *made_from(value, "input")]
            stale = [one for one in about if one["digest"]["sha256"] == before.get(one["name"])]
            for one in stale:
                self._describe(one, changed[one["name"]])
            if stale:
                digests[name].append(sha256(written(value)))
        makers = {output["name"]: name for name, value in values.items() for output in value["subject"]}
        while True:
            stale = set()
            for name, value in values.items():
                for one in made_from(value, "input"):
                    *older, newest = digests.get(makers.get(one["name"]), [""])
                    if one["annotations"].get("statement", "") in set(older) - {newest, ""}:
                        one["annotations"]["statement"] = newest
                        stale.add(name)
            for name in stale:
                digests[name].append(sha256(written(values[name])))
            if not stale:
                break
        root = self.stated[ROOTED]
        if root in values:
            vouched = {self.name(name): found[-1] for name, found in digests.items() if name != root}
            definition(values[root])["internalParameters"]["statements"] = vouched
        for name, value in values.items():
            if written(value) != self.path(name).read_bytes() and (name == root or len(digests[name]) > 2):
                self.put(name, written(value))

    def _describe(self, about, content):
        about["digest"] = {"sha256": sha256(content)}
        about["annotations"]["size"] = len(content)

    def audit(self, *options):
        """Audit the folder."""
        return audited(self.root, *options)

    def audit_of(self, artifact, *options):
        """Audit what a file rests on."""
        return audited(self.path(artifact), *options)

    def restore(self):
        """Undo everything."""
        beside = [path for path in self.root.parent.rglob("*") if not path.is_relative_to(self.root)]
        for path in sorted([*self.root.rglob("*"), *beside], reverse=True):
            known = path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else None
            if path.is_symlink() or not path.is_dir():
                # A pipe, too, and before anybody waits for it.
                if path.is_symlink() or not path.is_file() or known not in self.original:
                    path.unlink()
            elif known is None or not any(name.startswith(f"{known}/") for name in self.original):
                shutil.rmtree(path)
        for name, content in self.original.items():
            if not self.path(name).is_file() or mark(self.path(name)) != self.marks[name]:
                self.put(name, content)
                self.marks[name] = mark(self.path(name))


YEAR = timedelta(days=366)
