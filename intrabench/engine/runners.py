"""Models with what they run with: device, precision, weights, and for some a process of their own."""

from __future__ import annotations

from collections.abc import Iterable

from intrabench import registry
from intrabench.engine.options import Options, check, random_weights
from intrabench.engine.requirements import check_requirements, pick_device
from intrabench.engine.units import Runner
from intrabench.errors import IntraBenchError
from intrabench.models.base import Model, Runtime
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.weights import registry as weights
from intrabench.workspace import data_root


def make_runner(spec: str, options: Options) -> Runner:
    """The model that a spec names, with the runtime that the options ask for.

    Raises:
        IntraBenchError: it cannot run like that, or its weights are not here.
    """
    check(options)
    return _equipped(spec, model_of(spec, options), options, load=False)


def make_runners(models: Iterable[tuple[str, Model]], options: Options) -> tuple[Runner, ...]:
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


def model_of(spec: str, options: Options) -> Model:
    """The model of a spec; what it needs must be installed, unless it runs in another interpreter."""
    model = registry.make("models", spec)
    if options.python is None:
        check_requirements(model)
    return model


def _equipped(spec: str, model: Model, options: Options, load: bool = True) -> Runner:
    if random_weights(options) and model.weights is not None and not isinstance(model, NetworkModel):
        raise IntraBenchError(f"model {model.name} cannot run untrained; leave --weights random out, or give a path")
    if options.weights is not None and not random_weights(options) and model.weights is None:
        raise IntraBenchError(f"model {model.name} has no weights that --weights could replace; leave the option out")
    device = pick_device(options.device, model.devices)
    if options.dtype not in model.dtypes:
        raise IntraBenchError(f"model {model.name} computes in {', '.join(model.dtypes)}, not in {options.dtype}")
    model.runtime = Runtime(
        device=device,
        dtype=options.dtype,
        batch=options.batch,
        memory_mb=options.memory_mb,
        weights=None if random_weights(options) else options.weights,
        random=random_weights(options),
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
