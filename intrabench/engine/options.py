"""The options of a run, by their names on the command line, in `intrabench.run` and in the records of runs.

An option is named only here, in `intrabench.cli.run_options` and in the function `run`; all else is derived from these.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from numbers import Integral, Number, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from intrabench.effort import Calibration, effort_option, hand_option
from intrabench.engine.executors.placement import requested
from intrabench.engine.failure_limit import failure_limit
from intrabench.engine.seeds import given_seeds
from intrabench.errors import IntraBenchError
from intrabench.errors import kind as kind_of
from intrabench.models.weights.registry import RANDOM
from intrabench.registry.objects import DatasetLike, MetricLike, ModelLike, PrompterLike, RefinementLike, spec_of
from intrabench.specs.specs import split
from intrabench.specs.values import expected, unfit


def given_weights(text: str | Path) -> Path:
    """The value of ``--weights``: a path, or ``random``; a file of that name is ``./random``."""
    if str(text) == RANDOM:
        return Path(RANDOM)
    return Path(text).absolute() if Path(text) == Path(RANDOM) else Path(text)


def _work(default: Any, read: Callable[[str | Path], Any] | None = None) -> Any:
    """An option that determines the sessions, not only where and how they are computed."""
    return field(default=default, metadata={"work": True, "read": read})


def interpreter(given: str | Path) -> Path:
    """The path of an interpreter; a name without a folder is looked up by the system, but ``./python`` is the one here.

    Paths of Python forget the ``./``.
    """
    path = Path(given)
    return Path.cwd() / path if os.sep in str(given) and os.sep not in str(path) else path


@dataclass(frozen=True, kw_only=True)
class Options:
    """The options of a run; `chosen` makes them from a person's input."""

    model: Sequence[ModelLike] = _work(())
    prompter: Sequence[PrompterLike] = _work(())
    dataset: Sequence[DatasetLike] = _work(("spine_ct",))
    perturb: Sequence[str] = _work(())
    refine: Sequence[RefinementLike] = _work(())
    hand: str = _work("", read=hand_option)
    effort: Calibration | None = _work(None, read=effort_option)  # noqa: RUF009
    stop: str = _work("")
    joint: str = _work("")
    seed: Sequence[int] = _work(())
    cases: Sequence[str] = _work(())
    targets: Sequence[str] = _work(())
    rounds: int | None = _work(None)
    protocol: str = _work("basic@2")
    only: Sequence[str] = _work(())
    metric: Sequence[MetricLike] = _work(())
    strict: bool = _work(False)
    save_masks: bool = _work(False)
    dtype: str = _work("float32")
    weights: Path | None = _work(None, read=given_weights)  # noqa: RUF009
    device: str = "auto"
    batch: str = "fixed"
    memory: int = 512
    compile: bool = False
    cache_embeddings: bool | None = None
    cache_gb: float | None = None
    python: Path | None = field(default=None, metadata={"read": interpreter})
    plugin: Sequence[Path] = ()
    workers: str = "auto"
    timeout: float = 600.0
    dask: str = field(default="", metadata={"read": str})
    collect: bool = False
    fail_fast: bool = False
    max_failures: str = ""
    fetch: bool = False
    note: str = ""

    @property
    def random(self) -> bool:
        """Whether random weights are wanted."""
        return self.weights is not None and str(self.weights) == RANDOM

    @property
    def objects(self) -> list[str]:
        """The names of models, prompters, data sets and metrics that were given as objects or classes."""
        given = (*self.model, *self.prompter, *self.dataset, *self.refine, *self.metric)
        return [str(getattr(one, "name", one)) for one in given if not isinstance(one, str | os.PathLike)]

    @property
    def words(self) -> dict[str, Any]:
        """All options for a record, objects by their specs."""
        return {name: _words(value) for name, value in vars(self).items()}

    @property
    def work(self) -> dict[str, Any]:
        """Those of `words` that determine the sessions."""
        return {option.name: self.words[option.name] for option in fields(self) if option.metadata.get("work")}


DEFAULTS = Options()

LARGEST = 2**63 - 1
"""What a column of whole numbers holds."""


def chosen(given: Mapping[str, Any]) -> Options:
    """Make options from a person's input by name: single values or sequences, text or paths; None means not given.

    Raises:
        IntraBenchError: a value is of the wrong kind, or means nothing.
    """
    known, hints, values = {option.name: option for option in fields(Options)}, get_type_hints(Options), {}
    for name, value in given.items():
        value = given_seeds(value) if name == "seed" else value
        if value is not None:
            read = known[name].metadata.get("read")
            if isinstance(value, str) and not value and Path in _kinds(hints[name]):
                raise IntraBenchError(f"{name} is empty; give a path, or omit it")
            values[name] = read(value) if read and isinstance(value, str | Path) else _fitting(name, value, hints[name])
    options = Options(**values)
    _check_people(options)
    check(options)
    return options


