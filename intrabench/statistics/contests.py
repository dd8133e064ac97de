"""The pairs of lines that ``intrabench compare A B`` compares, for two runs, two models or two prompters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.registry.canonical import Column
from intrabench.results import labels
from intrabench.results.current import IDENTITY, MODEL
from intrabench.results.schema import metric_columns
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.spellings import two_spellings
from intrabench.specs.specs import nearest
from intrabench.statistics.difficulty import PARTS
from intrabench.statistics.evaluation import in_strata, selected_rows
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.statistic import Statistic
from intrabench.statistics.superpixels import prompted


@dataclass(frozen=True)
class Contest:
    """Two lines to be compared.

    shared: what the two have in common, by column: the prompter or the model, and what else tells contests apart.
    left_out: which older sessions do not count. unlike: that the two sides have other weights, although their names
    do not say so.
    """

    shared: Mapping[str, str]
    a: pl.DataFrame
    b: pl.DataFrame
    left_out: tuple[str, ...] = ()
    unlike: str = ""

    @property
    def head(self) -> str:
        """`shared` in words."""
        return ", ".join(self.shared.values())


def contests(
    folder: Path,
    a: str,
    b: str,
    statistic: Statistic,
    selection: Selection = EVERYTHING,
    by: Sequence[str] = (),
) -> list[Contest]:
    """All pairs of lines that differ only in A and B, apart for each value of the columns `by`, which are of `PARTS`.

    a, b: results folders; or models or prompters, as written in tables, in the results of `folder`. Lines of two runs
    are compared if prompter and name of the model are equal, whatever the model's version and weights. statistic:
    protocols that average otherwise can be compared only if its averages were chosen; sessions whose prompts the model
    refuses by its round do not count. selection: of the sessions of each folder.

    Raises:
        IntraBenchError: a name is unknown, both are the same, there is no pair, or targets have no such column.
    """
    _check_parts(by)
    if a == b or (_is_results(a) and _is_results(b) and Path(a).samefile(b)):
        raise IntraBenchError(f"{a} and {b} are the same; give two results folders, models or prompters that differ")
    places = folders_of(folder, a, b)
    rows, left_out = _read(places, statistic, selection, by)
    if places != [folder]:
        shared: tuple[str, ...] = ("prompter", "model", "dtype", "strict")
        sides = [_without_others(rows.filter(_folder=number)) for number in range(len(places))]
        check_mixable(rows, how=statistic.how)
    else:
        column, sides = _sides(rows, a, b, folder, selection)
        shared = tuple(
            name for name in IDENTITY if name not in (MODEL if column == "model" else ("prompter", "weights"))
        )
        left_out += two_spellings(sorted((a, b)))
    refused = [_refused(side, statistic.round) for side in sides]
    played = [side.join(left, on="session", how="anti") for side, left in zip(sides, refused, strict=True)]
    pairs = _pairs((a, b), played, shared, by)
    alone = _alone((a, b), sides, shared) if pairs else []
    if not pairs and {"prompter", "model"} <= set(shared):  # of two runs: other weights of the user's are other names
        pairs = _pairs((a, b), [side.with_columns(model=pl.col("_model")) for side in played], shared, by)
    notes = (*left_out, *_inapplicable((a, b), sides, refused, shared), *alone)
    found = [replace(one, left_out=notes) for one in pairs]
    if not found:
        raise IntraBenchError(f"{a} and {b} have no line in common; run both with the same prompters and models")
    return found


def contests_of_models(
    folder: Path, statistic: Statistic, selection: Selection = EVERYTHING, by: Sequence[str] = ()
) -> tuple[list[tuple[str, str, Contest]], list[str]]:
    """Every two models of a results folder with what they have in common, and what of the folder is left out.

    statistic: superpixels count only if they have a value of its metric; else, as the rest, as of `contests`.

    Raises:
        IntraBenchError: no two models were run with the same prompter, or targets have no such column.
    """
    _check_parts(by)
    read, left_out = _read([folder], statistic, selection, by)
    rows = prompted(read, statistic.metric or "dice")
    played = rows.join(_refused(rows, statistic.round), on="session", how="anti")
    shared = tuple(name for name in IDENTITY if name not in MODEL)
    models = labels.names(played, "model")
    sides = {name: labels.rows_named(played, "model", name) for name in models}
    found = [
        (a, b, one) for a, b in combinations(models, 2) for one in _pairs((a, b), [sides[a], sides[b]], shared, by)
    ]
    if not found:
        raise IntraBenchError(f"{folder} has no two models with the same prompter; run another model, or give A and B")
    return found, [*left_out, *two_spellings(models)]


def folders_of(folder: Path, a: str, b: str) -> list[Path]:
    """The results folders that `contests` reads: A and B if both are some, else `folder`."""
    return [Path(a), Path(b)] if _is_results(a) and _is_results(b) else [folder]


def _sides(rows: pl.DataFrame, a: str, b: str, folder: Path, selection: Selection) -> tuple[str, list[pl.DataFrame]]:
    """Whether two models or two prompters are compared, and the rows of each."""
    columns: tuple[Column, ...] = ("model", "prompter")
    for column in columns:
        sides = [labels.rows_named(rows, column, one) for one in (a, b)]
        if not any(side.is_empty() for side in sides):
            if set(sides[0][column]) & set(sides[1][column]):
                raise IntraBenchError(f"{a} and {b} are two names of one {column}; give two that differ")
            return column, sides
    raise IntraBenchError(_unknown(rows, a, b, folder, selection))


def _check_parts(by: Sequence[str]) -> None:
    for name in by:
        if name not in PARTS:
            raise IntraBenchError(
                f"--by {name}: pairs cannot be apart by it{nearest(name, PARTS)}; give {', '.join(PARTS)}, or omit it"
            )


def _read(
    folders: Sequence[Path], statistic: Statistic, selection: Selection, by: Sequence[str]
) -> tuple[pl.DataFrame, list[str]]:
    """The rows that count, with models as people call them and the number of their folder, and what is left out."""
    read = [selected_rows(one, selection.without_strata) for one in folders]
    parts = [rows.with_columns(_folder=pl.lit(number)) for number, (rows, _) in enumerate(read)]
    rows = in_strata(pl.concat(parts, how="diagonal"), statistic, selection, by)
    return rows.with_columns(labels.MODEL, _model="model"), [text for _, texts in read for text in texts]


def _without_others(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows of one folder without metrics that only the other one has."""
    return rows.drop(name for name in metric_columns(rows) if rows[name].is_null().all())


