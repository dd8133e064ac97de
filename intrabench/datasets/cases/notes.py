"""What is unusual about a data set and its cases, for people to read before they believe the numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.errors import IntraBenchError, attempt, in_words


def once(notes: Iterable[tuple[str, str]]) -> list[str]:
    """Lines with each sentence once, after the names of the cases that it is about; `notes`: case and sentence."""
    about: dict[str, list[str]] = {}
    for case, sentence in notes:
        about.setdefault(sentence, []).append(case)
    return [
        f"{', '.join(cases[:3])}{f' and {len(cases) - 3} more' if len(cases) > 3 else ''}: {sentence}"
        for sentence, cases in about.items()
    ]


def remarks_of(dataset: Dataset) -> Sequence[str]:
    """The remarks of a data set, or why it gives none."""
    try:
        return attempt(lambda: tuple(map(str, dataset.remarks())), f"{dataset.name}.remarks failed", "repair it")
    except IntraBenchError as error:
        return [in_words(error)]


def notes_on(dataset: Dataset, indexes: Iterable[CaseIndex]) -> list[str]:
    """A line for each remark of a data set and each note on its stored cases."""
    lines = once((index.case, note) for index in indexes for note in index.notes)
    return [f"{dataset.short_spec}, note: {line}" for line in (*remarks_of(dataset), *lines)]
