"""What raters said: means, differences, agreement, anchors, and how scores go with Dice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.people.rating.answers import Answers, RaterStatus
from intrabench.people.rating.inputs import INPUT
from intrabench.people.rating.study import ANCHORS, Study
from intrabench.results.spreadsheet import write_csv
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.agreement import AGREEMENT, bradley_terry, d_prime
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
    "comment": pl.String,
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


_STATUS: dict[str, Any] = {
    **{"rater": pl.String, "training": pl.String, "answered": pl.Int64, "of": pl.Int64, "skipped": pl.Int64},
    **{"comments": pl.Int64, "minutes": pl.Float64, "seconds_each": pl.Float64, "first": pl.String, "last": pl.String},
}


def status(study: Study) -> tuple[pl.DataFrame, str | None]:
    """How far each rater is, and when the study was closed, in UTC; None if it is open.

    answered: with what was skipped. minutes: of all answers, without pauses; seconds_each: by their number. first,
    last: when answers came, in UTC. Answers in a bundle count once they are imported.

    Raises:
        IntraBenchError: the answers cannot be read.
    """
    stored = Answers(study.answers_file) if study.answers_file.exists() else None
    try:
        found = {rater: stored.status(rater) if stored else RaterStatus() for rater in study.raters}
        closed = stored.closed if stored else None
    finally:
        if stored:
            stored.close()
    lines = [
        {
            "rater": rater,
            "training": "done" if one.trained or one.answers else "open" if study.training(rater) else "none",
            **{
                "answered": one.answers,
                "of": len(study.order(rater)),
                "skipped": one.skipped,
                "comments": one.comments,
            },
            "minutes": one.seconds / 60,
            "seconds_each": one.seconds / one.answers if one.answers else None,
            **{"first": one.first, "last": one.last},
        }
        for rater, one in found.items()
    ]
    return pl.DataFrame(lines, schema=_STATUS), closed


@dataclass(frozen=True)
class Analysis:
    """The answers of a study that count.

    progress: of each rater, how many answers were given of how many. finished: whether raters who have not given all
    are left out; else they count with what they gave.
    """

    answers: pl.DataFrame
    progress: Mapping[str, tuple[int, int]]
    finished: bool = False

    @classmethod
    def of(cls, study: Study, finished: bool = False) -> Analysis:
        """What a study has.

        Raises:
            IntraBenchError: there is no answer that counts, or answers do not fit the study.
        """
        answers = long(study)
        given = Counter(answers["rater"])
        found = cls(answers, {rater: (given[rater], len(study.order(rater))) for rater in study.raters}, finished)
        if not finished:
            return found
        kept = answers.filter(pl.col("rater").is_in([*found._unfinished]).not_())
        if kept.is_empty():
            raise IntraBenchError(f"no rater of {study.folder} has finished; omit --finished")
        return replace(found, answers=kept)

    @property
    def _unfinished(self) -> dict[str, str]:
        return {rater: f"{given} of {asked}" for rater, (given, asked) in self.progress.items() if given < asked}

    @property
    def remark(self) -> str:
        """Who has not finished, and whether they count; empty if everybody has."""
        if not self._unfinished:
            return ""
        who = ", ".join(f"{rater} ({given} answers)" for rater, given in self._unfinished.items())
        return f"not finished and {'left out' if self.finished else 'counted with what they gave'}: {who}"

    def firsts(self, question: str = "score", anchors: bool = False) -> pl.DataFrame:
        """The answers to a question at the first look at each mask: those that count in numbers of the study.

        anchors: also those at anchors, which show whether raters tell good from bad, and would make them agree more.
        """
        asked = self.answers.filter(~pl.col("again"), pl.col(question).is_not_null())
        return asked if anchors else asked.filter(pl.col("kind").is_in(ANCHORS).not_())

    def masks(self, anchors: bool = False) -> pl.DataFrame:
        """One line per mask: the mean score of its raters, `value`, as statistics of sessions take it."""
        return _by_mask(self.firsts(anchors=anchors).with_columns(value="score"))

    def means(self) -> pl.DataFrame:
        """A line per model and kind of anchor, the best first: mean score over masks, interval over patients."""
        masks = self.masks(anchors=True)
        found = intervals(masks, ["kind", "name"], AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
        counts = masks.group_by("kind", "name").agg(pl.len().alias("masks"), pl.col("raters").sum().alias("scores"))
        found = found.join(counts, on=["kind", "name"])
        return (
            found.rename({"value": "score"})
            .sort(pl.col("kind").is_in(ANCHORS), -pl.col("score"))
            .select("kind", "name", "score", "low", "high", "masks", "scores", "patients")
        )

    def differences(self) -> pl.DataFrame:
        """Every two models on the same inputs: mean difference with its interval, p of Wilcoxon, corrected by Holm.

        A difference is of two scores of one rater, so that it does not depend on who rated only one of the masks.
        """
        scores = self.firsts()
        found = []
        for a, b in combinations(sorted(scores["name"].unique()), 2):
            one, other = (scores.filter(pl.col("name") == name) for name in (a, b))
            both = one.join(other.select(*INPUT, "rater", "score"), on=[*INPUT, "rater"], suffix="_b")
            if both.height:
                apart = both.with_columns(value=pl.col("score") - pl.col("score_b"))
                found.append(_by_mask(apart).with_columns(a=pl.lit(a), b=pl.lit(b)))
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
        counts = self.firsts(anchors=True).group_by("kind", "name", "score").len()
        names = counts.select("kind", "name").unique().join(pl.DataFrame({"score": range(1, 11)}), how="cross")
        full = names.join(counts, on=["kind", "name", "score"], how="left").with_columns(pl.col("len").fill_null(0))
        return full.sort("kind", "name", "score").pivot("score", index=["kind", "name"], values="len")

    def agreement(self) -> pl.DataFrame:
        """How far raters agree on masks of models, and with `anchors`: a line per measure, with its interval of 95 %.

        The interval is over patients. masks, raters, patients: those that enter the measure.
        """
        lines = []
        for anchors in (False, True):
            scores = self.firsts(anchors=anchors)
            if anchors and not scores["kind"].is_in(ANCHORS).any():
                break
            number = pl.col("rater").rank("dense")  # what a rater is called may be the name of another column
            masks = (
                scores.with_columns(number)
                .pivot("rater", index=["job", "dataset", "patient"], values="score")
                .sort("job")
            )
            ratings = masks.drop("job", "dataset", "patient").cast(pl.Float64).to_numpy().T
            patients = masks.select(pl.format("{}/{}", "dataset", "patient")).to_series()
            for measure, sums_of in AGREEMENT.items():
                sums = sums_of(ratings)
                raters = (~np.isnan(ratings[:, sums.enters])).any(axis=1)
                counts = (int(sums.enters.sum()), int(raters.sum()), patients.filter(sums.enters).n_unique())
                kind = "with" if anchors else "without"
                lines.append((measure, kind, *sums.interval(patients.to_list()), *counts))
        return pl.DataFrame(lines, schema=_AGREEMENT, orient="row")

    def raters(self) -> pl.DataFrame:
        """A line per rater: how many, how fast, anchors told apart (d'), and second looks within one point."""
        lines = []
        firsts = self.firsts(anchors=True)
        for rater, (given, asked) in self.progress.items():
            mine, first = (frame.filter(pl.col("rater") == rater) for frame in (self.answers, firsts))
            kinds = {kind: first.filter(pl.col("kind") == kind)["score"] for kind in ANCHORS}
            again = mine.filter(pl.col("again"), pl.col("score").is_not_null())
            both = again.join(first.select("job", "score"), on="job", suffix="_first")
            apart = (both["score"] - both["score_first"]).abs()
            truth, damaged = (scores.to_numpy() for scores in kinds.values())
            lines.append(
                {
                    "rater": rater,
                    "asked": asked,
                    "answers": given,
                    "skipped": int(mine["skip"].is_not_null().sum()),
                    "seconds": mine["seconds"].median(),
                    **{kind: scores.mean() for kind, scores in kinds.items()},
                    "d_prime": d_prime(truth, damaged) if len(truth) and len(damaged) else None,
                    "repeats": len(both),
                    "within_one": (apart <= 1).mean() if len(both) else None,
                }
            )
        return pl.DataFrame(lines, infer_schema_length=None).sort("rater")

    def correlations(self) -> pl.DataFrame:
        """Spearman's correlation of mean scores of models' masks with metrics, and the number of masks."""
        from scipy.stats import spearmanr

        masks = self.masks()
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
        masks = self.masks().filter(pl.col(measure).is_not_null())
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
        asked = self.firsts("clinical", anchors=True)
        total = pl.len().over("kind", "name")
        shares = (
            asked.with_columns(total=total).group_by("kind", "name", "clinical").agg(pl.len() / pl.col("total").first())
        )
        return (
            shares.sort("kind", "name", "clinical").pivot("clinical", index=["kind", "name"], values="len").fill_null(0)
        )

    def pairs(self) -> pl.DataFrame:
        """How often each model is preferred, and its strength by Bradley and Terry; ties count half."""
        asked = self.firsts("pair")
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


def _by_mask(scores: pl.DataFrame) -> pl.DataFrame:
    """The mean over raters of each mask's `value`, as statistics of sessions take it, of all data sets together."""
    groups = ["name", "kind", *INPUT, "job", "label", "patient", *MEASURES]
    means = scores.group_by(groups, maintain_order=True).agg(pl.col("value").mean(), pl.len().alias("raters"))
    named = means.with_columns(own=pl.struct("dataset", "case"), failed=False, not_applicable=False)
    return as_one_dataset(named)


_AGREEMENT: dict[str, Any] = {
    **{"measure": pl.String, "anchors": pl.String, "value": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    **dict.fromkeys(("masks", "raters", "patients"), pl.Int64),
}

Section = tuple[str, pl.DataFrame]
AGREED = (
    "Agreement of raters without anchors, and with them (Krippendorff's alpha; ICC of masks that all scored; 95 % "
    "intervals over patients)"
)
_SUFFIXES = (".csv", ".parquet")


def sections(found: Analysis) -> Iterator[Section]:
    """Headings with their tables; those without content are left out. The first one has the remark of the analysis."""
    first, *others = _sections(found)
    yield "; ".join(filter(None, [first[0], found.remark])), first[1]
    yield from others


def _sections(found: Analysis) -> Iterator[Section]:
    answers = found.answers
    if answers["score"].count():
        yield "Mean scores, with 95 % intervals over patients", found.means()
        yield "Differences on the same inputs (p: Wilcoxon, over patients; p_holm: corrected)", found.differences()
        yield "How often each score was given", found.histogram()
        yield AGREED, found.agreement()
        yield "Correlation of mean scores with metrics, without anchors", found.correlations()
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
