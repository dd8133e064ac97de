"""A predictor of the challenge, run as a command with the challenge's files, has the scores of the official script."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from intrabench.results.parts import read_rows, read_turns
from tests.conftest import Said
from tests.cvpr25.golden import CASES, clicks_of, traces

PREDICTOR = """
import glob, os
import numpy as np
for path in glob.glob(os.environ["INPUTS"] + "/*.npz"):
    data = np.load(path, allow_pickle=True)
    axes, segs = np.indices(data["imgs"].shape), np.zeros(data["imgs"].shape, np.uint8)
    boxes = data["boxes"] if "boxes" in data else []
    clicks, order = [data[name] if name in data else [] for name in ("clicks", "clicks_order")]
    for label in range(1, max(len(boxes), len(clicks)) + 1):
        mine = np.zeros(segs.shape, bool)
        for box in boxes[label - 1 : label]:
            z, y, x = (slice(box[a + "_min"], box[a + "_max"] + 1) for a in ("z", "z_mid_y", "z_mid_x"))
            mine[z, y, x] = True
        left = {kind: list(clicks[label - 1][kind]) if len(clicks) else [] for kind in ("fg", "bg")}
        for kind in (one for one in (order[label - 1] if len(order) else []) if one):
            place = np.reshape(left[kind].pop(0), (3, 1, 1, 1))
            mine[((axes - place) ** 2).sum(axis=0) <= 16] = kind == "fg"
        segs[mine] = label
    np.savez_compressed(os.path.join(os.environ["OUTPUTS"], os.path.basename(path)), segs=segs)
"""
"""The golden data's `boxballs`: boxes, then balls of clicks in the order in which they were made."""
EXACT = 1e-12


def test_the_traces_by_files(say: Callable[..., Said], tmp_path: Path) -> None:
    names = ("d1_thin_aniso", "d2_border_two_components", "d5_no_box")
    cases, script = tmp_path / "cases", tmp_path / "predict.py"
    cases.mkdir()
    script.write_text(PREDICTOR)
    for name in names:
        shutil.copy(CASES / f"{name}.npz", cases)
    spec = f'npz:command="{sys.executable} {script}",intensity=raw'
    said = say("run", "--protocol", "cvpr25@1", "--model", spec, "--dataset", str(cases), "--out", "out")
    assert said.code == 0, said.err
    rows, turns = read_rows(Path("out")), read_turns(Path("out"))
    for name in names:
        recorded: dict[str, Any] = traces()[name, "boxballs"]
        for index, label in enumerate(recorded["labels"]):
            mine = rows.filter(pl.col("label").str.ends_with(str(label)), case=name).sort("round")
            clicks = clicks_of(turns, mine["session"][0])
            for step in recorded["steps"]:
                row: dict[str, Any] = mine.filter(pl.col("round") <= step["step"]).row(-1, named=True)
                expected = step["clicks"][index] if step["clicks"] else None
                assert clicks.get(step["step"]) == (expected and {key: expected[key] for key in ("kind", "at")})
                scores = step["per_class"][index] if step["per_class"] else {"DSC": 0.0, "NSD": 0.0}
                assert row["dice"] == pytest.approx(scores["DSC"], abs=EXACT)
                assert row["nsd:spacing=xyz"] == pytest.approx(scores["NSD"], abs=EXACT)
