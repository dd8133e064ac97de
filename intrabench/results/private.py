"""What leaves this machine says nothing of its paths and hosts, nor who of the raters did what.

Specs and options may hold paths (``masks:folder=/home/ab/answers``), addresses (``url=http://gpu7:1527``) and raters
(``human:rater=ab``). Of a path its last part stays, of an address its scheme, and raters are numbered.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

_RATER = re.compile(r'\brater="?([A-Za-z0-9_-]{1,40})"?')
_ADDRESS = re.compile(r"""\b([a-z]+)://[^\s,"']+""")
_BEGINS = r"(?:~|\.{1,2}|[A-Za-z]:|file:)?[\\/]"
_QUOTED = re.compile(rf"""(["'])({_BEGINS}.*?)\1""")
_PATH = re.compile(rf'(?:^|(?<=[=@+,\s(])){_BEGINS}[^",:=+]*')
_SPECS = ("model", "prompter", "dataset")
_HOMES = ("home", "Users", "users", "Documents and Settings")

KEPT = ("run_id", "state", "started", "ended", "rounds", "commit", "package_versions_hash", "versions", "hardware")
"""What a record says that names nobody; `Private.record` adds what was run, without paths."""


class Private:
    """Texts and rows without what names people and machines; the same rater has the same number in all of them."""

    def __init__(self, rows: pl.DataFrame) -> None:
        """rows: all that may be exported; raters are numbered in the order of their names."""
        specs = sorted({spec for name in _SPECS for spec in rows[name].unique()})
        people = sorted({rater for spec in specs for rater in _RATER.findall(spec)})
        self._raters = {rater: f"rater-{number}" for number, rater in enumerate(people, 1)}
        self._specs: dict[str, str] = {}
        for spec in specs:
            text, others = self._without(spec), {*self._specs.values()}
            alike = (f"{text}~{number}" for number in range(2, len(specs) + 2))  # two folders of one name stay two
            self._specs[spec] = text if text not in others else next(one for one in alike if one not in others)

    def text(self, words: str) -> str:
        """A spec or an option; two specs of the rows are never the same text."""
        return self._specs.get(words) or self._without(words)

    def _without(self, words: str) -> str:
        return without_paths(_RATER.sub(lambda found: f"rater={self._raters.get(found[1], 'rater-unknown')}", words))

    def specs(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows with specs of models, prompters and data sets as they may leave."""
        return rows.with_columns(pl.col(name).replace_strict(self._specs, return_dtype=pl.String) for name in _SPECS)

    def rows(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows of a results folder, without the words of errors, which may hold anything; patients are numbered."""
        differs = pl.col("patient") != pl.col("case")  # else the case is the patient, and named anyway
        number = pl.format("patient-{}", pl.when(differs).then("patient").rank("dense").over("dataset").cast(pl.Int64))
        return self.specs(rows).with_columns(
            patient=pl.when(differs).then(number).otherwise("case"), error=pl.lit(None, pl.String)
        )

    def record(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """What a run did with what: no command, plug-ins and tracebacks, and no address that weights came from."""
        weights = [{k: v for k, v in one.items() if k != "source"} for one in record.get("weights", ())]
        facts = {name: record[name] for name in KEPT if name in record}
        facts |= {name: self._plain(record[name]) for name in ("work", "datasets", "sessions") if name in record}
        return facts | {"weights": self._plain(weights)}

    def _plain(self, value: Any) -> Any:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {key: self._plain(one) for key, one in value.items()}
        return [self._plain(one) for one in value] if isinstance(value, list | tuple) else value


def without_paths(words: str) -> str:
    """A spec or an option with the last parts of paths, and without hosts."""
    words = _ADDRESS.sub(r"\1://host", words)
    words = _QUOTED.sub(lambda found: f"{found[1]}{_last(found[2])}{found[1]}", words)
    return _PATH.sub(lambda found: _last(found[0]), words)


def _last(path: str) -> str:
    """The last part of a path, unless it is the home folder of a person."""
    parts = [part for part in re.split(r"[\\/]", path) if part not in ("", ".", "..", "~")]
    home = Path.home()
    if not parts or parts[-1] == home.name or (len(parts) > 1 and parts[-2] in _HOMES):
        return "path"
    return parts[-1]
