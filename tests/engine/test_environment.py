"""What a run says about its process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np

from intrabench.engine.environment import peak_memory_mb

CHILD = "from intrabench.engine.environment import peak_memory_mb; print(peak_memory_mb())"


def test_peak_memory_grows_with_use_and_is_not_inherited() -> None:
    before = peak_memory_mb()
    block = np.ones((256, 2**20), np.uint8)
    assert peak_memory_mb() > max(before, 256)
    child = float(subprocess.run([sys.executable, "-c", CHILD], check=True, capture_output=True, text=True).stdout)
    assert 5 < child < 256
    del block
