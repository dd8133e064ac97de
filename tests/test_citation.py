"""How to cite IntraBench: for GitHub and for Zenodo, and both the same."""

from __future__ import annotations

import json
import tomllib
from typing import Any

import jsonschema
import yaml

import intrabench
from tests.conftest import GOLDEN
from tests.documented import ROOT


def citation() -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    return found


def zenodo() -> dict[str, Any]:
    found: dict[str, Any] = json.loads((ROOT / ".zenodo.json").read_text(encoding="utf-8"))
    return found


def test_the_citation_fits_its_schema() -> None:
    schema = json.loads((GOLDEN / "exports" / "cff-1.2.0.schema.json").read_text(encoding="utf-8"))
    errors = [error.message for error in jsonschema.Draft7Validator(schema).iter_errors(citation())]
    assert errors == []


def test_all_say_the_same_version() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = {citation()["version"], zenodo()["version"], project["version"], intrabench.__version__}
    assert told == {project["version"]}
    assert citation()["license"] == zenodo()["license"] == project["license"]


def test_zenodo_says_the_same_as_the_citation() -> None:
    cff, told = citation(), zenodo()
    names = [one.get("name") or f"{one['family-names']}, {one['given-names']}" for one in cff["authors"]]
    assert told["title"] == cff["title"]
    assert [one["name"] for one in told["creators"]] == names
    assert told["keywords"] == cff["keywords"]
    assert told["description"] == " ".join(cff["abstract"].split())
    assert told["upload_type"] == cff["type"] == "software"
    related = {one["identifier"] for one in told["related_identifiers"]}
    cited = {one["value"] for reference in cff["references"] for one in reference["identifiers"]}
    assert related == {cff["repository-code"], *cited}
