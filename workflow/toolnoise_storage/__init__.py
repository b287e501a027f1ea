"""Results in object storage, which Snakemake reads and writes by a plugin: what the rules need besides.

Snakemake gives a job a local copy of each object, in a folder below .snakemake/storage. Verbs start in that folder: so
they, and statements, name results as they do without storage. It has links to all else that is where Snakemake runs.

Snakemake brings what rules name, and takes it away again. No rule makes study.json: it is read from the storage before
the first job, and written back if it has changed. Objects of any plugin are used as Snakemake uses them: what the
Snakefile asks of Snakemake for that is here, and all else in toolnoise.base.snakemake_internals.
"""

import contextlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from toolnoise.base.errors import BadInput

# What lies in the storage, and Snakemake's own.
NOT_LINKED = ("results", "logs", ".snakemake")


def folder(workflow: Any) -> str:
    """The local folder that stands for the prefix of the default storage; empty without one."""
    settings = workflow.storage_settings
    if settings is None or settings.default_storage_provider is None:
        return ""
    (stored,) = _objects(workflow, ["results"])
    if not stored.is_valid_query():
        given = settings.default_storage_prefix
        raise BadInput("command line", "--default-storage-prefix", f"found {given!r}", "such as s3://my-bucket")
    return str(stored.local_path().parent)


def is_elsewhere(workflow: Any) -> bool:
    """Whether this Snakemake was started for a job, perhaps on another machine."""
    return workflow.remote_exec


def require(workflow: Any, name: str) -> None:
    """Refuse a storage that does not say whether it has a file."""
    # Imported here: a job without storage needs no Snakemake.
    from snakemake_interface_common.exceptions import WorkflowError

    (stored,) = _objects(workflow, [name])
    try:
        workflow.async_run(stored.managed_exists())
    except WorkflowError as error:
        why = str(error.__cause__ or error.__context__ or error).splitlines()[0]
        raise BadInput(stored.print_query, "", why, "an address and keys of a storage") from None


def retrieve(workflow: Any, *files: str) -> None:
    """Bring files that no rule names, and make the folder; what the storage does not have is not here either."""
    _link(Path(folder(workflow)))
    for stored in _objects(workflow, files):
        if workflow.async_run(stored.managed_exists()):
            workflow.async_run(stored.managed_retrieve())
        else:
            stored.local_path().unlink(missing_ok=True)


def write(workflow: Any, make: Callable[[], None], *files: str) -> None:
    """Make files that no rule names, from what the storage has; what is new goes there."""
    retrieve(workflow, *files)
    objects = _objects(workflow, files)
    before = [_content(stored.local_path()) for stored in objects]
    with contextlib.chdir(folder(workflow)):
        make()
    for stored, old in zip(objects, before, strict=True):
        if _content(stored.local_path()) != old:
            workflow.async_run(stored.managed_store())


def discard(workflow: Any, *files: str) -> None:
    """Remove the local copies of files that no rule names."""
    for stored in _objects(workflow, files):
        stored.local_path().unlink(missing_ok=True)


def _link(place: Path) -> None:
    """Make the folder, with links to what verbs may read besides results: modules, data, environments."""
    place.mkdir(parents=True, exist_ok=True)
    for path in Path.cwd().iterdir():
        link = place / path.name
        if link.is_symlink() and link.readlink() != path:
            # Of another folder that had its copies here.
            link.unlink(missing_ok=True)
        if path.name not in NOT_LINKED:
            # Other jobs on this machine make the same links.
            with contextlib.suppress(FileExistsError):
                link.symlink_to(path)


def _objects(workflow: Any, files: Iterable[str]) -> list[Any]:
    prefix = workflow.storage_settings.default_storage_prefix.rstrip("/")
    return [workflow.storage_registry.default_storage_provider.object(f"{prefix}/{name}") for name in files]


def _content(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None
