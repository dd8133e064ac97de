"""What a model costs: parameters, floating-point operations, memory and time of an answer (Table 5 of RClicks)."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any

from intrabench.engine.environment import peak_gpu_mb, peak_memory_mb, reset_peaks
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.documents import Unreadable, read_json, write_json
from intrabench.files.names import file_name
from intrabench.models.base import Model, Request, Runtime
from intrabench.play.lockstep import ask
from intrabench.volume import Volume
from intrabench.workspace import data_root

REPEATS = 3
"""Times are medians of so many images or requests."""


@dataclass(frozen=True)
class Cost:
    """Of an image and its first answer, which for models of slices encodes one slice; and of a further answer there.

    parameters: of its networks; None if they are not torch's. gflops: 10^9 operations as torch counts them, in which a
    multiplication and an addition are two; None without parameters. memory_mb: the peak in MiB, of what torch has on
    the GPU, or of the whole process without one. first_ms, next_ms: milliseconds. device: where, with the precision.
    """

    parameters: int | None
    first_gflops: float | None
    next_gflops: float | None
    memory_mb: float
    first_ms: float
    next_ms: float
    device: str

    def __str__(self) -> str:
        parts = [f"{self.parameters / 1e6:.2f} M parameters"] if self.parameters is not None else []
        for what, gflops, ms in (
            ("first answer in an image", self.first_gflops, self.first_ms),
            ("next", self.next_gflops, self.next_ms),
        ):
            parts.append(f"{what} " + (f"{gflops:.1f} GFLOPs and " if gflops is not None else "") + f"{ms:.0f} ms")
        return ", ".join([*parts, f"{self.memory_mb:.0f} MiB ({self.device})"])


def measured(runner: ModelRunner, volume: Volume, requests: Sequence[Request]) -> Cost:
    """What a loaded model of this process costs on an image; requests: two of one slice, of different sessions."""
    modules = _modules(runner.model)
    reset_peaks()
    first, further = list[float](), list[float]()
    for _ in range(REPEATS):
        started = time.perf_counter()
        with runner.open(volume) as image:
            ask(image, requests[:1])
            between = time.perf_counter()
            ask(image, requests[1:])
            first.append(between - started)
            further.append(time.perf_counter() - between)
    on_gpu = runner.model.runtime.device != "cpu"
    peak = peak_gpu_mb() if on_gpu else None
    memory = peak_memory_mb() if peak is None else peak
    of_first, of_next = _operations(runner, volume, requests) if modules else (None, None)
    return Cost(
        parameters=sum(one.numel() for module in modules for one in module.parameters()) if modules else None,
        first_gflops=of_first,
        next_gflops=of_next,
        memory_mb=memory,
        first_ms=round(1000 * median(first), 2),
        next_ms=round(1000 * median(further), 2),
        device=place_of(runner.model.runtime),
    )


def place_of(runtime: Runtime) -> str:
    """Where a model computes, with the precision, as in `Cost.device`."""
    return f"{runtime.device}, {runtime.dtype}"


def remember(model: Model, cost: Cost) -> None:
    """Keep what `check` measured of a model, for `info`; a folder that cannot be written keeps nothing."""
    path = _file(model)
    try:
        with writing(path):
            path.parent.mkdir(parents=True, exist_ok=True)
            write_json(path, asdict(cost))
    except IntraBenchError:
        return


def recalled(model: Model) -> Cost | None:
    """What `check` measured last of a model on this machine; None if it did not, or the file is damaged."""
    number = float | None
    types: dict[str, Any] = {"parameters": int | None, "first_gflops": number, "next_gflops": number, "device": str}
    types |= dict.fromkeys(("memory_mb", "first_ms", "next_ms"), float)
    try:
        return Cost(**read_json(_file(model), types, [*types]))
    except (FileNotFoundError, Unreadable, TypeError):
        return None


def _file(model: Model) -> Path:
    return data_root() / "costs" / f"{file_name(model.short_spec)}.json"


def _modules(model: Model) -> list[Any]:
    """The networks of a model that is loaded; none if they are not torch's."""
    torch = sys.modules.get("torch")
    found = [vars(model).get("network")]
    return [one for one in found if torch is not None and isinstance(one, torch.nn.Module)]


def _operations(runner: ModelRunner, volume: Volume, requests: Sequence[Request]) -> tuple[float, float]:
    """10^9 operations of the first answer and of the next."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    first, further = (FlopCounterMode(display=False) for _ in range(2))
    with ExitStack() as stack:
        stack.enter_context(sdpa_kernel(SDPBackend.MATH))  # torch does not count the attention that CPUs have
        with first:
            image = stack.enter_context(runner.open(volume))
            ask(image, requests[:1])
        with further:
            ask(image, requests[1:])
    return first.get_total_flops() / 1e9, further.get_total_flops() / 1e9
