"""Which models of a run can run here: those whose packages and weights are here, or can be fetched."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from intrabench.engine.make_job import models_of
from intrabench.engine.options import Options
from intrabench.engine.progress.reporter import Reporter
from intrabench.engine.requirements import check_requirements
from intrabench.errors import IntraBenchError
from intrabench.models.base import Model, Runtime
from intrabench.models.weights import fetch
from intrabench.models.weights import registry as weights


@dataclass(frozen=True)
class Availability:
    """The options of a run with the models that can run, and a sentence for each other; none can if `none`."""

    options: Options
    lacking: Sequence[str] = ()
    none: bool = False


def find_available(options: Options) -> Availability:
    """Leave out models that lack their weights or packages, if others can run.

    Raises:
        IntraBenchError: a name, spec or option is wrong.
    """
    if options.python is not None:
        return Availability(options)  # its interpreter knows
    models = models_of(options)
    lacking = [_lacks(model, options) for _, model in models]
    if not any(lacking):
        return Availability(options)
    kept = tuple(given for (given, _), lack in zip(models, lacking, strict=True) if not lack)
    said = [f"model {m.short_spec} is left out: {lack}" for (_, m), lack in zip(models, lacking, strict=True) if lack]
    return Availability(replace(options, model=kept) if kept else options, list(dict.fromkeys(said)), none=not kept)


def fetch_weights(options: Options, reporter: Reporter) -> None:
    """Download the weights of the models that are missing and may be downloaded, each after its licence was said.

    What cannot be had is said; whether the run can do without is for `find_available`.
    """
    needed = dict.fromkeys(id for _, model in models_of(options) if (id := _missing(model, options)))
    for entry in map(weights.get, needed):
        if entry.sources and not entry.package:
            reporter.note(f"weights {entry.id} are downloaded: {entry.megabytes} MB, licence {entry.licence}")
            try:
                with reporter.watch(entry.file) as progress:
                    fetch.fetch(entry.id, progress)
            except IntraBenchError as error:
                reporter.say(f"weights {entry.id}: {error}")


def _lacks(model: Model, options: Options) -> str:
    """What a model lacks here, in a sentence; empty if it can run."""
    try:
        check_requirements(model)
        if id := _missing(model, options):
            weights.locate(id)
    except IntraBenchError as error:
        return str(error)
    return ""


def _missing(model: Model, options: Options) -> str:
    """The id of the weights that a model needs and that are not here."""
    own = model.runtime if model.runtime != Runtime() else Runtime(weights=options.weights, random=options.random)
    needs = model.weights is not None and not own.random and own.weights is None
    return str(model.weights) if needs and weights.find(str(model.weights)) is None else ""
