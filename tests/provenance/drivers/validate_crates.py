"""Validate crates against what Provenance Run Crate 0.5 requires, with the network cut.

    validate_crates.py CRATE...

prints a line of JSON for each crate. The context of RO-Crate 1.1 is the one that the package `rocrate` carries; it is
laid into an empty cache of the validator's, which may serve itself from there alone.

Each crate is looked at in two ways. `metadata`: as it would be on the web, where its relative ids are absolute; files
are not looked for. `payload`: as it lies there, with its files. There the validator wants what no
crate of a workflow can do: that the workflow's file, which must be in the crate, has an absolute id (its issue 51; the
profile lets it be relative). So that one check is left to the first look.
"""

import io
import json
import socket
import sys
import tempfile
import zipfile
from importlib import resources
from pathlib import Path

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from rocrate_validator import services
from rocrate_validator.models import ValidationSettings
from urllib3.response import HTTPResponse

CONTEXT = "https://w3id.org/ro/crate/1.1/context"
PROFILE, LEVEL = "provenance-run-crate-0.5", "REQUIRED"
ABSOLUTE_ID = "process-run-crate-0.5_5.1"


def refuse(_socket, address):
    raise RuntimeError(f"the network is cut, and {address} was asked")


class FromPackage(HTTPAdapter):
    """An internet in which there is nothing but the context."""

    def send(self, request, **_):
        assert request.url == CONTEXT
        context = resources.files("rocrate").joinpath("data/ro-crate.jsonld").read_bytes()
        assert json.loads(context)["@id"] == CONTEXT
        headers = {"Content-Type": "application/ld+json"}
        raw = HTTPResponse(io.BytesIO(context), headers, 200, preload_content=False, request_url=CONTEXT)
        return self.build_response(request, raw)


def lay_in(cache):
    with CachedSession(str(cache), backend="sqlite", expire_after=-1) as session:
        session.mount("https://", FromPackage())
        session.get(CONTEXT)


def metadata(crate):
    if crate.suffix == ".zip":
        with zipfile.ZipFile(crate) as archive:
            return json.loads(archive.read("ro-crate-metadata.json"))
    return json.loads((crate / "ro-crate-metadata.json").read_text())


def validate(cache, **what):
    settings = {"profile_identifier": PROFILE, "requirement_severity": LEVEL, "cache_path": cache, "offline": True}
    try:
        result = services.validate(ValidationSettings(**{"rocrate_uri": None, **settings, **what}))
    except Exception as error:
        return {"passed": False, "error": f"{type(error).__name__}: {error}"}
    return {
        "passed": result.passed(),
        "issues": [(issue.severity.name, issue.message) for issue in result.get_issues()],
        "skipped": sorted({check.identifier for check in result.skipped_checks}),
        "run": sorted({check.identifier for check in result.executed_checks}),
    }


if __name__ == "__main__":
    socket.socket.connect = socket.socket.connect_ex = refuse
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        lay_in(cache)
        looks = {
            "metadata": lambda crate: {"metadata_dict": metadata(crate)},
            "payload": lambda crate: {"rocrate_uri": str(crate), "skip_checks": [ABSOLUTE_ID]},
        }
        for crate in map(Path, sys.argv[1:]):
            print(json.dumps({look: validate(cache, **about(crate)) for look, about in looks.items()}), flush=True)
