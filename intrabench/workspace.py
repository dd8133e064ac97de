"""Workspaces (folders with ``intrabench.toml`` whose classes are found by name), and where results and data go."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.documents import read_toml
from intrabench.specs.specs import nearest

FILE = "intrabench.toml"

DATA = "INTRABENCH_DATA"
"""The variable with the folder of data."""

SETTINGS = """\
# An IntraBench workspace: your own classes in the folders beside this file are known by name when `intrabench` runs
# in this folder or below it.
results = "results"
"""
"""What the file says in a new workspace."""

PARTS = ("clickability", "datasets", "metrics", "models", "prompters", "superpixels", "results/README.md")
"""What else a new workspace holds; pyproject.toml puts them into the wheel."""

_KEYS: Mapping[str, Any] = {"results": str, "models": dict[str, dict[str, Any]]}


@dataclass(frozen=True)
class Workspace:
    """A workspace folder and its folder of results. models: the cards of models, by spec (`models.card`)."""

    root: Path
    results: Path
    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def here() -> Path:
    """The current folder.

    Raises:
        IntraBenchError: it was deleted.
    """
    try:
        return Path.cwd()
    except FileNotFoundError:
        raise IntraBenchError("the current folder was deleted; go to another one (cd), and try again") from None


def current() -> Workspace | None:
    """The workspace of the current folder or of the nearest folder above it, or None.

    Above it, a file counts only if it belongs to the user or to the owner of the current folder: classes of a workspace
    are executed, and anybody may write into a folder such as /tmp.

    Raises:
        IntraBenchError: its settings are wrong or no file, or it is a folder of results, which may be somebody else's
            and is read from within; no command executes what results bring along.
    """
    file = _file_above(here())
    if file is None:
        return None
    try:
        settings = read_toml(file, _KEYS)
    except FileNotFoundError:
        raise IntraBenchError(f"{file} is a link to a file that does not exist; repair it or move it away") from None
    results = file.parent / settings.get("results", "results")
    if results.resolve() == file.parent.resolve() or all((file.parent / one).is_dir() for one in ("rows", "runs")):
        raise IntraBenchError(
            f"{file} would make a folder of results a workspace, whose classes are executed; keep results in a folder "
            f"of their own, or work in another folder"
        )
    for key in settings:
        if key not in _KEYS:
            raise IntraBenchError(
                f"{file}: there is no setting {key!r}{nearest(key, _KEYS)}; the settings are {sorted(_KEYS)}"
            )
    return Workspace(file.parent, results, settings.get("models", {}))


def _file_above(folder: Path) -> Path | None:
    """The settings of a folder, or of the nearest above it that belong to the user or to whom `folder` belongs."""
    file = os.path.join(folder, FILE)  # asked for each name that is looked up, and paths take longest
    if os.path.lexists(file):
        return Path(file)
    for above in folder.parents:
        file = os.path.join(above, FILE)
        with suppress(OSError):
            if os.lstat(file).st_uid in _owners(folder):
                return Path(file)
    return None


def _owners(folder: Path) -> set[int]:
    return {folder.stat().st_uid, *([os.getuid()] if hasattr(os, "getuid") else [])}


def results_folder(out: Path | None = None) -> Path:
    """Where results go: `out`, else the workspace's results, else ``intrabench-results`` in the current folder."""
    if out is not None:
        return out
    workspace = current()
    return workspace.results if workspace else here() / "intrabench-results"


def data_root() -> Path:
    """Where data live: the folder in INTRABENCH_DATA, else ``intrabench`` in the user's cache folder."""
    chosen = os.environ.get(DATA)
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("intrabench", appauthor=False)


def make_workspace(folder: Path) -> None:
    """Write a workspace with a worked example of each class that one can add.

    Raises:
        IntraBenchError: the folder holds something already or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise IntraBenchError(f"{folder} already exists and is not empty; give a new folder")
    new = not folder.exists()
    with writing(folder):
        try:
            _fill(folder)
        except BaseException:  # half a workspace could not be made again
            for path in folder.iterdir() if folder.is_dir() else ():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
            if new:
                shutil.rmtree(folder, ignore_errors=True)
            raise


def _fill(folder: Path) -> None:
    for part in PARTS:
        source, copy = _template() / part, folder / part
        copy.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copyfile(source, copy)
    (folder / FILE).write_text(SETTINGS, encoding="utf-8")


def _template() -> Path:
    """The root of the repository, which is a workspace; an installed package carries a copy of it."""
    package = Path(__file__).parent
    installed = package / "template"
    return installed if installed.is_dir() else package.parent
