"""A study as a Workflow Run RO-Crate, written from its statements: Provenance Run Crate 0.5 on RO-Crate 1.1.

Each statement becomes an action: a tool (the verb) got parameters, read files and wrote others. The crate also has the
statement itself, with all other facts, such as the digests of the code, and the machine. The same study gives the same
bytes. Every packed file has the digest in its statement.
"""

import hashlib
import io
import json
import mimetypes
import shlex
import shutil
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rocrate.model import ContextEntity, Entity, File
from rocrate.rocrate import ROCrate

from toolnoise.base import files
from toolnoise.base.errors import BadInput
from toolnoise.base.printing import make_printable
from toolnoise.base.program import path_of
from toolnoise.provenance import repository, tree
from toolnoise.provenance.statements import FOLDER, INPUT, PACKAGE, SOURCE, SUFFIX, TYPE, Artifact, Statement
from toolnoise.provenance.tree import Tree

WORKFLOW = "workflow/Snakefile"
PROFILES = {
    "https://w3id.org/ro/wfrun/process/0.5": "Process Run Crate",
    "https://w3id.org/ro/wfrun/workflow/0.5": "Workflow Run Crate",
    "https://w3id.org/ro/wfrun/provenance/0.5": "Provenance Run Crate",
    "https://w3id.org/workflowhub/workflow-ro-crate/1.0": "Workflow RO-Crate",
}
# Figures, tables and records of runs are smaller; weights, predictions and pictures are larger.
SMALL = 2**20
# Python's own file types, without those that a machine adds.
FORMATS = mimetypes.MimeTypes()


class Writer:
    """A crate under construction: `entities` has its entities by id, `files` those of its files by name and digest."""

    def __init__(self, study: Tree, published: str) -> None:
        self.study, self.published = study, published
        self.crate = ROCrate(version="1.1")
        # The profile's own term, which the context of RO-Crate 1.1 lacks.
        self.crate.metadata.extra_terms["sha256"] = "https://w3id.org/ro/terms/workflow-run#sha256"
        self.entities: dict[str, Entity] = {}
        self.files: dict[tuple[str, str], Entity] = {}

    def add(self, identifier: str, kind: str, **properties: Any) -> Entity:
        """The entity with this id; it is added if it is missing."""
        # Not looked up in `crate`, which searches all entities for a missing one.
        if identifier not in self.entities:
            entity = ContextEntity(self.crate, identifier, {"@type": kind, **properties})
            self.entities[identifier] = self.crate.add(entity)
        return self.entities[identifier]

    def pack(self, path: str, artifact: Artifact, **properties: Any) -> None:
        """Add a file of the study; it must have the digest in its statement."""
        place = self.study.root / path
        if files.sha256(place) != artifact.sha256:
            raise BadInput(place, "", "differs from its statement", "unchanged results: see toolnoise audit")
        about = self._described(artifact._replace(size=self.study.files[path])) | properties
        entity = File(self.crate, place, artifact.name, properties=about)
        self.files[artifact.name, artifact.sha256] = self.crate.add(entity)

    def file(self, artifact: Artifact) -> Entity:
        """The entity of a file that a job read or wrote; an unpacked file has only name, size, digest and address."""
        key = artifact.name, artifact.sha256
        if key not in self.files:
            identifier = f"#file/{artifact.sha256[:16]}/{quote(artifact.name)}"
            self.files[key] = self.add(identifier, "File", **self._described(artifact))
        return self.files[key]

    def job(self, statement: Statement) -> Entity:
        """Add the action of a statement, and pack the statement."""
        verb = statement.verb
        path = statement.path.removeprefix(f"{FOLDER}/").removesuffix(SUFFIX)
        about = {"name": f"toolnoise {verb}", "softwareVersion": statement.versions.get("toolnoise", "unknown")}
        tool = self.add(f"#verb/{verb}", "SoftwareApplication", **about)
        told = [self._value(name, value) for name, value in statement.parameters.items()]
        job = self.action(f"#job/{quote(path)}", f"{verb} {make_printable(path)}", tool, statement)
        self.link(job, "object", statement.made_of(INPUT, SOURCE, PACKAGE), told)
        self.link(job, "result", statement.outputs)
        if statement.command:
            job["description"] = shlex.join(("toolnoise", *statement.command))
        own = Artifact(self.study.named(statement.path), files.sha256(self.study.root / statement.path))
        self.pack(statement.path, own, about=job, conformsTo={"@id": TYPE})
        return job

    def action(self, identifier: str, name: str, tool: Entity, *done: Statement) -> Entity:
        """Add a finished action, from the first start to the last end of its statements."""
        moments = {"startTime": min(one.started for one in done), "endTime": max(one.finished for one in done)}
        times = {key: f"{moment.isoformat(timespec='milliseconds')}+00:00" for key, moment in moments.items()}
        return self.add(identifier, "CreateAction", name=name, instrument=tool, **times)

    def link(self, entity: Entity, key: str, artifacts: Iterable[Artifact], more: Iterable[Entity] = ()) -> None:
        """Link an entity to files and other entities: a single one is no list, and without any there is no link."""
        if others := [*map(self.file, artifacts), *more]:
            entity[key] = others if len(others) > 1 else others[0]

    def _value(self, name: str, value: Any) -> Entity:
        """The entity of a parameter's value, which jobs share; lists and mappings are JSON text."""
        text = json.dumps(value, sort_keys=True)
        identifier = f"#value/{quote(name)}/{hashlib.sha256(text.encode()).hexdigest()[:16]}"
        return self.add(identifier, "PropertyValue", name=name, value=value if isinstance(value, str | int) else text)

    def _described(self, artifact: Artifact) -> dict[str, Any]:
        kind = FORMATS.guess_type(artifact.name)[0] or "application/octet-stream"
        known = {"contentSize": None if artifact.size is None else str(artifact.size), "url": artifact.uri or None}
        about = {"name": artifact.name, "encodingFormat": kind, "sha256": artifact.sha256}
        return about | {key: value for key, value in known.items() if value} | {"sdDatePublished": self.published}


