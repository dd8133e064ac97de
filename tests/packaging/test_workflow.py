"""The workflow of the repository: pinned actions, the Pythons of the project, and commands that exist."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import documented
from tests.documented import ROOT
from tests.packaging.test_resolve import PYTHONS

TEXT = (ROOT / ".github" / "workflows" / "ci.yml").read_text("utf-8")
JOBS: dict[str, Any] = yaml.safe_load(TEXT)["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


@pytest.mark.parametrize("file", [".github/workflows/ci.yml", "docs/board.md"])
def test_actions_are_pinned_by_commit_and_say_their_version(file: str) -> None:
    lines = [line for line in (ROOT / file).read_text("utf-8").splitlines() if "- uses:" in line]
    assert len(lines) > 0
    assert all(re.search(r"uses: actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$", line) for line in lines)


def test_it_runs_on_all_pythons_with_torch_for_cpus_once_per_branch() -> None:
    for job in ("check", "install"):
        assert JOBS[job]["strategy"]["matrix"]["python"] == list(PYTHONS)
    assert JOBS["check"]["env"]["TORCH_INDEX"].endswith("/cpu")
    assert yaml.safe_load(TEXT)["concurrency"]["cancel-in-progress"] is True
    assert all(step["with"]["cache"] == "pip" for step in STEPS if "setup-python" in step.get("uses", ""))


def test_its_commands_exist(tmp_path: Path) -> None:
    lines = [step["run"] for step in STEPS if "run" in step]
    assert len(lines) == len([step for step in STEPS if "uses" not in step]) > 0
    for line in lines:
        words = shlex.split(line)
        if words[0] == ".ci/run":
            assert os.access(ROOT / words[0], os.X_OK)
        elif "pytest" in words and words[0] == "python":
            assert (ROOT / words[-1]).exists()
        else:
            documented.check(words, tmp_path)


@pytest.mark.parametrize(("index", "expected"), [("", 0), ("https://example.org/cpu", 1)])
def test_make_takes_torch_from_the_index_that_is_given(index: str, expected: int, tmp_path: Path) -> None:
    for name in ("Makefile", "pyproject.toml"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    words = ("make", "--dry-run", "test", f"TORCH_INDEX={index}")
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    torch = [number for number, line in enumerate(said) if line.endswith(f"--index-url {index} torch torchvision")]
    assert len(torch) == expected
    assert all(number < next(at for at, line in enumerate(said) if "--editable" in line) for number in torch)
