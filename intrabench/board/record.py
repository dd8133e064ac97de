"""The record of a check, which whoever runs a board keeps: what was played again of a submission, and what came of it.

It lies outside of the submission, and names the checksum of its content. So no submitter can supply one, and none
outlives a change of the submission.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from intrabench.atomic import atomically, make_folder, writing
from intrabench.board.files import CHECKSUMS
from intrabench.documents import Unreadable, read_json
from intrabench.engine.verify import Verdict
from intrabench.errors import IntraBenchError, several
from intrabench.fetch.checksum import checksum_of

SCHEMA = 1
_TYPES = {"schema": int, "content": str, "played": int, "equal": int, "differs": int}


@dataclass(frozen=True)
class Record:
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


def record_of(submission: Path, verdicts: Sequence[Verdict]) -> Record:
    """The record of a check."""
    equal = sum(one.found in ("equal", "rounding") for one in verdicts)
    return Record(content_of(submission), len(verdicts), equal, sum(one.found == "differs" for one in verdicts))


def write_record(folder: Path, name: str, record: Record) -> Path:
    """Write the record of a check of the submission called `name` into a folder; a later one replaces it.

    Raises:
        CannotWrite: it cannot be written.
    """
    file = folder / f"{name}.json"
    with writing(file):
        make_folder(folder)
        with atomically(file) as part:
            part.write_text(json.dumps({"schema": SCHEMA, **asdict(record)}, indent=1) + "\n", encoding="utf-8")
    return file


def read_records(folder: Path | None, submissions: Sequence[Path]) -> Mapping[str, Record]:
    """The records of these submissions, as far as they are of their present content, by the names of the submissions.

    Raises:
        IntraBenchError: there is no such folder, or a file is no record.
    """
    if folder is None:
        return {}
    if not folder.is_dir():
        raise IntraBenchError(f"--checks {folder} is no folder; give the one of `intrabench board check --record`")
    found = {}
    for path in submissions:
        file = folder / f"{path.resolve().name}.json"
        if not file.exists():
            continue
        known = read_json(file, _TYPES)
        if known.pop("schema", None) != SCHEMA or known.keys() != _TYPES.keys() - {"schema"}:
            raise Unreadable(f"{file} is no record of a check; `intrabench board check --record {folder}` writes one")
        if known["content"] == content_of(path):
            found[path.resolve().name] = Record(**known)
    return found
