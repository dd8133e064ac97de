"""Workspaces (folders with ``intrabench.toml`` whose classes are found by name), and where results and data go."""

from __future__ import annotations

import os
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path

from intrabench.errors import IntraBenchError
from intrabench.specs import nearest

FILE = "intrabench.toml"

_KEYS = {"results"}


@dataclass(frozen=True)
class Workspace:
    """A workspace folder and its folder of results."""

    root: Path
    results: Path


def current() -> Workspace | None:
    """The workspace in the current folder, or None. Parent folders are not searched."""
    file = Path.cwd() / FILE
    if not file.is_file():
        return None
    try:
        settings = tomllib.loads(file.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise IntraBenchError(f"{file} is not valid TOML ({error}); repair it") from error
    for key in settings:
        if key not in _KEYS:
            raise IntraBenchError(
                f"{file}: there is no setting {key!r}{nearest(key, _KEYS)}; the settings are {sorted(_KEYS)}"
            )
    return Workspace(file.parent, file.parent / str(settings.get("results", "results")))


def results_folder(out: Path | None = None) -> Path:
    """Where results go: `out`, else the workspace's results, else ``intrabench-results`` in the current folder."""
    if out is not None:
        return out
    workspace = current()
    return workspace.results if workspace else Path.cwd() / "intrabench-results"


def data_root() -> Path:
    """Where data live: the folder in INTRABENCH_DATA, else ``intrabench`` in the user's cache folder."""
    chosen = os.environ.get("INTRABENCH_DATA")
    if chosen:
        return Path(chosen).expanduser()
    from platformdirs import user_cache_path

    return user_cache_path("intrabench", appauthor=False)


def make_workspace(folder: Path) -> None:
    """Write a workspace with one worked example of a prompter, a model and a data set."""
    from importlib.resources import as_file, files

    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise IntraBenchError(f"{folder} already exists and is not empty; give a new folder")
    with as_file(files("intrabench") / "template") as template:
        try:
            shutil.copytree(template, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
        except OSError as error:
            raise IntraBenchError(f"cannot write to {folder} ({error.strerror}); choose another folder") from error
