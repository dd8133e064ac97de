"""On a GPU: the encoder's throughput against the bare network, and a round of corrections of one target."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np
import torch

from intrabench.models.base import Request, Runtime
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.sam2 import SAM2
from intrabench.models.sammed3d import SAMMed3D
from intrabench.prompts import points
from intrabench.turns import Turn
from intrabench.volume import Volume

SLICES = 64


def seconds(call: Callable[[], object], times: int = 5) -> float:
    """The median time of a call, the device's work included."""
    taken = []
    for _ in range(times + 1):
        torch.cuda.synchronize()
        started = time.perf_counter()
        call()
        torch.cuda.synchronize()
        taken.append(time.perf_counter() - started)
    return sorted(taken[1:])[times // 2]


def bare(model: SAM2) -> float:
    """Slices per second of the network alone, at its best batch size, with data on the device already."""
    best = 0.0
    for size in (1, 2, 4, 8, 16):
        batch = torch.zeros(size, 3, 1024, 1024, device="cuda")
        with model.computing():
            best = max(best, size / seconds(lambda batch=batch: model.network.encode(batch)))  # type: ignore[misc]
    return best


def whole(model: SAM2) -> float:
    """Slices per second through an opened image: preparation, transfers and storing included."""
    volume = Volume.from_canonical(np.random.default_rng(0).normal(size=(SLICES, 512, 512)).astype(np.float32))
    clicks = [(z, 256, 256) for z in range(SLICES)]
    with model.open(volume) as image:
        started = time.perf_counter()
        image.segment([Request("all", (Turn(points(clicks)),))])
        return SLICES / (time.perf_counter() - started)


def correction(model: NetworkModel) -> float:
    """Seconds of a second round of one target."""
    volume = Volume.from_canonical(np.random.default_rng(0).normal(size=(64, 256, 256)).astype(np.float32))
    first, second = Turn(points([(32, 128, 128)])), Turn(points([(32, 140, 120)]))
    with model.open(volume) as image:
        (answer,) = image.segment([Request("a", (first,))])
        again = Request("a", (first, second), answer.update, answer.memory)  # type: ignore[union-attr]
        return seconds(lambda: image.segment([again]))


def main() -> None:
    """Print, or say that there is no GPU."""
    if not torch.cuda.is_available():
        print("torch sees no CUDA device here, so there is nothing to measure")
        return
    print(torch.cuda.get_device_name())
    for dtype in ("float32", "bfloat16"):
        model = SAM2(size="l")
        model.runtime = Runtime(device="cuda", dtype=dtype, batch="auto", random=True, memory_mb=8000)
        alone, through = bare(model), whole(model)
        print(f"sam2:size=l {dtype}: {through:.1f} of {alone:.1f} slices per second ({through / alone:.0%})")
        print(f"sam2:size=l {dtype}: a correction {1000 * correction(model):.0f} ms")
    volumes = SAMMed3D()
    volumes.runtime = Runtime(device="cuda", random=True)
    print(f"sammed3d float32: a correction {1000 * correction(volumes):.0f} ms")


if __name__ == "__main__":
    main()