def export(results: Path, out: Path, embed: bool, licence: str = "") -> tuple[int, int, int]:
    """Write the crate of a study's results folder, with all its files if `embed`, or else the small ones.

    Returns the numbers of jobs, of packed files and of files that are only referenced.
    """
    zipped = out.suffix == ".zip" and not out.is_dir()
    if out.resolve().is_relative_to(results.resolve()):
        raise BadInput(out, "", "lies among the results", "a folder or .zip file elsewhere")
    if not zipped and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadInput(out, "", "already exists", "a new or empty folder, or a .zip file")
    study = tree.load_readable(results)
    if not study.statements:
        raise BadInput(study.root, "", "has no statements", "a study's results, such as results/demo")
    try:
        writer = _written(study, embed, licence)
        with tempfile.TemporaryDirectory() if zipped else files.filling(out) as folder:
            writer.crate.write(folder)
            if zipped:
                _zip(Path(folder), out)
    except UnicodeEncodeError as error:
        what = f"a statement has invalid Unicode text ({error.reason})"
        raise BadInput(study.root, "", what, "UTF-8") from None
    referenced = sum(one.id.startswith("#") for one in writer.files.values())
    return len(study.statements), len(writer.files) - referenced, referenced


def _written(study: Tree, embed: bool, licence: str) -> Writer:
    """The crate of a study, before its files are copied."""
    done = study.statements
    last = max(done, key=lambda one: one.finished)
    writer = Writer(study, last.finished.date().isoformat())
    outputs = [output for one in done for output in one.outputs]
    for output in outputs:
        path = study.inside(output.name)
        if path in study.files and (embed or study.files[path] <= SMALL):
            writer.pack(path, output)
        elif embed:
            raise BadInput(output.name, "", study.strange.get(path, "no such file"), "the file, to pack it")
    code = repository.files_of(last.commit, [WORKFLOW]).get(WORKFLOW)
    workflow = writer.crate.add_workflow(
        io.BytesIO(path_of(WORKFLOW).read_bytes() if code is None else code),
        WORKFLOW,
        main=True,
        lang="snakemake",
        lang_version=last.versions.get("snakemake", "unknown"),
        properties={"name": "toolnoise", "version": last.commit or last.versions.get("toolnoise", "unknown")},
    )
    jobs = [writer.job(statement) for statement in study.statements]
    writer.link(workflow, "hasPart", (), [one for name, one in writer.entities.items() if name.startswith("#verb/")])
    read = {(one.name, one.sha256) for statement in done for one in statement.dependencies}
    outside = dict.fromkeys(one for statement in done for one in statement.made_of(SOURCE, PACKAGE))
    run = writer.action("#run", "run of the workflow", workflow, *done)
    writer.link(run, "object", outside)
    writer.link(run, "result", [output for output in outputs if (output.name, output.sha256) not in read])
    root = writer.crate.root_dataset
    root["name"], root["datePublished"] = f"{study.name}: a study of toolnoise", writer.published
    root["description"] = f"How much of a trained network is noise: {len(jobs)} jobs, as they were recorded."
    address = f"https://spdx.org/licenses/{quote(licence)}" if licence else "#licence"
    root["license"] = writer.add(address, "CreativeWork", name=licence or "no licence is stated")
    root["mentions"] = [run, *jobs]
    root["conformsTo"] = [
        writer.add(profile, "CreativeWork", name=name, version=profile.rsplit("/", 1)[1])
        for profile, name in PROFILES.items()
    ]
    return writer


def _zip(folder: Path, out: Path) -> None:
    """Pack a folder; the date is 1980, so an archive of the same files has the same bytes."""
    with files.replacing(out) as scratch, zipfile.ZipFile(scratch, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            about = zipfile.ZipInfo(path.relative_to(folder).as_posix())
            about.compress_type, about.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            with path.open("rb") as file, archive.open(about, "w", force_zip64=True) as member:
                shutil.copyfileobj(file, member)
