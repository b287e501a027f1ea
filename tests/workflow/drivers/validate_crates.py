"""Validate crates against Provenance Run Crate 0.5 with the network cut; one line of JSON for each: what is wrong.

The context of RO-Crate 1.1 is the one that the package `rocrate` carries. It is laid into an empty cache of the
validator's, from which alone it may serve itself. Each crate is a path; `cold` in place of `warm` leaves the cache empty.
"""

import io
import json
import socket
import sys
import tempfile
from importlib import resources
from pathlib import Path

from requests.adapters import HTTPAdapter
from requests_cache import CachedSession
from urllib3.response import HTTPResponse

CONTEXT = "https://w3id.org/ro/crate/1.1/context"


def refuse(_socket, address):
    raise RuntimeError(f"the network is cut, and {address} was asked")


socket.socket.connect = socket.socket.connect_ex = refuse


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
        assert session.get(CONTEXT).status_code == 200


def validate(crate, cache):
    from rocrate_validator import services
    from rocrate_validator.models import ValidationSettings

    settings = ValidationSettings(
        rocrate_uri=crate,
        profile_identifier="provenance-run-crate-0.5",
        requirement_severity="RECOMMENDED",
        cache_path=cache,
        offline=True,
    )
    result = services.validate(settings)
    issues = [[issue.check.identifier,issue.severity.name, issue.message, issue.violatingEntity, issue.violatingPropertyValue] for issue in result.get_issues()]
    # What was not looked at has not passed.
    skipped = [str(check) for check in getattr(result, "skipped_checks", [])]
    return {"passed": result.passed(), "issues": issues, "skipped": skipped}


if __name__ == "__main__":
    state, *crates = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        cache = Path(folder) / "cache"
        if state == "warm":
            lay_in(cache)
        for crate in crates:
            try:
                found = validate(crate, cache)
            except Exception as error:
                found = {"passed": False, "issues": [["ERROR", f"{type(error).__name__}: {error}", None]], "skipped": []}
            print(json.dumps(found), flush=True)
