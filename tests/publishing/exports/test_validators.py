"""The validators of others that cannot be installed beside our tests, in environments of their own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from intrabench.publishing.exports.eee import Evaluator, export_eee
from intrabench.publishing.exports.ro_crate import export_ro_crate

pytestmark = pytest.mark.slow
NOW = datetime(2026, 1, 2, tzinfo=UTC)
UNKNOWN = {"process-run-crate-0.5_8.6", "ro-crate-1.1_22.2", "ro-crate-1.1_22.3"}
"""Recommended, but nobody has told us: who ran it, its author, its publisher."""


def environment(python: str, *packages: str, more: tuple[str, ...] = ()) -> Path:
    subprocess.run([python, "-m", "venv", "env"], check=True)
    made = Path("env", "Scripts" if os.name == "nt" else "bin", "python").absolute()
    for words in (packages, *([("--no-deps", *more)] if more else [])):
        subprocess.run([made, "-m", "pip", "install", "--quiet", *words], check=True)
    return made


def python_of(least: tuple[int, int]) -> str:
    """An interpreter that is new enough."""
    if sys.version_info[:2] >= least:
        return sys.executable
    for name in ("python3.12", "python3.13", "python3.14"):
        path = shutil.which(name)
        if path and subprocess.run([path, "--version"], capture_output=True, check=False).returncode == 0:
            return path
    pytest.skip(f"every-eval-ever needs Python {'.'.join(map(str, least))}")


def test_every_eval_ever_accepts_its_files(results: Path, data: Path) -> None:
    export_eee(results, Path("new"), Evaluator(), now=NOW)
    needed = ("jsonschema", "pydantic", "rich", "requests", "huggingface-hub<2")
    python = environment(python_of((3, 12)), *needed, more=("every-eval-ever==0.3.0",))
    words = [python, "-m", "every_eval_ever", "validate", "data/*/*/*/*"]
    said = subprocess.run(words, cwd="new", capture_output=True, text=True, check=False)
    assert said.returncode == 0, said.stdout
    assert "2 passed, 0 warning-only, 0 failed" in said.stdout


def test_roc_validator_accepts_the_crate(results: Path, data: Path) -> None:
    export_ro_crate(results, Path("new"), "CC-BY-4.0", now=NOW)
    python = environment(sys.executable, "roc-validator==0.13.0", "rocrate==0.16.0")
    script = Path(__file__).with_name("validate_crate.py")
    said = subprocess.run([python, script, "new"], capture_output=True, text=True, check=True)
    issues = json.loads(said.stdout.splitlines()[-1])
    assert {check for _, check, _ in issues} <= UNKNOWN, issues
