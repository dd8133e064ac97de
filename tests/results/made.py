"""Rows made by hand, for tests of what is computed from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from intrabench.effort import SECONDS
from intrabench.engine.session_spec import CONTRACT
from intrabench.results.schema import SCHEMA

METRICS = dict.fromkeys(("nsd_2mm", "hd95_mm"), pl.Float64)

SHARED = {
    "run_id": "run",
    "contract": CONTRACT,
    "protocol": "basic@1",
    "stop": "",
    "effort": SECONDS,
    "metrics": "dice@1 iou@1 nsd_2mm@1 hd95_mm@1",
    "prompter": "p",
    "prompter_version": "1",
    "model": "m",
    "model_version": "1",
    "weights": "",
    "weights_sha256": "",
    "seen_in_training": "unknown",
    "dtype": "float32",
    "strict": False,
    "dataset": "d",
    "dataset_version": "1",
    "case": "1",
    "label": "x",
    "instance": 1,
    "target_voxels": 1000,
    "target_ml": 1.0,
    "seed": 0,
    "round": 0,
    "status": "ok",
    "ended": True,
    "interactions": 2.0,
    "dof": 5.0,
    "seconds_human": 7.0,
    "hd95_mm": 1.0,
    "nsd_2mm": 0.5,
    "encode_s": 0.25,
    "segment_s": 0.25,
    "written_at": 1,
}


def rows(*given: Mapping[str, Any], **shared: Any) -> pl.DataFrame:
    """Rows of a store: what is not given is as in `SHARED`; the target is ``label.instance``, the session who it is."""
    return pl.DataFrame([_row({**SHARED, **shared, **one}) for one in given], schema=SCHEMA | METRICS)


def curve(dice: Iterable[float], **shared: Any) -> pl.DataFrame:
    """The rows of one session, a Dice per round, each round costing as much as the first."""
    steps = list(dice)
    effort = {name: shared.get(name, SHARED[name]) for name in ("interactions", "dof", "seconds_human")}
    return rows(
        *(
            {
                **shared,
                "dice": value,
                "round": number,
                "ended": number == len(steps) - 1,
                **{name: cost * (number + 1) for name, cost in effort.items()},
            }
            for number, value in enumerate(steps)
        )
    )


def _row(one: dict[str, Any]) -> dict[str, Any]:
    one.setdefault("target", f"{one['label']}.{one['instance']}")
    who = ("protocol", "stop", "prompter", "prompter_version", "model", "model_version", "weights_sha256")
    who += ("dataset", "case", "target", "seed")
    one.setdefault("session", "/".join(str(one[name]) for name in who))
    one.setdefault("iou", one.get("dice"))
    return one
