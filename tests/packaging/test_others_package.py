"""The package of another author, as the page on Python shows it, is installed beside IntraBench and used by command."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.documented import ROOT, blocks

(PROJECT,) = (body for body in blocks(ROOT / "docs" / "python.md", "toml") if "[project]" in body)
GROUPS: dict[str, dict[str, str]] = tomllib.loads(PROJECT)["project"]["entry-points"]
EXPORT = '''
"""Their export: the table as JSON, in a format of their own."""

import json
import sys
from pathlib import Path

import intrabench


def main() -> None:
    means = intrabench.table(sys.argv[1], metric="centroid_distance").full()
    Path(sys.argv[2]).write_text(json.dumps({"theirs": means.to_dicts()}, default=str))
'''


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder that pip has installed the package into; its classes are the examples of a workspace."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    (source / "pyproject.toml").write_text(PROJECT)
    (source / "ourlab").mkdir()
    (source / "ourlab" / "__init__.py").touch()
    (source / "ourlab" / "export.py").write_text(EXPORT)
    for group, points in GROUPS.items():
        for name in points:
            example = ROOT / group.removeprefix("intrabench.") / f"{name}.py"
            (source / "ourlab" / example.name).write_bytes(example.read_bytes())
    words = ("-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation", "--target", target, source)
    subprocess.run((sys.executable, *words), check=True)
    return target


def said(site: Path, *words: str, cwd: Path) -> str:
    paths = os.pathsep.join((str(site), str(ROOT)))
    env = {**os.environ, "PYTHONPATH": paths, "INTRABENCH_DATA": str(cwd / "data")}
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_its_classes_run_together_and_its_export_reads_them(installed: Path, tmp_path: Path) -> None:
    assert {tuple(points) for points in GROUPS.values()} == {
        ("middle_box",),
        ("threshold",),
        ("two_balls",),
        ("centroid_distance",),
    }
    command = (sys.executable, "-m", "intrabench")
    listed = said(installed, *command, "list", "models", "--json", cwd=tmp_path)
    assert "from package ourlab" in {model["name"]: json.dumps(model) for model in json.loads(listed)}["threshold"]
    given = ("-m", "threshold", "-p", "middle_box", "-d", "two_balls", "--metric", "centroid_distance")
    said(installed, *command, "run", *given, "--rounds", "1", "--workers", "2", "--out", "out", cwd=tmp_path)
    assert "threshold" in said(installed, *command, "table", "--out", "out", cwd=tmp_path)
    said(installed, str(installed / "bin" / "ourlab-export"), "out", "theirs.json", cwd=tmp_path)
    ((row,),) = json.loads((tmp_path / "theirs.json").read_text()).values()
    assert (row["model"], row["prompter"], row["sessions"]) == ("threshold", "middle_box", 2)


def test_without_it_its_names_mean_nothing(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match=r"nothing named .threshold."):
        said(tmp_path, sys.executable, "-m", "intrabench", "info", "threshold", cwd=tmp_path)
