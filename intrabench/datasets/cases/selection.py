"""The meaning of ``--cases`` and ``--targets``, for runs and for their results."""

from __future__ import annotations

import fnmatch
import glob
import operator
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from intrabench.datasets.base import Dataset, cases_of
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.errors import IntraBenchError, attempt
from intrabench.specs.specs import nearest
from intrabench.target import TargetInfo

_BOUND = re.compile(r"\s*(ml|voxels|slices)\s*(<=|>=|<|>|=)\s*(\d+(?:\.\d*)?|\.\d+)\s*")
_COMPARE: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}


def select_cases(dataset: Dataset, patterns: Sequence[str]) -> list[str]:
    """The selected cases (all if `patterns` is empty), in the data set's order.

    patterns: names and globs; ``first:N``; ``subset:NAME``, a selection defined by the data set; ``@FILE``, a text file
    with one of these per line and ``#`` for comments. A case is selected if any of them matches.

    Raises:
        IntraBenchError: an entry of `patterns` matches nothing.
    """
    remedy = "check its parameters and files"
    names = list(attempt(lambda: cases_of(dataset), f"data set {dataset.short_spec} cannot list its cases", remedy))
    if not names:
        raise IntraBenchError(f"data set {dataset.short_spec} has no cases; check its parameters and files")
    if not patterns:
        return names
    chosen = {case for pattern in from_files(patterns, names) for case in _cases(dataset, names, pattern)}
    return [name for name in names if name in chosen]


def matching(pattern: str, names: Sequence[str]) -> list[str]:
    """The names that a pattern means: the same text, else those that it matches as a glob."""
    return [pattern] if pattern in names else [name for name in names if fnmatch.fnmatchcase(name, pattern)]


def is_of_dataset(pattern: str, names: Collection[str]) -> bool:
    """Whether only the data set knows which cases are meant, as of ``first:N`` and ``subset:NAME``."""
    return pattern.partition(":")[0] in ("first", "subset") and ":" in pattern and pattern not in names


def select_targets(index: CaseIndex, patterns: Sequence[str]) -> list[TargetInfo]:
    """The selected targets of a case (all if `patterns` is empty).

    A pattern that is an id or label of the case means only that, also if it has characters of globs, ``lesion [left]``.

    patterns: globs of ids (``label.instance``) or labels, of which any must match; and bounds such as ``ml>=1``,
    ``voxels<500`` or ``slices>5``, which must all hold.
    """
    ml = float(index.spacing_mm[0] * index.spacing_mm[1] * index.spacing_mm[2]) / 1000
    candidates = [
        Candidate(info.id, info.label, {"ml": info.voxels * ml, "voxels": info.voxels, "slices": info.slices})
        for info in index.targets
    ]
    chosen = wanted(candidates, patterns)
    return [info for info, is_chosen in zip(index.targets, chosen, strict=True) if is_chosen]


@dataclass(frozen=True)
class Candidate:
    """A target that patterns may mean. sizes: ``ml``, ``voxels``, ``slices``, as far as they are known."""

    id: str
    label: str
    sizes: Mapping[str, float]


def wanted(candidates: Sequence[Candidate], patterns: Sequence[str]) -> list[bool]:
    """Whether each of the targets of a case is meant, as `select_targets` says; all are if `patterns` is empty.

    A bound on a size that is not known of a target does not hold.
    """
    exact = {name for one in candidates for name in (one.id, one.label)}.intersection(patterns)
    return [_is_wanted(one, patterns, exact) for one in candidates]


def bounded(pattern: str) -> str:
    """The size that a pattern is a bound of; empty if it is none."""
    found = _BOUND.fullmatch(pattern)
    return found[1] if found else ""


def check_targets(indexes: Iterable[CaseIndex], patterns: Sequence[str]) -> None:
    """Refuse a part of ``--targets`` that matches no target at all."""
    listed = list(indexes)
    names = {name for index in listed for info in index.targets for name in (info.id, info.label)}
    for pattern in patterns:
        if not any(select_targets(index, [pattern]) for index in listed):
            raise IntraBenchError(
                f"--targets {pattern!r} matches no target of the selected cases{nearest(pattern, names)}; "
                "`intrabench data list NAME` shows them"
            )


def _is_wanted(target: Candidate, patterns: Sequence[str], exact: Collection[str]) -> bool:
    globs = []
    for pattern in patterns:
        if pattern in exact:
            globs.append(glob.escape(pattern))
        elif bound := _BOUND.fullmatch(pattern):
            size, compare, value = bound.groups()
            if size not in target.sizes or not _COMPARE[compare](target.sizes[size], float(value)):
                return False
        else:
            globs.append(pattern)
    return not globs or any(fnmatch.fnmatchcase(name, one) for one in globs for name in (target.id, target.label))


def from_files(patterns: Sequence[str], names: Collection[str]) -> list[str]:
    """The patterns, with the lines of a file in place of ``@FILE``.

    Raises:
        IntraBenchError: a file cannot be read, or nothing is left.
    """
    found = []
    for pattern in patterns:
        if not pattern.startswith("@") or pattern in names:
            found.append(pattern)
            continue
        try:
            lines = Path(pattern[1:]).read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise IntraBenchError(f"--cases {pattern} is not a text file; give one with a case per line") from error
        kept = [line if line in names else line.partition("#")[0].strip() for line in lines]
        found += [line for line in kept if line]
    if not found:
        raise IntraBenchError(f"--cases {' '.join(patterns)} names no case; write one case per line")
    return found


def _cases(dataset: Dataset, names: Sequence[str], pattern: str) -> Sequence[str]:
    kind, colon, value = pattern.partition(":")
    if colon and kind == "first" and pattern not in names:
        if not value.isdecimal() or int(value) == 0:
            raise IntraBenchError(f"--cases {pattern} does not give a number of cases; write for example first:5")
        return names[: int(value)]
    if colon and kind == "subset" and pattern not in names:
        subsets = attempt(dataset.subsets, f"data set {dataset.short_spec} cannot list its subsets", "repair it")
        if value not in subsets:
            raise IntraBenchError(
                f"--cases: data set {dataset.name} has no subset {value!r}{nearest(value, subsets)}; "
                f"it has {', '.join(subsets)}"
            )
        return list(subsets[value])
    found = matching(pattern, names)
    if not found:
        raise IntraBenchError(
            f"--cases: data set {dataset.name} has no case that matches {pattern!r}{nearest(pattern, names)}; "
            f"it has {', '.join(names[:8])}{' ...' if len(names) > 8 else ''}"
        )
    return found
