"""Runs, previews of one session, and checks of models in Python."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from intrabench.api.arguments import checks_arguments
from intrabench.errors import ChangedPatients, FailedSessions, several

if TYPE_CHECKING:
    import polars as pl
    from PIL.Image import Image

    from intrabench.engine.check import Finding
    from intrabench.registry.objects import DatasetLike, MetricLike, ModelLike, PrompterLike, RefinementLike

T = TypeVar("T")
Several: TypeAlias = T | Iterable[T]
"""One, or several."""


@checks_arguments
def run(
    model: Several[ModelLike] | None = None,
    prompter: Several[PrompterLike] | None = None,
    dataset: Several[DatasetLike] = "spine_ct",
    *,
    perturb: Several[str] | None = None,
    refine: Several[RefinementLike] | None = None,
    hand: str | Path = "",
    effort: str | Path | None = None,
    stop: str = "",
    joint: str = "",
    seed: Several[int] | None = None,
    cases: Several[str] | None = None,
    targets: Several[str] | None = None,
    rounds: int | None = None,
    protocol: str = "basic@2",
    only: Several[str] | None = None,
    metric: Several[MetricLike] | None = None,
    strict: bool = False,
    save_masks: bool = False,
    dtype: str = "float32",
    weights: str | Path | None = None,
    device: str = "auto",
    batch: str | int = "fixed",
    memory: int = 512,
    compile: bool = False,
    cache_embeddings: bool | None = None,
    cache_gb: float | None = None,
    python: str | Path | None = None,
    plugin: Several[str | Path] | None = None,
    workers: int | str = "auto",
    timeout: float = 600.0,
    dask: str | Path = "",
    collect: bool = False,
    fail_fast: bool = False,
    max_failures: int | str = "",
    fetch: bool = False,
    note: str = "",
    out: str | Path | None = None,
    progress: bool | None = None,
) -> pl.DataFrame:
    """Run models times prompters times data sets times seeds, and return their rows, one per session and round.

    model, prompter, dataset, refine, metric: specs, objects of your own, classes (made with their defaults), or a
    sequence that mixes them. A data set may be the path of a folder. perturb: changes of the images, such as
    ``noise:sigma=0.1``; each is run, and ``none`` stands for the images as they are. Without a prompter the rows of
    the protocol are run, and without a model its models, ``protocol="intrabench@1"``. Without a seed it is 0; under
    ``protocol="rclicks-users@1:clicks=FILE"`` each real click is one. Sessions already in the results folder `out` are
    not computed again. effort: a calibration file, whose seconds count; `hand` takes one, too (``intrabench
    calibrate``). The other options are those of ``intrabench run``. progress: show progress; None: only in notebooks
    and on terminals.

    The sessions are played in worker processes, as many as `workers` says, which may take `timeout` seconds for a
    batch. With ``workers=0`` they are played in this process, as a debugger needs, and always so if an object is given.
    With `dask` they are played by the workers of a Dask cluster.

    An object that brings a runtime of its own (`model.runtime`) keeps it; options that say something else about it are
    refused. The run works on copies, so objects stay as they were.

    Raises:
        IntraBenchError: a name, spec or option is wrong. Sessions that fail are rows with a status instead, and a
            warning tells how many did and why; with `fail_fast` the first one raises instead, with `max_failures` that
            one with which so many have failed, or, as in ``"5%"``, such a share of at least 20 that were played.
    """
    # At the beginning, where nothing is local but the arguments.
    arguments = dict(locals())
    from intrabench.engine.options import chosen
    from intrabench.engine.progress.display import reporting
    from intrabench.engine.run import execute, rows_of
    from intrabench.engine.summary import counted
    from intrabench.workspace import results_folder

    options = chosen(_options(arguments))
    folder = results_folder(None if out is None else Path(out))
    with reporting(progress) as reporter:
        summary, last = execute(options, folder, reporter)
    if summary.moved:
        warnings.warn("\n".join(summary.moved), ChangedPatients, stacklevel=3)
    if lines := summary.left_out + summary.valueless + counted(summary.failures):
        lines[:0] = [f"{summary.failed} of {several(summary.total, 'session')} failed"] if summary.failed else []
        warnings.warn("\n".join(lines), FailedSessions, stacklevel=3)
    rows = rows_of(summary, folder, last)
    return rows.sort("dataset", "case", "target", "model", "prompter", "seed", "round")


@checks_arguments
def preview(
    prompter: PrompterLike,
    dataset: DatasetLike = "spine_ct",
    *,
    case: str | None = None,
    target: str | None = None,
    seed: int = 0,
    model: ModelLike | None = None,
    rounds: int | None = None,
    refine: RefinementLike | None = None,
    hand: str = "",
    window: str = "",
    plane: str = "acquisition",
    plugin: Several[str | Path] | None = None,
    out: str | Path | None = None,
) -> list[Image]:
    """Pictures of the first prompts on a target (default: of the first case and target), as a notebook shows them.

    With a model: one picture per round, with the new prompts of the round and the answer after it. window: of a CT,
    ``soft tissue``, ``lung`` or ``bone``; empty: the one that fits the target. plane: as of
    ``basic@2:plane=...``. out: write them, too, as one PNG; per round ``NAME_round0.png``, ``NAME_round1.png``, ...

    Raises:
        IntraBenchError: a name or spec is wrong, or the session fails; pictures of the rounds before that are written.
    """
    arguments = dict(locals())
    from intrabench.engine.options import chosen
    from intrabench.engine.preview import preview as pictures
    from intrabench.engine.preview import write

    found = []
    own = ("case", "target", "window", "plane")
    for name, picture in pictures(chosen(_options(arguments, *own)), case, target, window, plane):
        found.append(picture.image())
        if out is not None:
            write(picture, name, Path(out))
    return found


@checks_arguments
def check(
    model: ModelLike,
    *,
    weights: str | Path | None = None,
    device: str = "auto",
    dtype: str = "float32",
    batch: str | int = "fixed",
    python: str | Path | None = None,
    plugin: Several[str | Path] | None = None,
) -> list[Finding]:
    """Check a model on a synthetic scan: prompts, geometry, batches, determinism, memory, time.

    python: an interpreter to run it in, as for `run`.

    Returns:
        One finding per check; failed ones have ``ok`` False.

    Raises:
        IntraBenchError: a name or option is wrong, or the weights are missing.
    """
    arguments = dict(locals())
    from intrabench.engine.check import check as findings
    from intrabench.engine.model_runners import make_runner
    from intrabench.engine.options import chosen

    return list(findings(make_runner(chosen(_options(arguments)))))


def _options(arguments: dict[str, Any], *others: str) -> dict[str, Any]:
    """The options of a run among the arguments of a function; `others` names arguments that are not options."""
    return {name: value for name, value in arguments.items() if name not in ("out", "progress", *others)}
