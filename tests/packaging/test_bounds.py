"""The lowest versions that ``pyproject.toml`` allows and the newest, also before their release, are installed and used.

uv takes torch's CPU build where ``UV_TORCH_BACKEND=cpu`` says so, else the networks need gigabytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.documented import ROOT
from tests.packaging.test_install import RUN, call
from tests.packaging.test_resolve import APART, EXTRAS

VERSIONS = {"lowest": ("--resolution", "lowest-direct"), "newest": ("--prerelease", "allow")}
NETWORKS = ("torch", "litemedsam", "sam", "hf", "text", "monai", "nninteractive")
GROUPS = {
    "core": (),
    "extras": tuple(sorted(EXTRAS - APART - {*NETWORKS, "demo"})),
    "networks": NETWORKS,
}
"""Extras that are installed together."""
LIMITS = "httpx<1"
"""What others cannot use before its release: nnInteractive's client, httpx 1.0."""
TESTS = {
    "core": (
        "datasets/convert/test_dicom_seg.py",
        "files/test_grid.py",
        "files/test_locks.py",
        "metrics/test_distances.py",
        "prompters/test_golden.py",
        "reporting/test_comparison.py",
        "results/test_damaged.py",
        "results/test_reading.py",
        "statistics/test_bca.py",
        "statistics/test_compare.py",
    ),
    "extras": (
        "api/test_results.py",
        "cli/test_full_disk.py",
        "datasets/paper/test_ms_flair.py",
        "davis/test_session.py",
        "engine/test_dask_executor.py",
        "models/test_grabcut.py",
        "people/servers/test_app.py",
        "play/test_toothfairy3.py",
        "superpixels/test_methods.py",
    ),
    "networks": ("models/test_litemedsam.py", "models/test_sam.py", "models/test_hf.py", "models/test_vista3d.py"),
}
"""Test files that run with each group."""


def test_every_extra_is_in_a_group() -> None:
    assert {extra for group in GROUPS.values() for extra in group} == EXTRAS - APART - {"demo"}
    assert all((ROOT / "tests" / file).exists() for files in TESTS.values() for file in files)


@pytest.mark.slow
@pytest.mark.parametrize("group", GROUPS)
@pytest.mark.parametrize("versions", VERSIONS)
def test_what_is_allowed_works(versions: str, group: str, tmp_path: Path) -> None:
    programs = tmp_path / "env" / "bin"
    uv = (sys.executable, "-m", "uv")
    call(*uv, "venv", "-q", "--python", sys.executable, tmp_path / "env", cwd=tmp_path)
    install = (*uv, "pip", "install", "-q", "--python", programs / "python")
    extras = f"[{','.join(GROUPS[group])}]" if GROUPS[group] else ""
    (tmp_path / "limits.txt").write_text(LIMITS)
    call(*install, *VERSIONS[versions], "--constraint", "limits.txt", f"{ROOT}{extras}", cwd=tmp_path)
    call(*install, "pytest>=8.2", "syrupy>=7", "hypothesis>=6.100", cwd=tmp_path)
    command, data = programs / "intrabench", {"INTRABENCH_DATA": str(tmp_path / "data")}
    assert "Usage" in call(command, "--help", cwd=tmp_path)
    call(command, *RUN, cwd=tmp_path, **data)
    assert "random_walker" in call(command, "table", cwd=tmp_path)
    if "report" in GROUPS[group]:
        call(command, "report", "report.html", cwd=tmp_path)
        assert "random_walker" in (tmp_path / "report.html").read_text("utf-8")
    files = [f"tests/{file}" for file in TESTS[group]]
    call(programs / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, cwd=ROOT, OMP_NUM_THREADS="1")
