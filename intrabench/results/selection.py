"""Which sessions of results an output is of, as ``--model``, ``--cases`` and so on choose them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Literal

import polars as pl

from intrabench.datasets.cases.selection import (
    Candidate,
    bounded,
    from_files,
    is_of_dataset,
    matching,
    select_cases,
    wanted,
)
from intrabench.errors import IntraBenchError
from intrabench.protocols import command_for
from intrabench.registry.canonical import same_specs
from intrabench.results.labels import MODEL, PROMPTER, PROTOCOL
from intrabench.results.origin import datasets_of
from intrabench.results.schema import STRATA, THIRDS
from intrabench.results.weights import HOW
from intrabench.specs.specs import nearest
from intrabench.target import WHOLE_CASE

Named = Literal["protocol", "model", "prompter", "dataset"]

_WORDS: Mapping[Named, str] = {
    "protocol": "protocol",
    "model": "model",
    "prompter": "prompter",
    "dataset": "data set",
}
_LINE = ("protocol", "stop", "effort", "joint_rules", "prompter", "model", "weights", "weights_sha256", "dataset")
"""The columns that names are made of."""
_TARGET = ("dataset", "case", "target")
_KNOWN = ("ml", "voxels")
"""The sizes of targets that rows have, as ``target_ml`` and so on."""


@dataclass(frozen=True)
class Selection:
    """Names and patterns of the sessions that an output is of; of each kind any may match, and all if there are none.

    protocol, model, prompter, dataset: as tables print them, specs in any spelling, or globs. cases, targets: as of
    ``intrabench run``; targets also by `STRATA`, as ``difficulty=hard``.
    """

    protocol: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    prompter: tuple[str, ...] = ()
    dataset: tuple[str, ...] = ()
    cases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()

    @property
    def words(self) -> str:
        """What is selected, in words for headings: ``only model sam or sam2; cases first:3``; empty if everything is.

        Targets are joined by commas, for bounds must all hold.
        """
        parts = [f"{word} {' or '.join(chosen)}" for name, word in _WORDS.items() if (chosen := getattr(self, name))]
        parts += [f"cases {' or '.join(self.cases)}"] if self.cases else []
        parts += [f"targets {', '.join(self.targets)}"] if self.targets else []
        return f"only {'; '.join(parts)}" if parts else ""

    @property
    def strata(self) -> dict[str, list[str]]:
        """The thirds that are selected, by the column of `STRATA`; any of them may match.

        Raises:
            IntraBenchError: there is no such third.
        """
        found: dict[str, list[str]] = {}
        for name, third in filter(None, map(_stratum, self.targets)):
            if third not in THIRDS:
                near = nearest(third, THIRDS)
                raise IntraBenchError(f"--targets {name}={third}: no such third{near}; give {', '.join(THIRDS)}")
            found.setdefault(name, []).append(third)
        return found

    @property
    def without_strata(self) -> Selection:
        """The same of targets of any difficulty."""
        return replace(self, targets=tuple(one for one in self.targets if not _stratum(one)))

    def of_strata(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of the thirds that are selected, of rows with the columns `STRATA`.

        Raises:
            IntraBenchError: there are none.
        """
        for name, thirds in self.strata.items():
            rows = rows.filter(pl.col(name).is_in(thirds) | (pl.col("target") == WHOLE_CASE))
            if rows["target"].eq(WHOLE_CASE).all():
                raise IntraBenchError(f"no target has {name}={' or '.join(thirds)}; there are too few to divide")
        return rows

    def of(self, rows: pl.DataFrame, *roots: Path) -> pl.DataFrame:
        """The rows that are selected, of those of results folders that count; versions are decided before (`current`).

        Rows of a case without data stay with their case, whatever targets it has.

        Raises:
            IntraBenchError: a name or pattern matches nothing, or nothing matches all of them; or targets are selected
                by difficulty, which rows do not say.
        """
        if not self.words:
            return rows
        if self.strata:
            raise IntraBenchError(
                f"--targets {next(iter(self.strata))}: only table, compare, power, figures, report and methods tell "
                "how difficult targets are; omit it, or name targets"
            )
        found = self._of_lines(rows, roots)
        found = self._of_cases(found, roots) if self.cases and len(found) else found
        found = self._of_targets(found, roots) if self.targets and len(found) else found
        if found.is_empty():
            raise IntraBenchError(
                f"{_listed(roots)} has no session of all of these: {self.words.removeprefix('only ')}; omit one"
            )
        return found

    def _of_lines(self, rows: pl.DataFrame, roots: Sequence[Path]) -> pl.DataFrame:
        lines = rows.select(_LINE).unique().with_row_index("_line")
        named = lines.with_columns(HOW).with_columns(
            _protocol=PROTOCOL, _prompter=PROMPTER, _model=MODEL, _dataset="dataset"
        )
        for name in _WORDS:
            if words := getattr(self, name):
                chosen = pl.concat([_named(named, name, word, roots) for word in words])
                lines = lines.join(chosen, on="_line", how="semi")
        return rows.join(lines, on=list(_LINE), how="semi", nulls_equal=True, maintain_order="left")

    def _of_cases(self, rows: pl.DataFrame, roots: Sequence[Path]) -> pl.DataFrame:
        names = rows["case"].unique().sort().to_list()
        parts = [_cases(rows, pattern, names, roots) for pattern in from_files(self.cases, names)]
        return rows.join(pl.concat(parts), on=["dataset", "case"], how="semi", maintain_order="left")

    def _of_targets(self, rows: pl.DataFrame, roots: Sequence[Path]) -> pl.DataFrame:
        for pattern in self.targets:
            if (size := bounded(pattern)) and size not in _KNOWN:
                raise IntraBenchError(
                    f"--targets {pattern!r}: results do not tell the {size} of targets; give ml or voxels"
                )
        # A target that was changed has the size that it has now, so that an earlier session of it never counts again.
        newest = [pl.col(f"target_{size}").sort_by("written_at").drop_nulls().last().alias(size) for size in _KNOWN]
        single = rows.filter(pl.col("target") != WHOLE_CASE).group_by(_TARGET)
        targets = single.agg(pl.col("label").drop_nulls().last(), *newest).sort(_TARGET)
        for pattern in self.targets:
            if _targets(targets, [pattern]).is_empty():
                names = {*targets["target"], *targets["label"].drop_nulls()}
                raise IntraBenchError(
                    f"--targets {pattern!r} matches no target of these sessions in {_listed(roots)}"
                    f"{nearest(pattern, names)}; labels are {', '.join(targets['label'].drop_nulls().unique().sort())}"
                )
        whole = rows.filter(pl.col("target") == WHOLE_CASE).select(_TARGET).unique()
        chosen = pl.concat([_targets(targets, self.targets), whole])
        return rows.join(chosen, on=_TARGET, how="semi", maintain_order="left")


