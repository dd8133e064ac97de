"""What a board of many rows costs; all rows are made up.

Submissions of 50,000 rows each: 5 data sets of 200 targets, 10 prompters, a model of each submitter, 5 rounds.
``INTRABENCH_BENCH_SUBMISSIONS=20 python -m benchmarks board`` has 10^6 rows, as docs/board.md; the default is a tenth.
Each line is a process of its own: seconds and peak memory, imports included.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from benchmarks.comparison import MINIATURE
from benchmarks.size import ANSWER, measure

SUBMISSIONS = 2
DATASETS, PROMPTERS, TARGETS, ROUNDS = (1, 2, 20, 2) if MINIATURE else (5, 10, 200, 5)
TURN = json.dumps({"prompts": {"points": [[4, 8, 8, 1]], "clicked": [True]}, "actions": [{"kind": "click"}]})


def made_up(number: int) -> pl.DataFrame:
    """The rows of one submission."""
    from intrabench.effort import SECONDS
    from intrabench.engine.session_spec import CONTRACT
    from intrabench.protocols import PROTOCOLS
    from intrabench.results.schema import SCHEMA
    from intrabench.turns import Turn

    cost = PROTOCOLS["basic@1"].cost(Turn.from_json(json.loads(TURN)).actions)
    axes = np.indices((DATASETS, PROMPTERS, TARGETS, ROUNDS)).reshape(4, -1)
    dataset, prompter, target, round = axes
    random = np.random.default_rng(number)
    common = random.integers(100, 900, axes.shape[1])
    fp, fn = random.integers(0, 300, (2, axes.shape[1]))
    who = [f"{number} {one} {two} {three}" for one, two, three in zip(dataset, prompter, target, strict=True)]
    hashes = [hashlib.sha256((TURN * (n + 1)).encode()).hexdigest()[:16] for n in range(ROUNDS)]
    columns: dict[str, Any] = {
        "session": [hashlib.sha256(one.encode()).hexdigest()[:24] for one in who],
        "dataset": [f"phantom:shape=16x32x32,scans={one + 1}" for one in dataset],
        "case": [f"case{one // 2:03d}" for one in target],
        "patient": [f"case{one // 2:03d}" for one in target],
        "target": [f"blob.{one % 2 + 1}" for one in target],
        "instance": target % 2 + 1,
        "prompter": [f"points_volume:n={one + 1}" for one in prompter],
        "round": round,
        "ended": round == ROUNDS - 1,
        "prompts_hash": [hashes[one] for one in round],
        "fp_voxels": fp,
        "fn_voxels": fn,
        "pred_voxels": common + fp,
        "dice": 2 * common / (2 * common + fp + fn),
        "iou": common / (common + fp + fn),
        **{name: value * (round + 1.0) for name, value in cost.columns.items()},
        **{name: random.random(axes.shape[1]) for name in ("nsd_2mm", "encode_s", "segment_s", "prompt_s")},
        "hd95_mm": 10 * random.random(axes.shape[1]),
    }
    same = {
        **{name: value for name, value in ANSWER.items() if name not in columns},
        **{
            "run_id": "run",
            "contract": CONTRACT,
            "protocol": "basic@1",
            "stop": "",
            "effort": SECONDS,
            "label": "blob",
        },
        **{"metrics": "dice@1 iou@1 nsd_2mm@1 hd95_mm@1", "dataset_version": "1", "model": f"model{number}"},
        **{"model_version": "1.0123abcd", "weights": "", "weights_sha256": "", "seen_in_training": "unknown"},
        **{"prompter_version": "1", "seed": 0, "strict": False, "dtype": "float32", "device": "cpu"},
        **{"target_voxels": 1000, "written_at": 10**18},
    }
    schema = SCHEMA | {"nsd_2mm": pl.Float64, "hd95_mm": pl.Float64}
    frame = pl.DataFrame(columns).with_columns(pl.lit(value).alias(name) for name, value in same.items())
    frame = frame.with_columns(pl.lit(None).alias(name) for name in schema if name not in frame.columns)
    return frame.select(pl.col(name).cast(kind) for name, kind in schema.items())


def make(folder: Path, number: int) -> None:
    """A results folder and the submission from it."""
    from intrabench.publishing.board.digests import sampled_sessions
    from intrabench.publishing.board.files import Submitter
    from intrabench.publishing.board.submit import SAMPLE, submit

    rows, results = made_up(number), folder / "results"
    for name in ("rows", "turns", "runs"):
        (results / name).mkdir(parents=True, exist_ok=True)
    sampled = rows.filter(pl.col("session").is_in(sampled_sessions(rows, SAMPLE)))
    turns = sampled.select("session", "round", turn="round", given=pl.lit(TURN), written_at="written_at")
    rows.write_parquet(results / "rows" / "run-0001.parquet")
    turns.write_parquet(results / "turns" / "run-0001.parquet")
    (results / "runs" / "run.json").write_text(json.dumps({"run_id": "run", "state": "finished", "options": {}}))
    submit(results, folder / "submissions" / f"lab{number}", Submitter(f"Lab {number}", "lab@example.org", "CC0-1.0"))


def main() -> None:
    """Print seconds, memory, and sizes."""
    count = int(os.environ.get("INTRABENCH_BENCH_SUBMISSIONS", SUBMISSIONS))
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(count):
            make(folder, number)
        rows = count * DATASETS * PROMPTERS * TARGETS * ROUNDS
        print(f"{rows} rows in {count} submissions, each {_size(folder / 'submissions' / 'lab0'):.1f} MB")
        steps = {
            "check of one": "main('board check submissions/lab0 --replay 0'.split())",
            "check of all": "main([*'board check --replay 0'.split(), *map(str, Path('submissions').iterdir())])",
            "build": "main('board build submissions site'.split())",
        }
        for said, step in steps.items():
            wall, processor, memory = measure(folder, step)
            print(f"{said:14} {wall:7.1f} s, {processor:7.1f} s of the processor, {memory:6.0f} MiB", flush=True)
        sizes = {path.relative_to(folder / "site"): path.stat().st_size for path in (folder / "site").rglob("*.*")}
        largest = max(sizes, key=lambda path: sizes[path])
        print(f"site: {len(sizes)} files, {sum(sizes.values()) / 1e6:.1f} MB")
        print(f"{largest.parent}/: {sizes[largest] / 1e3:.0f} kB; index.html: {sizes[Path('index.html')] / 1e3:.0f} kB")


def _size(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


if __name__ == "__main__":
    main()
