"""Published numbers beside our own."""

from __future__ import annotations

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.protocols.intrabench_paper import MODELS, ROWS
from intrabench.protocols.presets import PRESETS
from intrabench.registry import registry
from intrabench.reporting.reference import beside, reference


def test_all_printed_numbers_are_there() -> None:
    found = reference()
    assert len(found) == 186 * 10
    assert found.null_count().sum_horizontal().item() == found["published"].null_count()
    assert set(found["row"]) == {row.name for row in ROWS}
    assert found["paper"].n_unique() == 10
    assert 0 <= found["published"].min() <= found["published"].max() <= 1  # type: ignore[operator]
    assert set(found["model"]) == set(MODELS.values())
    (one,) = found.filter(row="3D Box", model=MODELS["SegVol"], paper="D9")["published"]
    (same,) = found.filter(prompter="box_volume", model=MODELS["SegVol"], paper="D9")["published"]
    assert one == same


def test_printed_averages_are_the_means_of_the_printed_numbers() -> None:
    """The table as it was typed in agrees with itself."""
    from intrabench.reporting.reference import PAPERS

    printed = pl.read_csv(PAPERS["paper"], comment_prefix="#")
    means = printed.select(pl.mean_horizontal([f"D{number}" for number in range(1, 11)])).to_series()
    assert ((means - printed["average"]).abs() < 0.011).mean() > 0.9  # type: ignore[operator]


HUGE = "sam:policy=radioactive,size=h"  # as rows name what paper:sam is


def cells(**values: object) -> pl.DataFrame:
    usual = {
        "prompter": "box_interp:n=3",
        "model": HUGE,
        "weights": "registered",
        "round": 0,
        "dataset": "lnq",
        "value": 0.5,
    }
    return pl.DataFrame([{"weights_sha256": "ab", **usual, **values}])


def test_the_same_configuration_is_set_beside_the_published() -> None:
    """Table 3 has 64.26 for SAM and 41.41 for MedSAM with three interpolated boxes on D5."""
    medsam = cells(model="medsam:policy=radioactive", value=0.4)
    both, others = beside(pl.concat([cells(), cells(dataset="spine_ct"), cells(model="box_fill"), medsam]))
    assert both.drop("published", "difference").rows() == [
        ("3B Inter", "medsam:policy=radioactive", 0, "D5", "lnq", 0.4),
        ("3B Inter", HUGE, 0, "D5", "lnq", 0.5),
    ]
    assert both["published"].to_list() == pytest.approx([0.4141, 0.6426])
    assert both["difference"].to_list() == pytest.approx([-0.0141, -0.1426])
    assert others == []


@pytest.mark.parametrize("preset", PRESETS)
def test_rows_of_a_preset_are_compared(preset: str) -> None:
    """What rows call the model is what the tables know."""
    model = registry.make("models", preset).short_spec
    published = reference().filter(model=PRESETS[preset], round=0, paper="D5").drop_nulls()
    both, others = beside(cells(model=model, prompter=published["prompter"][0]))
    assert both.select("model", "published").rows() == [(model, published["published"][0])]
    assert others == []


@pytest.mark.parametrize(
    ("ran", "name"),
    [
        ({"model": "sam"}, "sam"),
        ({"model": "sam:size=h"}, "sam:size=h"),
        ({"model": "sam:policy=radioactive"}, "sam:policy=radioactive"),
        ({"model": f"{HUGE},threshold=0.0"}, f"{HUGE},threshold=0.0"),
        ({"weights": "random"}, f"{HUGE} (random weights)"),
        ({"weights": "file"}, f"{HUGE} (weights ab)"),
    ],
)
def test_another_configuration_is_not_compared(ran: dict[str, str], name: str) -> None:
    missing = f"not compared: {name}; the paper has {HUGE}"
    run = "; run: intrabench run --protocol intrabench@1 --model paper:sam"
    with pytest.raises(IntraBenchError) as error:
        beside(pl.concat([cells(**ran), cells(**ran, dataset="rider_lung")]))
    assert str(error.value) == f"{missing}{run} --dataset lnq --dataset rider_lung"
    both, others = beside(pl.concat([cells(**ran, value=0.9), cells()]))
    assert both.select("model", "ours").rows() == [(HUGE, 0.5)]
    assert others == [missing]  # the published one was run on that data set
    _, others = beside(pl.concat([cells(**ran), cells(**ran, dataset="rider_lung"), cells()]))
    assert others == [f"{missing}{run} --dataset rider_lung"]
    _, others = beside(pl.concat([cells(**ran), cells(prompter="box_slice")]))
    assert others == [f"{missing}{run} --dataset lnq"]  # the published one was run there, but not with this row


def test_one_sentence_for_all_that_is_not_compared_with_a_model_of_the_paper(wording: SnapshotAssertion) -> None:
    ran = [
        cells(model=model, dataset=name) for model, name in (("sam2", "lnq"), ("sam:size=h", "lnq"), ("sam", "pengwin"))
    ]
    _, others = beside(pl.concat([*ran, cells()]))
    assert others == wording


def test_the_release_belongs_to_the_configuration(wording: SnapshotAssertion) -> None:
    """The paper used SAM 2.0 Hiera-L: 69.06 on D5."""
    released = [cells(model=f"sam2:policy=radioactive,size=l{more}") for more in ("", ",release=2.0")]
    both, others = beside(pl.concat(released))
    assert both["model"].to_list() == ["sam2:policy=radioactive,size=l,release=2.0"]
    assert both["published"].to_list() == pytest.approx([0.6906])
    assert others == wording


@pytest.mark.parametrize(
    "other", [{"dataset": "mine"}, {"model": "litemedsam"}, {"round": 3}, {"prompter": "p"}], ids=str
)
def test_nothing_that_was_published(other: dict[str, object], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        beside(cells(**other))
    assert caught == wording


def test_a_reference_that_does_not_exist(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        reference("papre")
    assert caught == wording
