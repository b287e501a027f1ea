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
from collections import namedtuple
from datetime import datetime, timedelta
from typing import NamedTuple

from toolnoise import cli

ROOTED = "index.html"
TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


# What a verb printed, and its exit code.
Said = namedtuple("Said", "code out err")


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
    def rules(self):
        return {one["rule"] for one in self.findings}

    @property
    def shown(self):
        return [tuple(one.values()) for one in self.findings[:30]]


def said(*words):
    out, err, code = io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            cli.main([str(word) for word in words])
        except SystemExit as ended:
            code = ended.code or 0
    return Said(code, out.getvalue(), err.getvalue())


def audited(folder, *options):
    """Audit a folder or a file: the exit code is 1 if there are findings, and 0 if there are none."""
    done = said("audit", folder, *options, "--json")
    assert "Traceback" not in done.err
    found = json.loads(done.out)
    assert done.code in (0, 1)
    assert found["clean"] == (done.code == 0)
    assert done.code or not found["findings"]
    assert all({*one} == {"rule", "artifact", "what"} for one in found["findings"])
    return Audited(done.code, found["findings"], found)


def sha256(content):
    return hashlib.sha256(content).hexdigest()


def written(value):
    return (json.dumps(value, indent=1, sort_keys=True) + "\n").encode()


def definition(statement):
    return statement["predicate"]["buildDefinition"]


def asked(statement):
    return definition(statement)["externalParameters"]


def observed(statement):
    return definition(statement)["internalParameters"]["observed"]


def chain(statement):
    """The digests of all others in the root's statement."""
    return definition(statement)["internalParameters"]["statements"]


def made_from(statement, *kinds):
    return [one for one in definition(statement)["resolvedDependencies"] if one["annotations"]["kind"] in kinds]


def move_times(statement, by):
    times = statement["predicate"]["runDetails"]["metadata"]
    for key in ("startedOn", "finishedOn"):
        times[key] = (datetime.strptime(times[key], TIME) + by).strftime(TIME)


def ended(statement):
    return datetime.strptime(statement["predicate"]["runDetails"]["metadata"]["finishedOn"], TIME)


def flipped(content, place, bit=0):
    changed = bytearray(content)
    changed[place] ^= 1 << bit
    return bytes(changed)


GONE = object()


def change(place, way, value):
    """Change what lies at the end of a way of keys: to a value, to what a function makes of it, or to nothing."""
    *before, last = [int(key) if key.isdecimal() else key for key in way]
    for key in before:
        place = place[key]
    if value is GONE:
        del place[last]
    else:
        place[last] = value(place[last]) if callable(value) else value


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
        return sorted(path for path in self.original if path.startswith("statements/"))

    @property
    def files(self):
        return sorted(self.original.keys() - {*self.statements})

    def path(self, artifact):
        return self.root / artifact

    def name(self, artifact):
        return f"results/{self.study}/{artifact}"

    def names(self, *artifacts):
        """What a finding may be about, if something is wrong with the job of a file: its statement and its outputs."""
        jobs = [self.stated.get(one, one) for one in artifacts]
        return {self.name(one) for job in jobs for one in (job, *self.beside.get(job, ()))} | {*artifacts}

    def put(self, artifact, content):
        self.path(artifact).parent.mkdir(parents=True, exist_ok=True)
        self.path(artifact).write_bytes(content)

    def edit(self, artifact, change):
        value = json.loads(self.path(artifact).read_bytes())
        change(value)
        self.put(artifact, written(value))

    def restate(self, artifact, change):
        self.edit(self.stated[artifact], change)

    def delete(self, *artifacts):
        for one in artifacts:
            self.path(one).unlink()

    def swap(self, one, other):
        contents = self.path(one).read_bytes(), self.path(other).read_bytes()
        self.put(other, contents[0])
        self.put(one, contents[1])

    def state_as(self, artifact, of, verb=None):
        """A statement for a new file, like that of another, also of another verb."""
        value = json.loads(self.path(self.stated[of]).read_bytes())
        value["subject"] = [copy.deepcopy(value["subject"][0]) | {"name": self.name(artifact)}]
        definition(value)["buildType"] = f"urn:toolnoise:{verb}:1" if verb else definition(value)["buildType"]
        for other in ("command", "statements"):
            definition(value)["internalParameters"].pop(other, None)
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
        contents = {path: self.path(path).read_bytes() for path in self.files if self.path(path).is_file()}
        changed = {sha256(self.original[path]): one for path, one in contents.items() if one != self.original[path]}
        paths = [path.relative_to(self.root).as_posix() for path in self.root.glob("statements/**/*.json")]
        texts = {path: self._fitting(self.path(path).read_bytes(), changed) for path in paths}
        known = {path: sha256(self.original.get(path, text)) for path, text in texts.items()}
        # Others name a statement by its digest, which is nowhere else.
        while moved := [(known[path], sha256(text)) for path, text in texts.items() if known[path] != sha256(text)]:
            known = {path: sha256(text) for path, text in texts.items()}
            for old, new in moved:
                texts = {path: text.replace(old.encode(), new.encode()) for path, text in texts.items()}
        root = self.stated[ROOTED]
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            value = json.loads(texts[root])
            chain(value).clear()
            chain(value).update({self.name(path): digest for path, digest in known.items() if path != root})
            texts[root] = written(value)
        for path, text in texts.items():
            if text != self.path(path).read_bytes():
                self.put(path, text)

    def _fitting(self, text, changed):
        """A statement with other digests and sizes for what was changed; one of an odd shape is left alone."""
        with contextlib.suppress(ValueError, KeyError, TypeError, AttributeError):
            value = json.loads(text)
            about = [*value["subject"], *made_from(value, "input")]
            stale = [one for one in about if one["digest"]["sha256"] in changed]
            for one in stale:
                self._describe(one, changed[one["digest"]["sha256"]])
            return written(value) if stale else text
        return text

    def _describe(self, about, content):
        about["digest"] = {"sha256": sha256(content)}
        about["annotations"]["size"] = len(content)

    def audit(self, *options, of=""):
        """Audit the folder, or what a file in it rests on."""
        return audited(self.root / of, *options)

    def restore(self):
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
