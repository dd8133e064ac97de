"""Three small results folders that must come out equal however the code is arranged; tests/golden/runs has them.

``python -m tests.golden_runs`` plays them and writes the files, once a change of rows, tables or reports was wanted:
per folder its results as they were stored, and what `table` and `report` say of these. So a test can play the same
sessions again, and look at the same results again, and each finds its own fault.
"""

from __future__ import annotations

import contextlib
import html
import io
import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from intrabench.cli.main import main
from intrabench.people.annotating.annotation import Annotation
from intrabench.play.gestures import Gesture
from intrabench.results.parts import read_rows, read_turns

FOLDER = Path(__file__).parent / "golden" / "runs"

PASSING = (
    *("run_id", "written_at", "encode_s", "segment_s", "prompt_s", "cpu_s", "batch", "peak_memory_mb", "peak_gpu_mb"),
    "package_versions_hash",
)
"""Columns that may differ: which run it was, times, memory, which packages there were. Keys of sessions may not."""

PHANTOM = "phantom:shape=12x40x48,instances=2"
RUNS = {
    "plain": f"run -m box_fill -m grow_from_seeds -p box_interp:n=3+scribble -p point_interp:n=3 -p click_center "
    f"-d {PHANTOM},scans=2 --protocol basic@1 --rounds 2 --metric lesion_f1",
    "joint": f"run -m grow_from_seeds -p davis_slices --protocol basic@1 --joint others=negative,overlap=score "
    f"-d {PHANTOM} --rounds 2",
    "superpixels": f"superpixels run --method grid --method sitk_slic --segments 40,90 -d {PHANTOM}",
}
"""The command of each folder; `superpixels` also has sessions of a person."""


def play(name: str, workers: int = 0) -> pl.DataFrame:
    """Play a folder below the working one; returns its rows."""
    said(*RUNS[name].split(), "--workers", str(workers), "--out", "results")
    if name == "superpixels":
        _annotate(Path("results"))
    return read_rows(Path("results"))


def _annotate(out: Path) -> None:
    """A person finds one target by two clicks."""
    asked = {"model": "grow_from_seeds", "dataset": PHANTOM, "cases": "first:1", "protocol": "basic@1"}
    with Annotation(asked, out) as people:
        (first, *_) = people.tasks("r1")
        inside = people.reference(first.code).coordinates()
        middle = inside[np.abs(inside - inside.mean(axis=0)).sum(axis=1).argmin()].tolist()
        for number, (place, label) in enumerate(((middle, 1), ([0, 0, 0], 0))):
            people.give(first.code, "r1", f"turn-{number:06d}", [Gesture("click", place, label, 1.25)])
        people.finish(first.code, "r1", "finish-0001", 0.5)


def lasting(rows: pl.DataFrame) -> list[Mapping[str, object]]:
    """What must come out equal, in an order of its own."""
    kept = rows.drop(name for name in PASSING if name in rows.columns)
    kept = kept.with_columns(pl.col("plane").fill_null("axial"))  # as rows mean it that do not say it
    return kept.sort("session", "round").to_dicts()


def turns(folder: Path) -> list[str]:
    """The turns of a folder, in an order of its own."""
    return sorted(read_turns(folder, read_rows(folder)["session"].unique().to_list())["given"].to_list())


def outputs(folder: Path) -> dict[str, str]:
    """What tables and the report say of stored results, by the file that keeps it."""
    os.environ["COLUMNS"] = "200"
    words = ["table"], ["table", "--csv"], ["superpixels", "table", "--by-number", "--csv"]
    tables = [said(*one, "--out", str(folder)) for one in words]
    said("report", "page.html", "--out", str(folder))
    return {"table.txt": "\n".join(tables), "report.txt": text_of(Path("page.html").read_text(encoding="utf-8"))}


def text_of(page: str) -> str:
    """The visible text of a page, a line for each element, without the day on which it was made."""
    page = re.sub(r"(?s)<(script|style|svg)\b.*?</\1>", "", page)
    page = re.sub(r"</?(wbr|span|b|i|em|code|a)\b[^>]*>", "", page)
    lines = (" ".join(html.unescape(one.partition(">")[2]).split()) for one in page.split("<"))
    return re.sub(r"Made on \S+", "Made on DAY", "\n".join(line for line in lines if line)) + "\n"


def said(*words: str) -> str:
    """What a command prints that ends well."""
    printed = io.StringIO()
    before, sys.argv = sys.argv, ["intrabench", *words]
    try:
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main()
    finally:
        sys.argv = before
    return printed.getvalue()


def write(names: Sequence[str]) -> None:
    """Write the files of these folders."""
    from tempfile import TemporaryDirectory

    for name in names:
        with TemporaryDirectory() as place, contextlib.chdir(place):
            os.environ["INTRABENCH_DATA"] = f"{place}/data"
            play(name)
            shutil.rmtree("results/locks", ignore_errors=True)
            os.environ["INTRABENCH_DATA"] = f"{place}/none"  # else the report shows scans
            for record in Path("results/runs").glob("*.json"):
                told = json.loads(record.read_text(encoding="utf-8"))
                told["hardware"].update(os="Linux", cpu="two cores")
                record.write_text(json.dumps(told, indent=1), encoding="utf-8")
            shutil.rmtree(FOLDER / name, ignore_errors=True)
            shutil.copytree("results", FOLDER / name / "results")
            for file, text in outputs(Path("results")).items():
                (FOLDER / name / file).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write(sys.argv[1:] or [*RUNS])
