"""Make a release: ``make release VERSION=0.2.0``, or ``python scripts/release.py 0.2.0 [--dry-run]``.

All is done in a clone: the version is written, wheel and sdist are built, the wheel is installed in a fresh environment
and runs there. Only then do commit, tag and files come here. Nothing is pushed or uploaded.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import venv
from datetime import date
from pathlib import Path

ROOT = Path(__file__).parent.parent

PLACES = {
    "pyproject.toml": r'(?m)^(version = ")[^"]+(")',
    "intrabench/__init__.py": r'(?m)^(__version__ = ")[^"]+(")',
    "CITATION.cff": r"(?m)^(version: )\S+()",
    ".zenodo.json": r'("version": ")[^"]+(")',
}
"""Where the version stands: what comes before it and after it are groups."""

TRIAL = (
    ("--version",),
    ("list", "models"),
    ("run", "--model", "random_walker", "--prompter", "box_slice", "--dataset", "phantom:shape=8x32x32"),
    ("table",),
)
"""What a fresh environment must be able to do, without torch."""


class Refused(Exception):
    """A release cannot be made, with the reason and what to do."""


def written(text: str, place: str, version: str) -> str:
    """The text of a file with another version."""
    new, found = re.subn(PLACES[place], rf"\g<1>{version}\g<2>", text)
    if found != 1:
        raise Refused(f"{place} should have the version once, but has it {found} times")
    return new


def dated(changelog: str, version: str, today: date) -> str:
    """The changelog with the day of this version."""
    heading = f"## {version} (unreleased)"
    if heading not in changelog:
        raise Refused(f"CHANGELOG.md has no section {heading!r}; write what changed for users")
    return changelog.replace(heading, f"## {version} ({today})")


def checked(version: str, tags: list[str], status: str) -> None:
    """Whether this version can come next; `tags` are those of the repository, `status` its uncommitted changes."""
    if not (number := _number(version)):
        raise Refused(f"{version!r} is no version; expected three numbers such as 0.2.0")
    if status:
        raise Refused("there are uncommitted changes; commit or stash them first")
    released = [found for tag in tags if (found := _number(tag.removeprefix("v")))]
    if released and number <= max(released):
        newest = ".".join(map(str, max(released)))
        raise Refused(f"{version} does not come after {newest}, which is released; choose a higher version")


def _number(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split("."))) if re.fullmatch(r"\d+\.\d+\.\d+", version) else ()


def release(root: Path, version: str, dry: bool) -> None:
    """Make the release of the commit that `root` is at."""
    checked(version, _git(root, "tag").split(), _git(root, "status", "--porcelain"))
    with tempfile.TemporaryDirectory(prefix="release-") as temporary:
        clone = Path(temporary) / "clone"
        _git(root, "clone", "--quiet", str(root), str(clone))
        for place in PLACES:
            file = clone / place
            file.write_text(written(file.read_text("utf-8"), place, version), "utf-8")
        changelog = clone / "CHANGELOG.md"
        changelog.write_text(dated(changelog.read_text("utf-8"), version, date.today()), "utf-8")
        dist = build(clone)
        for file in sorted(dist.iterdir()):
            print(f"trying {file.name} in a fresh environment")
            trial(file, version, Path(temporary) / file.suffix.strip("."))
        shutil.copytree(dist, root / "dist", dirs_exist_ok=True)
        if dry:
            print(f"{version} builds and runs; its files are in dist/, no commit and no tag were made")
            return
        for name in ("user.name", "user.email"):
            _git(clone, "config", name, _git(root, "config", name))
        _git(clone, "commit", "--quiet", "--all", "--allow-empty", "--message", f"Release {version}")
        _git(clone, "tag", "--annotate", f"v{version}", "--message", f"IntraBench {version}")
        _git(root, "pull", "--quiet", "--ff-only", "--tags", str(clone), "HEAD")
    print(f"tagged v{version}. To publish it:\n  git push --follow-tags\n  twine upload dist/intrabench-{version}*")


def build(folder: Path) -> Path:
    """Wheel and sdist of a source tree, checked as a package index would; the wheel is made from the sdist."""
    dist = folder / "dist"
    _run(sys.executable, "-m", "build", "--outdir", str(dist), str(folder))
    _run(sys.executable, "-m", "twine", "check", "--strict", *map(str, dist.iterdir()))
    return dist


def trial(file: Path, version: str, folder: Path) -> None:
    """Install a wheel or sdist in a fresh environment and use it, far away from the sources."""
    venv.create(folder / "venv", with_pip=True)
    programs = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    _run(str(programs / "python"), "-m", "pip", "install", "--quiet", str(file))
    away = {**os.environ, "INTRABENCH_DATA": str(folder / "data")}
    away.pop("PYTHONPATH", None)
    for words in TRIAL:
        said = _run(str(programs / "intrabench"), *words, cwd=folder, env=away)
        if words == ("--version",) and said.split()[-1] != version:
            raise Refused(f"{file.name} says that it is {said.strip()!r}, not {version}")


def _git(folder: Path, *words: str) -> str:
    return _run("git", *words, cwd=folder).strip()


def _run(*words: str, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(words, cwd=cwd, env=env, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode:
        raise Refused(f"{' '.join(words)} ended with {done.returncode}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def main() -> None:
    """Parse the command line; exit code 2 with a sentence where a release cannot be made."""
    parser = argparse.ArgumentParser(description="Build, try and tag a release; nothing is pushed or uploaded.")
    parser.add_argument("version", help="three numbers such as 0.2.0")
    parser.add_argument("--dry-run", action="store_true", help="stop before commit and tag")
    options = parser.parse_args()
    try:
        release(ROOT, options.version, options.dry_run)
    except Refused as refused:
        print(refused, file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
