"""About how long the sessions of a model take, and how much memory and disk: by what is known on this machine."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from intrabench.engine.cost import place_of, recalled
from intrabench.engine.progress.tally import lasting
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import several
from intrabench.results.masks import masks_file
from intrabench.results.parts import read_rows
from intrabench.results.statuses import NO_DATA

SHORT_S = 60.0
"""It is not worth a word if all sessions take less seconds than this."""

SAMPLE = 100
"""So many sessions tell how large files of masks are."""

_MEASURED = (
    *("session", "status", "model", "device", "dtype", "dataset", "case"),
    *("encode_s", "segment_s", "peak_memory_mb", "peak_gpu_mb"),
)


@dataclass(frozen=True)
class Workload:
    """So many sessions of a model on so many images."""

    sessions: int
    images: int


@dataclass(frozen=True)
class Estimate:
    """About what sessions of a model take; 0 is what nobody measured.

    seconds: of machine time, one session after the other. known: how that is known, with ``{}`` for the time. played:
    the sessions that tell it. memory_mb: the peak in MiB, as of a `Cost`. masks_mb: the files of masks, in MB.
    """

    seconds: float = 0.0
    known: str = ""
    played: int = 0
    memory_mb: float = 0.0
    masks_mb: float = 0.0

    @property
    def time(self) -> str:
        """The time in words; empty if nobody knows it."""
        return self.known.format(lasting(max(1.0, self.seconds)))


class Estimates:
    """Estimates by the rows of a results folder, else by what `intrabench check` measured."""

    def __init__(self, folder: Path, rounds: int) -> None:
        self._folder, self.rounds = folder, rounds
        self._rows = read_rows(folder, _MEASURED, metrics=False) if folder.is_dir() else None

    def of(self, runner: ModelRunner, left: Workload) -> Estimate:
        """For what is left of a model; its sessions on the same device in the same precision tell about it.

        An image is encoded for all its sessions together, so that part is counted by image.
        """
        model, runtime = runner.model, runner.model.runtime
        if self._rows is not None:
            rows = self._rows.filter(model=model.short_spec, device=runtime.device, dtype=runtime.dtype)
            rows = rows.filter(~pl.col("status").is_in(["not_applicable", NO_DATA]))  # of which nothing was played
            if played := rows["session"].n_unique():
                peak = pl.max("peak_memory_mb" if runtime.device == "cpu" else "peak_gpu_mb")
                encoding, answering, memory_mb = rows.select(pl.sum("encode_s"), pl.sum("segment_s"), peak).row(0)
                images = rows.select(pl.struct("dataset", "case").n_unique()).item()
                seconds = left.images * encoding / images + left.sessions * answering / played
                known = f"about {{}} as {several(played, 'session')} here took"
                masks_mb = self._masks_mb(rows, left.sessions)
                return Estimate(seconds, known, played, memory_mb or 0.0, masks_mb)
        cost = recalled(model)
        if cost is not None and cost.device == place_of(runtime):
            seconds = left.sessions * (self.rounds + 1) * cost.next_ms / 1000
            return Estimate(seconds, "at least {} as `intrabench check` measured an answer", 0, cost.memory_mb)
        return Estimate()

    def _masks_mb(self, rows: pl.DataFrame, sessions: int) -> float:
        """The size of the masks of so many sessions, by those that are kept."""
        files = [masks_file(self._folder, session) for session in rows["session"].unique().sort().head(SAMPLE)]
        sizes = [file.stat().st_size for file in files if file.is_file()]
        return sessions * sum(sizes) / len(sizes) / 1e6 if sizes else 0.0


def long_ones(missing: Sequence[tuple[ModelRunner, Workload]], folder: Path, rounds: int) -> Iterator[str]:
    """A line for each model whose missing sessions take long."""
    waiting = [(runner, left) for runner, left in missing if left.sessions]
    if waiting:
        estimates = Estimates(folder, rounds)
        for runner, left in waiting:
            if (found := estimates.of(runner, left)).seconds >= SHORT_S:
                yield f"{runner.label}: {several(left.sessions, 'session')}, {found.time}"
