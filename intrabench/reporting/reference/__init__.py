"""Published numbers as data, for comparison with our own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl

from intrabench import registry
from intrabench.errors import IntraBenchError
from intrabench.protocols.intrabench_paper import ROWS
from intrabench.results import labels
from intrabench.specs import nearest, parse

PAPERS = {"paper": Path(__file__).parent / "intrabench_paper.csv"}
"""Files by the name for ``--reference``; each states the source of its numbers."""

_MODELS = {
    "SAM": "sam",
    "SAM2": "sam2",
    "MedSam": "medsam",
    "SamMed 2D": "sammed2d",
    "SamMed 3D": "sammed3d",
    "SamMed 3D Turbo": "sammed3d_turbo",
    "SegVol": "segvol",
}
"""The paper's names of our models; it used SAM ViT-H and SAM 2 Hiera-L."""


def reference(name: str = "paper") -> pl.DataFrame:
    """Published Dice, 0 to 1: ``row`` as printed, ``prompter`` spec, ``model`` as ours, ``round``, ``paper`` (D1, ...).

    Raises:
        IntraBenchError: there is no such reference.
    """
    if name not in PAPERS:
        raise IntraBenchError(f"there is no reference {name!r}{nearest(name, PAPERS)}; choose from {', '.join(PAPERS)}")
    printed = pl.read_csv(PAPERS[name], comment_prefix="#")
    numbers = [column for column in printed.columns if column.startswith("D")]
    specs = {row.name: row.prompter for row in ROWS}
    return (
        printed.unpivot(
            numbers, index=["iteration", "prompter", "model"], variable_name="paper", value_name="published"
        )
        .rename({"prompter": "row", "iteration": "round"})
        .with_columns(
            pl.col("row").replace_strict(specs).alias("prompter"),
            pl.col("model").replace_strict(_MODELS),
            pl.col("published") / 100,
        )
    )


def beside(table: pl.DataFrame, name: str = "paper") -> pl.DataFrame:
    """Our cells (``prompter``, ``model``, ``round``, ``dataset``, ``value``) for which there are published numbers.

    Models of a different size or with different parameters are compared too; their spec shows the difference.

    Raises:
        IntraBenchError: there are no published numbers for the table.
    """
    papers = {spec: _paper(spec) for spec in table["dataset"].unique()}
    ours = table.with_columns(
        paper=pl.col("dataset").replace_strict(papers, return_dtype=pl.String),
        _model=pl.col("model").map_elements(lambda spec: parse(spec)[0], pl.String),
    )
    both = ours.join(
        reference(name).rename({"model": "_model"}), on=["prompter", "_model", "round", "paper"], how="inner"
    )
    if both.is_empty():
        raise IntraBenchError(
            f"none of these results is in the {name}: it has the data sets D1 to D10 (`intrabench list datasets`), "
            "the rows of intrabench@1 and seven networks"
        )
    shown = both.select("row", labels.MODEL, "round", "paper", "dataset", pl.col("value").alias("ours"), "published")
    return shown.with_columns(difference=pl.col("ours") - pl.col("published")).sort(shown.columns[:4])


@cache
def _paper(spec: str) -> str | None:
    """The data set's number in the paper; None if it is not in the paper."""
    try:
        entry = registry.entries("datasets").get(parse(spec)[0])
    except IntraBenchError:
        return None
    return (entry.load().card.paper or None) if entry else None
