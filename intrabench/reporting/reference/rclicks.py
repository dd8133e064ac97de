"""The tables of RClicks: how much 33 networks depend on where people click, on five sets of natural images.

Antonov et al., "RClicks: Realistic Click Simulation for Benchmarking Interactive Segmentation" (NeurIPS 2024,
https://arxiv.org/abs/2410.11722), Tables 9 to 12.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.clickability.sampling import GROUPS
from intrabench.errors import IntraBenchError
from intrabench.models.weights.registry import REGISTERED
from intrabench.specs import parse
from intrabench.statistics.robustness import Robustness, UserNoise

TABLES = Path(__file__).parent / "rclicks.csv"

DATASETS = {
    "grabcut": "GrabCut",
    "berkeley": "Berkeley",
    "davis345": "DAVIS",
    "coco_mval": "COCO-MVal",
    "tetris": "TETRIS",
}
"""The paper's names of our data sets."""

PUBLISHED_METRIC = "noc:threshold=0.9,metric=iou"
"""The metric that `beside_published` compares."""

_SAM = {"b": "sam_vit_b_01ec64", "l": "sam_vit_l_0b3195", "h": "sam_vit_h_4b8939"}
_SAM2 = {"t": "tiny", "s": "small", "b+": "base_plus", "l": "large"}
_RELEASES = {"2.0": "sam2", "2.1": "sam2.1"}


@dataclass(frozen=True)
class Published:
    """One network on one data set; scores are 0 to 1, ratios in percent.

    noc, nof: of 20 clicks to an IoU of 0.9. auc: IoU-AuC, with NSR@20. first_click: mean IoU after the baseline's first
    click. real, simulated: after those of real users, with NSR_User@1, and of as many simulated ones.
    """

    checkpoint: str
    method: str
    backbone: str
    data: str
    noc: Robustness
    nof: Robustness
    auc: Robustness
    first_click: float
    real: UserNoise
    simulated: UserNoise


def published(dataset: str, checkpoint: str) -> Published | None:
    """The paper's numbers of a data set (our name or the paper's) and a network; None if there are none.

    checkpoint: the paper's, or the spec of our model. Of other parameters than size and release nothing was published.
    """
    printed = _printed().filter(
        dataset=DATASETS.get(dataset, dataset), checkpoint=checkpoint_of(checkpoint) or checkpoint
    )
    return _published(printed.row(0, named=True)) if len(printed) else None


def beside_published(table: pl.DataFrame) -> pl.DataFrame:
    """`group_table` of `PUBLISHED_METRIC` and, below, the lines of RClicks' Table 9 for its models and data sets.

    ``source`` distinguishes them. The published clicks are always those of RClicks' network.

    Raises:
        IntraBenchError: RClicks has none of them.
    """
    printed = []
    ours = table.filter(pl.col("weights") == REGISTERED).select("dataset", "model")
    for dataset, model in ours.unique().sort("dataset", "model").iter_rows():
        known = published(dataset, model)
        if known is not None:
            line = {
                "dataset": dataset,
                "model": model,
                "weights": REGISTERED,
                "clicks": "of the published network",
                "groups": GROUPS,
            }
            printed.append(dict.fromkeys(table.columns) | line | asdict(known.noc))
    if not printed:
        raise IntraBenchError(
            "none of these results is in RClicks: it has sam and sam2 among our models, and the data sets "
            f"{', '.join(DATASETS)}"
        )
    theirs = pl.DataFrame(printed, schema=table.schema).with_columns(source=pl.lit("published"))
    both = pl.concat([table.with_columns(source=pl.lit("ours")), theirs])
    return both.sort("model", "dataset", "source", "clicks")


def checkpoint_of(spec: str) -> str | None:
    """The file of our model's weights without suffix; None if the paper does not have it.

    Always the best of three masks, as published, is ``multimask=best``; the authors' own policy stands beside it, too.
    """
    try:
        name, given = parse(spec)
    except IntraBenchError:
        return None
    if name == "sam" and given.keys() <= {"size", "multimask"}:
        return _SAM.get(given.get("size", "b"))
    if name == "sam2" and given.keys() <= {"size", "release", "multimask"}:
        release, size = _RELEASES.get(given.get("release", "2.1")), _SAM2.get(given.get("size", "t"))
        return f"{release}_hiera_{size}" if release and size else None
    return None


@cache
def _printed() -> pl.DataFrame:
    return pl.read_csv(TABLES, comment_prefix="#", infer_schema_length=None)


def _published(row: Mapping[str, Any]) -> Published:
    def table(name: str, unit: float = 1.0, nsr: float | None = None) -> Robustness:
        columns = ("base", "sample", "spread", "dsb", "dgr", "dhh")
        return Robustness(**{column: row[f"{name}_{column}"] / unit for column in columns}, nsr=nsr)

    who = {column: row[column] for column in ("checkpoint", "method", "backbone", "data")}
    return Published(
        **who,
        noc=table("noc"),
        nof=table("nof"),
        auc=table("auc", 100, row["nsr20"]),
        first_click=row["iou1_base"] / 100,
        real=UserNoise(row["iou1_user"] / 100, row["iou1_user_spread"] / 100, row["iou1_nsr"]),
        simulated=UserNoise(row["iou1_sample"] / 100, row["iou1_sample_spread"] / 100),
    )
