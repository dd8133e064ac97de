"""Kill runs at random moments, continue them, and compare what is stored with a run that nobody disturbed.

``python -m tests.engine.kill_drill 100`` kills 100 times. Each trial starts a real ``intrabench run --save-masks``
with two workers that play and one that converts, kills the run or one of those, and continues it to its end. In every
second trial the model is in a process of another interpreter, below each worker.
"""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl

from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows, read_turns

SIGNALS = (signal.SIGKILL, signal.SIGKILL, signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
MARK = "KILL_DRILL"
"""The environment variable by which the processes of a drill are known."""
PASSING = ("encode_s", "segment_s", "prompt_s", "batch", "peak_memory_mb", "run_id", "written_at")
COUNTED = ("lost", "doubled", "changed", "left over", "alive")

PLUGIN = '''
import time
from dataclasses import dataclass

from intrabench.models.base import Answer, VolumeModel
from intrabench.models.box_fill import BoxFill


@dataclass(eq=False)
class Slow(VolumeModel):
    """Fills boxes, and takes its time."""

    name = "slow"
    accepts = frozenset({"point", "box2d", "box3d"})

    def segment_one(self, volume, request):
        time.sleep(0.02)
        return Answer(BoxFill().segment_one(volume, request).update)
'''


def start(folder: Path, out: str, remote: bool = False) -> subprocess.Popen[bytes]:
    """A run of 96 sessions in 8 groups, whose cases are converted meanwhile; each model takes processes of its own."""
    phantom = "phantom:shape=16x32x32,instances=6,scans=4"
    words = f"run -m slow -m box_fill -p box_slice -p box_interp:n=2 -d {phantom} --save-masks"
    more = ["--plugin", "slow.py", "--workers", "2", "--out", out]
    more += ["--python", sys.executable] if remote else []
    data = folder / f"data of {out}"
    environment = {**os.environ, "INTRABENCH_DATA": str(data), "OMP_NUM_THREADS": "1", MARK: str(folder)}
    command = [sys.executable, "-m", "intrabench", *words.split(), *more]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def complete(folder: Path, out: str, remote: bool = False) -> float:
    """Run to the end; seconds. Sessions of a worker that was killed are tried again."""
    started = time.monotonic()
    for _ in range(3):
        process = start(folder, out, remote)
        _, said = process.communicate(timeout=300)
        if process.returncode == 0:
            return time.monotonic() - started
    raise RuntimeError(f"the run ended with {process.returncode}: {said.decode()[-2000:]}")


def children(process: int) -> list[int]:
    """The processes that a process has started, and those that they have started."""
    found = []
    for task in Path(f"/proc/{process}/task").glob("*/children"):
        with suppress(OSError):  # it ended meanwhile
            found += [int(word) for word in task.read_text().split()]
    return found + [one for child in found for one in children(child)]


def alive(folder: Path) -> int:
    """How many processes of a drill are left a while after the run ended."""
    for _ in range(100):
        found = 0
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                found += f"{MARK}={folder}".encode() in (entry / "environ").read_bytes()
        if not found:
            break
        time.sleep(0.1)
    return found


def disturb(folder: Path, out: str, chance: random.Random, longest: float, remote: bool) -> str:
    """Start a run and kill it, or a process of it, at a random moment; what was done."""
    process = start(folder, out, remote)
    time.sleep(chance.uniform(0.0, 0.8 * longest))
    sign, victims = chance.choice(SIGNALS), children(process.pid)
    if victims and chance.random() < 0.5:
        victim, what = chance.choice(victims), "worker"
    else:
        victim, what = process.pid, "run"
    if process.poll() is not None:
        return "too late"
    with suppress(ProcessLookupError):
        os.kill(victim, sign)
    process.communicate(timeout=300)
    return f"{sign.name} to the {what}"


def trial(folder: Path, chance: random.Random, longest: float, kills: int) -> tuple[Counter[str], Counter[str]]:
    """Kill a run so often, then complete it; what was done, and how much went wrong."""
    out, done, wrong, remote = "killed", Counter[str](), Counter[str](), chance.random() < 0.5
    for left in (out, f"data of {out}"):
        shutil.rmtree(folder / left, ignore_errors=True)
    kept = pl.DataFrame()
    for _ in range(kills):
        done[disturb(folder, out, chance, longest, remote)] += 1
        wrong["alive"] += alive(folder)
        kept = successes(folder / out)
    complete(folder, out, remote)
    wrong["left over"] += len(list((folder / out / "locks").glob("*.lock")))
    compare(folder / "whole", folder / out, wrong)
    if not kept.is_empty():
        now = successes(folder / out).select("session", "round", "written_at")
        wrong["lost"] += len(kept.join(now, on=["session", "round", "written_at"], how="anti"))
    for path in [folder / out, *(folder / out).rglob("*")]:
        os.utime(path, (0, 0))  # two days later
    complete(folder, out, remote)
    wrong["left over"] += sum(path.name.startswith(".") for path in (folder / out).rglob("*"))
    return done, wrong


def successes(root: Path) -> pl.DataFrame:
    """Every stored row of a session that did not fail, from all parts."""
    parts = [pl.read_parquet(path) for path in sorted(root.glob("rows/*.parquet"))]
    rows = pl.concat(parts, how="diagonal") if parts else pl.DataFrame()
    return rows if rows.is_empty() else rows.filter(pl.col("status") == "ok")


def compare(whole: Path, killed: Path, wrong: Counter[str]) -> None:
    """Count rows, turns and masks that are lost, doubled or changed."""
    first, second = (read_rows(root).drop(PASSING).sort("session", "round") for root in (whole, killed))
    wrong["lost"] += len(first.join(second, on=["session", "round"], how="anti"))
    wrong["doubled"] += len(second) - second.select("session", "round").n_unique()
    wrong["doubled"] += int(successes(killed).select("session", "round").is_duplicated().sum())
    wrong["changed"] += int(not second.equals(first))
    turns, again = (read_turns(root).sort("session", "turn") for root in (whole, killed))
    wrong["changed"] += int(not again.equals(turns))
    for session in first["session"].unique():
        masks, others = read_masks(whole, session), read_masks(killed, session)
        wrong["lost"] += max(len(masks) - len(others), 0)
        same = all(
            one.box == two.box and np.array_equal(one.array, two.array) for one, two in zip(masks, others, strict=False)
        )
        wrong["changed"] += int(not same)


def drill(kills: int, seed: int = 0, per_trial: int = 2) -> tuple[Counter[str], Counter[str]]:
    """Kill so often; what was done, and what went wrong."""
    chance, done, wrong = random.Random(seed), Counter[str](), Counter[str](dict.fromkeys(COUNTED, 0))
    with tempfile.TemporaryDirectory(prefix="kill-drill-") as name:
        folder = Path(name)
        (folder / "slow.py").write_text(PLUGIN)
        longest = complete(folder, "whole")
        while (left := kills - sum(done.values()) + done["too late"]) > 0:
            did, went = trial(folder, chance, longest, min(per_trial, left))
            done.update(did)
            wrong.update(went)
            print(f"{sum(done.values()) - done['too late']} of {kills} kills: {dict(wrong)}", flush=True)
    return done, wrong


if __name__ == "__main__":
    found = drill(int(sys.argv[1]) if len(sys.argv) > 1 else 100, int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    for counts in found:
        print(", ".join(f"{number} {what}" for what, number in sorted(counts.items())))
    sys.exit(any(found[1].values()))
