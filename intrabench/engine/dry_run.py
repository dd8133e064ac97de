"""What a run would do, without doing it."""

from __future__ import annotations

from pathlib import Path

from intrabench.datasets import store as cases
from intrabench.datasets.base import Dataset
from intrabench.engine.job import Job, Options, make_job
from intrabench.plan import Contender
from intrabench.results.store import finished_sessions


def describe(options: Options, folder: Path) -> list[str]:
    """Lines for people: downloads and what is here of them, units per model, what is finished."""
    job = make_job(options)
    lines = [line for dataset in job.datasets for line in _data(dataset)]
    done = finished_sessions(folder, job.rounds) if folder.is_dir() else set()
    total = finished = unknown = 0
    for contender in job.contenders:
        keys, without_index = _keys(job, contender)
        total += len(keys)
        finished += sum(key in done for key in keys)
        unknown += without_index
        lines.append(
            f"{contender.spec}: {len(keys)} sessions on {contender.device}, {sum(k in done for k in keys)} finished"
        )
    lines.append(f"in all {total} sessions, {finished} finished, {total - finished} to do; results in {folder}")
    if unknown:
        lines.append(
            f"{unknown} cases are not fetched yet, so their targets are not counted; see `intrabench data get`"
        )
    return lines


def _data(dataset: Dataset) -> list[str]:
    missing = cases.to_download(dataset)
    state = {source: "to download" if source in missing else "here" for source in dataset.sources()}
    return [f"{dataset.spec}: {s.filename}, {s.size / 1e6:.1f} MB, {where}" for s, where in state.items()]


def _keys(job: Job, contender: Contender) -> tuple[list[str], int]:
    keys: list[str] = []
    unknown = 0
    for dataset, case in job.selected():
        index = cases.index(dataset, case)
        if index is None:
            unknown += 1
        else:
            keys += [unit.key for unit in job.units(dataset, case, contender, index)]
    return keys, unknown
