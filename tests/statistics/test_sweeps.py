"""Sweeps: which perturbed data sets belong together, and where the one without perturbation stands."""

from __future__ import annotations

import polars as pl

from intrabench.statistics.sweeps import sweeps


def swept(*datasets: str) -> list[tuple[str, str, str, float, int]]:
    values = pl.DataFrame({"dataset": datasets, "value": range(len(datasets))})
    return sweeps(values).select("dataset", "kind", "parameter", "strength", "value").rows()


def test_a_sweep_begins_at_the_strength_that_changes_nothing() -> None:
    assert swept("a", "a+noise:sigma=0.3", "a+noise", "b", "a+gamma:gamma=2") == [
        ("a", "gamma", "gamma", 1.0, 0),
        ("a", "gamma", "gamma", 2.0, 4),
        ("a", "noise", "sigma", 0.0, 0),
        ("a", "noise", "sigma", 0.1, 2),
        ("a", "noise", "sigma", 0.3, 1),
    ]


def test_photons_have_no_such_strength() -> None:
    assert swept("a", "a+poisson") == []
    assert swept("a", "a+poisson", "a+poisson:counts=9") == [
        ("a", "poisson", "counts", 9.0, 2),
        ("a", "poisson", "counts", 100.0, 1),
    ]


def test_what_is_no_sweep() -> None:
    assert swept("a", "b") == []
    assert swept("a+noise", "b") == []
    assert swept("a", "a+noise+blur", "a+noise+blur:sigma=2") == []
    assert swept("a+translation", "a+translation:y=3,x=5", "a") == []
    assert [row[2:4] for row in swept("a+translation:x=4", "a+translation:x=5", "a")] == [("x", 0), ("x", 4), ("x", 5)]
