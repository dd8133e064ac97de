"""Models with their runtime: device, precision, weights, and for some a separate process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import replace

from intrabench.engine.options import DEFAULTS, Options
from intrabench.engine.requirements import check_requirements, pick_device
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.identity.versions import ships
from intrabench.models.base import Model, Runtime
from intrabench.models.parts import embedding_cache
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.weights import registry as weights
from intrabench.registry import registry
from intrabench.registry.objects import ModelLike, make_model

_RUNTIME = ("device", "dtype", "batch", "memory", "weights", "compile", "cache_embeddings", "cache_gb")
"""Options that define the runtime of a model; an object may have its own runtime."""


def make_runners(
    models: Iterable[tuple[ModelLike, Model]], options: Options, here: bool = True
) -> tuple[ModelRunner, ...]:
    """Models, each with its text as given, with the runtimes of the options.

    here: whether they compute in this process. Else it only plans: neither torch nor a model is loaded, and what only
    they can tell (whether torch sees the GPU, whether weights are intact) is left to the processes that compute.

    Raises:
        IntraBenchError: a model cannot run with these options, or its weights are missing; no process is left running.
    """
    made: list[ModelRunner] = []
    models = list(models)
    _check_random(options, [model for _, model in models])
    if options.python is None and options.weights is None:
        weights.check_present([model for _, model in models])
    try:
        for given, model in models:
            made.append(with_runtime(model, options, str(given), here=here))
            if len(models) > 1:
                made[-1].close()  # another interpreter has loaded it; one model in memory at a time
    except BaseException:
        for runner in made:
            runner.close()
        raise
    return tuple(made)


def make_runner(options: Options) -> ModelRunner:
    """The one model of the options, with its runtime, which keeps no embeddings; only another interpreter loads it now.

    Raises:
        IntraBenchError: it is not one model, or it cannot run like that.
    """
    if len(options.model) != 1:
        raise IntraBenchError(f"{len(options.model)} models were given; give one")
    registry.add_plugins(options.plugin)
    given = options.model[0]
    model = model_of(given, options)
    _check_random(options, [model])
    return with_runtime(model, options, str(given), load=False, keep=False)


def _check_random(options: Options, models: Sequence[Model]) -> None:
    """Refuse random weights where no model has any; beside others, a model without weights runs as it is."""
    if options.random and models and all(model.weights is None for model in models):
        raise IntraBenchError(f"model {models[0].name} has no weights that could be random; omit --weights random")


def model_of(given: ModelLike, options: Options) -> Model:
    """The given model as a separate object of this run; its packages must be installed where it runs."""
    model = copy(make_model(given))
    if options.python is None:
        check_requirements(model)
    return model


def with_runtime(
    model: Model, options: Options, spec: str = "", load: bool = True, here: bool = True, keep: bool = True
) -> ModelRunner:
    """A model with the runtime of the options, or with its own runtime.

    spec: the spec for another interpreter. load: check now whether a file of weights given by the user fits. here: see
    `make_runners`. keep: whether embeddings may outlast the run.
    """
    if model.runtime == Runtime():
        _set_runtime(model, options, here)
    elif given := [name for name in _RUNTIME if getattr(options, name) != getattr(DEFAULTS, name)]:
        raise IntraBenchError(f"model {model.name} has its own runtime; omit {', '.join(given)} or the model's runtime")
    if not keep:
        model.runtime = replace(model.runtime, embeddings=None)
    if options.python is not None:
        return _remote(model, options, spec, here)
    if model.weights is not None and not model.runtime.random:
        weights.locate(model.weights, model.runtime.weights, intact=here)  # missing ones now, not per target
        if model.runtime.weights is not None and load and here:
            model.load()  # a user's file may be anything
    return ModelRunner(model, model.runtime.device)


def _remote(model: Model, options: Options, spec: str, here: bool) -> ModelRunner:
    """A model in the other interpreter, which is started to plan only if it alone has the weights."""
    from intrabench.engine.executors.remote_model import RemoteModel

    if not here:
        with suppress(IntraBenchError):
            weights.identity(model)
            return ModelRunner(model, model.runtime.device)
    assert options.python is not None
    remote = RemoteModel(options.python, spec, model.runtime, options.plugin)
    if not here:
        remote.close()
    return ModelRunner(model, model.runtime.device, remote)


def _set_runtime(model: Model, options: Options, here: bool) -> None:
    """Give a model the runtime of the options."""
    if options.random and model.weights is not None and not isinstance(model, NetworkModel):
        raise IntraBenchError(f"model {model.name} cannot run untrained; omit --weights random, or give a path")
    if options.weights is not None and not options.random and model.weights is None:
        raise IntraBenchError(f"model {model.name} has no weights that --weights could replace; omit the option")
    if options.dtype not in model.dtypes:
        raise IntraBenchError(f"model {model.name} computes in {', '.join(model.dtypes)}, not in {options.dtype}")
    Model.unload(model)  # an object may have loaded its network for another runtime; a copy only forgets it
    model.runtime = Runtime(
        device=pick_device(options.device, model.devices, here),
        dtype=options.dtype,
        batch=options.batch,
        memory_mb=options.memory,
        weights=None if options.random else options.weights,
        random=options.random,
        embeddings=embedding_cache.folder() if _keeps_embeddings(model, options) else None,
        embeddings_gb=embedding_cache.quota_gb(options.cache_gb),
        compile=options.compile,
    )


def _keeps_embeddings(model: Model, options: Options) -> bool:
    """Whether embeddings outlast the run: as asked, else those of models that ship.

    What else a model of the user's own depends on, such as a file that it reads, is not known.
    """
    return ships(model) if options.cache_embeddings is None else options.cache_embeddings
