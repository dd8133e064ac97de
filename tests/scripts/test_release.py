"""A release is refused with a sentence, or made whole."""

from __future__ import annotations

import subprocess
import sys
from datetime import date
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests import scripts
from tests.documented import ROOT

script = scripts.script("release")


@pytest.mark.parametrize("place", script.PLACES)
def test_the_version_is_written_where_it_stands(place: str, wording: SnapshotAssertion) -> None:
    text = (ROOT / place).read_text("utf-8")
    new = script.written(text, place, "7.8.9")
    changed = [(a, b) for a, b in zip(text.splitlines(), new.splitlines(), strict=True) if a != b]
    assert len(changed) == 1
    assert changed[0][1] == changed[0][0].replace("0.1.0", "7.8.9")
    with pytest.raises(script.Refused) as caught:
        script.written("", place, "7.8.9")
    assert caught == wording


def test_all_places_agree() -> None:
    import intrabench

    for place in script.PLACES:
        text = (ROOT / place).read_text("utf-8")
        assert script.written(text, place, intrabench.__version__) == text, place


def test_the_changelog_gets_the_day() -> None:
    text = "# Changelog\n\n## 0.2.0 (unreleased)\n\n- A line.\n\n## 0.1.0 (2026-01-01)\n"
    assert "## 0.2.0 (2026-11-25)\n\n- A line." in script.dated(text, "0.2.0", date(2026, 11, 25))
    with pytest.raises(script.Refused, match=r"no section '## 0\.3\.0"):
        script.dated(text, "0.3.0", date(2026, 11, 25))


@pytest.mark.parametrize(
    ("version", "tags", "status"),
    [
        ("0.2", [], ""),
        ("0.2.0rc1", [], ""),
        ("0.2.0", ["v0.2.0"], ""),
        ("0.9.0", ["v0.10.0", "v0.2.0"], ""),
        ("0.2.0", [], " M README.md"),
    ],
)
def test_refused(version: str, tags: list[str], status: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(script.Refused) as caught:
        script.checked(version, tags, status)
    assert caught == wording


def test_a_higher_version_may_come() -> None:
    script.checked("0.10.0", ["v0.9.1", "something"], "")


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with the places of the version and a changelog, and a person who commits."""
    root = tmp_path / "repository"
    for place in (*script.PLACES, "CHANGELOG.md"):
        (root / place).parent.mkdir(parents=True, exist_ok=True)
        (root / place).write_bytes((ROOT / place).read_bytes())
    changelog = root / "CHANGELOG.md"
    changelog.write_text("# Changelog\n\n## 0.2.0 (unreleased)\n\n- A line.\n", "utf-8")
    (root / ".gitignore").write_text("dist/\n")
    for words in (
        ("init", "-q"),
        ("config", "user.name", "A Maintainer"),
        ("config", "user.email", "a@example.org"),
        ("add", "."),
        ("commit", "-qm", "Begin"),
    ):
        subprocess.run(("git", *words), cwd=root, check=True)
    return root


def _git(root: Path, *words: str) -> str:
    return subprocess.run(("git", *words), cwd=root, check=True, capture_output=True, text=True).stdout.strip()


def _built(clone: Path) -> Path:
    dist = clone / "dist"
    dist.mkdir()
    (dist / "intrabench.whl").write_text("a wheel")
    return dist


def test_commit_and_tag_come_when_all_has_passed(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tried = []
    monkeypatch.setattr(script, "build", _built)
    monkeypatch.setattr(script, "trial", lambda file, version, folder: tried.append((file.name, version)))
    script.release(repository, "0.2.0", dry=True)
    assert (_git(repository, "tag"), _git(repository, "log", "--format=%s")) == ("", "Begin")
    script.release(repository, "0.2.0", dry=False)
    assert tried == [("intrabench.whl", "0.2.0")] * 2
    assert _git(repository, "tag") == "v0.2.0"
    assert _git(repository, "log", "--format=%s %an") == "Release 0.2.0 A Maintainer\nBegin A Maintainer"
    assert 'version = "0.2.0"' in _git(repository, "show", "v0.2.0:pyproject.toml")
    assert _git(repository, "status", "--porcelain") == ""
    assert (repository / "dist" / "intrabench.whl").exists()


def test_nothing_is_left_of_a_release_that_fails(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise script.Refused("it does not run")

    monkeypatch.setattr(script, "build", _built)
    monkeypatch.setattr(script, "trial", fails)
    with pytest.raises(script.Refused, match="it does not run"):
        script.release(repository, "0.2.0", dry=False)
    assert (_git(repository, "tag"), _git(repository, "log", "--format=%s")) == ("", "Begin")
    assert _git(repository, "status", "--porcelain") == ""
    assert not (repository / "dist").exists()


@pytest.mark.slow
def test_a_real_release_builds_and_runs(tmp_path: Path) -> None:
    """Of this very tree: its wheel and its sdist are installed in fresh environments and play a session."""
    clone = tmp_path / "clone"
    subprocess.run(("git", "clone", "-q", str(ROOT), str(clone)), check=True)
    done = subprocess.run(
        (sys.executable, str(clone / "scripts" / "release.py"), "0.1.0", "--dry-run"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "0.1.0 builds and runs" in done.stdout
    assert {path.suffix for path in (clone / "dist").iterdir()} == {".whl", ".gz"}
