"""Run a job in this process: plan it, then play the missing sessions, image by image."""

from __future__ import annotations

import secrets
import time
from pathlib import Path

import polars as pl

from intrabench.engine.job import Job
from intrabench.engine.make_job import make_run
from intrabench.engine.manifest import Manifest
from intrabench.engine.options import Options
from intrabench.engine.plan import make_plan
from intrabench.engine.player import Player
from intrabench.engine.progress import Reporter
from intrabench.engine.rows import RowWriter, Summary
from intrabench.results.parts import read_rows
from intrabench.results.store import Store


def execute(options: Options, folder: Path, reporter: Reporter) -> tuple[Summary, int]:
    """Run a job into a results folder; returns a summary and the number of rounds.

    Raises:
        IntraBenchError: an option is wrong. Failures of single sessions are rows with a status instead.
    """
    job = make_run(options)
    run_id = time.strftime("%Y%m%dT%H%M%S", time.gmtime()) + "-" + secrets.token_hex(3)
    try:
        manifest = Manifest(options, job)
        run = LocalRun(job, Store(folder, run_id, manifest.opening), reporter)
        with manifest.kept(run.writer.store, run.writer.summary):
            return run.run(), job.rounds
    finally:
        for runner in job.runners:
            runner.close()


def rows_of(summary: Summary, folder: Path, rounds: int) -> pl.DataFrame:
    """The current rows of a run's sessions, up to its last round."""
    wanted = pl.col("session").is_in(list(summary.keys)) & (pl.col("round") <= rounds)
    return read_rows(folder).filter(wanted).sort("dataset", "case", "target", "model", "prompter", "seed", "round")


class LocalRun:
    """One run of one job into one results folder."""

    def __init__(self, job: Job, store: Store, reporter: Reporter) -> None:
        self.job, self.reporter = job, reporter
        self.writer = RowWriter(store, reporter)
        self.player = Player(job, self.writer, reporter)

    def run(self) -> Summary:
        """Play all missing sessions; finished ones are kept even if the run is interrupted."""
        plan, player, summary = make_plan(self.job, self.reporter), self.player, self.writer.summary
        self.writer.tell_patients(plan.units)
        self.writer.mended(plan.whole)
        summary.keys = {unit.key for unit in plan.units}
        summary.total = len(plan.units)
        summary.already = sum(len(group.units) - len(player.missing(group)) for group in plan.groups)
        self.reporter.begin(summary.total, summary.already)
        self.writer.failed([(unit, "error", problem) for unit, problem in plan.unprepared])
        busy = [group for group in plan.groups if not player.play(group, wait=False)]
        for group in busy:  # another run is playing these; play what it leaves
            player.play(group, wait=True)
        if summary.already:
            self.writer.renewed(plan.units)
        return summary
