"""Maps without a network equal the published ones (`tests/golden/rclicks`), in volumes and with spacing."""

from __future__ import annotations

import numpy as np
import pytest

from intrabench.clickability.distance import Distance
from intrabench.clickability.uniform import Uniform
from intrabench.registry import registry
from tests.conftest import GOLDEN

MAPS = np.load(GOLDEN / "rclicks" / "ud_dt_maps.npz")
CASES = sorted({key.split("/")[0] for key in MAPS.files})


@pytest.mark.parametrize("case", CASES)
def test_uniform_and_distance(case: str) -> None:
    error = MAPS[f"{case}/error_mask"] > 0
    np.testing.assert_array_equal(Uniform().probability(None, error, error), MAPS[f"{case}/ud"])
    np.testing.assert_allclose(Distance().probability(None, error, error), MAPS[f"{case}/dt"], atol=1e-6)


def test_distance_in_millimetres() -> None:
    error = np.zeros((5, 7, 7), bool)
    error[1:4, 1:6, 1:6] = True
    found = Distance().probability(None, error, error, (4.0, 1.0, 1.5))
    assert found[2, 3, 3] == 1  # 3 mm to the sides
    assert found[1, 3, 3] == 1  # and 4 mm to the next slice
    assert found[2, 2, 3] == pytest.approx(2 / 3)
    assert found[2, 3, 1] == pytest.approx(1.5 / 3)
    assert not found[~error].any()


def test_no_error() -> None:
    nothing = np.zeros((4, 5), bool)
    for name in ("uniform", "distance"):
        assert not registry.make("clickability", name).probability(None, nothing, nothing).any()
