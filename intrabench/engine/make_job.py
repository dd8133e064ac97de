"""Make the objects of a run from its options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from intrabench.datasets.base import Dataset
from intrabench.datasets.perturb.perturbed import with_changes
from intrabench.datasets.views.whole import of_whole_labels
from intrabench.engine.job import Job
from intrabench.engine.model_runners import make_runners, model_of
from intrabench.engine.options import Options, check
from intrabench.errors import IntraBenchError, several
from intrabench.metrics.base import Metric
from intrabench.metrics.lookup import of_protocol
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.models.base import Model
from intrabench.prompters.base import Prompter
from intrabench.prompters.combined import Combined
from intrabench.protocols import ROUNDS, Protocol, chosen_rows, jointly, own_models, protocol, stopping
from intrabench.protocols.row import Row
from intrabench.registry import registry
from intrabench.registry.canonical import meant
from intrabench.registry.objects import (
    ModelLike,
    PrompterLike,
    make_dataset,
    make_metric,
    make_model,
    make_prompter,
    once,
)
from intrabench.results.statuses import ALWAYS
from intrabench.specs.specs import split


def make_run(options: Options, here: bool = True) -> Job:
    """The job of a run, which needs models: those of the options or of the protocol; see `make_job`.

    Raises:
        IntraBenchError: there are no models, or fewer rounds than a prompter needs to give its prompts.
    """
    _check_models(options)
    job = make_job(options, here)
    for prompter in job.prompters:
        if prompter.rounds > job.rounds:
            raise IntraBenchError(
                f"{prompter.spec} gives further prompts in {several(prompter.rounds, 'round')}, of which "
                f"--rounds {job.rounds} leaves out some; give {prompter.rounds} or more, or omit it"
            )
    return job


def make_job(options: Options, here: bool = True) -> Job:
    """Make all objects; wrong options are reported before anything is computed.

    here: whether it is played in this process; else nothing is loaded, not even torch (see `make_runners`).
    """
    job, models = _without_runners(options, partial(model_of, options=options))
    return replace(job, runners=make_runners(models, options, here))


def make_preparation(options: Options) -> Job:
    """A job that only prepares cases: it has data sets, and neither models nor prompters."""
    registry.add_plugins(options.plugin)
    preset = protocol(options.protocol)
    return Job((), (), _datasets(options, preset), (), preset, 0, tuple(options.cases))


def models_of(options: Options) -> list[tuple[ModelLike, Model]]:
    """The models of a run, each with what it was given by: those of the options, or of the protocol. None is loaded."""
    _check_models(options)
    registry.add_plugins(options.plugin)
    preset = protocol(options.protocol)
    return [(one, make_model(one)) for one in options.model or _own_models(preset, _prompters(options, preset)[1])]


def check_idle(options: Options) -> None:
    """Refuse options that would do nothing, which a person has typed in the hope that they do.

    Raises:
        IntraBenchError: corrections are asked for, but no prompter gives any.
    """
    registry.add_plugins(options.plugin)
    prompters = _prompters(options, protocol(options.protocol))[0] if options.rounds and options.rounds > 0 else ()
    if prompters and not any(prompter.corrects or prompter.rounds for prompter in prompters):
        raise IntraBenchError(
            f"--rounds {options.rounds} does nothing, because {prompters[0].spec} gives no corrections; add some, "
            "such as --refine scribble, or omit it"
        )


def make_unplayed(options: Options) -> Job:
    """The job of a run whose models cannot run here, without them."""
    _check_models(options)
    return _without_runners(options, make_model)[0]


def check_names(options: Options) -> None:
    """Refuse names, specs and combinations of a run that no machine could take; packages and weights are not needed.

    Raises:
        IntraBenchError: `make_run` would not take the options anywhere.
    """
    _check_models(options)
    _without_runners(options, make_model)


def _check_models(options: Options) -> None:
    """Check the options as if the protocol's own models were given, if none are."""
    if not options.model:
        check(replace(options, model=own_models(protocol(options.protocol))))


def _without_runners(
    options: Options, make: Callable[[ModelLike], Model]
) -> tuple[Job, Sequence[tuple[ModelLike, Model]]]:
    """A job that has no runners yet; and its models, each once and with the text that it was given by."""
    registry.add_plugins(options.plugin)
    preset = jointly(stopping(protocol(options.protocol), options.stop), options.joint)
    if options.effort is not None:
        preset = replace(preset, effort=options.effort)
    prompters, rows = _prompters(options, preset)
    for prompter in prompters:
        if preset.joint and isinstance(prompter, Combined) and prompter.undoes:
            raise IntraBenchError(
                f"{prompter.spec} takes corrections back, which joint sessions cannot; omit undo=, or play the "
                "targets one by one, without --joint"
            )
    refined = any(isinstance(prompter, Combined) and prompter.refinement for prompter in prompters)
    rounds = preset.rounds if options.rounds is None else options.rounds
    if rounds is None:
        rounds = max((prompter.rounds for prompter in prompters), default=0) + (ROUNDS if refined else 0)
    if preset.fixed_rounds and rounds != preset.rounds:
        raise IntraBenchError(
            f"--rounds {rounds} would shorten {preset.id}, whose numbers are of {preset.rounds} corrections; omit it"
        )
    datasets = _datasets(options, preset)
    made = [(given, make(given)) for given in options.model or _own_models(preset, rows)]
    models = once(model for _, model in made)
    _check_partitions(models.values(), prompters, preset)
    _check_rows(list(models.values()), rows, preset)
    job = Job(
        (),
        prompters,
        datasets,
        _seeds(options, preset, datasets),
        preset,
        rounds,
        tuple(options.cases),
        tuple(options.targets),
        options.strict,
        options.save_masks,
        rows,
        _metrics(options, preset),
    )
    return job, [(given, model) for given, model in made if models.get(model.spec) is model]