def _pairs(
    names: Sequence[str], sides: Sequence[pl.DataFrame], lines: Sequence[str], by: Sequence[str]
) -> list[Contest]:
    """Pairs of lines that are equal in these columns. by: columns of targets; cases without data have none of them."""
    shared = [*lines, *by]
    sides = [side.drop_nulls(by).sort(by, maintain_order=True) if by else side for side in sides]
    groups = [side.partition_by(shared, as_dict=True) for side in sides]
    common = sorted((key for key in groups[0] if key in groups[1]), key=lambda key: str(key[: len(lines)]))
    main = "prompter" if "prompter" in shared else "model"

    def fields_of(key: tuple[Any, ...]) -> dict[str, str]:
        return {name: "" if value is None else str(value) for name, value in zip(shared, key, strict=True)}

    varied = [name for at, name in enumerate(shared) if len({key[at] for key in common}) > 1 or name == main]
    models = Counter(
        model for model, _ in {(one.get("model"), one.get("weights_sha256")) for one in map(fields_of, common)}
    )
    found = []
    for key in common:
        fields = fields_of(key)
        head = {name: fields[name] for name in varied if fields[name] and name != "weights_sha256"}
        if models[fields.get("model")] > 1 and fields.get("weights_sha256"):  # its name alone does not tell them apart
            head["weights"] = fields["weights_sha256"][:8]
        a, b = (group[key] for group in groups)
        found.append(Contest(head, a, b, unlike=_unlike(names, a, b) if {"prompter", "model"} <= set(shared) else ""))
    return found


def _refused(rows: pl.DataFrame, round: int | None) -> pl.DataFrame:
    """The sessions whose prompts the model does not take, be it only the corrections, and why."""
    until = rows if round is None else rows.filter(pl.col("round") <= round)
    return until.filter(pl.col("status") == "not_applicable").unique("session").select("session", why="error")


def _inapplicable(
    names: Sequence[str], sides: Sequence[pl.DataFrame], refused: Sequence[pl.DataFrame], shared: Sequence[str]
) -> list[str]:
    """A sentence for each line of which one side takes no prompt, or no correction."""
    main = "prompter" if "prompter" in shared else "model"
    lines = []
    for name, side, left, other in zip(names, sides, refused, reversed(sides), strict=True):
        both = side.join(other, on=list(shared), how="semi", nulls_equal=True)
        for head, line in ((str(key), line) for (key,), line in both.group_by(main, maintain_order=True)):
            found = line.select("session").unique(maintain_order=True).join(left, on="session", maintain_order="left")
            if len(found) == line["session"].n_unique():
                reasons = [*map(str, found["why"].drop_nulls()), "it does not take the prompts"]
                lines.append(f"not compared: {head}, not applicable to {name}: {reasons[0]}")
    return sorted(lines)


def _alone(names: Sequence[str], sides: Sequence[pl.DataFrame], shared: Sequence[str]) -> list[str]:
    """A sentence on the lines that only one side has."""
    main = "prompter" if "prompter" in shared else "model"
    lines = []
    for name, side, other in zip(names, sides, reversed(sides), strict=True):
        alone = side.join(other, on=list(shared), how="anti", nulls_equal=True)[main].unique().sort().to_list()
        more = f" and {len(alone) - _NAMED} more" if len(alone) > _NAMED else ""
        lines += [f"not compared: {', '.join(alone[:_NAMED])}{more}, only in {name}"] if alone else []
    return lines


_NAMED = 3
"""So many lines of one side are named."""


def _unlike(names: Sequence[str], *sides: pl.DataFrame) -> str:
    """That one model has other weights in the two runs."""
    hashes = [", ".join(sorted(hash[:8] for hash in side["weights_sha256"].unique() if hash)) for side in sides]
    text = " and ".join(f"{hash or 'none'} in {name}" for name, hash in zip(names, hashes, strict=True))
    return "" if hashes[0] == hashes[1] else f"the weights are not the same: {text}"


def _is_results(place: str) -> bool:
    return (Path(place) / "rows").is_dir()


def _unknown(rows: pl.DataFrame, a: str, b: str, folder: Path, selection: Selection) -> str:
    where = f"{folder} ({selection.words})" if selection.words else str(folder)
    words = sorted({*labels.names(rows, "model"), *labels.names(rows, "prompter")})
    for one in (a, b):
        if one not in words:
            return (
                f"{one!r} is neither a results folder nor a model or prompter in {where}{nearest(one, words)}; "
                f"it has {', '.join(words)}"
            )
    return f"{a} and {b} are a model and a prompter; give two models or two prompters"
