"""The pairs of lines that ``intrabench compare A B`` compares, for two runs, two models or two prompters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.results import labels
from intrabench.results.current import IDENTITY, MODEL, current
from intrabench.specs import nearest
from intrabench.statistics.soundness import check_mixable, some_rows


@dataclass(frozen=True)
class Contest:
    """Two lines to be compared; `head` says what they have in common, `left_out` which older sessions do not count."""

    head: str
    a: pl.DataFrame
    b: pl.DataFrame
    left_out: tuple[str, ...] = ()


def contests(folder: Path, a: str, b: str) -> list[Contest]:
    """All pairs of lines that differ only in A and B.

    a, b: results folders; or models or prompters, as written in tables, in the results of `folder`. Lines of two runs
    are compared if prompter and name of the model are equal, whatever the model's version and weights.

    Raises:
        IntraBenchError: a name is unknown, or there is no pair.
    """
    if folders_of(folder, a, b) != [folder]:
        shared: tuple[str, ...] = ("prompter", "model", "dtype", "strict")
        read = [_read(Path(one)) for one in (a, b)]
        sides, left_out = [rows for rows, _ in read], [text for _, texts in read for text in texts]
        check_mixable(pl.concat(sides, how="diagonal"))
    else:
        rows, left_out = _read(folder)
        column = next((name for name in ("model", "prompter") if {a, b} <= set(rows[name])), None)
        if column is None:
            raise IntraBenchError(_unknown(rows, a, b, folder))
        shared = tuple(
            name for name in IDENTITY if name not in (MODEL if column == "model" else ("prompter", "weights"))
        )
        sides = [rows.filter(pl.col(column) == one) for one in (a, b)]
    found = [replace(one, left_out=tuple(left_out)) for one in _pairs(sides, shared)]
    if not found:
        raise IntraBenchError(f"{a} and {b} have no line in common; run both with the same prompters and models")
    return found


def folders_of(folder: Path, a: str, b: str) -> list[Path]:
    """The results folders that `contests` reads: A and B if both are some, else `folder`."""
    return [Path(a), Path(b)] if _is_results(a) and _is_results(b) else [folder]


def _read(folder: Path) -> tuple[pl.DataFrame, list[str]]:
    """The rows that count, with models as people call them, and what is left out."""
    rows, left_out = current(some_rows(folder))
    return rows.with_columns(labels.MODEL), left_out


def _pairs(sides: Sequence[pl.DataFrame], shared: Sequence[str]) -> list[Contest]:
    played = [side.filter(pl.col("status") != "not_applicable") for side in sides]
    groups = [side.partition_by(list(shared), as_dict=True) for side in played]
    common = sorted((key for key in groups[0] if key in groups[1]), key=str)
    main = "prompter" if "prompter" in shared else "model"
    varied = [name for at, name in enumerate(shared) if len({key[at] for key in common}) > 1 or name == main]
    return [
        Contest(
            ", ".join(str(value) for name, value in zip(shared, key, strict=True) if name in varied and value != ""),
            groups[0][key],
            groups[1][key],
        )
        for key in common
    ]


def _is_results(place: str) -> bool:
    return (Path(place) / "rows").is_dir()


def _unknown(rows: pl.DataFrame, a: str, b: str, folder: Path) -> str:
    known = sorted({*rows["model"], *rows["prompter"]})
    for one in (a, b):
        if one not in known:
            return (
                f"{one!r} is neither a results folder nor a model or prompter in {folder}{nearest(one, known)}; "
                f"it has {', '.join(known)}"
            )
    return f"{a} and {b} are a model and a prompter; give two models or two prompters"
