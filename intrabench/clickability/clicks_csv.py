"""Real clicks as published by RClicks: ``clicks.csv``, one row per click.

Meaning of the columns: datasheet of RClicks (https://arxiv.org/abs/2410.11722) and ``rclicks/clickmap.py`` of
https://github.com/emb-ai/rclicks.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import compress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from intrabench.datasets.convert.photo_size import within
from intrabench.datasets.photo_sets import Tetris
from intrabench.errors import IntraBenchError, broken

DATASETS = {
    "GrabCut": "grabcut",
    "Berkeley": "berkeley",
    "DAVIS": "davis345",
    "COCO": "coco_mval",
    "TETRIS": "tetris",
}
"""Our names of the file's data sets; others keep their names."""

_LONGEST = {Tetris.name: Tetris.longest}  # longer side of our pictures in pixels; clicks are scaled to it

CLICK_TYPES = ("first", "fn", "fp")
"""The first click on an object, or a click on what a mask misses (fn) or wrongly includes (fp)."""

_TEXTS = ("dataset", "full_stem", "click_type")
_STEMS = ("image_stem", "object_stem", "model_type", "device", "display")
_NUMBERS = ("x", "y", "w", "h")


@dataclass(frozen=True, eq=False)
class RealClicks:
    """All clicks on one object that correct the same error; RClicks identifies them by `full_stem`.

    object_stem: the object's number in the mask, empty if the picture has only one. model_type: the model whose mask is
    corrected, empty in the first round. clicks: ``(n, 2)`` rows ``y, x``, pixels of a picture of `shape` (rows,
    columns). devices: pc or mobile for each click, displays: how the object was shown before it; empty if unknown.
    """

    dataset: str
    full_stem: str
    image_stem: str
    object_stem: str
    model_type: str
    click_type: str
    clicks: NDArray[np.int64]
    devices: tuple[str, ...]
    shape: tuple[int, int]
    displays: tuple[str, ...] = ()


def read_clicks(path: Path) -> list[RealClicks]:
    """All entries of the file, in its order, with our names of data sets.

    Clicks beside the picture are moved to its border. If the file lacks the columns of stems, they are derived from
    `full_stem`.

    Raises:
        IntraBenchError: the file is missing, cannot be read, or has the wrong columns.
    """
    rows = _checked(_rows(path), path).with_columns(pl.col("dataset").replace(DATASETS))
    entries = rows.group_by("dataset", "full_stem", maintain_order=True).agg(pl.exclude("dataset", "full_stem"))
    return [_entry(row, path) for row in entries.iter_rows(named=True)]


def only(entries: Sequence[RealClicks], path: Path, device: str = "", display: str = "") -> list[RealClicks]:
    """Only the clicks with this device, and after this display, of entries of a file; empty: all.

    Raises:
        IntraBenchError: there are none.
    """
    for name, wanted in (("device", device), ("display", display)):
        if not wanted:
            continue
        values = [one.devices if name == "device" else one.displays for one in entries]
        known = sorted({value for each in values for value in each} - {""})
        if wanted not in known:
            choices = f"; give {', '.join(known)}" if known else f"; it has no {name}; omit {name}"
            raise IntraBenchError(f"{path} has no clicks with {name}={wanted}{choices}")
        kept = [_some(one, [value == wanted for value in each]) for one, each in zip(entries, values, strict=True)]
        entries = [one for one in kept if len(one.clicks)]
    return list(entries)


def _some(one: RealClicks, kept: Sequence[bool]) -> RealClicks:
    """The entry with some of its clicks."""
    devices, displays = (tuple(compress(values, kept)) for values in (one.devices, one.displays))
    return replace(one, clicks=one.clicks[np.array(kept, bool)], devices=devices, displays=displays)


def identity_of(entries: Iterable[RealClicks]) -> str:
    """A hash of entries: what was clicked, and where."""
    digest = hashlib.sha256()
    for one in entries:
        what = one.dataset, one.full_stem, one.image_stem, one.object_stem, one.shape, one.clicks.tolist()
        digest.update(repr(what).encode())
    return digest.hexdigest()[:16]


