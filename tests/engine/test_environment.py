"""What a run says about its process: memory in use, now and at its peak."""

from __future__ import annotations

import mmap
import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from intrabench.engine import environment
from intrabench.engine.environment import peak_gpu_mb, peak_memory_mb, reset_peaks, rss_mb

CHILD = "from intrabench.engine.environment import peak_memory_mb; print(peak_memory_mb())"
LARGE = f"import numpy; block = numpy.ones((256, 2**20), numpy.uint8); {CHILD}"
WAITING = "import numpy; block = numpy.ones((256, 2**20), numpy.uint8); print(flush=True); input()"
PARENT = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {WAITING!r}])"

PEAKS = """
import numpy
from intrabench.engine.environment import peak_memory_mb, reset_peaks
reset_peaks()
found = [peak_memory_mb()]
block = numpy.ones((256, 2**20), numpy.uint8)
found.append(peak_memory_mb())
del block
found.append(peak_memory_mb())
reset_peaks()
print(*found, peak_memory_mb())
"""


def peak_of(code: str) -> float:
    return float(subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout)


def test_peak_memory_grows_with_use_and_is_not_inherited() -> None:
    block = np.ones((256, 2**20), np.uint8)
    assert peak_memory_mb() > 256
    assert 5 < peak_of(CHILD) < 256 < peak_of(LARGE)
    del block


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forgets a peak")
def test_a_peak_is_forgotten() -> None:
    alone = [sys.executable, "-c", PEAKS]  # a process of many tests has freed memory to give, which it keeps
    said = subprocess.run(alone, check=True, capture_output=True, text=True).stdout
    before, with_block, without, forgotten = map(float, said.split())
    assert min(with_block, without) > before + 250
    assert forgotten < before + 50


def test_the_peak_of_a_gpu_is_forgotten_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks = [3 * 2**20]
    cuda = SimpleNamespace(
        is_available=lambda: True,
        is_initialized=lambda: True,
        max_memory_allocated=lambda: peaks[0],
        reset_peak_memory_stats=lambda: peaks.__setitem__(0, 2**20),
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    assert peak_gpu_mb() == 3.0
    reset_peaks()
    assert peak_gpu_mb() == 1.0
    cuda.is_initialized = lambda: False
    reset_peaks()
    assert peak_gpu_mb() is None


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_memory_of_a_process_is_that_of_its_children_too() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as parent:
        assert parent.stdin
        assert parent.stdout
        parent.stdout.readline()
        assert 256 < rss_mb(parent.pid) < 400
        parent.stdin.close()
    assert rss_mb(parent.pid) == 0
    before = rss_mb(os.getpid())
    with mmap.mmap(-1, 64 * 2**20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as block:  # numpy may take freed memory
        block.write(bytes(64 * 2**20))
        assert rss_mb(os.getpid()) == pytest.approx(before + 64, abs=80)
        assert rss_mb(os.getpid()) > before + 56


def test_without_the_files_of_linux_little_is_known(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(environment, "Path", lambda name: tmp_path / name.strip("/"))
    assert rss_mb(os.getpid()) == 0
    reset_peaks()
    assert peak_memory_mb() > 0
