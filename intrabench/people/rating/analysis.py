"""What raters said: means, differences, agreement, anchors, and how scores go with Dice."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.people.rating.answers import Answers
from intrabench.people.rating.inputs import INPUT
from intrabench.people.rating.study import Study
from intrabench.results.spreadsheet import write_csv
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.agreement import bradley_terry, d_prime, icc, krippendorff_alpha, spread_per_unit, within_one
from intrabench.statistics.resample import as_one_dataset, intervals
from intrabench.statistics.significance import holm, per_patient, signed_rank

MEASURES = ("dice", "nsd_2mm")
"""Metrics that scores are compared with, as far as the run has them."""
MOST_APART = 5
_LONG: dict[str, Any] = {
    **{"rater": pl.String, "place": pl.Int64, "job": pl.String, "again": pl.Boolean, "kind": pl.String},
    **{"name": pl.String, "model": pl.String, "dataset": pl.String, "case": pl.String, "code": pl.String},
    **{"patient": pl.String, "target": pl.String, "label": pl.String, "prompter": pl.String, "seed": pl.Int64},
    **{"session": pl.String, "round": pl.Int64, "damage": pl.String, "severity": pl.Float64},
    **{"dice": pl.Float64, "iou": pl.Float64, "nsd_2mm": pl.Float64, "hd95_mm": pl.Float64, "name_b": pl.String},
    **{"score": pl.Int64, "clinical": pl.String, "pair": pl.String, "skip": pl.String, "errors": pl.List(pl.String)},
    **{"seconds": pl.Float64, "paused_seconds": pl.Float64, "views": pl.Int64, "guideline": pl.String, "at": pl.String},
}


def long(study: Study) -> pl.DataFrame:
    """All answers that count with the key of their masks, one line each; `again` marks a rater's second look.

    `job` is the mask, which is the same for all raters and looks.

    Raises:
        IntraBenchError: there is no answer yet, or answers do not fit the study.
    """
    answers: list[dict[str, Any]] = []
    if study.answers_file.exists():
        stored = Answers(study.answers_file)
        try:
            answers = stored.all()
        finally:
            stored.close()
    if not answers:
        raise IntraBenchError(
            f"nobody has rated anything in {study.folder} yet; `intrabench rate serve` shows the links"
        )
    orders = {rater: study.order(rater) for rater in study.raters}
    masks = {rater: study.masks(rater) for rater in study.raters}
    lines = []
    for answer in answers:
        rater, place, job = answer["rater"], answer["place"], answer["job"]
        if not isinstance(place, int) or orders.get(rater, [])[place : place + 1] != [job]:
            raise IntraBenchError(
                f"{study.answers_file} has an answer of {rater} at place {place}, which is not in this study"
            )
        key, mask = study.key[job], masks[rater][place]
        about = {"job": mask, "again": mask in masks[rater][:place], "name_b": key.get("b", {}).get("name")}
        lines.append({**key, **answer, **about})
    try:
        return pl.DataFrame([{name: line.get(name) for name in _LONG} for line in lines], schema=_LONG)
    except (TypeError, OverflowError, pl.exceptions.PolarsError) as error:
        raise IntraBenchError(
            f"{study.folder} has answers or a key with values of the wrong kind ({error}); repair them"
        ) from error


@dataclass(frozen=True)
class Analysis:
    """The answers of a study."""

    answers: pl.DataFrame

    @property
    def firsts(self) -> pl.DataFrame:
        """Scores of the first looks at masks of models and anchors."""
        return self.answers.filter(~pl.col("again"), pl.col("score").is_not_null())

    def masks(self) -> pl.DataFrame:
        """One line per mask: the mean score of its raters, `value`, as statistics of sessions take it."""
        groups = ["name", "kind", *INPUT, "job", "label", "patient", *MEASURES]
        means = self.firsts.group_by(groups, maintain_order=True).agg(
            pl.col("score").mean().alias("value"), pl.len().alias("raters")
        )
        named = means.with_columns(own=pl.struct("dataset", "case"), failed=False, not_applicable=False)
        return as_one_dataset(named)

    def means(self) -> pl.DataFrame:
        """A line per model and kind of anchor, the best first: mean score over masks, interval over patients."""
        masks = self.masks()
        found = intervals(masks, ["kind", "name"], AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
        answers = self.firsts.group_by("kind", "name").agg(pl.len().alias("scores"))
        counts = masks.group_by("kind", "name").agg(pl.len().alias("masks"))
        found = found.join(counts, on=["kind", "name"]).join(answers, on=["kind", "name"])
        return (
            found.rename({"value": "score"})
            .sort(pl.col("kind") != "answer", -pl.col("score"))
            .select("kind", "name", "score", "low", "high", "masks", "scores", "patients")
        )

    def differences(self) -> pl.DataFrame:
        """Every two models on the same inputs: mean difference with its interval, p of Wilcoxon, corrected by Holm."""
        masks = self.masks().filter(pl.col("kind") == "answer")
        units = list(INPUT[1:])  # of which a case names its data set
        found = []
        for a, b in combinations(sorted(masks["name"].unique()), 2):
            one, other = (masks.filter(pl.col("name") == name) for name in (a, b))
            both = one.join(other.select(*units, "value"), on=units, suffix="_b")
            if both.height:
                found.append(both.with_columns(a=pl.lit(a), b=pl.lit(b), value=pl.col("value") - pl.col("value_b")))
        if not found:
            return pl.DataFrame()
        each = pl.concat(found)
        effect = intervals(each, ["a", "b"], AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
        parts = per_patient(each, ["a", "b"]).partition_by("a", "b", as_dict=True)
        tests = [(*pair, *signed_rank(part["value"])) for pair, part in parts.items()]
        tested = pl.DataFrame(tests, schema=["a", "b", "rank_biserial", "p"], orient="row")
        tested = tested.with_columns(pl.Series("p_holm", holm(tested["p"]))).fill_nan(None)
        joined = effect.join(tested, on=["a", "b"]).rename({"value": "difference", "targets": "inputs"})
        return joined.sort("p", "a", "b", nulls_last=True).select(
            "a", "b", "difference", "low", "high", "patients", "p", "p_holm"
        )

    def histogram(self) -> pl.DataFrame:
        """How often each score was given, a line per model and kind of anchor."""
        counts = self.firsts.group_by("kind", "name", "score").len()
        names = counts.select("kind", "name").unique().join(pl.DataFrame({"score": range(1, 11)}), how="cross")
        full = names.join(counts, on=["kind", "name", "score"], how="left").with_columns(pl.col("len").fill_null(0))
        return full.sort("kind", "name", "score").pivot("score", index=["kind", "name"], values="len")

    def matrix(self) -> np.ndarray[Any, np.dtype[np.float64]]:
        """(raters, masks) First scores, NaN where a rater did not rate a mask."""
        table = self.firsts.sort("rater", "job").pivot("rater", index="job", values="score").drop("job")
        return table.cast(pl.Float64).to_numpy().T.astype(np.float64)

    def agreement(self) -> dict[str, float | None]:
        """How far raters agree, in words and numbers."""
        ratings = self.matrix()
        found = icc(ratings.T)
        return {
            "Krippendorff's alpha, ordinal": krippendorff_alpha(ratings, "ordinal"),
            "Krippendorff's alpha, interval": krippendorff_alpha(ratings, "interval"),
            "ICC(2,1)": None if found is None else found.single,
            "share of pairs within one point": within_one(ratings),
            "mean standard deviation of a mask": spread_per_unit(ratings),
        }

    def raters(self) -> pl.DataFrame:
        """A line per rater: how many, how fast, anchors told apart (d'), and second looks within one point."""
        lines = []
        for (rater,), mine in self.answers.group_by("rater", maintain_order=True):
            scored = mine.filter(pl.col("score").is_not_null())
            first = scored.filter(~pl.col("again"))
            kinds = {kind: first.filter(pl.col("kind") == kind)["score"] for kind in ("truth", "damaged")}
            both = scored.filter(pl.col("again")).join(first.select("job", "score"), on="job", suffix="_first")
            apart = (both["score"] - both["score_first"]).abs()
            anchors = all(len(scores) for scores in kinds.values())
            lines.append(
                {
                    "rater": rater,
                    "answers": len(mine),
                    "skipped": int(mine["skip"].is_not_null().sum()),
                    "seconds": mine["seconds"].median(),
                    "truth": kinds["truth"].mean(),
                    "damaged": kinds["damaged"].mean(),
                    "d_prime": d_prime(kinds["truth"].to_numpy(), kinds["damaged"].to_numpy()) if anchors else None,
                    "repeats": len(both),
                    "within_one": (apart <= 1).mean() if len(both) else None,
                }
            )
        return pl.DataFrame(lines, infer_schema_length=None).sort("rater")

    def correlations(self) -> pl.DataFrame:
        """Spearman's correlation of mean scores of models' masks with metrics, and the number of masks."""
        from scipy.stats import spearmanr

        masks = self.masks().filter(pl.col("kind") == "answer")
        lines = []
        for measure in MEASURES:
            scores = masks.filter(pl.col(measure).is_not_null())
            varied = scores.height > 2 and scores["value"].n_unique() > 1 and scores[measure].n_unique() > 1
            rho = float(spearmanr(scores["value"], scores[measure]).statistic) if varied else None
            if scores.height:
                lines.append({"metric": measure, "spearman": rho, "masks": scores.height})
        schema = {"metric": pl.String, "spearman": pl.Float64, "masks": pl.Int64}
        return pl.DataFrame(lines, schema=schema)

    def disagreeing(self, measure: str = "dice") -> pl.DataFrame:
        """The masks whose ranks by score and by a metric are farthest apart."""
        masks = self.masks().filter(pl.col("kind") == "answer", pl.col(measure).is_not_null())
        shares = [(pl.col(name).rank() / pl.len()).alias(f"rank_{name}") for name in ("value", measure)]
        apart = masks.with_columns(shares).with_columns(apart=pl.col("rank_value") - pl.col(f"rank_{measure}"))
        return (
            apart.sort(-pl.col("apart").abs(), "job")
            .head(MOST_APART)
            .select(
                pl.col("own").struct.field("dataset", "case"),
                "target",
                "prompter",
                "name",
                pl.col("value").alias("score"),
                measure,
            )
        )

    def clinical(self) -> pl.DataFrame:
        """Shares of the answers to the clinical question, a line per model and kind of anchor."""
        asked = self.answers.filter(~pl.col("again"), pl.col("clinical").is_not_null())
        total = pl.len().over("kind", "name")
        shares = (
            asked.with_columns(total=total).group_by("kind", "name", "clinical").agg(pl.len() / pl.col("total").first())
        )
        return (
            shares.sort("kind", "name", "clinical").pivot("clinical", index=["kind", "name"], values="len").fill_null(0)
        )

    def pairs(self) -> pl.DataFrame:
        """How often each model is preferred, and its strength by Bradley and Terry; ties count half."""
        asked = self.answers.filter(~pl.col("again"), pl.col("pair").is_not_null())
        names = sorted({*asked["name"], *asked["name_b"]})
        wins = np.zeros((len(names), len(names)))
        for a, b, answer in asked.select("name", "name_b", "pair").iter_rows():
            one, other = names.index(a), names.index(b)
            share = {"a": 1.0, "tie": 0.5, "b": 0.0}[answer]
            wins[one, other] += share
            wins[other, one] += 1 - share
        strengths = bradley_terry(wins)
        shown = wins.sum(axis=1) + wins.sum(axis=0)
        lines = [
            {"name": name, "preferred": wins[n].sum() / shown[n], "shown": int(shown[n]),
             "strength": None if strengths is None else float(strengths[n])}
            for n, name in enumerate(names)
        ]  # fmt: skip
        return pl.DataFrame(lines, infer_schema_length=None).sort(-pl.col("preferred"), "name")


Section = tuple[str, pl.DataFrame]
_SUFFIXES = (".csv", ".parquet")


def sections(found: Analysis) -> Iterator[Section]:
    """Headings with their tables; those without content are left out."""
    answers = found.answers
    if answers["score"].count():
        yield "Mean scores, with 95 % intervals over patients", found.means()
        yield "Differences on the same inputs (p: Wilcoxon, over patients; p_holm: corrected)", found.differences()
        yield "How often each score was given", found.histogram()
        agreed = found.agreement()
        yield (
            "Agreement of raters",
            pl.DataFrame(
                {"measure": list(agreed), "value": list(agreed.values())}, schema_overrides={"value": pl.Float64}
            ),
        )
        yield "Correlation of mean scores with metrics", found.correlations()
        yield "Masks whose score and Dice disagree most", found.disagreeing()
    if answers["pair"].count():
        yield "Which mask is better", found.pairs()
    if answers["clinical"].count():
        yield "Clinical question, shares of answers", found.clinical()
    yield "Raters: median seconds, mean scores of anchors, second looks", found.raters()


def export_answers(answers: pl.DataFrame, file: Path) -> None:
    """Write all answers, one line each, as CSV or Parquet.

    Raises:
        IntraBenchError: the file has another ending, or cannot be written.
    """
    if file.suffix not in _SUFFIXES:
        raise IntraBenchError(f"{file} must end in {' or '.join(_SUFFIXES)}")
    joined = answers.with_columns(pl.col("errors").list.join(" "))
    with writing(file), atomically(file) as part:
        write_csv(joined, part) if file.suffix == ".csv" else joined.write_parquet(part)
