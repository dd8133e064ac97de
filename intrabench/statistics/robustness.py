"""How much results depend on where people click: the statistics of RClicks, on arrays.

Every instance is played once by the baseline strategy and once with clicks of each group, from the least to the most
probable. RClicks (Antonov et al., NeurIPS 2024, https://arxiv.org/abs/2410.11722), section 5 and Tables 9 to 12, as the
notebook of https://github.com/emb-ai/rclicks computes them. NaN of an instance makes NaN of what it enters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats
from intrabench.metrics.base import Best
from intrabench.statistics.resample import difference

_EPSILON = 1e-9  # added to the denominator by RClicks


@dataclass(frozen=True)
class Robustness:
    """One line of the tables.

    base: of the baseline strategy. sample: mean over the groups. spread: their standard deviation (of groups, not of a
    sample of them). Differences: dsb of sample and base, dgr of the first and the last group, dhh of the less and the
    more probable half, pair by pair, as the published code has it; of clicks in percent of the latter, of scores and
    failures as they are. dhh_merged: of the means of both halves, as the paper has it; the same but for clicks. nsr:
    spread over sample, percent.
    """

    base: float
    sample: float
    spread: float
    dsb: float
    dgr: float
    dhh: float
    dhh_merged: float | None = None
    nsr: float | None = None


@dataclass(frozen=True)
class UserNoise:
    """Of the first clicks of many users: mean score, its standard deviation, and nsr, their ratio in percent.

    Each is of the clicks on one instance, then the mean over instances.
    """

    mean: float
    spread: float
    nsr: float | None = None


def each_target(kind: str, groups: ArrayLike, base: ArrayLike) -> dict[str, Floats]:
    """(instances) What each adds to the fields of `Robustness`, whose means they are; of failures (nof) sums.

    kind: noc, nof or anything else. nsr only of the latter; the spread of failures is not made of instances.

    Raises:
        ValueError: the shapes do not fit.
        IntraBenchError: somewhere a number of clicks is 0.
    """
    values, baseline = _arrays(groups, base)
    less, more = _halves(values)
    moments = each_spread(values)
    sample, spread = moments["mean"], moments["sd"]
    found = {
        "base": baseline,
        "sample": sample,
        "dsb": against(kind, sample, baseline),
        "dgr": against(kind, values[:, 0], values[:, -1]),
        "dhh": against(kind, less, more).mean(axis=1),
        "dhh_merged": against(kind, less.mean(axis=1), more.mean(axis=1)),
    }
    found |= {} if kind == "nof" else {"spread": spread}
    return found if kind in COUNTED_CLICKS else found | {"nsr": 100 * noise(sample, spread)}


COUNTED_CLICKS = ("noc", "nof")
"""Kinds of metrics that count clicks."""


def against(kind: str, of: Floats, reference: Floats) -> Floats:
    """How much more than the reference: numbers of clicks (noc) in percent of it, anything else as the difference.

    Equal values, infinite ones too, differ by nothing.

    Raises:
        IntraBenchError: somewhere a number of clicks is 0.
    """
    more = difference(of, reference)
    if kind != "noc":
        return more
    if (of <= 0).any() or (reference <= 0).any():
        raise IntraBenchError("numbers of clicks are compared by ratios, but one of them is 0; count interactions")
    return 100 * more / reference


def each_spread(values: Sequence[ArrayLike] | Floats, ddof: int = 0, best: Best = "high") -> dict[str, Floats]:
    """(instances) Of the values of each instance: `mean`, `sd`, and `worst_tenth` and `best_tenth`, means of tenths.

    values: one array for each instance, or (instances, values). ddof: the sum of squares is divided by this less than
    the number of values. A tenth is of one value or more. best: which values are; where zero is, tenths are of
    distances from it. The sd of infinite values is 0 if they are equal, else infinite.

    Raises:
        ValueError: an instance has no values.
    """
    each = [np.asarray(one, float) for one in values]
    if not all(one.size for one in each):
        raise ValueError("an instance has no clicks; omit it")
    flat, sizes = np.concatenate(each), np.array([one.size for one in each])
    start, of = np.cumsum(sizes) - sizes, np.repeat(np.arange(len(sizes)), sizes)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.add.reduceat(flat, start) / sizes
        sd = np.sqrt(np.add.reduceat(difference(flat, mean[of]) ** 2, start) / (sizes - ddof))
    ranked = np.abs(flat) if best == "zero" else flat
    ranked = ranked[np.lexsort((ranked if best == "high" else -ranked, of))]  # the worst first
    place, tenth = np.arange(len(flat)) - start[of], -(-sizes // 10)
    ends = {"worst_tenth": place < tenth[of], "best_tenth": place >= (sizes - tenth)[of]}
    tenths = {name: np.add.reduceat(np.where(at, ranked, 0), start) / tenth for name, at in ends.items()}
    return {"mean": mean, "sd": sd, **tenths}


def robustness(kind: str, groups: ArrayLike, base: ArrayLike) -> Robustness:
    """Of values in groups (instances, groups), from the least to the most probable, and of the baseline (instances).

    kind: noc, numbers of clicks, whose ratios are of single instances, and then averaged: easy instances weigh most;
    nof, 1 or 0 for failures, which are summed; or anything else, scores. Infinite scores have no differences: what they
    enter is NaN. Of `rclicks_auc` nsr is NSR@20 of Table 12.

    Raises:
        ValueError: the shapes do not fit.
        IntraBenchError: somewhere there is no click.
    """
    each = each_target(kind, groups, base)
    if kind != "nof":
        return Robustness(**{name: float(values.mean()) for name, values in each.items()})
    failed, _ = _arrays(groups, base)
    sums = {name: float(values.sum()) for name, values in each.items()}
    return Robustness(**sums, spread=float(failed.sum(axis=0).std()))


def user_noise(ious: Sequence[ArrayLike]) -> UserNoise:
    """Of the IoU after each user's first click (users), for every instance: NSR_User@1 of Table 12.

    Raises:
        ValueError: an instance has no clicks.
    """
    return UserNoise(**{name: float(values.mean()) for name, values in each_user_noise(ious).items()})


def each_user_noise(ious: Sequence[ArrayLike]) -> dict[str, Floats]:
    """(instances) What each adds to the fields of `UserNoise`, whose means they are.

    Raises:
        ValueError: an instance has no clicks.
    """
    found = each_spread(ious)
    mean, spread = found["mean"], found["sd"]
    return {"mean": mean, "spread": spread, "nsr": 100 * noise(mean, spread)}


def _arrays(groups: ArrayLike, base: ArrayLike) -> tuple[Floats, Floats]:
    values, baseline = (
        np.where(np.isfinite(one), one, np.nan) for one in (np.asarray(groups, float), np.asarray(base, float))
    )
    if values.ndim != 2 or not values.size or values.shape[1] < 2 or baseline.shape != values.shape[:1]:
        raise ValueError(
            f"groups must be (instances, groups), at least two of them, and base (instances), not {values.shape} and "
            f"{baseline.shape}"
        )
    return values, baseline


def _halves(groups: Floats) -> tuple[Floats, Floats]:
    """(..., groups) The less and the more probable groups; the middle one of an odd number is in neither."""
    half = groups.shape[-1] // 2
    return groups[..., :half], groups[..., -half:]


def noise(mean: Floats, spread: Floats) -> Floats:
    """Their ratio, the noise-to-signal ratio (NSR) of RClicks."""
    with np.errstate(invalid="ignore"):  # of infinite values there is none
        return spread / (mean + _EPSILON)
