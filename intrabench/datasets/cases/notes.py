"""What is unusual about a data set and its cases, for people to read before they believe the numbers."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cache

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.errors import IntraBenchError, attempt, cause, in_words, some

_SEVERAL = 3
"""From so many different sentences of one kind on, one stands for all, even if one case has several of them."""


def once(notes: Iterable[tuple[str, str]], labels: Collection[str] = (), every: bool = False) -> list[str]:
    """Lines with each sentence once, after the names of the cases that it is about.

    Of sentences that differ only in names, numbers, colours and paths, the first one stands for all.

    notes: case and sentence; the case is empty if it is about all. labels: names that sentences may differ in besides
    those of their case, of files, and what is quoted. every: tell all different sentences.
    """
    label = _whole(sorted(map(cause, labels), key=len, reverse=True))

    @cache
    def kind(sentence: str) -> str:
        return label.sub("NAME", cause(_NAMES.sub("NAME", sentence)))

    kinds: dict[str, dict[str, list[str]]] = {}
    for case, sentence in notes:
        masked = _whole([case]).sub("NAME", sentence) if case in sentence else sentence
        kinds.setdefault(sentence if every else kind(masked), {}).setdefault(sentence, []).append(case)
    lines = []
    for sentences in kinds.values():
        about = [case for cases in sentences.values() for case in cases]
        cases = [*dict.fromkeys(about)]
        few = len(sentences) < _SEVERAL and len(cases) < len(about)
        if few or len(sentences) == 1:
            lines += [f"{_before(cases)}{sentence}" for sentence, cases in sentences.items()]
        else:
            lines.append(f"{_before(cases)}{next(iter(sentences))}; and {len(about) - 1} more like it")
    return lines


_NAMES = re.compile(
    r'"[^"]*"|(?<![\w/.+-])[\w+-][\w.+-]*\.(?:nii\.gz|nii|nrrd|mh[ad]|mg[hz]|dcm|np[yz]|png|jpe?g|tiff?)\b'
    "|#[0-9a-f]{6}(?:, #[0-9a-f]{6})*"
)
"""What is quoted, names of files without their folder, and colours."""


def _whole(names: Sequence[str]) -> re.Pattern[str]:
    """A pattern of names as whole words, in names of files, too."""
    given = "|".join(re.escape(name) for name in dict.fromkeys(names) if name)
    return re.compile(rf"(?<![^\W_])(?:{given})(?![^\W_])" if given else r"(?!)")


def _before(cases: Sequence[str]) -> str:
    return f"{some(cases)}: " if any(cases) else ""


def remarks_of(dataset: Dataset) -> Sequence[str]:
    """The remarks of a data set, or why it gives none."""
    try:
        return attempt(lambda: tuple(map(str, dataset.remarks())), f"{dataset.name}.remarks failed", "repair it")
    except IntraBenchError as error:
        return [in_words(error)]


def notes_on(dataset: Dataset, indexes: Iterable[CaseIndex]) -> list[str]:
    """A line for each remark of a data set and each note on its stored cases."""
    listed = list(indexes)
    labels = {target.label for index in listed for target in index.targets}
    lines = once(((index.case, note) for index in listed for note in index.notes), labels)
    return [f"{dataset.short_spec}, note: {line}" for line in (*remarks_of(dataset), *lines)]
