"""`check`: whether a submission can be trusted, as far as this machine can tell; and its result, which boards keep."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from intrabench.engine.verify import TIMEOUT_S, Trust, Verdict, check_timeout, verify
from intrabench.errors import IntraBenchError, several
from intrabench.fetch.checksum import checksum_of
from intrabench.files.atomic import atomically, make_folder, writing
from intrabench.files.documents import Unreadable, read_json
from intrabench.publishing.board.availability import marks, trained_on
from intrabench.publishing.board.files import CHECKSUMS
from intrabench.publishing.board.submission import Submission, read_submission


@dataclass(frozen=True)
class CheckedSubmission:
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


def check(folder: Path, replays: int, seed: int, trust: Trust, timeout_s: float = TIMEOUT_S) -> CheckedSubmission:
    """Check a submission against itself, then play so many of its sessions again, which `seed` chooses.

    Nothing is downloaded, and what only the submission names is neither contacted, opened nor run, unless `trust` says
    so: sessions that would need it are `unknown`, as are those that are not played within `timeout_s` seconds.

    Raises:
        IntraBenchError: there is no such folder, or a number is wrong.
    """
    check_timeout(timeout_s)
    submission = read_submission(folder)
    if submission.problems or submission.rows is None:
        return CheckedSubmission(submission)
    played = list(verify(folder, replays, seed, trust, timeout_s)) if replays else []
    return CheckedSubmission(submission, played, _notes(submission))


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


SCHEMA = 1
_TYPES = {"schema": int, "content": str, "played": int, "equal": int, "differs": int}


@dataclass(frozen=True)
class CheckResult:
    """How many sessions were played again, and how many of them were equal or differed; the others are unverified.

    content: the checksum of the submission's content.
    """

    content: str
    played: int
    equal: int
    differs: int

    @property
    def words(self) -> str:
        """What a board shows."""
        return f"{self.equal} of {several(self.played, 'replay')} verified"


def content_of(submission: Path) -> str:
    """The checksum of all content of a submission whose files are as its list of checksums says."""
    return checksum_of(submission / CHECKSUMS)


def result_of(submission: Path, verdicts: Sequence[Verdict]) -> CheckResult:
    """The result of a check."""
    equal = sum(one.found in ("equal", "rounding") for one in verdicts)
    return CheckResult(content_of(submission), len(verdicts), equal, sum(one.found == "differs" for one in verdicts))


def write_result(folder: Path, name: str, result: CheckResult) -> Path:
    """Write the result of a check of the submission called `name` into a folder; a later one replaces it.

    Raises:
        CannotWrite: it cannot be written.
    """
    file = folder / f"{name}.json"
    with writing(file):
        make_folder(folder)
        with atomically(file) as part:
            part.write_text(json.dumps({"schema": SCHEMA, **asdict(result)}, indent=1) + "\n", encoding="utf-8")
    return file


def read_results(folder: Path | None, submissions: Sequence[Path]) -> Mapping[str, CheckResult]:
    """The results of checks of these submissions, by their names, as far as they are of their present content.

    Raises:
        IntraBenchError: there is no such folder, or a file is no such result.
    """
    if folder is None:
        return {}
    if not folder.is_dir():
        raise IntraBenchError(f"--checks {folder} is no folder; give the one of `intrabench board check --checks`")
    found = {}
    for path in submissions:
        file = folder / f"{path.resolve().name}.json"
        if not file.exists():
            continue
        fields = read_json(file, _TYPES)
        if fields.pop("schema", None) != SCHEMA or fields.keys() != _TYPES.keys() - {"schema"}:
            raise Unreadable(f"{file} is no result of a check; `intrabench board check --checks {folder}` writes one")
        if fields["content"] == content_of(path):
            found[path.resolve().name] = CheckResult(**fields)
    return found
