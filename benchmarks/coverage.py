"""How often intervals of 95 % hold the true mean, for few patients with skewed scores and two scans each.

Run with `python -m benchmarks coverage`. A score is Dice-like: beta distributed, with a mean of 0.8; in the third kind
all scans of one patient in ten fail and have 0. Scans of a patient are correlated by 0.9 (a Gaussian copula). Every
simulated study is a line of its own, so all of them take the way of real rows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy.special import ndtr
from scipy.stats import beta

from benchmarks.comparison import MINIATURE
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.bca import percentiles
from intrabench.statistics.resample import AVERAGE, intervals, resample

SIZES = (6,) if MINIATURE else (6, 8, 10, 20, 31)
CORRELATION = 0.9
STUDIES = 20 if MINIATURE else 2000


@dataclass(frozen=True)
class Kind:
    """A distribution of scores: beta(a, b), or 0 for a share of the patients."""

    a: float
    b: float
    failing: float = 0.0

    @property
    def mean(self) -> float:
        """The true mean."""
        return (1 - self.failing) * self.a / (self.a + self.b)


MILD = Kind(8, 2)
KINDS = {"mild skew": MILD, "strong skew": Kind(2, 0.5), "one in ten fails": Kind(8, 2, 0.1)}


def studies(kind: Kind, patients: int, *, count: int = STUDIES, datasets: int = 1, scans: int = 2) -> pl.DataFrame:
    """Scores (`intrabench.statistics.scores`) of `count` studies, the column ``model``, on independent data sets."""
    random = np.random.default_rng(patients)
    size = (count, datasets, patients, scans)
    common, own = random.normal(size=(*size[:3], 1)), random.normal(size=size)
    value = beta.ppf(ndtr(np.sqrt(CORRELATION) * common + np.sqrt(1 - CORRELATION) * own), kind.a, kind.b)
    value *= random.random((*size[:3], 1)) >= kind.failing
    study, dataset, patient, scan = (axis.ravel() for axis in np.indices(size))
    frame = pl.DataFrame({"model": study, "dataset": dataset, "patient": patient, "scan": scan, "value": value.ravel()})
    return frame.with_columns(
        pl.format("d{}", "dataset").alias("dataset"),
        pl.format("{}", "patient").alias("patient"),
        case=pl.format("{}/{}", "patient", "scan"),
        target=pl.lit("x.1"),
        label=pl.lit("x"),
        failed=pl.lit(False),
        not_applicable=pl.lit(False),
    ).drop("scan")


def coverage(kind: Kind, scored: pl.DataFrame) -> float:
    """The share of studies whose interval of the average holds the true mean."""
    found = intervals(scored, ["model"], AGGREGATIONS["protocol"]).filter(dataset=AVERAGE)
    return _held(kind, found["low"], found["high"])


def plain(kind: Kind, scored: pl.DataFrame) -> float:
    """The same for the plain percentiles of draws."""
    ends = percentiles(resample(scored, ["model"], AGGREGATIONS["protocol"]).average())
    return _held(kind, *map(pl.Series, ends))


def by_scans(scored: pl.DataFrame) -> pl.DataFrame:
    """The scores, as if each scan were of its own patient."""
    return scored.with_columns(patient="case")


def _held(kind: Kind, low: pl.Series, high: pl.Series) -> float:
    return float(np.mean((low.to_numpy() <= kind.mean) & (high.to_numpy() >= kind.mean)))


def main() -> None:
    """Print a line per kind of scores and number of patients."""
    for name, kind in KINDS.items():
        for patients in SIZES:
            scored = studies(kind, patients)
            shares = coverage(kind, scored), plain(kind, scored), plain(kind, by_scans(scored))
            told = "ours {:.1%}, plain percentiles {:.1%}, and by scans {:.1%}".format(*shares)
            print(f"  {name}, {patients} patients: {told}", flush=True)
    for patients in (6, 10):
        share = coverage(MILD, studies(MILD, patients, datasets=5))
        print(f"  average of 5 data sets with {patients} patients each, mild skew: {share:.1%}", flush=True)


if __name__ == "__main__":
    main()
