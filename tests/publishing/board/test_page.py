"""The workflows in docs/board.md: what they run exists, and finds the submissions that a pull request changes."""

from __future__ import annotations

import os
import shlex
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import documented

CHECK, SITE = (yaml.safe_load(text) for text in documented.blocks(documented.ROOT / "docs" / "board.md", "yaml"))


def steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    (job,) = workflow["jobs"].values()
    found: list[dict[str, Any]] = job["steps"]
    return found


@pytest.mark.parametrize("workflow", [CHECK, SITE], ids=["check", "site"])
def test_its_commands_exist(workflow: dict[str, Any], tmp_path: Path) -> None:
    told = [step["run"].removeprefix("xargs -r -d '\\n' ") for step in steps(workflow) if "run" in step]
    given = [shlex.split(line.replace("< changed", "SUBMISSION")) for line in told if line.startswith(("intra", "pip"))]
    assert len(given) == (3 if workflow is CHECK else 2)
    for words in given:
        documented.check(words, tmp_path)


def test_the_check_of_strangers_has_few_rights() -> None:
    assert CHECK[True] == "pull_request"  # YAML reads `on` as true; pull_request_target would have secrets
    assert CHECK["permissions"] == {"contents": "read"}
    for step in steps(CHECK):
        if "intrabench " in step.get("run", "") and not step["run"].startswith("pip"):
            assert step["working-directory"] == "${{ runner.temp }}"
        assert "${{" not in step.get("run", "")  # what strangers name would become part of a script


def test_it_finds_the_submissions_that_change(tmp_path: Path) -> None:
    git("init", "--quiet", "--initial-branch", "main")
    for name in ("kept", "edited", "shortened", "gone"):
        write(f"submissions/{name}/rows/rows.parquet", name)
        write(f"submissions/{name}/submission.json", name)
    commit()
    git("checkout", "--quiet", "-b", "change")
    write("submissions/edited/submission.json", "other")
    write("submissions/--trust/submission.json", "new")
    write("submissions/a b;$(touch trap)/rows/x", "new")
    write("README.md", "other")
    git("rm", "--quiet", "submissions/shortened/submission.json")
    git("rm", "--quiet", "-r", "submissions/gone")
    commit()
    (step,) = (one for one in steps(CHECK) if one.get("name") == "Which submissions change")
    where = os.environ | {"BASE": "main", "CHANGED": str(tmp_path / "changed")}
    subprocess.run(["bash", "-e", "-c", step["run"]], env=where, check=True)
    names = [Path(line).relative_to(Path.cwd() / "submissions").name for line in lines(tmp_path / "changed")]
    assert sorted(names) == ["--trust", "a b;$(touch trap)", "edited", "shortened"]
    assert not Path("trap").exists()


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def write(name: str, text: str) -> None:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    Path(name).write_text(text)


def git(*words: str) -> None:
    who = ("-c", "user.name=x", "-c", "user.email=x@example.org", "-c", "commit.gpgsign=false")
    subprocess.run(["git", *who, *words], check=True)


def commit() -> None:
    git("add", "--all")
    git("commit", "--quiet", "--message", "x")
