"""Tests of paired differences, in addition to the intervals of effects."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import polars as pl
from numpy.typing import ArrayLike

from intrabench.mask import Floats
from intrabench.statistics.resample import FEW


def holm(p: ArrayLike) -> Floats:
    """p-values corrected for multiple tests (Holm 1979), in the given order; NaN is no test, and stays."""
    corrected = np.array(p, float)
    tests = np.flatnonzero(~np.isnan(corrected))
    order = tests[np.argsort(corrected[tests])]
    stepped = np.maximum.accumulate(corrected[order] * np.arange(len(order), 0, -1))
    corrected[order] = np.minimum(stepped, 1)
    return corrected


def per_patient(values: pl.DataFrame, by: Sequence[str] = (), name: str = "value") -> pl.DataFrame:
    """The mean of a column over the targets of a case, then over the cases of a patient, per `by` and data set."""
    mean = pl.col(name).mean()
    return values.group_by(*by, "dataset", "patient", "case").agg(mean).group_by(*by, "dataset", "patient").agg(mean)


def signed_rank(differences: ArrayLike) -> tuple[float, float]:
    """Matched-pairs rank-biserial correlation (Kerby 2014) and p of Wilcoxon's signed rank test; zeros are left out.

    p: NaN of fewer than `FEW` differences.
    """
    return signed_ranks([differences])[0]


def signed_ranks(many: Sequence[ArrayLike]) -> list[tuple[float, float]]:
    """`signed_rank` of each; those of one length are tested at once, which is faster, if no test can be exact."""
    from scipy.stats import rankdata, wilcoxon

    found = [(0.0, 1.0)] * len(many)
    alike: dict[tuple[int, int], list[tuple[int, Floats]]] = {}
    for number, differences in enumerate(many):
        given = np.asarray(differences, float)
        given = given[given != 0]
        if given.size:
            batch = number // _BATCH if given.size > _EXACT else number
            alike.setdefault((given.size, batch), []).append((number, given))
    for members in alike.values():
        rows = np.stack([given for _, given in members])
        ranks = rankdata(np.abs(rows), axis=1)
        signed = ranks * np.sign(rows)
        correlations = signed.sum(axis=1) / ranks.sum(axis=1)
        few = rows.shape[1] <= _EXACT
        p = np.array([_p(tuple(np.sort(signed[0])))]) if few else wilcoxon(rows, axis=1).pvalue
        for (number, _), *one in zip(members, correlations.tolist(), p.tolist(), strict=True):
            found[number] = (one[0], one[1])
    return [(one, p if np.size(given) >= FEW else np.nan) for given, (one, p) in zip(many, found, strict=True)]


@lru_cache(maxsize=1000)
def _p(signed: tuple[float, ...]) -> float:
    """p of differences with these signed ranks, on which alone it depends: with ties, SciPy goes through all signs."""
    from scipy.stats import wilcoxon

    return float(wilcoxon(signed).pvalue)


_EXACT = 50  # up to so many differences SciPy's test may be exact, and how it is done depends on all that it is given
_BATCH = 256  # tests at once, for the memory
