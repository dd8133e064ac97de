"""The result of a check, which whoever runs a board keeps: what was played again of a submission, and what came of it.

It lies outside of the submission, and names the checksum of its content. So no submitter can supply one, and none
outlives a change of the submission.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from intrabench.engine.verify import Verdict
from intrabench.errors import IntraBenchError, several
from intrabench.fetch.checksum import checksum_of
from intrabench.files.atomic import atomically, make_folder, writing
from intrabench.files.documents import Unreadable, read_json
from intrabench.publishing.board.files import CHECKSUMS

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
        known = read_json(file, _TYPES)
        if known.pop("schema", None) != SCHEMA or known.keys() != _TYPES.keys() - {"schema"}:
            raise Unreadable(f"{file} is no result of a check; `intrabench board check --checks {folder}` writes one")
        if known["content"] == content_of(path):
            found[path.resolve().name] = CheckResult(**known)
    return found
