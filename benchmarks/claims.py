"""How often intervals of 95 % hold the truth for few cases, and their median widths, for means and paired differences.

Run with `python -m benchmarks claims`. Scores are Dice-like: beta distributed with a mean of 0.8, with a mild skew
(8, 2) or a strong one (2, 0.5); mild with failures (Dice 0) in one case of ten; or the mean of a case's one to five
targets, correlated by 0.7. Two models see the same cases; their scores are correlated by 0.7 (a Gaussian copula), and
both have the same true mean. The methods are computed here from values per case, but `t` of averages over classes and
data sets takes the way of real rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import polars as pl
from scipy.special import ndtr, ndtri, stdtrit
from scipy.stats import beta

from benchmarks.comparison import MINIATURE
from intrabench.mask import Floats
from intrabench.statistics.aggregate import AGGREGATIONS
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.significance import differences

Ends = tuple[Floats, Floats]

SIZES = (5,) if MINIATURE else (5, 10, 20, 50)
STUDIES, DRAWS = (20, 50) if MINIATURE else (2000, 1000)
CORRELATION, FAILING = 0.7, 0.1
MILD, STRONG = (8.0, 2.0), (2.0, 0.5)


def mild(random: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    """(studies, cases) scores of two models, both less their true mean; so are those of the other kinds."""
    return _two(random, size, MILD)


def strong(random: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Strongly skewed scores."""
    return _two(random, size, STRONG)


