"""The report of a session: one row for each interaction, object and frame, in memory and in a file.

The file is ``result_YYYYmmdd_HHMMSS.tmp.csv`` while the session goes on and loses ``.tmp`` at its end. Each interaction
is appended once, so a session that was killed has all the interactions before.
"""

from __future__ import annotations

import io
import time
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically

PUBLISHED: dict[str, Any] = {
    "session_id": pl.String,
    "sequence": pl.String,
    **dict.fromkeys(("scribble_idx", "interaction", "object_id", "frame"), pl.Int64),
    **dict.fromkeys(("jaccard", "contour", "j_and_f", "timing"), pl.Float64),
}
"""The columns of the published report; timing: seconds of the model."""
COLUMNS: dict[str, Any] = {**PUBLISHED, "human_s": pl.Float64, "robot_s": pl.Float64, "status": pl.String}
"""Ours. human_s: of the scribbles that were given; robot_s: computing them; status: ok, late or failed."""
UNFINISHED = ".tmp.csv"


class Report:
    """Rows of a session. folder: where the file is; compat: with the published columns only, numbered."""

    def __init__(self, folder: Path, compat: bool = False) -> None:
        self.compat, self.parts = compat, list[pl.DataFrame]()
        self.rows = 0
        self.file = folder / time.strftime(f"result_%Y%m%d_%H%M%S{UNFINISHED}")

    @property
    def frame(self) -> pl.DataFrame:
        """All rows so far."""
        return pl.concat([pl.DataFrame(schema=COLUMNS), *self.parts])

    def add(self, rows: pl.DataFrame) -> None:
        """Append the rows of an interaction."""
        written = self._csv(rows)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        with self.file.open("ab") as file:
            file.write(written)
        self._keep(rows)

    def restart(self, file: Path, rows: pl.DataFrame) -> None:
        """Go on with the file of an earlier session, of which only `rows` are kept."""
        with atomically(file) as part:
            part.write_bytes(self._csv(rows))
        self.file = file
        self._keep(rows)

    def finish(self) -> None:
        """Give the file its last name."""
        if self.file.name.endswith(UNFINISHED) and self.file.exists():
            self.file = self.file.rename(self.file.with_name(self.file.name.removesuffix(UNFINISHED) + ".csv"))

    def _keep(self, rows: pl.DataFrame) -> None:
        self.parts.append(rows)
        self.rows += len(rows)

    def _csv(self, rows: pl.DataFrame) -> bytes:
        if self.compat:
            rows = rows.select(*PUBLISHED).with_row_index("", offset=self.rows)
        return rows.write_csv(include_header=self.rows == 0).encode()


def read_report(file: Path) -> pl.DataFrame:
    """The rows in a file; a last line that was cut off is left out.

    Raises:
        IntraBenchError: it is no report.
    """
    try:
        text = file.read_bytes()
        found = pl.read_csv(io.BytesIO(text[: text.rfind(b"\n") + 1]), infer_schema=False)
        more = [pl.lit(None).alias(name) for name in COLUMNS if name not in found.columns and name not in PUBLISHED]
        return found.with_columns(more).select(*COLUMNS).cast(COLUMNS)  # type: ignore[arg-type]
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = str(error).splitlines()[0]
        raise IntraBenchError(f"{file} is no report of DAVIS Interactive ({reason}); resume from a .tmp.csv") from None
