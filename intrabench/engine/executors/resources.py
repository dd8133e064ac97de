"""What this process may use of its machine: GPUs, cores and memory, found without torch.

A cluster or a container lends a part of a machine, so what is installed there counts only where nothing says less.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

from intrabench.files.machine import memory_bytes

ROOT = Path("/")
"""Of the files in which Linux tells; tests have their own."""

_LENT = ("SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "LSB_DJOB_NUMPROC", "NSLOTS", "NCPUS")
"""Variables in which Slurm, LSF, Grid Engine and PBS write the number of cores that a job has on its node."""

_SMI_SECONDS = 60.0  # a driver that was asleep takes some


def gpus() -> tuple[str, ...]:
    """The GPUs that CUDA may use, each as ``CUDA_VISIBLE_DEVICES`` names it: a number, or the id of a card or MIG part.

    As in CUDA, that variable hides all others, and those after a name that does not exist.
    """
    listed, chosen = _listed(), os.environ.get("CUDA_VISIBLE_DEVICES")
    if chosen is None or not listed:
        return listed
    found: list[str] = []
    for name in (part.strip() for part in chosen.split(",")):
        exists = int(name) < len(listed) if name.isdecimal() else _names_one(name, listed)
        if not exists or name in found:
            break
        found.append(name)
    return tuple(found)


def cores() -> int:
    """The cores that this process may use: of the machine, of its affinity, of its control group, of its job."""
    known = [os.cpu_count() or 1]
    if hasattr(os, "sched_getaffinity"):  # Linux
        known.append(len(os.sched_getaffinity(0)))
    known += [int(os.environ[name]) for name in _LENT if os.environ.get(name, "").isdecimal()]
    for quota, period in _quotas():
        known.append(quota // period)
    return max(1, min(known))


def memory_mb() -> float:
    """The memory that this process and its children may use, in MiB: of the machine or of its control group.

    Infinite where it is unknown.
    """
    known = [int(text) for text in _limits("memory", "memory.max", "memory.limit_in_bytes") if text.isdecimal()]
    known += filter(None, [memory_bytes()])
    return min(known) / 2**20 if known else float("inf")


@cache
def _listed() -> tuple[str, ...]:
    """The GPUs that the driver lists, and of those that are divided their parts (MIG); nothing without a driver."""
    devices = [path for path in (ROOT / "dev").glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name)]
    if not devices and not (ROOT / "proc/driver/nvidia").exists() and not (ROOT / "dev/dxg").exists():
        return ()
    try:
        asked = subprocess.run(
            ["nvidia-smi", "-L"], capture_output=True, text=True, timeout=_SMI_SECONDS, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError):  # a container may have the driver without the program
        return tuple(str(number) for number in range(len(devices)))
    return _cards(asked.stdout)


def _cards(listing: str) -> tuple[str, ...]:
    """The ids in the output of ``nvidia-smi -L``; a card that is divided counts as its parts."""
    cards: list[list[str]] = []
    for line in listing.splitlines():
        found = re.search(r"UUID: ((?:GPU|MIG)-[^\s)]+)", line)
        if found and line.startswith("GPU"):
            cards.append([found[1]])
        elif found and cards:
            cards[-1].append(found[1])
    return tuple(name for card in cards for name in card[1:] or card)


def _names_one(name: str, listed: tuple[str, ...]) -> bool:
    """Whether the beginning of an id, which is enough for CUDA, is one of these; without ids nobody knows."""
    ids = [one for one in listed if not one.isdecimal()]
    return name.startswith(("GPU-", "MIG-")) and (not ids or any(one.startswith(name) for one in ids))


def _quotas() -> Iterator[tuple[int, int]]:
    """Processor time and period of the control groups that have a quota."""
    for text in _limits("cpu", "cpu.max", ""):
        quota, _, period = text.partition(" ")
        if quota.isdecimal() and period.isdecimal():
            yield int(quota), int(period)
    quotas, periods = (list(_limits("cpu", "", f"cpu.cfs_{name}_us")) for name in ("quota", "period"))
    yield from ((int(q), int(p)) for q, p in zip(quotas, periods, strict=False) if q.isdecimal() and p.isdecimal())


def _limits(controller: str, new: str, old: str) -> Iterator[str]:
    """The content of a file in this process's control group and those around it; its name in versions 2 and 1."""
    with suppress(OSError):
        for line in (ROOT / "proc/self/cgroup").read_text("utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if controllers and controller not in controllers.split(","):
                continue
            mounted, name = ROOT / "sys/fs/cgroup" / (controller if controllers else ""), old if controllers else new
            folder = mounted / path.strip("/")
            for around in (folder, *folder.parents) if name else ():
                if not around.is_relative_to(mounted):
                    break
                with suppress(OSError):
                    yield (around / name).read_text("utf-8").strip()
