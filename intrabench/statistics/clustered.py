"""Numbers from observations that come in clusters, such as the actions of a session, with intervals of 95 %."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Floats
from intrabench.statistics.bca import LEVEL, Jackknife, bca
from intrabench.statistics.resample import DRAWS, FEW, drawn_weights


def clustered(
    sums: Floats, strata: Sequence[str], estimate: Callable[[Floats], Floats], draws: int = DRAWS
) -> tuple[Floats, Floats, Floats]:
    """The estimate and the ends of its interval, each (numbers); the ends are NaN for fewer than `FEW` clusters.

    sums: (clusters, k) statistics that are added up over clusters. estimate: makes (..., numbers) of (..., k) sums.
    strata: of each cluster; clusters are drawn with replacement within them (`bca`), those that are alone in theirs
    among each other. So an interval holds for more clusters of the same strata, not for other strata.
    """
    sums = np.asarray(sums, np.float64)
    value, without = estimate(sums.sum(axis=0)), estimate(sums.sum(axis=0) - sums)
    count = len(sums)
    if count < FEW:
        return value, np.full_like(value, np.nan), np.full_like(value, np.nan)
    influence = np.nan_to_num((value - without) * (count - 1) / count)
    # Statistics are drawn, not observations: a sum of clusters has all that the estimate needs, so a draw is a product.
    drawn = np.sum([weights @ sums[members] for weights, members in _drawn(strata, draws)], axis=0)
    return value, *bca(estimate(drawn), [Jackknife(value, np.full(value.shape, count), influence)])


def proportion_interval(hits: int, count: int) -> tuple[float, float]:
    """The exact interval of 95 % of a share, `hits` of `count` independent trials (Clopper and Pearson 1934)."""
    from scipy.special import betaincinv

    tail = (1 - LEVEL) / 2
    low = betaincinv(hits, count - hits + 1, tail) if hits else 0.0
    high = betaincinv(hits + 1, count - hits, 1 - tail) if hits < count else 1.0
    return float(low), float(high)


def _drawn(strata: Sequence[str], draws: int) -> list[tuple[Floats, NDArray[np.intp]]]:
    """For each stratum (draws, members) how often each was drawn, and the places of its members."""
    sizes = Counter(strata)
    names = np.array([name if sizes[name] > 1 else "" for name in strata])
    members = [(str(name), np.flatnonzero(names == name)) for name in np.unique(names)]
    return [(np.concatenate(list(drawn_weights(f"clusters {name}", len(at), draws))), at) for name, at in members]
