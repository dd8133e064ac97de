"""``python validate_crate.py FOLDER``: what roc-validator says of an RO-Crate, as JSON, without a network.

The context of RO-Crate 1.1 is the copy in the package rocrate. roc-validator needs an older rich than others here, so
this runs in an environment of its own.
"""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import rdflib._networking as network
import requests
import rocrate
from rocrate_validator import models, services

CONTEXT = Path(rocrate.__file__).parent / "data" / "ro-crate.jsonld"


class Answer(io.BytesIO):
    """The context, as if it came from the web."""

    headers: dict[str, str] = {"content-type": "application/ld+json"}
    url = "https://w3id.org/ro/crate/1.1/context"

    def geturl(self) -> str:
        return self.url

    def info(self) -> dict[str, str]:
        return self.headers


def opened(request: Any) -> Answer:
    if "w3id.org/ro/crate/1.1" not in request.full_url:
        raise OSError(f"{request.full_url} is not here")
    return Answer(CONTEXT.read_bytes())


def sent(adapter: Any, request: Any, **more: Any) -> requests.Response:
    answer = requests.Response()
    answer.status_code, answer.url, answer.request = 200, request.url, request
    answer.raw = opened(SimpleNamespace(full_url=request.url))
    answer.headers["content-type"] = "application/ld+json"
    return answer


network.urlopen = opened
requests.adapters.HTTPAdapter.send = sent  # type: ignore[method-assign]
settings = services.ValidationSettings(
    rocrate_uri=sys.argv[1],
    profile_identifier="process-run-crate-0.5",
    requirement_severity=models.Severity.RECOMMENDED,
    abort_on_first=False,
    no_cache=True,
)
issues = services.validate(settings).get_issues(models.Severity.RECOMMENDED)
print(json.dumps([[one.severity.name, one.check.identifier, one.message] for one in issues]))