def _check_partitions(models: Iterable[Model], prompters: Sequence[Prompter], preset: Protocol) -> None:
    """Refuse models and prompters that do not fit a protocol in which models divide images."""
    if not preset.partition:
        return
    if preset.joint:
        raise IntraBenchError(f"protocol {preset.id} measures superpixels, so no targets are joined; omit --joint")
    for model in models:
        if not model.divides_images:
            raise IntraBenchError(
                f"protocol {preset.id} measures superpixels, which model {model.short_spec} does not make; use "
                "intrabench superpixels run, or give --model supervoxels:method=slic,segments=400"
            )
    if [prompter.spec for prompter in prompters] != [row.prompter for row in preset.rows]:
        raise IntraBenchError(f"protocol {preset.id} measures superpixels, so nobody prompts; omit --prompter")


def _datasets(options: Options, preset: Protocol) -> tuple[Dataset, ...]:
    made: Iterable[Dataset] = once(make_dataset(given) for given in options.dataset).values()
    made = [of_whole_labels(dataset) if preset.whole else dataset for dataset in made]
    changes = [split(spec) for spec in dict.fromkeys(options.perturb)] or [[]]
    return tuple(with_changes(dataset, each) for dataset in made for each in changes)


def _seeds(options: Options, preset: Protocol, datasets: Sequence[Dataset]) -> tuple[int, ...]:
    """The given seeds; else one, or as many as an object has real clicks where each is a seed."""
    if options.seed or preset.users is None:
        return tuple(dict.fromkeys(options.seed)) or (0,)
    from intrabench.clickability.first_clicks import first_clicks

    return tuple(range(first_clicks(Path(preset.users.clicks)).most(dataset.short_spec for dataset in datasets)))


def _own_models(preset: Protocol, rows: Mapping[str, Row]) -> list[str]:
    """The protocol's models that a selected row suits."""
    return [spec for spec in preset.models if _suited(make_model(spec), rows)]


def _suited(model: Model, rows: Mapping[str, Row]) -> bool:
    """Whether the model belongs in one of the rows, if there are any."""
    return not rows or any(row.suits(model.abilities) for row in rows.values())


def _metrics(options: Options, preset: Protocol) -> tuple[Metric, ...]:
    """The protocol's metrics and the additional ones, without duplicates."""
    metrics = tuple(once([*of_protocol(preset.metrics), *map(make_metric, options.metric)]).values())
    for one in metrics:
        if isinstance(one, PartitionMetric) != preset.partition and one.column not in ALWAYS:
            what, instead = ("superpixels", "answers") if preset.partition else ("answers", "superpixels")
            raise IntraBenchError(f"protocol {preset.id} measures {what}, but metric {one.column} {instead}; omit it")
        if re.search(r"[\s@]", one.column):
            raise IntraBenchError(
                f"metric {one.column!r} has a space or an @ in its parameters, which results cannot name; omit it"
            )
    return metrics


def _prompters(options: Options, preset: Protocol) -> tuple[tuple[Prompter, ...], dict[str, Row]]:
    """Prompters times refinements, all with the same hand, each once; without any, the protocol's rows, by spec too."""
    if options.prompter and options.only:
        raise IntraBenchError("--only selects rows of a protocol, but --prompter replaces them; omit one of the two")
    asked: list[tuple[PrompterLike, Row | None]] = [(given, None) for given in options.prompter]
    asked = asked or [(row.prompter, row) for row in chosen_rows(preset, _row_names(options.only, preset))]
    if options.refine and not options.prompter:
        raise IntraBenchError(
            f"--refine needs --prompter, because the rows of {preset.id} define their own refinements; omit one"
        )
    hand = [f"hand:{options.hand}"] if options.hand else []
    refinements = [[given] for given in options.refine] or [[]]
    made = [(_prompter([given, *more, *hand], row, preset), row) for given, row in asked for more in refinements]
    prompters = once(prompter for prompter, _ in made)
    return tuple(prompters.values()), {prompter.spec: row for prompter, row in made if row}


def _row_names(only: Sequence[str], preset: Protocol) -> list[str]:
    """The globs of ``--only``; the spec of a row's prompter stands for the names of such rows."""
    globs = []
    for text in only:
        named = any(fnmatchcase(row.name, text) for row in preset.rows)
        specs = [] if named else meant("prompter", text, [row.prompter for row in preset.rows])
        globs += [row.name for row in preset.rows if row.prompter in specs] or [text]
    return globs


def _prompter(parts: Sequence[PrompterLike], row: Row | None, preset: Protocol) -> Prompter:
    """The prompter of a protocol's row; an error names the row."""
    try:
        return make_prompter(*parts)
    except IntraBenchError as error:
        if row is None:
            raise
        others = next((one.name for one in preset.rows if one.prompter != row.prompter), "")
        only = f", such as --only {shlex.quote(others)}" if others else ""
        raise IntraBenchError(f"row {row.name} of {preset.id}: {error}; or select other rows{only}") from error


def _check_rows(models: Sequence[Model], rows: Mapping[str, Row], preset: Protocol) -> None:
    """Refuse a model with which no row can be run."""
    for model in models:
        if not _suited(model, rows):
            own = "" if model.abilities.builds_on_mask else ", but not its own last answer (feeds_back)"
            own += (
                ", and needs prompts" if any(row.unprompted for row in rows.values()) and not model.unprompted else ""
            )
            raise IntraBenchError(
                f"no selected row of {preset.id} suits model {model.short_spec}, which works in {model.dims}D "
                f"and takes {', '.join(sorted(model.accepts))}{own}; select others with --only, or give --prompter"
            )
