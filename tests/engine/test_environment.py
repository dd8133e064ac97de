"""What a run says about its process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from intrabench.engine.environment import peak_memory_mb

CHILD = "from intrabench.engine.environment import peak_memory_mb; print(peak_memory_mb())"
LARGE = f"import numpy; block = numpy.ones((256, 2**20), numpy.uint8); {CHILD}"


def peak_of(code: str) -> float:
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_peak_memory_grows_with_use_and_is_not_inherited() -> None:
    block = np.ones((256, 2**20), np.uint8)
    assert peak_memory_mb() > 256
    assert 5 < peak_of(CHILD) < 256 < peak_of(LARGE)
    del block
