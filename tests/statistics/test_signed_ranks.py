"""Signed rank tests at once against SciPy's, one by one."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import wilcoxon

from intrabench.statistics import significance
from intrabench.statistics.significance import signed_ranks


@pytest.mark.parametrize("digits", [1, 9], ids=["ties and zeros", "no ties"])
def test_each_test_is_that_of_its_own_differences(digits: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(significance, "_BATCH", 4)
    random = np.random.default_rng(0)
    sizes = [60, 8, 60, 60, 0, 1, 8, 60, 60, 14, 50, 52, 60]
    many = [np.round(random.normal(0.2, 1, size), digits) for size in sizes]
    for given, (correlation, p) in zip(many, signed_ranks(many), strict=True):
        kept = given[given != 0]
        if given.size < 6:  # no p below 5 % is possible
            assert np.isnan(p)
            assert abs(correlation) == bool(kept.size)
            continue
        reference = wilcoxon(kept)
        assert p == reference.pvalue
        assert abs(correlation) == pytest.approx(1 - reference.statistic / (kept.size * (kept.size + 1) / 4))
