"""Published numbers beside our own."""

from __future__ import annotations

import polars as pl
import pytest

from intrabench.errors import IntraBenchError
from intrabench.protocols.intrabench_paper import ROWS
from intrabench.reporting.reference import beside, reference


def test_all_printed_numbers_are_there() -> None:
    found = reference()
    assert len(found) == 186 * 10
    assert found.null_count().sum_horizontal().item() == found["published"].null_count()
    assert set(found["row"]) == {row.name for row in ROWS}
    assert found["paper"].n_unique() == 10
    assert 0 <= found["published"].min() <= found["published"].max() <= 1  # type: ignore[operator]
    (one,) = found.filter(row="3D Box", model="segvol", paper="D9")["published"]
    (same,) = found.filter(prompter="box_volume", model="segvol", paper="D9")["published"]
    assert one == same


def test_printed_averages_are_the_means_of_the_printed_numbers() -> None:
    """The table as it was typed in agrees with itself."""
    from intrabench.reporting.reference import PAPERS

    printed = pl.read_csv(PAPERS["paper"], comment_prefix="#")
    means = printed.select(pl.mean_horizontal([f"D{number}" for number in range(1, 11)])).to_series()
    assert ((means - printed["average"]).abs() < 0.011).mean() > 0.9  # type: ignore[operator]


def cells(**values: object) -> pl.DataFrame:
    usual = {
        "prompter": "box_interp:n=3",
        "model": "sam:size=h",
        "weights": "registered",
        "round": 0,
        "dataset": "lnq",
        "value": 0.5,
    }
    return pl.DataFrame([{"weights_sha256": "ab", **usual, **values}])


def test_ours_is_set_beside_the_published() -> None:
    table = pl.concat(
        [cells(), cells(dataset="spine_ct"), cells(model="box_fill"), cells(model="sam", weights="random")]
    )
    both = beside(table)
    (published,) = reference().filter(row="3B Inter", model="sam", paper="D5")["published"]
    assert both.rows() == [
        ("3B Inter", "sam (random weights)", 0, "D5", "lnq", 0.5, published, 0.5 - published),
        ("3B Inter", "sam:size=h", 0, "D5", "lnq", 0.5, published, 0.5 - published),
    ]


@pytest.mark.parametrize("other", [{"dataset": "mine"}, {"model": "litemedsam"}, {"round": 3}, {"prompter": "p"}])
def test_nothing_that_was_published(other: dict[str, object]) -> None:
    with pytest.raises(IntraBenchError, match="none of these results is in the paper"):
        beside(cells(**other))


def test_a_reference_that_does_not_exist() -> None:
    with pytest.raises(IntraBenchError, match="there is no reference 'papre', did you mean 'paper'"):
        reference("papre")
