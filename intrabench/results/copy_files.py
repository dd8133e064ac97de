"""Copy files into a folder, all or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from intrabench.files.atomic import make_folder, sync, sync_all, unique, writing


def put_in_place(files: Mapping[Path, Path], out: Path) -> None:
    """Copy files to their paths below `out`, ``{path: source}``: first to temporary names, then renamed in this order.

    All copies are on the disk before the first one is renamed.

    Raises:
        IntraBenchError: a file cannot be written; then nothing has changed.
    """
    new, staging, moved = not out.exists(), out / f".merge-{unique()}", list[Path]()
    with writing(out):
        try:
            for place, source in files.items():
                _copy(source, staging / place)
                if (out / place).exists():
                    _copy(out / place, staging / "old" / place)
            if files:
                sync_all(staging)
            for place in files:
                make_folder((out / place).parent)
                moved.append(place)
                os.replace(staging / place, out / place)
            for folder in {(out / place).parent for place in files}:
                sync(folder)
        except BaseException:
            for place in moved:
                old = staging / "old" / place
                old.replace(out / place) if old.exists() else (out / place).unlink(missing_ok=True)
            raise
        finally:
            shutil.rmtree(staging, ignore_errors=True)
            for folder in [*{(out / place).parent for place in files}, out] if new else []:
                with suppress(OSError):  # not empty, so the files are in place
                    folder.rmdir()


def _copy(source: Path, place: Path) -> None:
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, place)
