"""From the words of a job to its objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.engine.job import Job
from intrabench.engine.options import Options, check
from intrabench.engine.runners import make_runners, model_of
from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.metrics.known import distinct, metric, of_protocol
from intrabench.models.base import Model
from intrabench.prompters.base import Prompter
from intrabench.prompters.combined import Combined, make_prompter
from intrabench.protocols import ROUNDS, Protocol, chosen_rows, protocol, stopping
from intrabench.protocols.row import Row
from intrabench.results.store import ALWAYS, SCHEMA


def make_job(options: Options) -> Job:
    """Turn words into objects; everything that can be wrong in them is said before anything is computed."""
    check(options)
    for plugin in options.plugins:
        registry.add_plugin(plugin)
    preset = stopping(protocol(options.protocol), options.stop)
    prompters, rows = _prompters(options, preset)
    refined = any(isinstance(prompter, Combined) and prompter.refinement for prompter in prompters)
    rounds = preset.rounds if options.rounds is None else options.rounds
    if rounds is None:
        rounds = ROUNDS if refined else 0
    datasets = _distinct([registry.make("datasets", spec) for spec in options.datasets])
    models = {model.spec: (spec, model) for spec in options.models for model in [model_of(spec, options)]}
    _check_rows([model for _, model in models.values()], rows, preset)
    return Job(
        make_runners(models.values(), options),
        prompters,
        datasets,
        tuple(dict.fromkeys(options.seeds)),
        preset,
        rounds,
        tuple(options.cases),
        tuple(options.targets),
        options.strict,
        options.save_masks,
        rows,
        _metrics(options, preset),
    )


def _metrics(options: Options, preset: Protocol) -> tuple[Metric, ...]:
    """The protocol's metrics and those that were asked for besides, each once."""
    metrics = distinct([*of_protocol(preset.metrics), *map(metric, options.metrics)])
    for one in metrics:
        if one.column in SCHEMA and one.column not in ALWAYS:
            raise IntraBenchError(
                f"metric {one.column!r} has the name of a column that all rows have; give its class another name"
            )
    return metrics


def _prompters(options: Options, preset: Protocol) -> tuple[tuple[Prompter, ...], dict[str, Row]]:
    """Prompters times refinements, all with the same hand, each once; without any, the protocol's rows, by spec too."""
    if options.prompters and options.only:
        raise IntraBenchError(
            "--only chooses rows of a protocol, and --prompter takes their place; leave one of them out"
        )
    asked: list[tuple[str, Row | None]] = [(spec, None) for spec in options.prompters]
    asked = asked or [(row.prompter, row) for row in chosen_rows(preset, options.only)]
    if options.refine and not options.prompters:
        raise IntraBenchError(
            f"--refine goes with --prompter; the rows of {preset.id} say themselves how answers are corrected"
        )
    hand = [f"hand:{options.hand}"] if options.hand else []
    refinements = [[spec] for spec in options.refine] or [[]]
    made = [
        (_prompter("+".join([spec, *more, *hand]), row, preset), row) for spec, row in asked for more in refinements
    ]
    prompters = {prompter.spec: prompter for prompter, _ in made}
    return tuple(prompters.values()), {prompter.spec: row for prompter, row in made if row}


def _prompter(spec: str, row: Row | None, preset: Protocol) -> Prompter:
    """The prompter of a spec, which may lack something that a row of a protocol needs."""
    try:
        return make_prompter(spec)
    except IntraBenchError as error:
        if row is None:
            raise
        raise IntraBenchError(f"row {row.name} of {preset.id}: {error}; or choose rows without it by --only") from error


def _check_rows(models: Sequence[Model], rows: Mapping[str, Row], preset: Protocol) -> None:
    """Refuse a model that none of the rows suits."""
    for model in models:
        if rows and not any(row.suits(model.abilities) for row in rows.values()):
            raise IntraBenchError(
                f"none of the chosen rows of {preset.id} suits model {model.short_spec}, which works in {model.dims}D "
                f"and takes {', '.join(sorted(model.accepts))}; choose others by --only, or give --prompter"
            )


def _distinct(objects: Sequence[Dataset]) -> tuple[Dataset, ...]:
    """Each spec once, however it was written."""
    return tuple({thing.spec: thing for thing in objects}.values())
