"""Wheel and sdist work outside of the repository: with pip and uv, on each Python that is here, and in a container."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from tests.documented import ROOT
from tests.packaging.test_resolve import PYTHONS

RUN = ("run", "--model", "random_walker", "--prompter", "box_interp:n=3+scribble", "--rounds", "1")
RUN += ("--dataset", "phantom:shape=8x32x32,instances=1")
BASE = os.environ.get("INTRABENCH_TEST_BASE", "docker.io/library/python:3.13-slim")
"""The image that a container is made from; must have `python3` with venv."""
BUILDERS = {
    "docker": ("docker", "pull", "-q", BASE),
    "podman": ("podman", "pull", "-q", BASE),
    "buildah": ("buildah", "from", BASE),
}
"""How each gets that image."""


def call(*words: object, cwd: Path, **env: str) -> str:
    away = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "INTRABENCH"))}
    done = subprocess.run(
        list(map(str, words)), cwd=cwd, env=away | env, capture_output=True, text=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Wheel and sdist of a clean copy of this tree."""
    folder = tmp_path_factory.mktemp("dist")
    call("git", "clone", "-q", ROOT, folder / "clone", cwd=folder)
    call(sys.executable, "-m", "build", "--outdir", folder / "dist", folder / "clone", cwd=folder)
    return folder / "dist"


@pytest.mark.slow
def test_the_files_hold_what_they_should(dist: Path) -> None:
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    inside = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in inside if name.split("/")[0] not in ("intrabench", f"{wheel.name[:16]}.dist-info")]
    for needed in ("py.typed", "effort.toml", "reporting/page/page.html.jinja", "template/models/threshold.py"):
        assert f"intrabench/{needed}" in inside
    with tarfile.open(sdist) as archive:
        names = {member.name.split("/", 1)[-1] for member in archive.getmembers() if not member.isdir()}
    tracked = set(call("git", "ls-files", cwd=ROOT).splitlines())
    assert {"README.md", "LICENSE", "CHANGELOG.md", "CITATION.cff", "tests/conftest.py", "pyproject.toml"} <= tracked
    assert names == tracked | {"PKG-INFO"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["*.whl", "*.tar.gz"])
@pytest.mark.parametrize("tool", ["pip", "uv"])
@pytest.mark.parametrize("python", PYTHONS)
def test_a_fresh_environment_plays(dist: Path, tmp_path: Path, python: str, tool: str, kind: str) -> None:
    program = f"python{python}"
    if not _works(program, "--version"):  # a shim of pyenv may be there without it
        pytest.skip(f"there is no {program} here")
    (file,) = dist.glob(kind)
    if tool == "uv":
        call(sys.executable, "-m", "uv", "venv", "-q", "--python", program, tmp_path / "env", cwd=tmp_path)
        into = ("--python", tmp_path / "env" / "bin" / "python")
        call(sys.executable, "-m", "uv", "pip", "install", "-q", *into, file, cwd=tmp_path)
    else:
        call(program, "-m", "venv", tmp_path / "env", cwd=tmp_path)
        call(tmp_path / "env" / "bin" / "python", "-m", "pip", "install", "-q", file, cwd=tmp_path)
    command = tmp_path / "env" / "bin" / "intrabench"
    call(command, *RUN, cwd=tmp_path, INTRABENCH_DATA=str(tmp_path / "data"))
    assert "random_walker" in call(command, "table", cwd=tmp_path)
    call(command, "init", "bench", cwd=tmp_path)
    assert "threshold" in call(command, "list", "models", cwd=tmp_path / "bench")


@pytest.mark.slow
def test_a_container_is_built_and_plays(tmp_path: Path) -> None:
    """Without torch's CPU index, which not every place reaches; buildah needs no daemon."""
    builder = next((name for name in BUILDERS if _works(*BUILDERS[name])), None)
    if builder is None:
        pytest.skip(f"there is no docker, podman or buildah here that has {BASE}")
    build = ("buildah", "bud", "--network", "host") if builder == "buildah" else (builder, "build")
    arguments = [f"BASE={BASE}", "TORCH_INDEX=", "EXTRAS=report"]
    options = [word for argument in arguments for word in ("--build-arg", argument)]
    call(*build, "-q", *options, "--tag", "intrabench:test", ROOT, cwd=tmp_path)
    if builder == "buildah":
        container = call(builder, "from", "localhost/intrabench:test", cwd=tmp_path).strip()
        play = (builder, "run", container, "--", "intrabench")
    else:
        play = (builder, "run", "--rm", "intrabench:test")
    assert "random_walker" in call(*play, *RUN, cwd=tmp_path)


def _works(program: str, *words: str) -> bool:
    return (
        bool(shutil.which(program))
        and not subprocess.run((program, *words), capture_output=True, check=False).returncode
    )