EVERYTHING = Selection()


def selection(**chosen: object) -> Selection:
    """A selection of options with one text or several each; protocols may also be separated by commas.

    Raises:
        IntraBenchError: one of them is empty.
    """
    found = {}
    for one in fields(Selection):
        given = chosen.get(one.name) or ()
        words = [given] if isinstance(given, str) else [str(word) for word in given]  # type: ignore[attr-defined]
        if one.name == "protocol":
            words = [word.strip() for text in words for word in text.split(",")]
            words = [word for word in words if word]
        if "" in words:
            raise IntraBenchError(f"{one.name} is empty; give a name or a pattern, or omit it")
        found[one.name] = tuple(words)
    return Selection(**found)


def _stratum(pattern: str) -> tuple[str, str] | None:
    """The column of `STRATA` and the third that a pattern of ``--targets`` means; None if it means neither."""
    name, equals, third = (part.strip() for part in pattern.partition("="))
    return (name, third) if equals and name in STRATA else None


def _named(lines: pl.DataFrame, name: Named, word: str, roots: Sequence[Path]) -> pl.DataFrame:
    """The lines that a word means: called so in tables, else with this spec, else those that it matches as a glob."""
    columns = (f"_{name}", name)
    for column in columns:
        if word in lines[column]:
            return lines.filter(pl.col(column) == word)
    if name != "protocol":
        for column in columns:
            if alike := same_specs(name, word, lines[column]):
                return lines.filter(pl.col(column).is_in(alike))
    names = sorted({*lines[f"_{name}"], *lines[name]})
    if matched := [one for one in names if fnmatchcase(one, word)]:
        return lines.filter(pl.any_horizontal(pl.col(column).is_in(matched) for column in columns))
    more = f"; `{command_for(word)}` computes some" if name == "protocol" else ""
    shown = lines[name if name == "protocol" else f"_{name}"].unique().sort()  # names of protocols have commas
    raise IntraBenchError(
        f"{_listed(roots)} has no {_WORDS[name]} {word!r}{nearest(word, names)}; it has {', '.join(shown)}{more}"
    )


def _cases(rows: pl.DataFrame, pattern: str, names: Sequence[str], roots: Sequence[Path]) -> pl.DataFrame:
    """The data sets and cases that a pattern of ``--cases`` means.

    Raises:
        IntraBenchError: there are none, or only a data set that is not available knows them.
    """
    cases = rows.select("dataset", "case").unique()
    if not is_of_dataset(pattern, names):
        if matched := matching(pattern, names):
            return cases.filter(pl.col("case").is_in(matched))
        more = " ..." if len(names) > _MOST else ""
        raise IntraBenchError(
            f"--cases: {_listed(roots)} has no case that matches {pattern!r}{nearest(pattern, names)}; it has "
            f"{', '.join(names[:_MOST])}{more}"
        )
    parts, problems = [], []
    for name in cases["dataset"].unique().sort():
        found = [one for root in roots for one in datasets_of(root, rows.filter(pl.col("dataset") == name)).values()]
        dataset = next((one for one in found if not isinstance(one, str)), None)
        if dataset is None:
            problems.append(f"--cases {pattern} needs the data set {name}, which is not available: {found[0]}")
            continue
        try:
            chosen = select_cases(dataset, [pattern])
        except IntraBenchError as error:  # another data set may have such a subset
            problems.append(str(error))
        else:
            parts.append(cases.filter(pl.col("dataset") == name, pl.col("case").is_in(chosen)))
    if problems and (pattern.startswith("first:") or not parts):
        raise IntraBenchError(problems[0])
    return pl.concat(parts)


def _listed(roots: Sequence[Path]) -> str:
    return ", ".join(map(str, roots))


_MOST = 8
"""So many cases are named in an error."""


def _targets(targets: pl.DataFrame, patterns: Sequence[str]) -> pl.DataFrame:
    """Those of the targets that all patterns together mean, case by case as in a run."""
    kept = []
    for case in targets.partition_by("dataset", "case", maintain_order=True):
        candidates = [
            Candidate(one["target"], one["label"] or "", {size: one[size] for size in _KNOWN if one[size] is not None})
            for one in case.iter_rows(named=True)
        ]
        kept.append(case.filter(pl.Series(wanted(candidates, patterns), dtype=pl.Boolean)))
    return pl.concat(kept).select(_TARGET) if kept else targets.select(_TARGET)
