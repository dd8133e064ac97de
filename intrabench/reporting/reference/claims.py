"""Ours beside a model of a published table: the probability that it is not better, under assumptions that are said.

Published tables print means only, so the spread of their scores and how they correlate with ours are assumed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.protocols.intrabench_paper import MODELS
from intrabench.protocols.presets import PRESETS
from intrabench.registry import registry
from intrabench.registry.canonical import meant
from intrabench.reporting.footnotes import NONE, Footnotes, few_patients
from intrabench.reporting.reference import paper_number, reference
from intrabench.results import labels
from intrabench.specs.specs import nearest, parse
from intrabench.statistics.aggregate import Aggregation, fewest_patients
from intrabench.statistics.bca import spread
from intrabench.statistics.resample import FEW, influences
from intrabench.statistics.scores import FailurePolicy, last_round, scores
from intrabench.statistics.significance import false_claim_of_scores

CORRELATIONS = (0.5, 0.7, 0.9)
"""Correlations of published and our scores that are assumed unless others are given."""

_KEYS = ("row", "round", "paper", "dataset")


@dataclass(frozen=True)
class PublishedClaims:
    """A line per row of the paper, round and data set that both have.

    frame: `published` and `ours`, their `difference`, our `sd` over `patients`, and for each assumed correlation r the
    probability ``r=0.5`` that ours is not better, null for fewer than `FEW` patients. notes: marks at few patients.
    said: what is assumed and what is missing, as sentences.
    """

    frame: pl.DataFrame
    said: Sequence[str]
    notes: Footnotes = field(default=NONE)

    def __str__(self) -> str:
        return str(self.frame)

    def _repr_html_(self) -> str:
        return self.frame._repr_html_()


def published_claims(
    rows: pl.DataFrame,
    published: str,
    ours: str,
    how: Aggregation,
    policy: FailurePolicy,
    *,
    name: str = "paper",
    round: int | None = None,
    correlations: Sequence[float] = CORRELATIONS,
) -> PublishedClaims:
    """Compare `ours`, a model as tables name it, with the published numbers of another model, or of the same one.

    rows: `current` ones. published: a model as the paper prints it, ``paper:NAME``, or its spec.

    Raises:
        IntraBenchError: a model is unknown, a correlation is not one, or there is nothing in common.
    """
    assumed = list(dict.fromkeys(correlations))
    for one in assumed:
        if not -1 <= one < 1:
            raise IntraBenchError(f"--correlation {one:g} is not a correlation; give numbers from -1 to below 1")
    spec = _published(published)
    mine = _ours(rows, ours)
    theirs = reference(name).filter(model=spec).drop_nulls("published")
    top = last_round(mine)
    wanted = [one for one in theirs["round"].unique().sort() if one <= top and round in (None, one)]
    papers = {one: paper_number(one) for one in mine["dataset"].unique()}
    measured = [_measured(mine, one, how, policy) for one in wanted]
    if measured:
        both = pl.concat(measured).with_columns(paper=pl.col("dataset").replace_strict(papers, return_dtype=pl.String))
        both = both.join(theirs, on=["prompter", "round", "paper"]).sort(_KEYS)
    if not measured or both.is_empty():
        raise IntraBenchError(
            f"{ours} has no line that the {name} has for {published}; it has the data sets D1 to D10 "
            "(`intrabench list datasets`) and the prompters of `intrabench info intrabench@1`"
        )
    both = both.with_columns(difference=pl.col("ours") - pl.col("published"))
    for one in assumed:
        both = both.with_columns(pl.Series(f"r={one:g}", _false(both, one)).fill_nan(None))
    names = [*_KEYS, "patients", "published", "ours", "difference", "sd", *(f"r={one:g}" for one in assumed)]
    notes = few_patients(both["fewest"], ["difference"])
    return PublishedClaims(both.select(names), _assumptions(both, published, ours), notes)


def _published(model: str) -> str:
    """The spec of a published model."""
    specs = {**PRESETS, **MODELS, **{spec: spec for spec in MODELS.values()}}
    found = model if model in specs else next(iter(meant("model", model, specs.values())), "")
    if not found:
        raise IntraBenchError(
            f"the paper has no model {model!r}{nearest(model, specs)}; choose from {', '.join(MODELS)}, "
            "and give your own model second"
        )
    return specs.get(found, found)


def _ours(rows: pl.DataFrame, model: str) -> pl.DataFrame:
    named = rows.with_columns(labels.MODEL)
    models = named["model"].unique().sort().to_list()
    mine = labels.rows_named(named, "model", model)
    if mine.is_empty():
        raise IntraBenchError(
            f"there are no results of a model {model!r}{nearest(model, models)}; there are {', '.join(models)}"
        )
    return mine


def _measured(rows: pl.DataFrame, round: int, how: Aggregation, policy: FailurePolicy) -> pl.DataFrame:
    """Our means after a round by prompter and data set, with `sd`, `patients` and `fewest`."""
    scored = scores(rows, "dice", round, policy)
    if scored.select("prompter", "dataset", "case", "target", "seed").is_duplicated().any():
        raise IntraBenchError("there are several lines of one prompter, such as of two protocols; keep one in a folder")
    # The standard deviation over patients is that of the mean times sqrt(n), as the influences of patients give it: the
    # mean may be one of classes, of which a patient has no single value.
    lines, parts = influences(scored, ["prompter"], how)
    frames = [
        lines.with_columns(
            dataset=pl.lit(name),
            ours=pl.Series(part.value, dtype=pl.Float64),
            patients=pl.Series(part.patients, dtype=pl.Int64),
            sd=pl.Series(np.where((of := spread([part])).usable, np.sqrt(of.unbiased * part.patients), 0)),
        )
        for name, part in parts.items()
    ]
    found = pl.concat(frames).filter(pl.col("patients") > 0)
    fewest = fewest_patients(scored, ["prompter"], how)
    cases = scored.group_by("prompter", "dataset").agg(pl.col("case").n_unique().alias("cases"))
    for more in (fewest, cases):
        found = found.join(more, on=["prompter", "dataset"])
    return found.with_columns(round=pl.lit(round, pl.Int64))


def _false(both: pl.DataFrame, correlation: float) -> Floats:
    """The probabilities under one assumed correlation; NaN for few patients."""
    sd, patients = both["sd"].to_numpy(), both["patients"].to_numpy()
    found = false_claim_of_scores(both["difference"].to_numpy(), sd, sd, correlation, patients)
    return np.where(patients >= FEW, found, np.nan)


def _assumptions(both: pl.DataFrame, published: str, ours: str) -> list[str]:
    """What the numbers assume."""
    lines = [
        f'r=...: probability that the claim "{ours} is better than the published {published}" is false '
        f"(Claims Reloaded, arXiv 2505.04720), none for fewer than {FEW} patients; 1 minus it is that of the opposite",
        "assumed, because the paper prints neither: published scores have our standard deviation (sd, over patients), "
        "and correlate by r with ours; also that both are of the same patients",
    ]
    ran = both.group_by("dataset").agg(pl.col("cases").min()).sort("dataset").iter_rows()
    lacking = [f"{name} ({cases} of {total})" for name, cases in ran if (total := _cases(name)) and cases < total]
    return lines + [f"but not all cases were run: {', '.join(lacking)}"] * bool(lacking)


def _cases(dataset: str) -> int | None:
    """The number of cases of a data set, where it is known."""
    try:
        return registry.entries("datasets")[parse(dataset)[0]].load().card.cases
    except (IntraBenchError, KeyError):
        return None
