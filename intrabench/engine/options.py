"""The options of a run: the words that the command line and Python take."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from intrabench.errors import IntraBenchError
from intrabench.models.weights.registry import RANDOM


@dataclass(frozen=True)
class Options:
    """The words of a job, as the command line and `intrabench.run` take them."""

    models: Sequence[str]
    datasets: Sequence[str]
    prompters: Sequence[str] = ()
    only: Sequence[str] = ()
    seeds: Sequence[int] = (0,)
    protocol: str = "basic@1"
    metrics: Sequence[str] = ()
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


def check(options: Options) -> None:
    """Refuse numbers and combinations that mean nothing."""
    if options.rounds is not None and (not isinstance(options.rounds, int) or options.rounds < 0):
        raise IntraBenchError(f"--rounds {options.rounds} is no number of corrections; give 0 for none, or more")
    if options.memory_mb < 0:
        raise IntraBenchError(f"--memory {options.memory_mb} is negative; give MiB, 0 to keep all embeddings on disk")
    if any(not isinstance(seed, int) for seed in options.seeds):
        raise IntraBenchError(f"--seed {list(options.seeds)} are not all whole numbers; give whole numbers")
    if options.batch not in ("fixed", "auto") and not (options.batch.isdecimal() and int(options.batch) > 0):
        raise IntraBenchError(f"--batch {options.batch} is no batch size; give fixed, auto or a number")
    if options.weights is not None and not random_weights(options) and len(options.models) > 1:
        raise IntraBenchError("--weights names one file, so it goes with one --model; run the models one by one")


def given_weights(text: str | Path | None) -> Path | None:
    """The value of ``--weights``: a path, or ``random``; a file of that name is ``./random``."""
    if text is None or str(text) == RANDOM:
        return None if text is None else Path(RANDOM)
    return Path(text).absolute() if Path(text) == Path(RANDOM) else Path(text)


def random_weights(options: Options) -> bool:
    """Whether random weights were asked for."""
    return options.weights is not None and str(options.weights) == RANDOM