def check(options: Options) -> None:
    """Refuse invalid numbers and combinations."""
    if options.rounds is not None and options.rounds < 0:
        raise IntraBenchError(f"--rounds {options.rounds} is not a number of corrections; give 0 or more")
    if large := [seed for seed in options.seed if not -LARGEST <= seed <= LARGEST]:
        raise IntraBenchError(f"--seed {large[0]} does not fit into a row; give a number up to {LARGEST}")
    if options.memory < 0:
        raise IntraBenchError(f"--memory {options.memory} is negative; give MiB, 0 to keep all embeddings on disk")
    if options.batch not in ("fixed", "auto") and not (options.batch.isdecimal() and int(options.batch) > 0):
        raise IntraBenchError(f"--batch {options.batch} is not a batch size; give fixed, auto or a number")
    if options.cache_gb is not None and not 0 < options.cache_gb < 1e9:
        raise IntraBenchError(f"--cache-gb {options.cache_gb:g} is not a size; give GB, or --no-cache-embeddings")
    failure_limit(options.max_failures, options.fail_fast)
    number = requested(options.workers)
    if not 0 < options.timeout < math.inf:
        raise IntraBenchError(f"--timeout {options.timeout:g} is not a time limit; give seconds, such as 600")
    if options.workers != "auto" and number and options.objects:
        raise IntraBenchError(
            f"--workers {options.workers} cannot hand {options.objects[0]} to another process; write its class to a "
            "file and give it as plugin and by its name, or play in this process with workers=0"
        )
    _check_dask(options)
    if options.weights is not None and not options.random and len(options.model) > 1:
        raise IntraBenchError("--weights gives one file, so it needs exactly one --model; run the models one by one")
    if options.python is not None and not all(isinstance(model, str) for model in options.model):
        raise IntraBenchError(
            "--python cannot run an object in another interpreter; write its class to a file, and give the file as "
            "plugin and the model by its name"
        )


def _check_people(options: Options) -> None:
    """Refuse a person in the place of a simulated user."""
    for given in options.prompter:
        parts = getattr(given, "parts", (given,))  # a prompter with a refinement is made of both
        names = [one.partition(":")[0].strip() for one in split(given)] if isinstance(given, str) else ()
        if "human" in (names or [getattr(part, "name", "") for part in parts]):
            raise IntraBenchError(
                "--prompter human is a person, who gives prompts on a page; use `intrabench annotate`, or give a "
                "simulated user"
            )


def _check_dask(options: Options) -> None:
    """Refuse what does not go together with a cluster."""
    if options.collect and not options.dask:
        raise IntraBenchError("--collect brings rows back from a cluster; give --dask, too, or omit it")
    if options.dask and options.workers != "auto":
        raise IntraBenchError(
            f"--workers {options.workers} is for this machine, and --dask {options.dask} has workers of its own; omit "
            "one of the two"
        )
    if options.dask and options.objects:
        raise IntraBenchError(
            f"--dask cannot hand {options.objects[0]} to another process; write its class to a file, and give it as "
            "plugin and by its name"
        )


def _fitting(name: str, value: Any, hint: Any) -> Any:
    """A value of the type of its option, alone or in a tuple."""
    if get_origin(hint) is not Sequence:
        return _one(name, value, hint)
    inner = get_args(hint)[0]
    alone = isinstance(value, str | os.PathLike | type) or not isinstance(value, Iterable)
    several = [value] if alone else list(value)
    if not several:
        raise IntraBenchError(f"{name}=[] is empty; give at least one, or omit {name}")
    return tuple(_one(name, one, inner) for one in several)


def _one(name: str, value: Any, hint: Any) -> Any:
    kinds = _kinds(hint)
    if kinds == [int] and isinstance(value, Integral) and not isinstance(value, bool):
        return int(value)
    if kinds == [Path] and isinstance(value, str | os.PathLike) and value != "":
        return Path(value)
    if kinds == [float] and isinstance(value, Real) and not isinstance(value, bool):
        return float(value)
    if name in ("batch", "workers", "max_failures") and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    for kind in kinds if kinds != [int] else ():
        within = get_args(kind)[0] if get_origin(kind) is type else None
        if isinstance(value, type) and issubclass(value, within) if within else isinstance(value, kind):
            return value
    told = repr(value) if isinstance(value, str | Number | type) else kind_of(value)
    function = name == "model" and callable(value) and not isinstance(value, type)
    wrap = '; wrap a function or a network: intrabench.wrap(..., accepts=["point"], dims=3)' if function else ""
    raise IntraBenchError(unfit(name, told, expected(hint)) + wrap)


def _kinds(hint: Any) -> list[Any]:
    """The types of a union, without None."""
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return [part for part in parts if part is not NoneType]


def _words(value: Any) -> Any:
    if isinstance(value, Calibration):
        return value.id
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [_words(one) for one in value]
    return (
        value
        if isinstance(value, str | int | float | None)
        else str(value)
        if isinstance(value, Path)
        else spec_of(value)
    )
