"""What results of many sessions cost: 10^4 prepared cases with 10^6 stored sessions in 10^4 parts, all of them made up.

``python -m benchmarks.size 1000`` does the same with 1000 cases of 100 sessions. Each line is a process of its own:
seconds and peak memory of one thing that people do with such a folder, before and after ``intrabench compact``.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

CASES, SEEDS, INSTANCES = 10_000, 10, 10
DATASET = "phantom:shape=16x32x32,instances={instances},scans={cases}"
WORDS = "run -m box_fill -p box_slice --out out -d {dataset} " + " ".join(f"--seed {n}" for n in range(SEEDS))

STEPS = {
    "an empty process": "",
    "read all rows": "rows = read_rows(out)",
    "read what runs need": "store = Store(out, 'new'); store.finished(0); store.failed_cases(); store.stamp()",
    "a plan with nothing to do": "plan({run})",
    "a run with nothing to do": "main({run})",
    "table": "main(['table', '--out', 'out'])",
    "compact": "main(['compact', '--out', 'out'])",
}
CHILD = """
import resource, sys, time
from pathlib import Path
from intrabench.cli.main import main as command
from intrabench.results.parts import read_rows
from intrabench.results.store import Store
out = Path("out")
def main(words):
    sys.argv[1:] = words
    try:
        command()
    except SystemExit as end:
        assert not end.code, end
def plan(words):
    from benchmarks.size import planned
    planned(words)
started, used = time.perf_counter(), time.process_time()
{step}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - started, time.process_time() - used, peak / 1024, file=sys.stderr)
"""


def make(folder: Path, cases: int) -> int:
    """Prepared cases, all with the same voxels, and a results folder with a part for each; the number of rows."""
    import polars as pl

    from intrabench.datasets.cases import store as stored
    from intrabench.engine.make_job import make_run
    from intrabench.engine.options import chosen
    from intrabench.results.schema import SCHEMA, TURNS

    dataset = DATASET.format(cases=cases, instances=INSTANCES)
    options = chosen(
        {"model": "box_fill", "prompter": "box_slice", "dataset": dataset, "seed": list(range(SEEDS)), "rounds": 0}
    )
    job = make_run(options)
    (chosen_set,), (runner,) = job.datasets, job.runners
    first = chosen_set.cases()[0]
    index = stored.prepare(chosen_set, first)
    for name in ("rows", "turns", "runs"):
        (folder / "out" / name).mkdir(parents=True)
    home = stored._folder(chosen_set, first, None)
    text = json.loads((home / "case.json").read_text())
    units = job.units(chosen_set, first, runner, index)
    passing: dict[str, Any] = {
        "status": "ok",
        "round": 0,
        "ended": True,
        "error": "",
        "adapted": "",
        "prompts_hash": "0" * 16,
    }
    passing |= {"dice": 0.8, "iou": 0.7, "interactions": 2.0, "dof": 5.0, "seconds_human": 7.0, "batch": 1}
    passing |= {"encode_s": 0.001, "segment_s": 0.002, "prompt_s": 0.003, "fp_voxels": 10, "fn_voxels": 20}
    passing |= {"pred_voxels": 100, "target_ml": 1.0, "peak_memory_mb": 300.0, "package_versions_hash": "0" * 16}
    measured = {"nsd_2mm": pl.Float64, "hd95_mm": pl.Float64}
    made = pl.DataFrame(
        [{**one.columns(), **passing, "nsd_2mm": 0.5, "hd95_mm": 3.5} for one in units], schema=SCHEMA | measured
    )
    given = json.dumps(
        {"prompts": [{"kind": "box2d", "z": 7, "start": [3, 4], "stop": [17, 19]}], "actions": ["box2d"]}
    )
    for number, case in enumerate(chosen_set.cases(), 1):
        place = stored._folder(chosen_set, case, None)
        if case != first:
            shutil.copytree(home, place)
            (place / "case.json").write_text(json.dumps({**text, "case": case}, indent=1))
        keys = pl.Series([unit.key for unit in job.units(chosen_set, case, runner, index)])
        run, now = f"20260101T{(number - 1) // 1000:06d}-aaaaaa", 10**18 + number
        changed: dict[str, Any] = {
            "session": keys,
            "case": pl.lit(case),
            "patient": pl.lit(case),
            "run_id": pl.lit(run),
        }
        rows = made.with_columns(**changed, written_at=pl.lit(now, pl.Int64))
        name = f"{run}-{(number - 1) % 1000 + 1:04d}.parquet"
        rows.write_parquet(folder / "out" / "rows" / name)
        turns: dict[str, Any] = {
            "session": keys,
            "round": pl.lit(0, pl.Int64),
            "turn": pl.lit(0, pl.Int64),
            "given": pl.lit(given),
        }
        pl.select(**turns, written_at=pl.lit(now, pl.Int64)).cast(TURNS).write_parquet(folder / "out" / "turns" / name)
        record = {"run_id": run, "state": "finished", "rounds": 0, "stamps": [now, now], "work": {}, "options": {}}
        (folder / "out" / "runs" / f"{run}.json").write_text(json.dumps(record))
    return cases * len(units)


def planned(words: list[str]) -> None:
    """Plan a run: look at all cases and at what is stored, and find that nothing is missing."""
    from intrabench.engine.make_job import make_run
    from intrabench.engine.options import chosen
    from intrabench.engine.plan import make_plan
    from intrabench.engine.progress.reporter import Silent
    from intrabench.engine.work import Work
    from intrabench.engine.writer import RowWriter
    from intrabench.results.store import Store

    dataset = words[words.index("-d") + 1]
    given = {"model": "box_fill", "prompter": "box_slice", "dataset": dataset, "seed": list(range(SEEDS))}
    job = make_run(chosen(given))
    writer = RowWriter(Store(Path("out"), "new"), Silent())
    Work(make_plan(job, writer.reporter), writer, writer.reporter)
    if writer.summary.already != writer.summary.total:
        raise RuntimeError(f"{writer.summary.already} of {writer.summary.total} sessions are finished")


def measure(folder: Path, step: str, cases: int) -> tuple[float, float, float]:
    """Seconds, seconds of the processor and peak memory in MiB of one step in a process of its own."""
    words = WORDS.format(dataset=DATASET.format(cases=cases, instances=INSTANCES)).split()
    code = CHILD.format(step=step.format(run=words))
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=here, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    wall, processor, memory = map(float, done.stderr.split()[-3:])
    return wall, processor, memory


def disk(folder: Path) -> tuple[int, int]:
    """The number of parts in a results folder, and the bytes that all its files take on the disk."""
    files = [path for path in (folder / "out").rglob("*") if path.is_file()]
    return len(list((folder / "out" / "rows").glob("*.parquet"))), sum(path.stat().st_blocks * 512 for path in files)


def main(cases: int = CASES) -> None:
    """Print seconds, memory and bytes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["INTRABENCH_DATA"] = str(folder / "data")
        started = time.perf_counter()
        rows = make(folder, cases)
        print(f"{cases} cases, {rows} rows, made in {time.perf_counter() - started:.0f} s", flush=True)
        for when in ("many parts", "compacted"):
            parts, taken = disk(folder)
            print(f"-- {when}: {parts} parts, {taken / 1e6:.0f} MB on the disk, {taken / rows:.0f} bytes a row")
            for what, step in STEPS.items():
                wall, processor, memory = measure(folder, step, cases)
                print(f"{what:24} {wall:7.2f} s, {processor:7.2f} s of the processor, {memory:5.0f} MiB", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else CASES)
