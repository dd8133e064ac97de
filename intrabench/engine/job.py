"""A job: what is to be run, as objects, and the units that it consists of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from intrabench import registry
from intrabench.datasets import store as cases
from intrabench.datasets.stored_case import CaseIndex
from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.plan import Contender, Unit, select_cases, select_targets
from intrabench.protocols import Protocol, protocol
from intrabench.specs import full_spec


@dataclass(frozen=True, eq=False)
class Job:
    """Models times prompters times data sets times seeds, under one protocol."""

    contenders: tuple[Contender, ...]
    prompters: tuple[Any, ...]
    datasets: tuple[Any, ...]
    seeds: tuple[int, ...]
    protocol: Protocol
    rounds: int
    cases: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    strict: bool = False
    save_masks: bool = False

    def selected(self) -> list[tuple[Any, str]]:
        """The cases of the job, ``(data set, case)``."""
        return [(dataset, case) for dataset in self.datasets for case in select_cases(dataset, self.cases)]

    def units(self, dataset: Any, case: str, contender: Contender, index: CaseIndex | None) -> list[Unit]:
        """The units of one case and model, ordered by target; without an index one unit stands for the case."""
        listed: Sequence[Any] = [None] if index is None else select_targets(index.targets, self.targets)
        image_hash = "" if index is None else index.image_hash
        return [
            Unit(self.protocol.id, contender, prompter, dataset, case, info, seed, image_hash, self.strict)
            for info in listed
            for prompter in self.prompters
            for seed in self.seeds
        ]


@dataclass(frozen=True)
class Options:
    """The words of a job, as the command line and `intrabench.run` take them."""

    models: Sequence[str]
    prompters: Sequence[str]
    datasets: Sequence[str]
    seeds: Sequence[int] = (0,)
    protocol: str = "basic@1"
    rounds: int | None = None
    cases: Sequence[str] = ()
    targets: Sequence[str] = ()
    strict: bool = False
    save_masks: bool = False
    device: str = "auto"
    batch: str = "fixed"
    memory_mb: int = 512
    weights: Path | None = None
    cache_embeddings: bool = False
    plugins: Sequence[Path] = field(default_factory=tuple)


def make_job(options: Options) -> Job:
    """Turn words into objects; everything that can be wrong in them is said before anything is computed."""
    _check(options)
    for plugin in options.plugins:
        registry.add_plugin(plugin)
    preset = protocol(options.protocol)
    rounds = preset.rounds if options.rounds is None else options.rounds
    prompters = _distinct([registry.make("prompters", spec) for spec in options.prompters])
    datasets = _distinct([registry.make("datasets", spec) for spec in options.datasets])
    contenders = tuple(_contender(model, options) for model in _distinct([_model(spec) for spec in options.models]))
    return Job(
        contenders,
        prompters,
        datasets,
        tuple(dict.fromkeys(options.seeds)),
        preset,
        rounds,
        tuple(options.cases),
        tuple(options.targets),
        options.strict,
        options.save_masks,
    )


def _distinct(objects: Sequence[Any]) -> tuple[Any, ...]:
    """Each spec once, however it was written."""
    return tuple({full_spec(thing): thing for thing in objects}.values())


def _model(spec: str) -> Any:
    model = registry.make("models", spec)
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
    if options.weights is not None and len(options.models) > 1:
        raise IntraBenchError("--weights names one file, so it goes with one --model; run the models one by one")


def _contender(model: Any, options: Options) -> Contender:
    if options.weights is not None and model.weights is None:
        raise IntraBenchError(f"model {model.name} has no weights that --weights could replace; leave the option out")
    device = pick_device(options.device, model.devices)
    embeddings = cases.data_root() / "embeddings" if options.cache_embeddings else None
    model.runtime = Runtime(device, "float32", options.batch, options.memory_mb, options.weights, embeddings)
    sha256 = ""
    if model.weights is not None:
        from intrabench.models import weights

        weights.locate(model.weights, options.weights)  # absent weights are told now, not per target
        sha256 = weights.sha256_of(model.weights, options.weights)
        if options.weights is not None:
            model.load()  # a file brought by hand may be anything
    return Contender(model, sha256, device)


def check_requirements(model: Any) -> None:
    """Refuse a model whose extra is not installed, with the command that installs it."""
    from importlib.util import find_spec

    missing = [module for module in model.requires if find_spec(module) is None]
    if missing:
        raise IntraBenchError(
            f"model {model.name} needs {', '.join(missing)}, which is not installed; "
            f"run: pip install 'intrabench[{model.extra}]'"
        )


def pick_device(wanted: str, devices: Sequence[str]) -> str:
    """The device for a model that can compute on `devices`; auto takes CUDA when there is one."""
    if wanted not in ("auto", "cpu", "cuda"):
        raise IntraBenchError(f"--device {wanted} is unknown; give auto, cpu or cuda")
    if wanted == "cpu" or "cuda" not in devices:
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if wanted == "cuda":
        raise IntraBenchError("--device cuda: torch sees no CUDA device here; use --device cpu or auto")
    return "cpu"
