"""Describe what a run would do, without running it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from intrabench.datasets.base import Dataset, NotFetched, data_size
from intrabench.datasets.cases import store as cases
from intrabench.datasets.cases.notes import notes_on
from intrabench.datasets.cases.selection import check_targets
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.availability import find_available
from intrabench.engine.estimate import Estimate, Estimates, Workload
from intrabench.engine.job import Job
from intrabench.engine.make_job import make_run, make_unplayed
from intrabench.engine.metric_trial import try_out
from intrabench.engine.options import Options
from intrabench.engine.plan import ImageTask
from intrabench.engine.session_spec import ModelRunner
from intrabench.engine.trial import play_trial
from intrabench.errors import IntraBenchError, foreign, several
from intrabench.mask import TURNED, reordered
from intrabench.models.parts.embedding_cache import each_mb, usage_line
from intrabench.results.parts import finished_sessions

NAMED = 3
"""Of so many data sets each one is named that lacks something."""


def describe(options: Options, folder: Path, trial: bool = False) -> list[str]:
    """Lines for people: downloads and their state, sessions per model and what they take, and what is missing.

    trial: play a session of each model of which no row tells what it takes; the results folder stays as it is.
    """
    found = find_available(options)
    job = make_unplayed(options) if found.none else make_run(found.options)
    try:
        return [*_described(job, folder, trial), *found.lacking, *try_out(job.metrics)]
    finally:
        for runner in job.runners:
            runner.close()


def _described(job: Job, folder: Path, trial: bool) -> list[str]:
    chosen: dict[Dataset, list[str]] = {dataset: [] for dataset in job.datasets}
    unlisted = {dataset: why for dataset in job.datasets if (why := _unlisted(dataset))}
    selected = job.selected(without=unlisted)
    for dataset, case in selected:
        chosen[dataset].append(case)
    lines = [line for dataset, names in chosen.items() for line in _data(dataset, names)]
    lines += unlisted.values()
    indexes = {(dataset, case): cases.look(dataset, case)[0] for dataset, case in selected}
    lines += _convert_one(indexes) if trial else []
    for dataset in chosen:
        lines += notes_on(dataset, [index for (one, _), index in indexes.items() if one == dataset and index])
    unknown = [where for where, index in indexes.items() if index is None]
    if not unknown:
        check_targets([index for index in indexes.values() if index], job.targets)
    done = finished_sessions(folder, job.rounds) if folder.is_dir() else set()
    estimates, playing, untold = Estimates(folder, job.rounds), list[ModelRunner](), list[str]()
    convertible = any(cases.lacks(*where) == "converted" for where in unknown)
    total = finished = 0
    for runner in job.runners:
        tasks = [ImageTask(job, *where, runner, index) for where, index in indexes.items() if index is not None]
        waiting = {task: sum(key not in done for key in task.keys) for task in tasks}
        count, left = sum(len(task.keys) for task in tasks), sum(waiting.values())
        total, finished = total + count, finished + count - left
        each = len(job.prompters_for(runner.model)) * len(job.seeds)
        more = f", and {each} for each selected target of {several(len(unknown), 'further case')}" if unknown else ""
        lines.append(f"{runner.label}: {several(count, 'session')} on {runner.device}, {count - left} finished{more}")
        if left:
            tasks = [task for task, number in waiting.items() if number]
            estimate, failure = _estimate(estimates, tasks, left, trial)
            lines[-1] = "; ".join([lines[-1], *_taken(tasks, estimate), *failure])
            untold += [] if estimate.known or failure else [runner.label]
        elif convertible and not estimates.of(runner, Workload(0, 0)).known:
            untold.append(runner.label)
        if left or unknown:
            playing.append(runner)
    least = "at least " if unknown or unlisted else ""
    lines.append(
        f"total: {least}{several(total, 'session')}, {finished} finished, {total - finished} to do; results in {folder}"
    )
    if untold:
        lines.append(f"how long {', '.join(untold)} will take is not known; --trial plays one session of each to tell")
    return lines + _embeddings(playing) + _uncounted(unknown)


def _convert_one(indexes: dict[tuple[Dataset, str], CaseIndex | None]) -> list[str]:
    """Convert a case on which a trial can be played, if none is, and one needs no download; says why that failed."""
    if any(indexes.values()):
        return []
    convertible = (where for where in indexes if cases.lacks(*where) == "converted")
    try:
        if (where := next(convertible, None)) is not None:
            indexes[where] = cases.prepare(*where)
    except IntraBenchError as error:
        return [f"no trial can be played: {error}"]
    return []


def _estimate(
    estimates: Estimates, tasks: Sequence[ImageTask], sessions: int, trial: bool
) -> tuple[Estimate, Sequence[str]]:
    """About what the sessions of a model take that are left of these tasks; and a failed trial in words."""
    runner, left = tasks[0].runner, Workload(sessions, len(tasks))
    found = estimates.of(runner, left)
    if found.played or not trial:
        return found, ()
    with TemporaryDirectory() as folder:
        failure = play_trial(tasks[0], Path(folder))
        tried = Estimates(Path(folder), estimates.rounds).of(runner, left)
    if failure:
        return found, [f"a trial failed: {failure}"]
    if not tried.played:
        return found, ()
    alone = len(tasks[0].job.runners) == 1 or runner.model.runtime.device != "cpu"  # else the peak is of several models
    memory_mb = tried.memory_mb if alone else 0.0
    return replace(tried, known="about {} as a trial of one session took", memory_mb=memory_mb), ()


def _taken(tasks: Sequence[ImageTask], estimate: Estimate) -> list[str]:
    """What sessions of a model take that are left of these tasks, as far as that is known."""
    found, runner = [estimate.time], tasks[0].runner
    if estimate.memory_mb:
        where = "memory" if runner.model.runtime.device == "cpu" else "memory of the GPU"
        found.append(f"up to {estimate.memory_mb:.0f} MiB of {where} in each worker")
    if tasks[0].job.save_masks:
        found.append(f"masks {data_size(estimate.masks_mb)}")
    if runner.model.encodes and runner.model.runtime.embeddings:
        found.append(f"embeddings {_kept(tasks)}")
    return [*filter(None, found)]


def _kept(tasks: Sequence[ImageTask]) -> str:
    """How much disk the embeddings of a model take, by those that are kept: of all slices, or each one."""
    model = tasks[0].runner.model
    each = each_mb(model)
    if model.dims == 2 and each:
        slices = sum(reordered(task.index.shape, TURNED[task.plane])[0] for task in tasks)
        return f"up to {data_size(slices * each)}"
    return f"{data_size(each)} each" if each else data_size(each)


def _embeddings(runners: Sequence[ModelRunner]) -> list[str]:
    """How much disk embeddings take and may take, if one of the models keeps any."""
    kept = [one.model.runtime.embeddings_gb for one in runners if one.model.encodes and one.model.runtime.embeddings]
    return [usage_line(kept[0], least=0)] if kept else []


def _unlisted(dataset: Dataset) -> str:
    """Why nobody knows the cases of a data set yet; empty if they are known."""
    try:
        with foreign():
            dataset.cases()
    except NotFetched as error:
        return str(error)
    except Exception:  # `select_cases` reports the error
        return ""
    return ""


def _uncounted(unknown: Sequence[tuple[Dataset, str]]) -> list[str]:
    """How many cases have unknown targets, and what these need first, by data set or, of many, in one line."""
    counts: dict[str, Counter[str]] = {}
    for dataset, case in unknown:
        counts.setdefault(cases.lacks(dataset, case), Counter())[dataset.argument] += 1
    lines = []
    for needed, found in counts.items():
        each = [(count, name, f"`intrabench data get {name}` or the run does that") for name, count in found.items()]
        if len(each) > NAMED:
            each = [(found.total(), several(len(each), "data set"), "the run does that")]
        for count, name, how in each:
            are = f"{several(count, 'case')} of {name} {'is' if count == 1 else 'are'}"
            lines.append(f"{are} not {needed} yet, so the targets are not known; {how}")
    return lines


def _data(dataset: Dataset, selected: Sequence[str]) -> list[str]:
    """The files to download: shared archives by name, files of single cases as a sum."""
    missing = cases.to_download(dataset, selected)
    lines = []
    for source in dataset.sources():
        state = "to download" if source in missing else "here"
        lines.append(f"{dataset.short_spec}: {source.title}, {data_size(source.megabytes)}, {state}")
    own = [source for source in missing if source not in dataset.sources()]
    if own:
        size = data_size(sum(source.megabytes for source in own))
        lines.append(f"{dataset.short_spec}: up to {size} to download for {several(len(selected), 'case')}")
    if missing:
        lines.append(f"{dataset.short_spec}: licence {dataset.card.licence}")
    return lines
