"""The same in Python as on the command line."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from intrabench import registry
from intrabench.workspace import results_folder

if TYPE_CHECKING:
    import polars as pl

    from intrabench.datasets.base import Dataset
    from intrabench.engine.rows import Summary
    from intrabench.models.base import Model
    from intrabench.prompters.base import Prompter

DEFAULT_DATASET = "spine_ct"


def prompter(spec: str) -> Prompter:
    """The prompter that a spec names, for example ``box_interp:n=3`` or ``box_interp:n=3+scribble``."""
    from intrabench.prompters.combined import make_prompter

    return make_prompter(spec)


def model(spec: str) -> Model:
    """The model that a spec names, for example ``litemedsam``; nothing is loaded before it is opened."""
    found: Model = registry.make("models", spec)
    return found


def dataset(spec: str) -> Dataset:
    """The data set that a spec names, for example ``brain_mni:structures=subcortical``."""
    found: Dataset = registry.make("datasets", spec)
    return found


def run(
    model: str | Sequence[str],
    prompter: str | Sequence[str] = (),
    dataset: str | Sequence[str] = DEFAULT_DATASET,
    *,
    seed: int | Sequence[int] = 0,
    out: str | Path | None = None,
    **options: Any,
) -> pl.DataFrame:
    """Run models times prompters times data sets times seeds, and return their rows, one per session and round.

    Without a prompter the rows of the protocol are run, ``protocol="intrabench@1"``. What the results folder holds
    already is not computed again. Further `options` are those of `intrabench.engine.options.Options`: rounds, metrics,
    refine, hand, stop, protocol, only, cases, targets, device, ...

    Raises:
        IntraBenchError: a name, spec or option is wrong. Failures of single sessions are rows with a status instead.
    """
    from intrabench.engine.local import execute
    from intrabench.engine.options import Options, given_weights
    from intrabench.engine.progress import Silent

    for name in ("cases", "targets", "refine", "only", "metrics"):
        if name in options:
            options[name] = _several(options[name])
    options["weights"] = given_weights(options.get("weights"))
    if options.get("python") is not None:
        options["python"] = Path(options["python"])
    if "batch" in options:
        options["batch"] = str(options["batch"])
    chosen = Options(
        models=_several(model),
        prompters=_several(prompter),
        datasets=_several(dataset),
        seeds=[seed] if isinstance(seed, int) else list(seed),
        **options,
    )
    folder = results_folder(None if out is None else Path(out))
    summary, rounds = execute(chosen, folder, Silent())
    return rows_of(summary, folder, rounds)


def table(out: str | Path | None = None, *, metric: str = "dice") -> pl.DataFrame:
    """Effort against `metric`: one line per prompter and model, one column per data set, from a results folder."""
    from intrabench.reporting.table import Layout, stored_table

    return stored_table(results_folder(None if out is None else Path(out)), Layout(metric))


def rows_of(summary: Summary, folder: Path, rounds: int) -> pl.DataFrame:
    """The current rows of a run's sessions, up to its last round."""
    import polars as pl

    from intrabench.results.store import read_rows

    wanted = pl.col("session").is_in(list(summary.keys)) & (pl.col("round") <= rounds)
    return read_rows(folder).filter(wanted).sort("dataset", "case", "target", "model", "prompter", "seed", "round")


def _several(spec: str | Sequence[str]) -> list[str]:
    return [spec] if isinstance(spec, str) else list(spec)
