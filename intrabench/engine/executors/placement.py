"""Who gets what: the worker processes of a run, each with its share of GPUs, cores and memory."""

from __future__ import annotations

import os
from collections.abc import Sequence

from intrabench.engine.executors.resources import cores, gpus, memory_mb
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.models.weights import registry as weights

VARIABLE = "INTRABENCH_WORKERS"
"""The environment variable with the number that ``auto`` stands for."""

MOST = 1024
"""More workers than any machine has use for: a typing error."""

MOST_PREPARERS = 8
"""More at once would only wait for the disk, or ask more of a server than it likes."""

BASE_MB = 2048
"""About what a worker needs besides its model: the interpreter, torch, a scan with its targets, a conversion."""

_THREADS = (
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "POLARS_MAX_THREADS",
    "OPENCV_FOR_THREADS_NUM",
    "ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS",
)
"""The variables by which libraries are told their number of threads."""


Placements = dict[str, dict[str, str]]
"""Workers by their names, each with what its environment has besides that of the command."""


def requested(wanted: str | int) -> int | None:
    """The number in ``--workers``, or in `VARIABLE` for ``auto``; None if the machine decides.

    Raises:
        IntraBenchError: it is no number of workers.
    """
    given, option = str(wanted), "--workers"
    if given == "auto":
        given, option = os.environ.get(VARIABLE, "auto"), VARIABLE
    if given == "auto":
        return None
    if isinstance(wanted, bool) or not (given.isascii() and given.isdecimal()):
        raise IntraBenchError(f"{option} {given or repr(given)} is not a number of workers; give auto, 0, 1, 2, ...")
    if int(given) > MOST:
        raise IntraBenchError(
            f"{option} {given} is more than a machine has use for; give auto or up to {MOST}, and start the same "
            "command on other machines"
        )
    return int(given)


def worker_placements(wanted: str | int, runners: Sequence[ModelRunner], tasks: int) -> Placements:
    """The workers, named from 1 on; none if the calling process plays by itself.

    ``auto``: one per GPU if a model computes on CUDA; else one per so many cores as the model needs that needs most,
    as far as memory is enough. Never more than there are tasks. Several workers have a GPU of their own, in turn if
    there are too few, and share the cores, unless the user has set the number of threads.

    Raises:
        IntraBenchError: wanted is no number of workers.
    """
    number, cards = requested(wanted), _cards(runners)
    if number is None:
        threads = max((runner.model.threads for runner in runners), default=1)
        number = max(1, min(len(cards) or cores() // threads, _fitting(runners)))
    number = min(number, max(tasks, 1))
    return {str(place + 1): _environment(place, number, cards) for place in range(number)}


def preparer_placements(cases: int) -> Placements:
    """The workers that prepare so many cases, next to the players: one per four cores.

    They are apart, so that nobody who plays is busy with a conversion when a case becomes ready.
    """
    number = min(cases, MOST_PREPARERS, max(1, cores() // 4))
    return {f"data {place + 1}": dict.fromkeys(_THREADS, "1") for place in range(number)}


def default_memory_limit_mb(workers: int) -> float:
    """What one of so many workers may take at most, in MiB: its share of the memory, less a tenth; or infinite."""
    return 0.9 * memory_mb() / max(workers, 1)


def _cards(runners: Sequence[ModelRunner]) -> tuple[str, ...]:
    """The GPUs that workers are given: none if no model computes there."""
    return gpus() if any(runner.device == "cuda" for runner in runners) else ()


def _environment(place: int, number: int, cards: Sequence[str]) -> dict[str, str]:
    """What a worker finds in its environment; one that is alone has the machine to itself."""
    if number == 1:
        return {}
    threads = {name: str(max(1, cores() // number)) for name in _THREADS if name not in os.environ}
    return threads | ({"CUDA_VISIBLE_DEVICES": cards[place % len(cards)]} if cards else {})


def _fitting(runners: Sequence[ModelRunner]) -> int:
    """The number of workers for which memory is enough, if each needs as much as with the largest model."""
    room = memory_mb() / (BASE_MB + max((_model_mb(runner) for runner in runners), default=0))
    return int(min(room, MOST))


def _model_mb(runner: ModelRunner) -> float:
    """About what a model needs: its weights while they are loaded, once as read and once in the network; embeddings."""
    id = runner.model.weights
    return 0 if id is None else 2 * weights.get(id).megabytes + runner.model.runtime.memory_mb
