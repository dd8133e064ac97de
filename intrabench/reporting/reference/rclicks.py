"""The tables of RClicks: how much 33 networks depend on where people click, on five sets of natural images.

Antonov et al., "RClicks: Realistic Click Simulation for Benchmarking Interactive Segmentation" (NeurIPS 2024,
https://arxiv.org/abs/2410.11722), Tables 9 to 12.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.clickability import GROUPS
from intrabench.errors import IntraBenchError
from intrabench.models.weights.registry import REGISTERED
from intrabench.protocols.rclicks_paper import MODELS
from intrabench.specs.specs import ordered, parse
from intrabench.statistics.click_robustness import REAL
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

FIRST_CLICK = "iou"
"""The metric that `users_beside_published` compares."""

_NETWORK = "of the published network"

_CHECKPOINTS = {ordered(spec): checkpoint for checkpoint, spec in MODELS.items()}


@dataclass(frozen=True)
class PublishedScores:
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


def published(dataset: str, checkpoint: str) -> PublishedScores | None:
    """The paper's numbers of a data set (our name or the paper's) and a network; None if there are none.

    checkpoint: the paper's, or the spec of our model as tables have it, without parameters at their defaults. Other
    parameters than those of `MODELS` were not published.
    """
    printed = _printed().filter(
        dataset=DATASETS.get(dataset, dataset), checkpoint=checkpoint_of(checkpoint) or checkpoint
    )
    return _published(printed.row(0, named=True)) if len(printed) else None


def beside_published(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """`group_table` of `PUBLISHED_METRIC` and, below, the lines of RClicks' Table 9 for its models and data sets.

    ``source`` distinguishes them. The published clicks are always those of RClicks' network. Also gives a sentence for
    each model that RClicks ran with other parameters.

    Raises:
        IntraBenchError: RClicks has none of them.
    """

    def lines(result: PublishedScores) -> list[dict[str, Any]]:
        return [{"clicks": _NETWORK, "groups": GROUPS, **asdict(result.noc), "nsr": result.auc.nsr}]

    both, others = _beside(table, lines)
    return both.sort("model", "dataset", "source", "clicks"), others


def users_beside_published(table: pl.DataFrame) -> tuple[pl.DataFrame, list[str]]:
    """`user_table` of `FIRST_CLICK` and, below, RClicks' Table 12; otherwise as `beside_published`."""

    def lines(result: PublishedScores) -> list[dict[str, Any]]:
        return [{"clicks": REAL, **asdict(result.real)}, {"clicks": _NETWORK, **asdict(result.simulated)}]

    both, others = _beside(table, lines)
    return both.sort("model", "dataset", pl.col("clicks") != REAL, "source", "clicks"), others


def _beside(
    table: pl.DataFrame, lines: Callable[[PublishedScores], Sequence[Mapping[str, Any]]]
) -> tuple[pl.DataFrame, list[str]]:
    """A table of ours and the published `lines` of its models and data sets; what is not compared."""
    printed, others = [], {}
    ours = table.filter(pl.col("weights") == REGISTERED).select("dataset", "model")
    for dataset, model in ours.unique().sort("dataset", "model").iter_rows():
        result = published(dataset, model)
        if result is not None:
            who = {"dataset": dataset, "model": model, "weights": REGISTERED}
            printed += [dict.fromkeys(table.columns) | who | dict(line) for line in lines(result)]
        elif dataset in DATASETS and (near := _nearest(model)):
            others[model] = f"{model} is not compared, because RClicks ran {near}; give that to --model"
    if not printed:
        raise IntraBenchError(
            "; ".join(others.values())
            or "none of these results is in RClicks: it has sam, sam2 and mobile_sam among our models, and the data "
            f"sets {', '.join(DATASETS)}"
        )
    theirs = pl.DataFrame(printed, schema=table.schema).with_columns(source=pl.lit("published"))
    return pl.concat([table.with_columns(source=pl.lit("ours")), theirs]), list(others.values())


def checkpoint_of(spec: str) -> str | None:
    """The file of our model's weights without suffix; None if the paper does not have it with these parameters."""
    try:
        return _CHECKPOINTS.get(ordered(spec))
    except IntraBenchError:
        return None


def _nearest(spec: str) -> str | None:
    """What the paper ran of the same model, size and release; None if it has none."""
    name, ours = parse(spec)
    for published in MODELS.values():
        model, parameters = parse(published)
        if model == name and all(parameters.get(key) == ours.get(key) for key in ("size", "release")):
            return published
    return None


@cache
def _printed() -> pl.DataFrame:
    return pl.read_csv(TABLES, comment_prefix="#", infer_schema_length=None)


def _published(row: Mapping[str, Any]) -> PublishedScores:
    def table(name: str, unit: float = 1.0, nsr: float | None = None) -> Robustness:
        columns = ("base", "sample", "spread", "dsb", "dgr", "dhh")
        return Robustness(**{column: row[f"{name}_{column}"] / unit for column in columns}, nsr=nsr)

    who = {column: row[column] for column in ("checkpoint", "method", "backbone", "data")}
    return PublishedScores(
        **who,
        noc=table("noc"),
        nof=table("nof"),
        auc=table("auc", 100, row["nsr20"]),
        first_click=row["iou1_base"] / 100,
        real=UserNoise(row["iou1_user"] / 100, row["iou1_user_spread"] / 100, row["iou1_nsr"]),
        simulated=UserNoise(row["iou1_sample"] / 100, row["iou1_sample_spread"] / 100),
    )
