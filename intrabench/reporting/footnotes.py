"""Marks at numbers, and the footnotes that say why: prompts were converted, sessions cut short, patients are few."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count, islice, product
from string import ascii_lowercase

import polars as pl

from intrabench.statistics.infinite import INFINITE, MISSED, Infinite
from intrabench.statistics.notes import CUT_SHORT, FEWER, INAPPLICABLE, mean_of, shares
from intrabench.statistics.significance import ENOUGH

MOST = 12
"""Maximum number of footnotes; the rarest notes share the last one."""

WORDS = ("adapted", "why_not_applicable")
"""Columns of texts that say the same line by line, where there are no footnotes."""
UNPLAYED = "cut_short"
"""Another one, which is only there if it has something to say."""
COMMON = "; --common takes the same in all"
"""How a footnote on few targets ends, below tables that have this option."""
PARTIAL = "fewer_targets"
"""And one for means of fewer targets than other lines have."""
BEYOND = "infinite"
"""And one for infinite means: how many of the values are, and the mean over the others."""


@dataclass(frozen=True)
class Place:
    """Numbers of a table: those of `columns` in lines that equal a group of `notes` (`adapted`) in the columns `on`.

    again: they are computed from numbers that are marked, too, such as their mean, so a footnote does not count them.
    """

    notes: pl.DataFrame
    on: Sequence[str]
    columns: Sequence[str]
    again: bool = False


@dataclass(frozen=True)
class Footnotes:
    """marks: by column, a text for each line, empty where there is nothing to say. texts: by mark, one sentence."""

    marks: Mapping[str, Sequence[str]] = field(default_factory=dict)
    texts: Mapping[str, str] = field(default_factory=dict)

    def lines(self) -> list[str]:
        """The footnotes, each with its mark."""
        return [f"{mark}  {text}" for mark, text in self.texts.items()]

    def with_marks(self, more: Footnotes) -> Footnotes:
        """These and more marks and footnotes of the same table."""
        marks = dict(self.marks)
        for name, added in more.marks.items():
            pairs = zip(marks.get(name, [""] * len(added)), added, strict=True)
            marks[name] = [",".join(filter(None, pair)) for pair in pairs]
        return Footnotes(marks, {**self.texts, **more.texts})

    def of(self, columns: Iterable[str]) -> Footnotes:
        """The marks of some columns, and their footnotes."""
        kept = {name: self.marks[name] for name in columns if name in self.marks}
        used = {letter for marks in kept.values() for mark in marks for letter in mark.split(",")}
        return Footnotes(kept, {mark: text for mark, text in self.texts.items() if mark in used})


NONE = Footnotes()


@dataclass
class _Note:
    """What is said of one note: the shares of sessions, and numbers of corrections and of all sessions with it."""

    shares: list[float] = field(default_factory=list)
    turns: int = 0
    corrections: int = 0
    sessions: int = 0

    def add(self, one: Mapping[str, int]) -> None:
        self.shares.append(one["sessions"] / one["of"])
        self.sessions += one["sessions"]
        self.turns += one["turns"]
        self.corrections += one["corrections"] if one["turns"] else 0

    def say(self, note: str) -> str:
        if note.startswith(FEWER):
            return f"{mean_of(note)}{COMMON}"
        if note.startswith((INFINITE, MISSED)):
            return note
        after = f" ({self.turns} of {self.corrections} corrections)" if self.turns else ""
        return f"{note}{',' if ':' in note else ''} in {shares(self.shares)}{after}"


FEW_MARK = "*"
FEW_NOTE = f"fewer than {ENOUGH} patients in a class or data set: intervals and probabilities are rough"


def few_patients(fewest: pl.Series, columns: Iterable[str]) -> Footnotes:
    """A mark at the numbers in `columns` of lines with fewer than `ENOUGH` patients, and its footnote.

    fewest: of each line, as `aggregate.fewest_patients`.
    """
    marks = ["" if count is None or count >= ENOUGH else FEW_MARK for count in fewest]
    return Footnotes(dict.fromkeys(columns, marks), {FEW_MARK: FEW_NOTE}) if any(marks) else NONE


def infinite_marks(found: Sequence[Infinite], column: str, text: Callable[[float], str]) -> Footnotes:
    """A letter at each infinite number of a column, and in words what is infinite behind it.

    found: of each line. text: how a number is written.
    """
    return text_marks([one.words(text) if one else "" for one in found], column)


def text_marks(texts: Sequence[str], column: str) -> Footnotes:
    """A letter at each number of a column that has a text, the same at equal ones."""
    letters = dict(zip(dict.fromkeys(filter(None, texts)), _letters(), strict=False))
    return Footnotes({column: [letters.get(one, "") for one in texts]}, {mark: one for one, mark in letters.items()})


def footnotes(frame: pl.DataFrame, places: Sequence[Place]) -> Footnotes:
    """Marks and footnotes of a table, in the order of its lines."""
    cells: dict[tuple[str, int], list[str]] = {}
    notes: dict[str, _Note] = {}
    first: dict[str, tuple[int, int]] = {}
    for number, place in enumerate(places):
        for one in _notes_at(frame, place):
            note, at = str(one["note"]), int(one["_at"])
            for column in place.columns:
                cells.setdefault((column, at), []).append(note)
            if not place.again:
                notes.setdefault(note, _Note()).add(one)
                first[note] = min(first.get(note, (at, number)), (at, number))
    letters, texts = _lettered(notes, first)
    marks = {column: [""] * frame.height for column, _ in cells}
    for (column, at), cell in cells.items():
        marks[column][at] = ",".join(sorted({letters[note] for note in cell if note in letters}))
    return Footnotes(marks, texts)


def _notes_at(frame: pl.DataFrame, place: Place) -> Iterable[dict[str, int]]:
    if place.notes.is_empty():
        return ()
    kinds = pl.Schema({column: place.notes.schema[column] for column in place.on})
    at = frame.select(place.on).cast(kinds).with_row_index("_at")  # a column of nothing has no type of its own
    return place.notes.join(at, on=list(place.on), nulls_equal=True).sort("_at", "note").iter_rows(named=True)


def _lettered(
    notes: Mapping[str, _Note], first: Mapping[str, tuple[int, int]]
) -> tuple[dict[str, str], dict[str, str]]:
    """The letter of each note, and the text of each letter."""
    # The notes on most sessions have letters of their own, in the order in which a reader meets them; all others share
    # the letter after these.
    kept = sorted(notes, key=lambda note: -notes[note].sessions)[: MOST if len(notes) <= MOST else MOST - 1]
    ordered = sorted(kept, key=lambda note: (first[note], note))
    letters = dict(zip(ordered, _letters(), strict=False))
    texts = {letters[note]: notes[note].say(f"adapted: {note}" if "->" in note else note) for note in ordered}
    if rest := [note for note in notes if note not in letters]:
        last = next(islice(_letters(), len(ordered), None))
        letters |= dict.fromkeys(rest, last)
        texts[last] = f"{len(rest)} rarer notes; `intrabench table --csv` has them all"
    return letters, texts


def _letters() -> Iterable[str]:
    return ("".join(letters) for length in count(1) for letters in product(ascii_lowercase, repeat=length))


def sentence(notes: pl.DataFrame, names: Mapping[int, str], head: str = "Adapted prompts: ") -> str:
    """What was done to prompts of which lines, for figures, whose numbers have no marks; empty if nothing was.

    notes: `adapted` or `cut_short` by ``line``, each of which has one of `names`. head: what it begins with.
    """
    parts = []
    for (note,), found in notes.sort("line").group_by("note", maintain_order=True):
        lines = [names[line] for line in found["line"]]
        more = f" and {len(lines) - _NAMED} more" if len(lines) > _NAMED else ""
        share = shares(one / of for one, of in found.select("sessions", "of").iter_rows())
        parts.append(f"{note} in {share} of {'; '.join(lines[:_NAMED])}{more}")
    if not parts:
        return ""
    more = f". {len(parts) - _SAID} more notes are in `intrabench table`" if len(parts) > _SAID else ""
    return f"{head}{'. '.join(parts[:_SAID])}{more}."


def undrawn(means: pl.DataFrame, names: Mapping[int, str]) -> str:
    """Sentences on means of lines that figures do not show: infinite ones, and how many misses are behind the others.

    means: by ``line``, with the columns `BESIDE`; a line may be there several times.
    """
    rows = means.sort("line").unique("line", maintain_order=True).to_dicts()
    found = [(names[row["line"]], Infinite.beside(row)) for row in rows]
    infinite = [f"{name} ({one.words()})" for name, one in found if one.count]
    missed = [f"{name} ({one.misses})" for name, one in found if not one.count and one.missed]
    parts = (("Infinite means are not drawn", infinite), ("A miss has a value of its own", missed))
    return " ".join(f"{what}: {_first(told)}." for what, told in parts if told)


def _first(told: Sequence[str]) -> str:
    more = f" and {len(told) - _NAMED} more" if len(told) > _NAMED else ""
    return f"{'; '.join(told[:_NAMED])}{more}"


_NAMED, _SAID = 3, 4  # lines of a note, and notes of a sentence


def with_words(frame: pl.DataFrame, places: Sequence[Place]) -> pl.DataFrame:
    """The table with the columns `WORDS`, after its counts of sessions: what its footnotes say, line by line."""
    notes: list[dict[str, _Note]] = [{} for _ in range(frame.height)]
    whole = [place for place in places if "average" in place.columns]  # shares of all sessions of a line
    for place in whole or places:
        for one in _notes_at(frame, place):
            notes[one["_at"]].setdefault(str(one["note"]), _Note()).add(one)
    words: dict[str, list[str]] = {name: [""] * frame.height for name in WORDS}
    for at, line in enumerate(notes):
        for note, entry in line.items():
            text, column = entry.say(note).removeprefix(INAPPLICABLE).removeprefix(CUT_SHORT), _column(note)
            texts = words.setdefault(column, [""] * frame.height)
            texts[at] = "; ".join(filter(None, [texts[at], text]))
    at = frame.columns.index("not_applicable") + 1 if "not_applicable" in frame.columns else frame.width
    for number, (name, texts) in enumerate(words.items()):
        frame = frame.insert_column(at + number, pl.Series(name, texts, pl.String))
    return frame


def _column(note: str) -> str:
    if note.startswith(INAPPLICABLE):
        return WORDS[1]
    if note.startswith(FEWER):
        return PARTIAL
    if note.startswith(INFINITE):
        return BEYOND
    if note.startswith(MISSED):
        return MISSED
    return UNPLAYED if note.startswith(CUT_SHORT) else WORDS[0]
