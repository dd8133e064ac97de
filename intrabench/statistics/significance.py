"""Tests of paired differences, in addition to the intervals of effects."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from intrabench.statistics.bca import Array


def holm(p: ArrayLike) -> Array:
    """p-values corrected for multiple tests (Holm 1979), in the given order."""
    given = np.asarray(p, float)
    order = np.argsort(given)
    stepped = np.maximum.accumulate(given[order] * np.arange(len(given), 0, -1))
    corrected = np.empty_like(given)
    corrected[order] = np.minimum(stepped, 1)
    return corrected


def per_patient(values: pl.DataFrame, by: Sequence[str] = (), name: str = "value") -> pl.DataFrame:
    """The mean of a column over the targets of a case, then over the cases of a patient, per `by` and data set."""
    mean = pl.col(name).mean()
    return values.group_by(*by, "dataset", "patient", "case").agg(mean).group_by(*by, "dataset", "patient").agg(mean)


def signed_rank(differences: ArrayLike) -> tuple[float, float]:
    """Matched-pairs rank-biserial correlation (Kerby 2014) and p of Wilcoxon's signed rank test; zeros are left out."""
    from scipy.stats import rankdata, wilcoxon

    given = np.asarray(differences, float)
    given = given[given != 0]
    if not given.size:
        return 0.0, 1.0
    ranks = rankdata(np.abs(given))
    return float(ranks @ np.sign(given) / ranks.sum()), float(wilcoxon(given).pvalue)
