"""Kill compactions at random moments; after each kill the folder must read as if nothing had happened.

``python -m tests.results.compact_drill 100`` kills 100 times. Meanwhile runs write more parts into the folder.
"""

from __future__ import annotations

import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import polars as pl

from intrabench.results import compact
from intrabench.results.parts import read_rows, read_turns
from intrabench.results.store import Store
from tests.processes import Process

COUNTED = ("lost", "doubled", "changed", "left over")
WHO = {"protocol": "p@1", "dataset": "d", "case": "c", "target": "t.1", "model": "m", "prompter": "p", "seed": 0}


def write(root: Path, run: str, parts: int, sessions: int = 3) -> None:
    """Write so many parts of a run, each with sessions of two rounds and their turns."""
    store = Store(root, run, lambda: {"state": "running"})
    for part in range(parts):
        names = [f"{run}-{part}-{number}" for number in range(sessions)]
        shared = {**WHO, "status": "ok", "dice": 0.5}
        rows = [{**shared, "session": name, "round": n, "ended": n == 1} for name in names for n in range(2)]
        turns = [{"session": name, "round": n, "turn": n, "given": name} for name in names for n in range(2)]
        store.write_part(rows, turns)
    store.write_record({"state": "finished"})


def content(root: Path) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Rows and turns as readers see them."""
    return read_rows(root).sort("session", "round"), read_turns(root).sort("session", "turn")


def raw(root: Path, folder: str = "rows") -> pl.DataFrame:
    """What all files hold together."""
    return pl.concat([pl.read_parquet(path) for path in sorted((root / folder).glob("*.parquet"))])


def compacting(root: Path) -> None:
    """What a process does that may be killed."""
    compact.MOST_ROWS = 60
    print("ready", flush=True)
    print(compact.compact(root), flush=True)


def killed(root: Path, after: float) -> bool:
    """Start a compaction and kill it so many seconds after its begin; whether it was still at work."""
    child = Process(compacting, root)
    assert child.stdout.readline() == "ready\n"
    time.sleep(after)
    child.send_signal(signal.SIGKILL)
    unfinished = not child.stdout.read()
    child.end()
    return unfinished


def drill(kills: int, seed: int = 0) -> tuple[int, Counter[str]]:
    """Kill so often; how many came in time, and what went wrong."""
    chance, wrong, done, last = random.Random(seed), Counter[str](dict.fromkeys(COUNTED, 0)), 0, 0.3
    with tempfile.TemporaryDirectory(prefix="compact-drill-") as name:
        root = Path(name) / "out"
        write(root, "run-0", 30)
        number = 0
        while done < kills:
            number += 1
            write(root, f"run-{number}", 10)
            before = content(root)
            in_time = killed(root, chance.uniform(0.0, last))
            last = max(0.02, last * (1.1 if in_time else 0.8))
            done += in_time
            rows, turns = content(root)
            wrong["lost"] += len(before[0].join(rows, on=["session", "round", "written_at"], how="anti"))
            wrong["doubled"] += int(rows.select("session", "round").is_duplicated().sum())
            wrong["changed"] += int(not rows.equals(before[0])) + int(not turns.equals(before[1]))
        while "packs=0" not in (said := whole(root)):
            assert said.startswith("Compacted")
        wrong["changed"] += int(not all(one.equals(two) for one, two in zip(content(root), before, strict=True)))
        wrong["left over"] += int(raw(root).select("session", "round").is_duplicated().sum())
    return done, wrong


def whole(root: Path) -> str:
    """Compact to the end; what was done."""
    code, said, told = Process(compacting, root).ended()
    assert code == 0, told
    return said.splitlines()[-1]


if __name__ == "__main__":
    count, found = drill(int(sys.argv[1]) if len(sys.argv) > 1 else 100)
    print(f"{count} kills: {dict(found)}")
    sys.exit(any(found.values()))
