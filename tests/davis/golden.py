"""The golden data of davisinteractive, and what tests share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

GOLDEN = Path(__file__).parents[1] / "golden" / "davis"
REPORT: dict[str, Any] = {
    "session_id": pl.String,
    "sequence": pl.String,
    **dict.fromkeys(("scribble_idx", "interaction", "object_id", "frame"), pl.Int64),
    **dict.fromkeys(("jaccard", "contour", "j_and_f", "timing"), pl.Float64),
}


def read(name: str) -> Any:
    return json.loads((GOLDEN / name).read_text())


def arrays(name: str) -> dict[str, np.ndarray]:
    with np.load(GOLDEN / f"{name}.npz") as stored:
        return dict(stored)
