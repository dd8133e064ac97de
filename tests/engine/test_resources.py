"""What a process may use of its machine, as it is told by files, variables and the driver's program."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from intrabench.engine.executors import resources
from intrabench.engine.executors.resources import cores, gpus, memory_mb

TWO = """\
GPU 0: NVIDIA H200 (UUID: GPU-11111111-aaaa-bbbb-cccc-000000000000)
GPU 1: NVIDIA H200 (UUID: GPU-22222222-aaaa-bbbb-cccc-000000000000)
"""
DIVIDED = """\
GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-11111111-aaaa-bbbb-cccc-000000000000)
  MIG 3g.20gb     Device  0: (UUID: MIG-aaaaaaaa-1111-2222-3333-000000000000)
  MIG 3g.20gb     Device  1: (UUID: MIG-bbbbbbbb-1111-2222-3333-000000000000)
GPU 1: NVIDIA A100-SXM4-40GB (UUID: GPU-22222222-aaaa-bbbb-cccc-000000000000)
"""
FIRST, SECOND = (f"GPU-{digit * 8}-aaaa-bbbb-cccc-000000000000" for digit in "12")
PARTS = tuple(f"MIG-{letter * 8}-1111-2222-3333-000000000000" for letter in "ab")


@pytest.fixture(autouse=True)
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A machine of 64 cores of which nothing is lent, and about which no file says anything."""
    monkeypatch.setattr(resources, "ROOT", tmp_path)
    monkeypatch.setattr(os, "cpu_count", lambda: 64)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    for name in ("CUDA_VISIBLE_DEVICES", *resources._LENT):
        monkeypatch.delenv(name, raising=False)
    resources._listed.cache_clear()
    yield tmp_path
    resources._listed.cache_clear()


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)


def driver(machine: Path, monkeypatch: pytest.MonkeyPatch, listing: str | None) -> None:
    """A driver with a card, whose program prints a listing, or is missing."""
    write(machine, {"dev/nvidia0": "", "dev/nvidia1": "", "dev/nvidiactl": "", "dev/nvidia-uvm": ""})

    def smi(command: list[str], **options: object) -> subprocess.CompletedProcess[str]:
        assert command == ["nvidia-smi", "-L"]
        if listing is None:
            raise FileNotFoundError(command[0])
        return subprocess.CompletedProcess(command, 0, listing, "")

    monkeypatch.setattr(subprocess, "run", smi)


def test_without_a_driver_nothing_is_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", None)
    assert gpus() == ()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    assert gpus() == ()


@pytest.mark.parametrize(
    ("listing", "chosen", "found"),
    [
        (TWO, None, (FIRST, SECOND)),
        (TWO, "", ()),
        (TWO, "-1", ()),
        (TWO, "NoDevFiles", ()),
        (TWO, "1", ("1",)),
        (TWO, " 1 , 0 ", ("1", "0")),
        (TWO, "0,5,1", ("0",)),  # CUDA takes nothing after a name that does not exist
        (TWO, "0,0", ("0",)),
        (TWO, "GPU-2222,GPU-9", ("GPU-2222",)),
        (DIVIDED, None, (*PARTS, SECOND)),
        (DIVIDED, PARTS[1], PARTS[1:]),
        ("No devices found.\n", None, ()),
        (None, None, ("0", "1")),
        (None, "GPU-2222", ("GPU-2222",)),
    ],
)
def test_gpus(
    machine: Path, monkeypatch: pytest.MonkeyPatch, listing: str | None, chosen: str | None, found: tuple[str, ...]
) -> None:
    driver(machine, monkeypatch, listing)
    if chosen is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", chosen)
    assert gpus() == found


NEW = {"proc/self/cgroup": "0::/job/step\n"}
OLD = {"proc/self/cgroup": "4:memory:/job\n2:cpu,cpuacct:/job\n0::/\n"}


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({}, 64),
        (NEW, 64),
        (NEW | {"sys/fs/cgroup/job/step/cpu.max": "max 100000\n"}, 64),
        (NEW | {"sys/fs/cgroup/job/step/cpu.max": "350000 100000\n"}, 3),
        (NEW | {"sys/fs/cgroup/job/cpu.max": "50000 100000\n"}, 1),
        ({"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": "800000 100000\n"}, 8),  # a container
        ({"proc/self/cgroup": "0::/unseen\n", "sys/fs/cgroup/cpu.max": "800000 100000\n"}, 8),
        (OLD | {"sys/fs/cgroup/cpu/job/cpu.cfs_quota_us": "-1", "sys/fs/cgroup/cpu/job/cpu.cfs_period_us": "5"}, 64),
        (OLD | {"sys/fs/cgroup/cpu/cpu.cfs_quota_us": "20", "sys/fs/cgroup/cpu/cpu.cfs_period_us": "5"}, 4),
    ],
)
def test_cores_of_a_control_group(machine: Path, files: Mapping[str, str], found: int) -> None:
    write(machine, files)
    assert cores() == found


def test_cores_of_the_affinity_and_of_a_job(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3, 5, 7, 9, 11, 13})
    assert cores() == 6
    monkeypatch.setenv("SLURM_CPUS_ON_NODE", "5")
    assert cores() == 5
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "2")
    assert cores() == 2
    monkeypatch.setenv("SLURM_CPUS_PER_TASK", "all")
    assert cores() == 5


def test_memory(machine: Path) -> None:
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20
    assert memory_mb() == whole
    write(machine, NEW | {"sys/fs/cgroup/job/step/memory.max": "max\n", "sys/fs/cgroup/job/memory.max": "268435456\n"})
    assert memory_mb() == 256
    write(machine, OLD | {"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "134217728\n"})
    assert memory_mb() == 128
    write(machine, {"sys/fs/cgroup/memory/job/memory.limit_in_bytes": "9223372036854771712\n"})
    assert memory_mb() == whole
