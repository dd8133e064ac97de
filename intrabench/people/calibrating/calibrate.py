"""A calibration from the recordings of a results folder, and the file that holds it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.effort import HAND, SECONDS, Calibration, table
from intrabench.errors import IntraBenchError, several
from intrabench.files.atomic import atomically, writing
from intrabench.files.documents import written_toml
from intrabench.people.annotating.log import read_actions
from intrabench.people.calibrating.fits import LEAST, Estimate, Seconds, fit_hand, fit_seconds, hits, overhead
from intrabench.people.places import SMALLEST
from intrabench.people.playback import Playback
from intrabench.results.labels import BY_PEOPLE
from intrabench.results.parts import read_rows
from intrabench.results.private import without_paths
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.statistics.resample import FEW

NO_ERROR = "no error"
"""Where an error of the hand comes from that was not measured."""


@dataclass(frozen=True)
class CalibrationResult:
    """A calibration, and what to know of it. content: that of its file. seconds, errors: all that was measured."""

    content: Mapping[str, Any]
    seconds: Sequence[Seconds]
    errors: Mapping[str, Estimate]
    notes: Sequence[str]

    @property
    def calibration(self) -> Calibration:
        """As runs take it."""
        return Calibration.of(self.content)

    def frame(self) -> pl.DataFrame:
        """A line per number: what is `used`, what was `measured` with its interval, and where `used` is from."""
        content = self.content
        lines = []
        for one in self.seconds:
            entry, name = content["seconds"][one.kind], f"seconds of {one.kind}"
            lines.append(_line(name, entry["each"], one.each, entry.get("kept", "measured")))
            if one.each.enough and one.once is not None:
                lines.append(_line(f"{name}, once per round", entry.get("once_per_round", 0.0), one.once, "measured"))
        for name, error in self.errors.items():
            entry = content["hand"][name]
            lines.append(_line(name, entry["value"], error, entry.get("kept", "measured")))
        return pl.DataFrame(lines, infer_schema_length=None)


def calibrate(root: Path, name: str, selection: Selection = EVERYTHING) -> CalibrationResult:
    """Fit seconds and errors of the hand to all that people did, or to a selection of it.

    Raises:
        IntraBenchError: there are no recordings, or the name has other characters than letters, digits, _, - and .
    """
    actions = read_actions(root)
    if actions.is_empty():
        raise IntraBenchError(f"{root} has no recordings of people; `intrabench annotate --out {root}` makes some")
    rows = selection.of(read_rows(root).filter(BY_PEOPLE), root)
    if selection != EVERYTHING:
        actions = actions.join(rows, on="session", how="semi", maintain_order="left")
    if actions.is_empty():
        raise IntraBenchError(f"{root} has no recordings of {selection.words}; omit an option")
    rows = rows.with_columns(rater=pl.col("prompter").str.extract(r"rater=\"?([\w-]+)"))
    playback = Playback(root)
    seen = hits(playback.sessions(rows))
    seconds, errors = fit_seconds(actions), fit_hand(seen)
    told = without_paths(replace(selection, cases=()).words)  # the file is for others, and cases may be patients
    facts = {
        **{"raters": actions["rater"].n_unique(), "sessions": actions["session"].n_unique(), "actions": actions.height},
        **{"datasets": rows["dataset"].unique().sort().to_list()},
        **overhead(actions),
        **({"selection": told} if told else {}),
    }
    content = {
        "name": name,
        "recordings": facts,
        "seconds": {"source": _source(facts), **{one.kind: _entry(one) for one in seconds}},
        "hand": {parameter: _error(errors[parameter]) for parameter in HAND},
    }
    notes = [*filter(None, [selection.words]), *sorted(playback.problems), *_notes(facts, seconds, errors, seen.beside)]
    Calibration.of(content)  # refuses a name that none has
    return CalibrationResult(content, seconds, errors, notes)


def write(found: CalibrationResult, path: Path, force: bool = False) -> None:
    """Write the file.

    Raises:
        IntraBenchError: there is one and it may not be replaced, or it cannot be written.
    """
    if path.exists() and not force:
        raise IntraBenchError(f"{path} exists; give another --file, or --force to replace it")
    with writing(path), atomically(path) as part:
        part.write_text(_toml(found.content), "utf-8")


def _entry(one: Seconds) -> dict[str, Any]:
    """The entry of a kind of action; of too few recordings that of the table that ships."""
    counts = {"n": one.each.n, "sessions": one.each.sessions}
    if not one.each.enough:
        measured = {} if math.isnan(one.each.value) else {"measured": _short(one.each.value)}
        return {**table(SECONDS)[one.kind], **counts, **measured, "kept": SECONDS}
    entry = {"each": _short(one.each.value), "interval": _interval(one.each)}
    if one.once is not None:
        entry |= {"once_per_round": _short(one.once.value), "once_interval": _interval(one.once)}
    return {**entry, **counts}


def _error(one: Estimate) -> dict[str, Any]:
    counts = {"n": one.n, "sessions": one.sessions}
    if not one.enough:
        measured = {} if math.isnan(one.value) else {"measured": _short(one.value)}
        return {"value": 0.0, **counts, **measured, "kept": NO_ERROR}
    return {"value": _short(one.value), "interval": _interval(one), **counts}


def _notes(
    facts: Mapping[str, Any], seconds: Sequence[Seconds], errors: Mapping[str, Estimate], beside: int
) -> list[str]:
    """What to know of the recordings, in sentences."""
    notes = []
    few = [one.kind for one in seconds if not one.each.enough]
    if few:
        notes.append(
            f"too few recordings of {', '.join(few)}: {SECONDS} is kept; {LEAST} actions in {FEW} sessions are needed"
        )
    mixed = [one.kind for one in seconds if one.each.enough and one.once is None]
    if mixed:
        notes.append(
            f"{', '.join(mixed)}: what is once per round is in the seconds of each, because it takes turns with one of "
            "them and turns with several to tell it"
        )
    few = [name for name, one in errors.items() if not one.enough]
    if few:
        notes.append(f"too few recordings for {', '.join(few)}: no such error; {LEAST} in {FEW} sessions are needed")
    notes += (
        [f"{several(beside, 'drawn rectangle')} beside the reference, or around less than {SMALLEST} voxels: left out"]
        if beside
        else []
    )
    notes += ["all is by one person: no interval says how people differ"] if facts["raters"] == 1 else []
    spent = facts["seconds_taken_back"] + facts["seconds_of_undo"] + facts["seconds_of_finish"]
    notes.append(
        f"{spent:.0f} s of undo, finish and what was taken back are no cost of an action; actions took "
        f"{facts['seconds_of_actions']:.0f} s"
    )
    return notes


def _source(facts: Mapping[str, Any]) -> str:
    only = f"; {facts['selection']}" if "selection" in facts else ""
    return (
        f"measured on {several(facts['raters'], 'rater')} in {several(facts['sessions'], 'session')} of "
        f"{', '.join(facts['datasets'])}{only}"
    )


def _line(name: str, used: float, one: Estimate, source: str) -> dict[str, Any]:
    interval = "-" if math.isnan(one.low) else f"{one.low:.3g} to {one.high:.3g}"
    shown = None if math.isnan(one.value) else _short(one.value)
    counts = {"n": one.n, "sessions": one.sessions}
    return {"": name, "used": float(used), "measured": shown, "95 %": interval, **counts, "used is from": source}


def _interval(one: Estimate) -> list[float]:
    return [_short(one.low), _short(one.high)]


def _short(value: float) -> float:
    return float(f"{value:.4g}")


def _toml(content: Mapping[str, Any]) -> str:
    """The content of a calibration as a file."""
    head = (
        "# Written by `intrabench calibrate`. Its name and a hash of its content stand in the rows of runs that use it."
    )
    return f"{head}\n{written_toml(content)}"
