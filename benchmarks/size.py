"""What results of many sessions cost; all cases and rows are made up.

- Planning: prepared cases with 100 sessions each, and a part per case. With 10,000 cases these are 10^6 rows.
- Resuming: cases with one finished session each, and a part per case.
- Small parts: six rows each, as runs of small cases leave them. With 10,000 cases above, these are 10^5 rows in 16,667.

``INTRABENCH_BENCH_CASES=10000 python -m benchmarks size`` has the sizes of docs/scale.md; the default is a tenth. Each
line is a process of its own: seconds and peak memory of one thing that people do with such a folder.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.comparison import MINIATURE

CASES = 10 if MINIATURE else 1000

READ = "store = Store(out, 'new'); store.finished(0); store.failed_cases(); store.stamp()"
TABLE, REPORT = (f"main('{words}'.split())" for words in ("table --out out", "report --out out"))
RUN = "main('{run}'.split())"
"""Everything that the folder is about; nothing is left to do."""
SMALL_RUN = "main('{run} --seed 99 -p {prompter} --cases first:2'.split())"
"""Of what the folder lacks."""

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
started = time.perf_counter()
{step}
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(time.perf_counter() - started, time.process_time(), peak / 1024, file=sys.stderr)
"""
"""Seconds of the processor are those of the whole process, imports included."""


@dataclass(frozen=True)
class Stored:
    """What is in a results folder: cases, each with a part of so many targets times seeds."""

    cases: int
    targets: int
    seeds: int

    @property
    def dataset(self) -> str:
        """The data set, as a spec."""
        return f"phantom:shape=16x32x32,instances={self.targets},scans={self.cases}"

    @property
    def run(self) -> str:
        """The command that would have made the folder."""
        seeds = " ".join(f"--seed {seed}" for seed in range(self.seeds))
        return f"run -m box_fill -p box_slice --rounds 0 --out out -d {self.dataset} {seeds}"


def make(folder: Path, what: Stored) -> None:
    """Prepared cases, all with the same voxels, and a results folder with a part for each."""
    import polars as pl

    from intrabench.datasets.cases import store as stored
    from intrabench.engine.make_job import make_run
    from intrabench.engine.options import chosen
    from intrabench.results.schema import SCHEMA

    options = {"model": "box_fill", "prompter": "box_slice", "dataset": what.dataset, "rounds": 0}
    job = make_run(chosen({**options, "seed": list(range(what.seeds))}))
    (dataset,), (runner,) = job.datasets, job.runners
    first = dataset.cases()[0]
    index = stored.prepare(dataset, first)
    for name in ("rows", "turns", "runs"):
        (folder / "out" / name).mkdir(parents=True)
    home = stored._folder(dataset, first, None)
    text = json.loads((home / "case.json").read_text())
    made = pl.DataFrame(
        [{**spec.columns(spec.targets[0]), **ANSWER} for spec in job.specs(dataset, first, runner, index)],
        schema=SCHEMA | {"nsd_2mm": pl.Float64, "hd95_mm": pl.Float64},
    )
    turns = made.select("session", "round", turn="round", given=pl.lit(json.dumps(TURN)), written_at="written_at")
    for number, case in enumerate(dataset.cases()):
        place = stored._folder(dataset, case, None)
        if case != first:
            shutil.copytree(home, place)
            (place / "case.json").write_text(json.dumps({**text, "case": case}, indent=1))
        run, now = f"20260101T{number // 1000:06d}-aaaaaa", 10**18 + number
        told: dict[str, Any] = {
            "session": pl.Series(job.keys(dataset, case, runner, index)),
            "written_at": pl.lit(now, pl.Int64),
        }
        whose = {name: pl.lit(text) for name, text in (("case", case), ("patient", case), ("run_id", run))}
        name = f"{run}-{number % 1000 + 1:04d}.parquet"
        made.with_columns(**told, **whose).write_parquet(folder / "out" / "rows" / name)
        turns.with_columns(**told).write_parquet(folder / "out" / "turns" / name)
        if number % 1000 == 0:
            record = {"run_id": run, "state": "finished", "rounds": 0, "stamps": [now, now], "work": {}, "options": {}}
            (folder / "out" / "runs" / f"{run}.json").write_text(json.dumps(record))


ANSWER: dict[str, Any] = {
    **{"status": "ok", "round": 0, "ended": True, "error": "", "adapted": "", "prompts_hash": "0" * 16},
    **{"dice": 0.8, "iou": 0.7, "nsd_2mm": 0.5, "hd95_mm": 3.5, "interactions": 2.0, "dof": 5.0, "seconds_human": 7.0},
    **{"encode_s": 0.001, "segment_s": 0.002, "prompt_s": 0.003, "batch": 1, "fp_voxels": 10, "fn_voxels": 20},
    **{"pred_voxels": 100, "target_ml": 1.0, "peak_memory_mb": 300.0, "package_versions_hash": "0" * 16},
}
TURN = {"prompts": {"boxes2d": [[7, 3, 4, 17, 19]], "drawn": [True]}, "actions": [{"kind": "box2d"}]}


def measure(folder: Path, step: str) -> tuple[float, float, float]:
    """Seconds, seconds of the processor and peak memory in MiB of one step in a process of its own."""
    here = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    code = CHILD.format(step=step)
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, env=here, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr[-3000:])
    wall, processor, memory = map(float, done.stderr.split()[-3:])
    return wall, processor, memory


def workload(what: Stored, steps: dict[str, str]) -> None:
    """Make a folder and print what the steps cost, one after the other."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["INTRABENCH_DATA"] = str(folder / "data")
        make(folder, what)
        rows, before = what.cases * what.targets * what.seeds, ""
        for said, step in steps.items():
            files = [path for path in (folder / "out").rglob("*") if path.is_file()]
            taken = sum(path.stat().st_blocks * 512 for path in files) / 1e6
            parts = len(list((folder / "out" / "rows").glob("*.parquet")))
            wall, processor, memory = measure(folder, step.format(run=what.run, prompter="box_interp"))
            if before != (before := f"{rows} rows in {parts} files, {taken:.0f} MB"):
                print(before)
            print(f"  {said:32} {wall:7.2f} s, {processor:7.2f} s CPU, {memory:5.0f} MiB", flush=True)


def main() -> None:
    """Print seconds and memory."""
    cases = int(os.environ.get("INTRABENCH_BENCH_CASES", CASES))
    reads = {"an import": "", "read all rows": "rows = read_rows(out)", "read what runs need": READ, "table": TABLE}
    again = {f"{said}, again": step for said, step in reads.items() if step}
    workload(Stored(cases, 10, 10), {**reads, "run, nothing to do": RUN, **again, "run, nothing to do, again": RUN})
    for share in (0.1, 0.3, 1):
        workload(Stored(int(share * cases), 1, 1), {"resume": RUN, "resume, again": RUN})
    looks = {"table": TABLE, "report": REPORT}
    put = {"a small run": SMALL_RUN, "table, again": TABLE, "report, again": REPORT, "the small run again": SMALL_RUN}
    workload(Stored(cases * 5 // 3, 2, 3), {**looks, **put})


if __name__ == "__main__":
    main()