def not_clicked(path: Path, entries: Iterable[RealClicks], datasets: Iterable[str], what: str = "first clicks") -> str:
    """The sentence that a file has no clicks on some data sets."""
    names = sorted({entry.dataset for entry in entries})
    return f"{path} has no {what} on {', '.join(datasets)}; its clicks are on {', '.join(names)}"


def stems(full_stem: str) -> dict[str, str]:
    """Split a full stem ``IMAGE[_______OBJECT][_MODEL_(fn|fp)...]`` into its columns.

    As in RClicks, the image ends at the first name of a model. If a picture's name contains such a name, only the
    columns are right.
    """
    named = re.match(r"(.*?)(?:_(ritm|sam|simple|mivos)|\Z)", full_stem, re.DOTALL)
    assert named is not None  # the pattern matches every text
    image, _, number = named[1].partition("_______")
    return {"image_stem": image, "object_stem": number, "model_type": named[2] or "", "device": ""}


def _rows(path: Path) -> pl.DataFrame:
    """The needed columns, all as text: an empty field stays an empty text, and ``NA`` stays ``NA``."""
    if not path.is_file():
        raise IntraBenchError(
            f"{path} is not a file; give the path of clicks.csv, which RClicks publishes with its code"
        )
    try:
        read = pl.read_csv(path, infer_schema=False).fill_null("")
    except (OSError, pl.exceptions.PolarsError) as error:
        raise broken(path, error) from error
    missing = [name for name in (*_TEXTS, *_NUMBERS) if name not in read.columns]
    if missing:
        raise IntraBenchError(
            f"{path} has no column {missing[0]}, so it is not RClicks' clicks.csv; give that file, with the columns "
            f"{', '.join((*_TEXTS, *_NUMBERS))}"
        )
    lacking = [name for name in _STEMS if name not in read.columns]
    found = read.select(*_TEXTS, *_NUMBERS, *(name for name in _STEMS if name in read.columns))
    if lacking:
        parts_of = {one: stems(one) for one in found["full_stem"].unique()}
        for name in lacking:
            values = {one: parts.get(name, "") for one, parts in parts_of.items()}
            found = found.with_columns(pl.col("full_stem").replace_strict(values, return_dtype=pl.String).alias(name))
    return found


def _checked(rows: pl.DataFrame, path: Path) -> pl.DataFrame:
    """The rows with the columns of numbers as integers."""
    numbers = rows.with_columns(pl.col(_NUMBERS).cast(pl.Int64, strict=False)).with_row_index("line", 2)
    wrong = {
        "a whole number in each of x, y, w and h": pl.any_horizontal(pl.col(_NUMBERS).is_null()),
        "a picture of at least one pixel (w, h)": pl.min_horizontal("w", "h") < 1,
        f"a click_type of {', '.join(CLICK_TYPES)}": ~pl.col("click_type").is_in(CLICK_TYPES),
        "a full_stem": pl.col("full_stem") == "",
    }
    for expected, found in wrong.items():
        lines = numbers.filter(found)["line"]
        if len(lines):
            raise IntraBenchError(f"{path}, line {lines[0]}: expected {expected}; download the file again")
    if rows.is_empty():
        raise IntraBenchError(f"{path} contains no clicks; download it again")
    return numbers.drop("line")


def _entry(row: dict[str, Any], path: Path) -> RealClicks:
    """The entry of one group of rows, which are lists by column."""
    for name in ("image_stem", "object_stem", "model_type", "click_type", "w", "h"):
        if len(set(row[name])) > 1:
            raise IntraBenchError(
                f"{path}: the clicks of {row['full_stem']} have different values of {name}, but all clicks of a "
                "full_stem share one; download the file again"
            )
    shown = row["h"][0], row["w"][0]
    rows, columns = within(shown, _LONGEST.get(row["dataset"]))
    clicks = np.stack([row["y"], row["x"]], axis=1).clip(0, np.array(shown) - 1)
    return RealClicks(
        dataset=row["dataset"],
        full_stem=row["full_stem"],
        image_stem=row["image_stem"][0],
        object_stem=row["object_stem"][0],
        model_type=row["model_type"][0],
        click_type=row["click_type"][0],
        clicks=clicks * (rows, columns) // shown,  # rounded down, as in RClicks
        devices=tuple(row["device"]),
        shape=(rows, columns),
        displays=tuple(row["display"]),
    )
