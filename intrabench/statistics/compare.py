"""Compare two lines on the same targets with the same random numbers: how much better B is than A, and where.

`contests` are the pairs of lines that ``intrabench compare A B`` compares, for two runs, two models or two prompters.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.registry.canonical import Column
from intrabench.results import labels
from intrabench.results.current import IDENTITY, MODEL
from intrabench.results.parts import with_patients
from intrabench.results.selection import EVERYTHING, Selection
from intrabench.results.spellings import two_spellings
from intrabench.specs.specs import nearest
from intrabench.statistics.aggregate import AGGREGATIONS, Aggregation
from intrabench.statistics.bca import LEVEL
from intrabench.statistics.evaluation import selected_rows
from intrabench.statistics.infinite import whole, with_parts
from intrabench.statistics.measures import best
from intrabench.statistics.notes import shares
from intrabench.statistics.resample import AVERAGE, FEW, as_one_dataset
from intrabench.statistics.scores import TARGET, UNIT, of_targets
from intrabench.statistics.significance import (
    differences,
    holm,
    paired_values,
    patient_differences,
    per_patient,
    signed_rank,
)
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.statistic import Statistic
from intrabench.statistics.superpixels import prompted

SIZES = ("small", "medium", "large")


@dataclass(frozen=True)
class Settings(Statistic):
    """Settings of a comparison.

    tie: differences up to this are ties (in units of the metric). most: number of targets shown at each extreme.
    """

    tie: float = 0.01
    most: int = 5


@dataclass(frozen=True)
class Comparison:
    """Differences B - A on common units (`UNIT`); positive means that B is better, whatever the metric.

    datasets: a row per data set and `AVERAGE`: `difference`, its interval of 95 %, `low` to `high`, `false`, the
    probability that the claim "B is better than A" is false, `fewest` (as `differences`) and `BESIDE`: HD95 of a missed
    target is infinite, and so is a difference from it, of which there is neither interval nor probability; if both are
    (`both_infinite`), it is a tie without a difference. `sd_a`, `sd_b` and `correlation` of the means of patients, over
    finite values, which the published formula takes (null for `AVERAGE`); `units`, `wins`, `ties` and `losses` of B
    among them, and `superiority`, the share of wins plus half the ties; `rank_biserial` (-1 to 1) and `p` of the signed
    ranks of per-patient differences (`patient_differences`), `p_holm` corrected over data sets (null of fewer
    patients than `FEW`). Those of `AVERAGE` are of the patients of all data sets together, and are not corrected.
    sizes: a row per third of the targets by volume, `from_ml` to `to_ml`; all targets have equal weight.
    extremes: the targets that differ most, mean over seeds, the best for B first.
    only_a, only_b: units with a value on one side only; they are not compared. shared: what the two lines have in
    common, by column. adapted: of A and of B, which prompts were converted or refused, and in how many sessions; empty
    if that is the same. pixels: all are photographs or videos, whose targets have pixels; one counts as 0.001 ml.
    selection: which sessions were chosen, in words; empty if all were.
    """

    settings: Settings
    datasets: pl.DataFrame
    sizes: pl.DataFrame
    extremes: pl.DataFrame
    only_a: int
    only_b: int
    warnings: tuple[str, ...]
    shared: Mapping[str, str] = field(default_factory=dict)
    adapted: tuple[str, str] = ("", "")
    pixels: bool = False
    selection: str = ""

    @property
    def worse(self) -> bool:
        """Whether B is significantly worse: by the interval of the average, or by ranks if differences are infinite."""
        return self._verdict < 0

    @property
    def better(self) -> bool:
        """Whether B is significantly better."""
        return self._verdict > 0

    @property
    def by_ranks(self) -> bool:
        """Whether differences are infinite, so that signed ranks of patients decide and no interval does."""
        return bool(self._average.get("infinite"))

    @property
    def _verdict(self) -> float:
        """Below 0 where B is worse, above 0 where it is better; 0 of too few patients."""
        row = self._average
        if self.by_ranks:
            return float(row["rank_biserial"]) if row["p"] is not None and row["p"] < 1 - LEVEL else 0.0
        low, high = row.get("low"), row.get("high")
        return 0.0 if low is None or high is None or low <= 0 <= high else float(low)

    @cached_property
    def _average(self) -> Mapping[str, Any]:
        """The row of the average, empty if a data set has no difference."""
        return next(self.datasets.filter(pl.col("dataset") == AVERAGE).iter_rows(named=True), {})


def compare(
    a: pl.DataFrame, b: pl.DataFrame, settings: Settings | None = None, names: tuple[str, str] = ("A", "B")
) -> Comparison:
    """Compare two lines, given as the rows of each; warnings call them by their names.

    Raises:
        IntraBenchError: a side has several lines, or there is no common unit.
    """
    settings = settings or Settings()
    values_a, values_b, units = _paired(a, b, settings)
    if units.is_empty():
        raise IntraBenchError("the two lines have no target and seed in common; run both on the same data and seeds")
    datasets = _per_dataset(units, settings)
    warnings = []
    done = tuple(_adapted(side, units, settings) for side in (a, b))
    if different := done[0] != done[1]:
        details = "; ".join(f"{name}: {text or 'none'}" for name, text in zip(names, done, strict=True))
        warnings.append(f"prompts were adapted differently: {details}")
    for name, side in zip(names, (a, b), strict=True):
        warnings += [f"{name}: {text}" for text in _cut_short(side, units, settings)]
    few = datasets.filter(pl.col("patients") < FEW, pl.col("dataset") != AVERAGE).select("dataset", "patients")
    if not few.is_empty():
        details = ", ".join(f"{name} ({patients})" for name, patients in few.iter_rows())
        warnings.append(f"fewer than {FEW} patients, too few for a conclusion: {details}")
    return Comparison(
        settings,
        datasets,
        _per_size(units, settings),
        _extremes(units, settings.most),
        len(values_a) - len(units),
        len(values_b) - len(units),
        tuple(warnings),
        adapted=(done[0], done[1]) if different else ("", ""),
    )


def paired(a: pl.DataFrame, b: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """The units that two lines have in common, as `paired_values`. There may be none."""
    return _paired(a, b, settings)[-1]


def _paired(a: pl.DataFrame, b: pl.DataFrame, settings: Settings) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """The values of both lines, and what they have in common."""
    values_a, values_b = _values(with_patients(a, b), "A", settings), _values(with_patients(b, a), "B", settings)
    return values_a, values_b, _differences(values_a, values_b, settings)


def _cut_short(rows: pl.DataFrame, units: pl.DataFrame, settings: Settings) -> list[str]:
    """How many of the sessions that are compared ended before the clicks that their numbers are of."""
    found = settings.cut_short(_compared(rows, units), ["_side"])
    return [f"{one['note']}, in {shares([one['sessions'] / one['of']])}" for one in found.iter_rows(named=True)]


def _adapted(rows: pl.DataFrame, units: pl.DataFrame, settings: Settings) -> str:
    """What was done to prompts in the sessions that are compared, and in how many of them."""
    found = settings.adapted(_compared(rows, units), ["_side"]).sort("note")
    return ", ".join(f"{one['note']} in {shares([one['sessions'] / one['of']])}" for one in found.iter_rows(named=True))


def _compared(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """The rows of the sessions that are compared, as one group."""
    return of_targets(rows, units.select(UNIT)).with_columns(_side=0)


def _values(rows: pl.DataFrame, side: str, settings: Settings) -> pl.DataFrame:
    """The values of one line, one row per unit."""
    scored = settings.measured(rows).filter(pl.col("value").is_not_null())
    if scored.select(UNIT).is_duplicated().any():
        raise IntraBenchError(
            f"{side} contains several lines; choose one, for example by its model, prompter and protocol"
        )
    return scored.select(*UNIT, "patient", "target_ml", "value", "failed")


def _differences(a: pl.DataFrame, b: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """Common units; the volume of a target is not known of a session that was never played."""
    units = paired_values(a, b, best(settings.metric))
    return units.with_columns(target_ml=pl.coalesce("target_ml", "target_ml_right")).drop("target_ml_right")


def _per_dataset(units: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """`Comparison.datasets`."""
    effect = differences(units.with_columns(pair=0), ["pair"], settings.how).drop("pair")
    counts = _counts(pl.concat([units, units.with_columns(dataset=pl.lit(AVERAGE))]), "dataset", settings.tie)
    patients = patient_differences(units)
    parts = patients.partition_by("dataset", as_dict=True)
    tests = [(name, *signed_rank(one["difference"])) for (name,), one in parts.items()]
    corrected = holm([p for *_, p in tests])
    together = signed_rank(patients["difference"])
    tested = pl.DataFrame(
        [*((*one, p) for one, p in zip(tests, corrected, strict=True)), (AVERAGE, *together, together[1])],
        schema=["dataset", "rank_biserial", "p", "p_holm"],
        orient="row",
    ).fill_nan(None)
    joined = effect.join(_spreads(units), on="dataset", how="left", maintain_order="left")
    joined = joined.join(counts, on="dataset", how="left", maintain_order="left")
    return joined.join(tested, on="dataset", how="left", maintain_order="left").rename({"value": "difference"})


def _spreads(units: pl.DataFrame) -> pl.DataFrame:
    """By data set `sd_a`, `sd_b` and `correlation` of the means of patients, over the units with finite values."""
    finite = units.filter(pl.col("value").is_finite())
    both = per_patient(finite, name="a").join(per_patient(finite, name="b"), on=["dataset", "patient"])
    return (
        both.sort("dataset", "patient")
        .group_by("dataset")
        .agg(sd_a=pl.col("a").std(), sd_b=pl.col("b").std(), correlation=pl.corr("a", "b").fill_nan(None))
    )


def _per_size(units: pl.DataFrame, settings: Settings) -> pl.DataFrame:
    """`Comparison.sizes`; the patients of all data sets are drawn together."""
    targets = units.filter(pl.col("target_ml").is_not_null()).group_by(TARGET).agg(pl.col("target_ml").first())
    rank = pl.col("target_ml").rank("min") - 1  # equal volumes belong to the same third
    targets = targets.with_columns(size=(rank * len(SIZES)) // pl.len())
    bounds = targets.group_by("size").agg(
        pl.col("target_ml").min().alias("from_ml"), pl.col("target_ml").max().alias("to_ml")
    )
    sized = units.drop("target_ml").join(targets, on=TARGET, nulls_equal=True).sort(UNIT)  # sums depend on the order
    effect = differences(as_one_dataset(sized), ["size"], AGGREGATIONS["pooled"]).filter(pl.col("dataset") == "all")
    joined = bounds.join(effect, on="size").join(_counts(sized, "size", settings.tie), on="size").sort("size")
    names = pl.col("size").replace_strict(range(len(SIZES)), SIZES, return_dtype=pl.String)
    return joined.with_columns(names).drop("dataset").rename({"value": "difference"})


def _extremes(units: pl.DataFrame, most: int) -> pl.DataFrame:
    """`Comparison.extremes`."""
    parts = pl.col("target_ml").first(), pl.col("a", "b").mean(), pl.col("net", "others").mean()
    means = with_parts(units).group_by(TARGET).agg(parts)
    means = means.select(*TARGET, "target_ml", "a", "b", difference=whole(pl.col("net"), pl.col("others")))
    better, worse = means.filter(pl.col("difference") > 0), means.filter(pl.col("difference") < 0)
    best = better.sort("difference", *TARGET, descending=[True, *[False] * len(TARGET)]).head(most)
    return pl.concat([best, worse.sort("difference", *TARGET).head(most).reverse()])


def _counts(units: pl.DataFrame, by: str, tie: float) -> pl.DataFrame:
    """Counts of units and of wins, ties and losses, per value of a column."""
    difference = pl.col("difference")
    counts = units.group_by(by).agg(
        pl.len().alias("units"),
        (difference > tie).sum().alias("wins"),
        (difference.abs() <= tie).sum().alias("ties"),
        (difference < -tie).sum().alias("losses"),
        pl.col("both_infinite").sum(),
    )
    return counts.with_columns(superiority=(pl.col("wins") + pl.col("ties") / 2) / pl.col("units"))


@dataclass(frozen=True)
class Contest:
    """Two lines to be compared.

    shared: what the two have in common, by column: the prompter or the model, and what else tells contests apart.
    left_out: which older sessions do not count. unlike: that the two sides have other weights, although their names
    do not say so.
    """

    shared: Mapping[str, str]
    a: pl.DataFrame
    b: pl.DataFrame
    left_out: tuple[str, ...] = ()
    unlike: str = ""

    @property
    def head(self) -> str:
        """`shared` in words."""
        return ", ".join(self.shared.values())


def contests(
    folder: Path,
    a: str,
    b: str,
    how: Aggregation = AGGREGATIONS["protocol"],
    round: int | None = None,
    selection: Selection = EVERYTHING,
) -> list[Contest]:
    """All pairs of lines that differ only in A and B.

    a, b: results folders; or models or prompters, as written in tables, in the results of `folder`. Lines of two runs
    are compared if prompter and name of the model are equal, whatever the model's version and weights. how: of the
    averages, which protocols that average otherwise can be compared by only if it was chosen. round: sessions whose
    prompts the model refuses by then do not count; None: by their end. selection: of the sessions of each folder.

    Raises:
        IntraBenchError: a name is unknown, both are the same, or there is no pair.
    """
    if a == b or (_is_results(a) and _is_results(b) and Path(a).samefile(b)):
        raise IntraBenchError(f"{a} and {b} are the same; give two results folders, models or prompters that differ")
    if folders_of(folder, a, b) != [folder]:
        shared: tuple[str, ...] = ("prompter", "model", "dtype", "strict")
        read = [_read(Path(one), selection) for one in (a, b)]
        sides, left_out = [rows for rows, _ in read], [text for _, texts in read for text in texts]
        check_mixable(pl.concat(sides, how="diagonal"), how=how)
    else:
        rows, left_out = _read(folder, selection)
        column, sides = _sides(rows, a, b, folder)
        shared = tuple(
            name for name in IDENTITY if name not in (MODEL if column == "model" else ("prompter", "weights"))
        )
        left_out += two_spellings(sorted((a, b)))
    refused = [_refused(side, round) for side in sides]
    played = [side.join(left, on="session", how="anti") for side, left in zip(sides, refused, strict=True)]
    pairs = _pairs((a, b), played, shared)
    if not pairs and {"prompter", "model"} <= set(shared):  # of two runs: other weights of the user's are other names
        pairs = _pairs((a, b), [side.with_columns(model=pl.col("_model")) for side in played], shared)
    notes = (*left_out, *_inapplicable((a, b), sides, refused, shared))
    found = [replace(one, left_out=notes) for one in pairs]
    if not found:
        raise IntraBenchError(f"{a} and {b} have no line in common; run both with the same prompters and models")
    return found


def contests_of_models(
    folder: Path, metric: str = "", round: int | None = None, selection: Selection = EVERYTHING
) -> tuple[list[tuple[str, str, Contest]], list[str]]:
    """Every two models of a results folder with what they have in common, and what of the folder is left out.

    metric: superpixels count only if they have a value of it. round, selection: as of `contests`.

    Raises:
        IntraBenchError: no two models were run with the same prompter.
    """
    read, left_out = _read(folder, selection)
    rows = prompted(read, metric or "dice")
    played = rows.join(_refused(rows, round), on="session", how="anti")
    shared = tuple(name for name in IDENTITY if name not in MODEL)
    models = labels.names(played, "model")
    sides = {name: labels.rows_named(played, "model", name) for name in models}
    found = [(a, b, one) for a, b in combinations(models, 2) for one in _pairs((a, b), [sides[a], sides[b]], shared)]
    if not found:
        raise IntraBenchError(f"{folder} has no two models with the same prompter; run another model, or give A and B")
    return found, [*left_out, *two_spellings(models)]


def folders_of(folder: Path, a: str, b: str) -> list[Path]:
    """The results folders that `contests` reads: A and B if both are some, else `folder`."""
    return [Path(a), Path(b)] if _is_results(a) and _is_results(b) else [folder]


def _sides(rows: pl.DataFrame, a: str, b: str, folder: Path) -> tuple[str, list[pl.DataFrame]]:
    """Whether two models or two prompters are compared, and the rows of each."""
    columns: tuple[Column, ...] = ("model", "prompter")
    for column in columns:
        sides = [labels.rows_named(rows, column, one) for one in (a, b)]
        if not any(side.is_empty() for side in sides):
            if set(sides[0][column]) & set(sides[1][column]):
                raise IntraBenchError(f"{a} and {b} are two names of one {column}; give two that differ")
            return column, sides
    raise IntraBenchError(_unknown(rows, a, b, folder))


def _read(folder: Path, selection: Selection) -> tuple[pl.DataFrame, list[str]]:
    """The rows that count, with models as people call them, and what is left out."""
    rows, left_out = selected_rows(folder, selection)
    return rows.with_columns(labels.MODEL, _model="model"), left_out


def _pairs(names: Sequence[str], sides: Sequence[pl.DataFrame], shared: Sequence[str]) -> list[Contest]:
    groups = [side.partition_by(list(shared), as_dict=True) for side in sides]
    common = sorted((key for key in groups[0] if key in groups[1]), key=str)
    main = "prompter" if "prompter" in shared else "model"

    def fields_of(key: tuple[Any, ...]) -> dict[str, str]:
        return {name: "" if value is None else str(value) for name, value in zip(shared, key, strict=True)}

    varied = [name for at, name in enumerate(shared) if len({key[at] for key in common}) > 1 or name == main]
    models = Counter(
        model for model, _ in {(one.get("model"), one.get("weights_sha256")) for one in map(fields_of, common)}
    )
    found = []
    for key in common:
        fields = fields_of(key)
        head = {name: fields[name] for name in varied if fields[name] and name != "weights_sha256"}
        if models[fields.get("model")] > 1 and fields.get("weights_sha256"):  # its name alone does not tell them apart
            head["weights"] = fields["weights_sha256"][:8]
        a, b = (group[key] for group in groups)
        found.append(Contest(head, a, b, unlike=_unlike(names, a, b) if {"prompter", "model"} <= set(shared) else ""))
    return found


def _refused(rows: pl.DataFrame, round: int | None) -> pl.DataFrame:
    """The sessions whose prompts the model does not take, be it only the corrections, and why."""
    until = rows if round is None else rows.filter(pl.col("round") <= round)
    return until.filter(pl.col("status") == "not_applicable").unique("session").select("session", why="error")


def _inapplicable(
    names: Sequence[str], sides: Sequence[pl.DataFrame], refused: Sequence[pl.DataFrame], shared: Sequence[str]
) -> list[str]:
    """A sentence for each line of which one side takes no prompt, or no correction."""
    main = "prompter" if "prompter" in shared else "model"
    lines = []
    for name, side, left, other in zip(names, sides, refused, reversed(sides), strict=True):
        both = side.join(other, on=list(shared), how="semi", nulls_equal=True)
        for head, line in ((str(key), line) for (key,), line in both.group_by(main, maintain_order=True)):
            found = line.select("session").unique(maintain_order=True).join(left, on="session", maintain_order="left")
            if len(found) == line["session"].n_unique():
                reasons = [*map(str, found["why"].drop_nulls()), "it does not take the prompts"]
                lines.append(f"not compared: {head}, not applicable to {name}: {reasons[0]}")
    return sorted(lines)


def _unlike(names: Sequence[str], *sides: pl.DataFrame) -> str:
    """That one model has other weights in the two runs."""
    hashes = [", ".join(sorted(hash[:8] for hash in side["weights_sha256"].unique() if hash)) for side in sides]
    text = " and ".join(f"{hash or 'none'} in {name}" for name, hash in zip(names, hashes, strict=True))
    return "" if hashes[0] == hashes[1] else f"the weights are not the same: {text}"


def _is_results(place: str) -> bool:
    return (Path(place) / "rows").is_dir()


def _unknown(rows: pl.DataFrame, a: str, b: str, folder: Path) -> str:
    words = sorted({*labels.names(rows, "model"), *labels.names(rows, "prompter")})
    for one in (a, b):
        if one not in words:
            return (
                f"{one!r} is neither a results folder nor a model or prompter in {folder}{nearest(one, words)}; "
                f"it has {', '.join(words)}"
            )
    return f"{a} and {b} are a model and a prompter; give two models or two prompters"