def failing(random: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Both models fail in one case of ten, each in its own."""
    mean = 0.8 * (1 - FAILING)
    a, b = ((one + 0.8) * (random.random(size) >= FAILING) - mean for one in _two(random, size, MILD))
    return a, b


def one_fails(random: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    """Only the second model fails in one case of ten."""
    a, b = _two(random, size, MILD)
    return a, (b + 0.8) * (random.random(size) >= FAILING) - 0.8 * (1 - FAILING)


def clustered(random: np.random.Generator, size: tuple[int, int]) -> tuple[Floats, Floats]:
    """A case has one to five targets and their mean."""
    targets = random.integers(1, 6, (*size, 1))
    there = np.arange(5) < targets
    case = random.normal(size=(*size, 1))
    a, b = ((_scores(random, case, (*size, 5), MILD) * there).sum(axis=2) / targets[..., 0] - 0.8 for _ in range(2))
    return a, b


def _two(random: np.random.Generator, size: tuple[int, int], shape: tuple[float, float]) -> tuple[Floats, Floats]:
    case = random.normal(size=size)
    a, b = (_scores(random, case, size, shape) - 0.8 for _ in range(2))
    return a, b


def _scores(random: np.random.Generator, case: Floats, size: tuple[int, ...], shape: tuple[float, float]) -> Floats:
    mixed = np.sqrt(CORRELATION) * case + np.sqrt(1 - CORRELATION) * random.normal(size=size)
    found: Floats = beta.ppf(ndtr(mixed), *shape)
    return found


KINDS: Mapping[str, Callable[[np.random.Generator, tuple[int, int]], tuple[Floats, Floats]]] = {
    "mild skew": mild,
    "strong skew": strong,
    "several targets": clustered,
    "one in ten fails": failing,
    "one model fails": one_fails,
}


def plain_t(values: Floats) -> Ends:
    """Student's t on (studies, cases) values."""
    n = values.shape[1]
    half = stdtrit(n - 1, 0.975) * values.std(axis=1, ddof=1) / np.sqrt(n)
    return values.mean(axis=1) - half, values.mean(axis=1) + half


def bootstraps(values: Floats, seed: int = 0) -> dict[str, Ends]:
    """The ends of four bootstrap intervals for each study: percentiles, BCa, BCa with wide tails, and studentised."""
    random = np.random.default_rng(seed)
    found = [_ends(one, one[random.integers(len(one), size=(DRAWS, len(one)))]) for one in values]
    ends = {name: np.array([one[name] for one in found]).T for name in found[0]}
    return {name: (low, high) for name, (low, high) in ends.items()}


def _ends(one: Floats, drawn: Floats) -> dict[str, tuple[float, float]]:
    """The intervals of one study from its draws."""
    n, mean, means = len(one), one.mean(), np.sort(drawn.mean(axis=1))
    outer = (0.025 * (DRAWS - 1), 0.975 * (DRAWS - 1))
    found = {"percentiles": _at(means, *outer)}
    squares = ((one - mean) ** 2).sum()
    acceleration = ((one - mean) ** 3).sum() / (6 * squares**1.5) if squares else 0.0
    below = ((means < mean).sum() + (means == mean).sum() / 2) / DRAWS
    bias = ndtri(np.clip(below, 1 / DRAWS, 1 - 1 / DRAWS))
    for name, wide in (("BCa", ndtri(0.975)), ("BCa, wide", stdtrit(n - 1, 0.975) * np.sqrt(n / (n - 1)))):
        shares = (ndtr(bias + z / (1 - acceleration * z)) for z in (bias - wide, bias + wide))
        found[name] = _at(means, *(share * (DRAWS - 1) for share in shares))
    error = drawn.std(axis=1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):  # draws of a single value are infinitely far away
        t = np.sort(np.nan_to_num((drawn.mean(axis=1) - mean) / error, nan=0.0, posinf=np.inf, neginf=-np.inf))
    low, high = _at(t, *outer)
    found["studentised"] = (mean - high * one.std(ddof=1), mean - low * one.std(ddof=1))
    return found


def _at(ordered: Floats, low: float, high: float) -> tuple[float, float]:
    return float(ordered[int(np.floor(low))]), float(ordered[int(np.ceil(high))])


def every(values: Floats) -> dict[str, Ends]:
    """The ends of all intervals of (studies, cases) values, by method."""
    return {"t": plain_t(values), **bootstraps(values)}


def width(ends: Ends) -> float:
    """The median width."""
    return float(np.median(ends[1] - ends[0]))


def held(ends: Ends) -> float:
    """The share of intervals that hold 0."""
    low, high = ends
    return float(np.mean((low <= 0) & (high >= 0)))


def drawn(kind: str, cases: int, studies: int = STUDIES) -> tuple[Floats, Floats]:
    """(studies, cases) Scores of two models less their true mean, the same in each call."""
    return KINDS[kind](np.random.default_rng(cases), (studies, cases))


def macro(
    kind: str, cases: int, *, studies: int = 500, datasets: int = 1, classes: tuple[float, ...] = (1.0,)
) -> float:
    """The coverage of `differences` averaged over classes and data sets, by the way of real rows.

    classes: the share of cases that have each class.
    """
    random, frames = np.random.default_rng(cases), []
    for dataset in range(datasets):
        for label, share in enumerate(classes):
            a, b = KINDS[kind](random, (studies, cases))
            there = np.arange(cases) < max(round(share * cases), 1)
            study, case = np.nonzero(np.broadcast_to(there, a.shape))
            frames.append(
                pl.DataFrame({"model": study, "case": case, "value": (b - a)[study, case]}).with_columns(
                    dataset=pl.lit(f"d{dataset}"), label=pl.lit(f"c{label}")
                )
            )
    scored = pl.concat(frames).with_columns(
        pl.format("{}", "case").alias("case"),
        patient=pl.format("{}", "case"),
        target=pl.lit("x.1"),
        failed=pl.lit(False),
        not_applicable=pl.lit(False),
    )
    found = differences(scored, ["model"], AGGREGATIONS["protocol"]).filter(dataset=AVERAGE)
    return held((found["low"].to_numpy(), found["high"].to_numpy()))


RARE = (1.0, 0.6, 0.3)
"""Shares of cases that have each of three classes."""


def main() -> None:
    """Print a line per kind and number of cases, for means of one model and for differences of two."""
    for what in ("mean of one model", "difference of two models"):
        for kind in KINDS:
            for cases in SIZES:
                if what.startswith("mean") and kind == "one model fails":
                    continue  # as where both fail
                a, b = drawn(kind, cases)
                values = b if what.startswith("mean") else b - a
                told = ", ".join(f"{name} {held(ends):.1%} ({width(ends):.3f})" for name, ends in every(values).items())
                print(f"  {what}, {kind}, {cases} cases: {told}", flush=True)
    for kind in ("mild skew", "strong skew"):
        for cases in (10, 20, 50):
            rare = macro(kind, cases, studies=STUDIES, classes=RARE)
            print(f"  t of differences, {kind}, three classes, in all, 60 % and 30 % of {cases} cases: {rare:.1%}")
            many = macro(kind, cases, studies=STUDIES, datasets=5)
            print(f"  t of differences, {kind}, average of 5 data sets of {cases} cases: {many:.1%}", flush=True)


if __name__ == "__main__":
    main()
