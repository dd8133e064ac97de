"""A job: what is to be run, as objects, and the units that it consists of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from intrabench import registry
from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.selection import select_cases, select_targets
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.engine.requirements import check_requirements, pick_device
from intrabench.engine.units import Runner, Unit
from intrabench.errors import IntraBenchError
from intrabench.models.base import Model, Runtime
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.weights import registry as weights
from intrabench.models.weights.registry import RANDOM
from intrabench.prompters.base import Prompter
from intrabench.prompters.combined import Combined, make_prompter
from intrabench.protocols import ROUNDS, Protocol, chosen_rows, protocol, stopping
from intrabench.protocols.row import Row
from intrabench.target import TargetInfo
from intrabench.workspace import data_root


@dataclass(frozen=True, eq=False)
class Job:
    """Models times prompters times data sets times seeds, under one protocol.

    rows: by prompter spec, the protocol's row that it stands for. Such a prompter meets only the models that suit it.
    """

    runners: tuple[Runner, ...]
    prompters: tuple[Prompter, ...]
    datasets: tuple[Dataset, ...]
    seeds: tuple[int, ...]
    protocol: Protocol
    rounds: int
    cases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False
    save_masks: bool = False
    rows: Mapping[str, Row] = field(default_factory=dict)

    def prompters_for(self, model: Model) -> list[Prompter]:
        """The prompters that a model is to meet."""
        return [p for p in self.prompters if p.spec not in self.rows or self.rows[p.spec].suits(model.abilities)]

    def selected(self) -> list[tuple[Dataset, str]]:
        """The cases of the job, ``(data set, case)``."""
        chosen: dict[tuple[str, str], tuple[Dataset, str]] = {}
        for dataset in self.datasets:
            for case in select_cases(dataset, self.cases):
                if (dataset.short_spec, case) in chosen:
                    raise IntraBenchError(
                        f"two data sets are called {dataset.short_spec} and have a case {case}, so their rows would be "
                        "mixed up; give one of the folders another name in its dataset.toml"
                    )
                chosen[dataset.short_spec, case] = dataset, case
        return list(chosen.values())

    def units(self, dataset: Dataset, case: str, runner: Runner, index: CaseIndex | None) -> list[Unit]:
        """The units of one case and model, ordered by target; without an index one unit stands for the case."""
        listed: Sequence[TargetInfo | None] = [None] if index is None else select_targets(index, self.targets)
        image_hash = "" if index is None else index.image_hash
        return [
            Unit(self.protocol.id, runner, prompter, dataset, case, info, seed, image_hash, self.strict)
            for info in listed
            for prompter in self.prompters_for(runner.model)
            for seed in self.seeds
        ]


@dataclass(frozen=True)
class Options:
    """The words of a job, as the command line and `intrabench.run` take them."""

    models: Sequence[str]
    datasets: Sequence[str]
    prompters: Sequence[str] = ()
    only: Sequence[str] = ()
    seeds: Sequence[int] = (0,)
    protocol: str = "basic@1"
    rounds: int | None = None
    refine: Sequence[str] = ()
    hand: str = ""
    stop: str = ""
    cases: Sequence[str] = ()
    targets: Sequence[str] = ()
    strict: bool = False
    save_masks: bool = False
    device: str = "auto"
    dtype: str = "float32"
    batch: str = "fixed"
    memory_mb: int = 512
    weights: Path | None = None
    compile: bool = False
    cache_embeddings: bool = False
    python: Path | None = None
    plugins: Sequence[Path] = field(default_factory=tuple)


def make_job(options: Options) -> Job:
    """Turn words into objects; everything that can be wrong in them is said before anything is computed."""
    _check(options)
    for plugin in options.plugins:
        registry.add_plugin(plugin)
    preset = stopping(protocol(options.protocol), options.stop)
    prompters, rows = _prompters(options, preset)
    refined = any(isinstance(prompter, Combined) and prompter.refinement for prompter in prompters)
    rounds = preset.rounds if options.rounds is None else options.rounds
    if rounds is None:
        rounds = ROUNDS if refined else 0
    datasets = _distinct([registry.make("datasets", spec) for spec in options.datasets])
    models = {model.spec: (spec, model) for spec in options.models for model in [_model(spec, options)]}
    _check_rows([model for _, model in models.values()], rows, preset)
    return Job(
        _runners(models.values(), options),
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
    )


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


def _model(spec: str, options: Options) -> Model:
    model = registry.make("models", spec)
    if options.python is None:
        check_requirements(model)
    return model


def _check(options: Options) -> None:
    """Refuse numbers and combinations that mean nothing."""
    if options.rounds is not None and (not isinstance(options.rounds, int) or options.rounds < 0):
        raise IntraBenchError(f"--rounds {options.rounds} is no number of corrections; give 0 for none, or more")
    if options.memory_mb < 0:
        raise IntraBenchError(f"--memory {options.memory_mb} is negative; give MiB, 0 to keep all embeddings on disk")
    if any(not isinstance(seed, int) for seed in options.seeds):
        raise IntraBenchError(f"--seed {list(options.seeds)} are not all whole numbers; give whole numbers")
    if options.batch not in ("fixed", "auto") and not (options.batch.isdecimal() and int(options.batch) > 0):
        raise IntraBenchError(f"--batch {options.batch} is no batch size; give fixed, auto or a number")
    if options.weights is not None and not _random(options) and len(options.models) > 1:
        raise IntraBenchError("--weights names one file, so it goes with one --model; run the models one by one")


def _runners(models: Iterable[tuple[str, Model]], options: Options) -> tuple[Runner, ...]:
    """All models with their runtimes; if one cannot be had, no process of another is left behind."""
    made: list[Runner] = []
    try:
        for spec, model in models:
            made.append(_equipped(spec, model, options))
    except BaseException:
        for runner in made:
            runner.close()
        raise
    return tuple(made)


def given_weights(text: str | Path | None) -> Path | None:
    """The value of ``--weights``: a path, or ``random``; a file of that name is ``./random``."""
    if text is None or str(text) == RANDOM:
        return None if text is None else Path(RANDOM)
    return Path(text).absolute() if Path(text) == Path(RANDOM) else Path(text)


def runner(spec: str, options: Options) -> Runner:
    """The model that a spec names, with the runtime that the options ask for.

    Raises:
        IntraBenchError: it cannot run like that, or its weights are not here.
    """
    _check(options)
    return _equipped(spec, _model(spec, options), options, load=False)


def _equipped(spec: str, model: Model, options: Options, load: bool = True) -> Runner:
    if _random(options) and model.weights is not None and not isinstance(model, NetworkModel):
        raise IntraBenchError(f"model {model.name} cannot run untrained; leave --weights random out, or give a path")
    if options.weights is not None and not _random(options) and model.weights is None:
        raise IntraBenchError(f"model {model.name} has no weights that --weights could replace; leave the option out")
    device = pick_device(options.device, model.devices)
    if options.dtype not in model.dtypes:
        raise IntraBenchError(f"model {model.name} computes in {', '.join(model.dtypes)}, not in {options.dtype}")
    model.runtime = Runtime(
        device=device,
        dtype=options.dtype,
        batch=options.batch,
        memory_mb=options.memory_mb,
        weights=None if _random(options) else options.weights,
        random=_random(options),
        embeddings=data_root() / "embeddings" if options.cache_embeddings else None,
        compile=options.compile,
    )
    if options.python is not None:
        from intrabench.engine.remote import RemoteModel

        return Runner(model, device, RemoteModel(options.python, spec, model.runtime, options.plugins))
    if model.weights is not None and not model.runtime.random:
        weights.locate(model.weights, model.runtime.weights)  # absent weights are told now, not per target
        if model.runtime.weights is not None and load:
            model.load()  # a file brought by hand may be anything
    return Runner(model, device)


def _random(options: Options) -> bool:
    """Whether random weights were asked for."""
    return options.weights is not None and str(options.weights) == RANDOM
