"""Merge several results folders, e.g. of several machines: parts, masks and records are copied, all or nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from filecmp import cmp
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import make_folder, sync, sync_all, unique, writing
from intrabench.files.headers import Arrays
from intrabench.results.compact import tidy
from intrabench.results.differences import describe, differences
from intrabench.results.masks import cut_masks, damaged_masks
from intrabench.results.merged_clicks import FOLDER as CLICKS
from intrabench.results.merged_clicks import SLICES, clicks_together
from intrabench.results.packs import contents, listed
from intrabench.results.parts import damaged_files, damaged_parts, left_out_columns, read_rows
from intrabench.results.runs import read_record, read_records
from intrabench.results.statuses import UNDONE
from intrabench.results.store import clean

RECORDINGS = "people/recordings"
FOLDERS = {
    **{"rows": "*.parquet", "turns": "*.parquet", "masks": "*.npz", "people": "*.parquet", RECORDINGS: "*.jsonl"},
    **{f"{CLICKS}/{SLICES}/{kind}": "*.png" for kind in ("images", "masks")},
    "runs": "*.json",
}
"""What is copied. Runs write turns before their rows; so rows of an ongoing run are listed first, moved last."""


@dataclass
class Merged:
    """The result of a merge: the numbers of files `copied` and `skipped` (because they existed), and notes.

    conflicts: results that contradict each other; nothing was copied then, except with `newest`. rounding: differences
    machines may do to networks, and masks that differ. damaged: parts that were left out. versions: packages of which
    the runs had several. columns: those of metrics that readers leave out. packed: a sentence if there were so many
    small parts that they were put together.
    """

    copied: int = 0
    skipped: int = 0
    conflicts: list[str] = field(default_factory=list)
    rounding: list[str] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)
    versions: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    packed: str = ""


def merge(sources: Sequence[Path], out: Path, *, newest: bool = False) -> Merged:
    """Copy the content of `sources` into `out` if it is not there yet. No row is ever overwritten.

    newest: also copy results that contradict each other; then the newest count, as in any results folder.

    Raises:
        IntraBenchError: a folder that holds no results, is `out` itself, or has another file of the same name.
    """
    for source in sources:
        if not any((source / folder).is_dir() for folder in ("rows", RECORDINGS, CLICKS)):
            raise IntraBenchError(
                f"{source} is not a results folder, because it has no rows, no {RECORDINGS} and no {CLICKS}; give the "
                "folder of `run --out`, `record --out` or `annotate --out`"
            )
        if source.resolve() == out.resolve():
            raise IntraBenchError(f"{source} cannot be merged into itself; give another folder with --out")
    clean(out)
    merged = Merged(damaged=[text for root in (out, *sources) for text in (*damaged_parts(root), *damaged_masks(root))])
    merged.columns = [f"{root}: {line}" for root in sources for line in left_out_columns(root)]
    files = _wanted(sources, out, merged)
    _compare([out, *sources], merged)
    merged.versions = _versions([out, *sources])
    if newest or not merged.conflicts:
        with clicks_together(sources, out) as clicks:
            put_in_place({**files, **clicks}, out)
        merged.copied = len(files) + len(clicks)
        merged.packed = "".join(tidy(out))
    return merged


def _wanted(sources: Sequence[Path], out: Path, merged: Merged) -> dict[Path, Path]:
    """The files to copy and their paths below `out`. Of two files with one name, one may be more complete."""
    files: dict[Path, Path] = {}
    bad = damaged_files(out)
    there = {
        folder: {name for path in listed(out / folder) if path not in bad for name in contents(path)}
        for folder in FOLDERS
    }
    for source in sources:
        damaged = [*damaged_files(source), *cut_masks(source)]
        for folder, pattern in FOLDERS.items():
            for path in sorted({*listed(source / folder), *(source / folder).glob(pattern)}.difference(damaged)):
                if not path.is_file():
                    merged.damaged.append(f"{path} is no file and is left out; move it away")
                    continue
                if not path.resolve().is_relative_to(source.resolve()):  # what it leads to may be nobody's to share
                    merged.damaged.append(
                        f"{path} is a link out of {source} and is left out; put the file in its place"
                    )
                    continue
                place = path.relative_to(source)
                ours, parts = files.get(place, out / place), contents(path)
                if not ours.exists() and there[folder].issuperset(parts):  # packed here, or there
                    merged.skipped += 1
                    continue
                if not ours.exists() or _progress(path) > _progress(ours):
                    files[place] = path
                    there[folder] |= {*parts}
                    continue
                merged.skipped += 1
                if _progress(path) < _progress(ours) or cmp(path, ours, shallow=False):
                    continue
                if folder != "masks":
                    raise IntraBenchError(
                        f"{path} and {ours} should be equal, but are not; delete the one that was changed or damaged, "
                        "and merge again"
                    )
                if not _equal_masks(path, ours):
                    merged.rounding.append(f"masks {path} differ from {ours}, which are kept")
    return dict(reversed(files.items()))


def _progress(path: Path) -> int:
    """How complete a file is: masks and recordings grow, and a record is completed at the end of its run."""
    if path.suffix == ".npz":
        return len(_arrays(path))
    if path.suffix == ".jsonl":
        return path.stat().st_size
    return int(read_record(path.parents[1], path.stem).get("state") != "running") if path.suffix == ".json" else 0


def _equal_masks(one: Path, other: Path) -> bool:
    """Whether masks are equal; two machines may pack equal ones differently."""
    ours, theirs = _arrays(one), _arrays(other)
    return ours.keys() == theirs.keys() and all(np.array_equal(ours[name], theirs[name]) for name in ours)


def _arrays(path: Path) -> dict[str, Any]:
    try:
        with Arrays(path) as arrays:
            return dict(arrays)
    except Exception:  # zip, zlib and numpy raise different exceptions for damaged files
        return {}


def _compare(roots: Sequence[Path], merged: Merged) -> None:
    """Find the rows of the same session and round that contradict each other, though both succeeded."""
    seen = _succeeded(roots[0])
    for root in roots[1:]:
        rows = _succeeded(root)
        found = differences(seen, rows)
        apart = (pl.col("dice") - pl.col("dice_other")).abs()
        real = found.filter(~pl.col("near")).sort(apart, "session", "round", descending=[True, False, False])
        merged.conflicts += [describe(row, row["folder"], str(root)) for row in real.iter_rows(named=True)]
        near = found.filter("near", pl.col("prompts_hash") == pl.col("prompts_hash_other"))
        if not near.is_empty():
            merged.rounding.append(
                f"{several(len(near), 'row')} of networks in {root}: as machines round, unlike those of other folders "
                f"in Dice by {near.select(apart.max()).item() or 0:.2g} at most; in {found['near'].sum() - len(near)} "
                "rows the prompts of later rounds went apart for that"
            )
        seen = pl.concat([seen, rows.join(seen, on=["session", "round"], how="anti")], how="diagonal")


def _succeeded(root: Path) -> pl.DataFrame:
    return read_rows(root).filter(~pl.col("status").is_in(UNDONE)).with_columns(folder=pl.lit(str(root)))


def _versions(roots: Sequence[Path]) -> list[str]:
    """The packages of which the runs had different versions."""
    found: dict[str, set[str]] = {}
    for record in (record for root in roots for record in read_records(root)):
        for package, version in record.get("versions", {}).items():
            found.setdefault(package, set()).add(version)
    return [f"{package} {' and '.join(sorted(several))}" for package, several in found.items() if len(several) > 1]


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
                # Noted before it is moved, so that an interruption in between is undone, too; to undo a move that was
                # not made does no harm.
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
