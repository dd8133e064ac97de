"""The hardware of a run, and the commit of intrabench."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

from intrabench.files.machine import memory_bytes


@cache
def commit() -> str:
    """The commit of this copy of intrabench, with ``-dirty`` after changes; empty if it is not a checkout."""
    root = Path(__file__).parents[2]
    if not (root / ".git").exists():
        return ""
    asked = ["git", "--no-optional-locks", "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        return subprocess.run(asked, cwd=root, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return ""


def hardware() -> dict[str, Any]:
    """The machine, without its name: system, processor, memory, GPUs."""
    processor = {"cpu": _cpu(), "cores": os.cpu_count(), "memory_gb": _memory_gb()}
    return {"os": platform.platform(), **processor, "gpus": _gpus()}


def _memory_gb() -> float | None:
    """The memory of the machine; None if unknown."""
    known = memory_bytes()
    return round(known / 2**30, 1) if known else None


def _cpu() -> str:
    """The model of the processor."""
    listed = Path("/proc/cpuinfo")
    lines = listed.read_text("utf-8").splitlines() if listed.is_file() else []
    models = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return models[0] if models else platform.processor() or platform.machine()


def _gpus() -> list[str]:
    """The GPUs that torch sees; if torch was not imported, those that the driver lists."""
    torch = sys.modules.get("torch")
    if torch is not None and torch.cuda.is_available():
        return [torch.cuda.get_device_name(number) for number in range(torch.cuda.device_count())]
    listed = sorted(Path("/proc/driver/nvidia/gpus").glob("*/information"))
    lines = [line for path in listed for line in path.read_text("utf-8").splitlines()]
    return [line.partition(":")[2].strip() for line in lines if line.startswith("Model")]
