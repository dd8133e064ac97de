"""What people call a model: the same of a model and of rows."""

from __future__ import annotations

import polars as pl
import pytest

from intrabench.results.labels import MODEL
from intrabench.results.model_label import model_label


@pytest.mark.parametrize(
    ("weights", "label"),
    [("registered", "sam"), ("", "sam"), ("random", "sam (random weights)"), ("file", "sam (weights 01234567)")],
)
def test_weights_other_than_the_registered_ones_belong_to_the_name(weights: str, label: str) -> None:
    row = pl.DataFrame({"model": ["sam"], "weights": [weights], "weights_sha256": ["0123456789"]})
    assert model_label("sam", weights, "0123456789") == row.select(MODEL).item() == label
