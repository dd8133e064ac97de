"""What the documentation tells people to install resolves, on every Python that is supported."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.documented import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
APART = {"voxtell", "sam2"}
"""VoxTell needs an environment of its own; SAM 2 has no wheel, and asking for its metadata builds it beside torch."""
EXTRAS = set(PROJECT["optional-dependencies"]) - {"test", "dev"}


def documented() -> set[str]:
    """The combinations of extras that pages, messages and cards name, such as ``litemedsam,people``."""
    files = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "intrabench").rglob("*.py")]
    texts = [path.read_text("utf-8") for path in files]
    return {found for text in texts for found in re.findall(r"(?:intrabench|'\.)\[([a-z0-9_,]+)\]", text)}


def test_only_extras_that_exist_are_named() -> None:
    named = {extra for combination in documented() for extra in combination.split(",")}
    assert {"litemedsam", "people"} <= named
    assert named <= EXTRAS | {"test", "dev"}


def resolved(extras: list[str], python: str, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "uv", "pip", "compile", "--quiet", "--python-version", python, *words]
    command += [word for extra in extras for word in ("--extra", extra)]
    return subprocess.run([*command, str(ROOT / "pyproject.toml")], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("python", [PYTHONS[0], PYTHONS[-1]])
@pytest.mark.parametrize("combination", sorted(documented() - APART - {"test", "dev"}))
def test_documented_combinations_resolve(combination: str, python: str) -> None:
    done = resolved(combination.split(","), python)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_all_extras_resolve_together(python: str) -> None:
    done = resolved(sorted(EXTRAS - APART), python)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("python", PYTHONS)
def test_the_core_needs_no_compiler_and_no_torch(python: str) -> None:
    done = resolved([], python, "--only-binary", ":all:", "--no-header", "--no-annotate")
    assert done.returncode == 0, done.stderr
    assert not re.search(r"^(torch|nvidia|triton)", done.stdout, re.MULTILINE)


@pytest.mark.slow
def test_the_lowest_versions_resolve() -> None:
    done = resolved([], "3.11", "--resolution", "lowest-direct", "--no-header", "--no-annotate")
    assert done.returncode == 0, done.stderr
    found = dict(line.split(";")[0].strip().split("==") for line in done.stdout.splitlines() if "==" in line)
    for requirement in PROJECT["dependencies"]:
        if bound := re.match(r"([A-Za-z0-9-]+)>=([\d.]+)", requirement):
            lowest = bound[2].rstrip("0").rstrip(".")
            assert found[bound[1].lower()].startswith(lowest), f"{requirement} has become {found[bound[1].lower()]}"


def test_the_pythons_are_those_of_the_project() -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    listed = [name.rsplit(" ", 1)[1] for name in PROJECT["classifiers"] if name.startswith("Programming Language")]
    assert listed == list(PYTHONS)
    assert Path(ROOT / "LICENSE").exists()
