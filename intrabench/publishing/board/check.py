"""`check`: whether a submission can be trusted, as far as this machine can tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from intrabench.engine.verify import TIMEOUT_S, Trust, Verdict, check_timeout, verify
from intrabench.publishing.board.own_code import marks, trained_on
from intrabench.publishing.board.submission import Submission, read_submission


@dataclass(frozen=True)
class Checked:
    """What came of a submission. verdicts: of sessions that were played again. notes: what reviewers should know."""

    submission: Submission
    verdicts: Sequence[Verdict] = ()
    notes: Sequence[str] = ()

    @property
    def problems(self) -> list[str]:
        """Why it is refused; none if it is not."""
        return [*self.submission.problems, *(f"played again: {one.message}" for one in self.differing)]

    @property
    def differing(self) -> list[Verdict]:
        """The sessions that gave other rows."""
        return [one for one in self.verdicts if one.found == "differs"]

    def count(self) -> dict[str, int]:
        """How many sessions came out how."""
        return dict(Counter(one.found for one in self.verdicts))


def check(folder: Path, replays: int, seed: int, trust: Trust, timeout_s: float = TIMEOUT_S) -> Checked:
    """Check a submission against itself, then play so many of its sessions again, which `seed` chooses.

    Nothing is downloaded, and what only the submission names is neither contacted, opened nor run, unless `trust` says
    so: sessions that would need it are `unknown`, as are those that are not played within `timeout_s` seconds.

    Raises:
        IntraBenchError: there is no such folder, or a number is wrong.
    """
    check_timeout(timeout_s)
    submission = read_submission(folder)
    if submission.problems or submission.rows is None:
        return Checked(submission)
    played = list(verify(folder, replays, seed, trust, timeout_s)) if replays else []
    return Checked(submission, played, _notes(submission))


def _notes(submission: Submission) -> list[str]:
    assert submission.rows is not None
    columns = ("model", "model_version", "weights", "weights_sha256", "prompter", "prompter_version", "dataset")
    lines = submission.rows.unique([*columns, "dataset_version", "seen_in_training"]).sort(columns)
    notes = dict[str, None]()
    for line in lines.iter_rows(named=True):
        for mark in marks(line):
            notes[f"{line['model']} with {line['prompter']} on {line['dataset']}: {mark}"] = None
        if trained_on(line) == "yes":
            notes[f"{line['model']} on {line['dataset']}: trained on this data; the board shows it as withheld"] = None
    return list(notes)
