"""Published numbers as data, for comparison with our own."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.models.weights.registry import REGISTERED
from intrabench.protocols.intrabench_paper import MODELS, ROWS
from intrabench.protocols.presets import PAPER, PRESETS
from intrabench.registry import registry
from intrabench.results import labels
from intrabench.specs.specs import nearest, parse

PAPERS = {PAPER: Path(__file__).parent / "intrabench_paper.csv"}
"""Files by the name for ``--reference``; each states the source of its numbers."""


def reference(name: str = "paper") -> pl.DataFrame:
    """Published Dice, 0 to 1: ``row`` as printed, specs of ``prompter`` and ``model``, ``round``, ``paper`` (D1, ...).

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
            pl.col("model").replace_strict(MODELS),
            pl.col("published") / 100,
        )
    )


def beside(table: pl.DataFrame, name: str = "paper") -> tuple[pl.DataFrame, list[str]]:
    """Our cells (``prompter``, ``model``, ``round``, ``dataset``, ``value``) for which there are published numbers.

    Only the published configuration of a model is compared: its size, release, steps and weights. Also gives a sentence
    for each published configuration that other ones of ours stand beside.

    Raises:
        IntraBenchError: there are no published numbers for the table.
    """
    papers = {spec: paper_number(spec) for spec in table["dataset"].unique()}
    ours = table.with_columns(
        paper=pl.col("dataset").replace_strict(papers, return_dtype=pl.String),
        _family=pl.col("model").map_elements(_family, pl.String),
    )
    theirs = reference(name).with_columns(_family=pl.col("model").map_elements(_family, pl.String))
    both = ours.join(theirs.rename({"model": "_published"}), on=["prompter", "_family", "round", "paper"], how="inner")
    same = (pl.col("model") == pl.col("_published")) & (pl.col("weights") == REGISTERED)
    found = both.filter(same)
    others = _other_settings(both.filter(~same), found)
    if found.is_empty():
        raise IntraBenchError(
            "; ".join(others)
            or f"none of these results is in the {name}: it has the data sets D1 to D10 (`intrabench list datasets`), "
            "the rows of intrabench@1 and seven networks"
        )
    shown = found.select("row", labels.MODEL, "round", "paper", "dataset", pl.col("value").alias("ours"), "published")
    return shown.with_columns(difference=pl.col("ours") - pl.col("published")).sort(shown.columns[:4]), others


def _family(spec: str) -> str:
    """The name of a model, whatever its parameters."""
    return parse(spec)[0]


def _other_settings(cells: pl.DataFrame, found: pl.DataFrame) -> list[str]:
    """A sentence for each published configuration of which we have others; it says how to get what is not `found`."""
    lacking = cells.join(found, on=["_published", "prompter", "dataset"], how="anti")
    sentences = []
    for preset, published in PRESETS.items():
        models = cells.filter(_published=published).select(labels.MODEL)["model"].unique().sort()
        sets = lacking.filter(_published=published)["dataset"].unique().sort()
        options = [f"--model {preset}", *(f"--dataset {one}" for one in sets)]
        run = f"; run: intrabench run --protocol intrabench@1 {' '.join(options)}" if len(sets) else ""
        sentences += [f"not compared: {', '.join(models)}; the paper has {published}{run}"] if len(models) else []
    return sentences


@cache
def paper_number(spec: str) -> str | None:
    """The data set's number in the paper; None if it is not in the paper."""
    try:
        entry = registry.entries("datasets").get(parse(spec)[0])
    except IntraBenchError:
        return None
    return (entry.load().card.paper or None) if entry else None
