"""Run a job: plan it, then have the missing sessions played, image by image."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from intrabench.datasets.cases.trusted_folders import note_given
from intrabench.engine.availability import fetch_weights, find_available
from intrabench.engine.estimate import long_ones
from intrabench.engine.executors.make import make_executors, plays_in_process
from intrabench.engine.executors.timeout import after
from intrabench.engine.failure_limit import failure_limit
from intrabench.engine.make_job import make_run
from intrabench.engine.manifest import Manifest
from intrabench.engine.metric_trial import try_out
from intrabench.engine.options import Options
from intrabench.engine.plan import make_plan
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.scheduler import Scheduler
from intrabench.engine.signals import ending_softly
from intrabench.engine.summary import Summary
from intrabench.engine.writer import ResultWriter
from intrabench.files.mounts import warnings_about
from intrabench.results.compact import others_at_work, tidy
from intrabench.results.fast_queries import only
from intrabench.results.parts import read_rows
from intrabench.results.spellings import other_spellings
from intrabench.results.store import Store, new_run_id


@ending_softly()
def execute(
    options: Options, folder: Path, reporter: Reporter, given: bool = True, limit_s: float = math.inf
) -> tuple[Summary, int]:
    """Run a job into a results folder; returns a summary and the number of rounds.

    given: a person gave these options, so that later commands may open the folders among its data sets. limit_s: the
    workers are stopped after so many seconds, whatever they do; what is not finished then is missing.

    Raises:
        IntraBenchError: an option is wrong. Failures of single sessions are rows with a status instead.
    """
    if options.fetch:
        fetch_weights(options, reporter)
    found = find_available(options)
    for line in found.lacking if not found.none else ():
        reporter.say(line)
    job = make_run(found.options, here=plays_in_process(options))
    if given:
        note_given(job.datasets)
    run_id = new_run_id()
    try:
        for line in try_out(job.metrics):
            reporter.say(line)
        manifest = Manifest(options, job)
        limit = failure_limit(options.max_failures, options.fail_fast)
        writer = ResultWriter(Store(folder, run_id, manifest.opening), reporter, limit, gathers=True)
        models = {runner.model.short_spec for runner in job.runners}
        for line in [*warnings_about(folder), *other_spellings(folder, models)]:
            reporter.say(line)
        with manifest.kept(writer.store, writer.summary):
            _tidy(folder, run_id, reporter)
            plan = make_plan(job, reporter)
            writer.summary.left_out += [*found.lacking, *plan.unlisted]
            if others_at_work(folder, run_id):
                plan.begin_at(random.random())
            manifest.prepared = plan.ready
            scheduler = Scheduler(plan, writer, reporter)
            for line in long_ones(scheduler.missing, folder, job.rounds):
                reporter.note(line)
            manifest.summary, manifest.open_cases = writer.summary, lambda: scheduler.queue.cases
            with make_executors(found.options, scheduler) as executors, after(limit_s, scheduler.stop, executors):
                scheduler.run(executors)
        if writer.store.parts:
            _tidy(folder, run_id, reporter)
        return writer.summary, job.rounds
    finally:
        for runner in job.runners:
            runner.close()


def _tidy(folder: Path, run_id: str, reporter: Reporter) -> None:
    """Put many small files together: before they are read several times, and for those who read them later."""
    done, wrong = tidy(folder, run_id)
    if wrong:
        reporter.say(wrong)
    elif done:
        reporter.note(done)


def rows_of(summary: Summary, folder: Path, rounds: int, columns: Sequence[str] | None = None) -> pl.DataFrame:
    """The current rows of a run's sessions, up to its last round; columns: as in `read_rows`."""
    keys = pl.Series(list(summary.keys), dtype=pl.String).implode()
    wanted = pl.col("session").is_in(keys) & (pl.col("round") <= rounds)
    return only(read_rows(folder, columns), wanted)
