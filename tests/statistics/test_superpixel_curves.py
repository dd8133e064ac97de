"""Superpixels beyond means, against NumPy: spread over images, stability, correlations, two methods, trade-offs."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.metrics import lookup
from intrabench.statistics.superpixel_curves import correlations, differences, spread, stability, trade_offs
from intrabench.statistics.superpixels import SuperpixelScores

NUMBERS, IMAGES = (100, 300, 900), 12
COLUMNS = ("rec", "ue_np", "ev", "co", "cpu_s", "sp")


def scores(*methods: str, **fixed: dict[tuple[str, int], list[float]]) -> SuperpixelScores:
    """Random values of each image, or `fixed` ones of a column by method and number."""
    random = np.random.default_rng(0)
    rows = []
    for method in methods:
        for asked in NUMBERS:
            values = {name: random.random(IMAGES) * (asked if name == "sp" else 1) for name in COLUMNS}
            values |= {name: np.array(each[method, asked]) for name, each in fixed.items() if (method, asked) in each}
            for image in range(IMAGES):
                about = {"dataset": "d", "case": f"i{image:02}", "patient": f"i{image:02}", "method": method}
                rows.append({**about, "asked": asked, "failed": False, **{n: v[image] for n, v in values.items()}})
    return SuperpixelScores(pl.DataFrame(rows), [lookup.metric(name) for name in COLUMNS])


def of(found: SuperpixelScores, method: str, asked: int, column: str) -> np.ndarray:
    here = found.images.filter((pl.col("method") == method) & (pl.col("asked") == asked))
    return here.sort("case")[column].to_numpy()


def test_spread_over_images() -> None:
    found = scores("slic", "grid")
    for line in spread(found).iter_rows(named=True):
        assert line["images"] == IMAGES
        for column in ("sp", "rec", "ue_np", "ev"):
            values = of(found, line["method"], line["asked"], column)
            mine = [line[f"{column}{end}"] for end in ("", "_min", "_max", "_sd")]
            assert mine == pytest.approx([values.mean(), values.min(), values.max(), np.std(values)])


def test_more_superpixels_should_not_be_worse() -> None:
    """UE falls, then rises; its worst image falls twice. Rec rises. By the number that was made, not asked for."""
    ue = {100: [0.6] * 11 + [0.9], 300: [0.2] * 11 + [0.8], 900: [0.3] * 11 + [0.7]}
    numbers = {("slic", asked): [float(asked)] * IMAGES for asked in NUMBERS}
    rec = {("slic", asked): [asked / 1000] * IMAGES for asked in NUMBERS}
    found = scores("slic", ue_np={("slic", asked): one for asked, one in ue.items()}, sp=numbers, rec=rec)
    lines = {line["metric"]: line for line in stability(found).iter_rows(named=True)}
    assert (lines["rec"]["steady"], lines["rec"]["setback"], lines["rec"]["setback_worst"]) == (1, 0, 0)
    means = [np.mean(ue[asked]) for asked in NUMBERS]
    assert lines["ue_np"]["steady"] == 0.5
    assert lines["ue_np"]["setback"] == pytest.approx(means[2] - means[1])
    assert (lines["ue_np"]["steady_worst"], lines["ue_np"]["setback_worst"]) == (1, 0)
    turned = {("slic", asked): [1000.0 - asked] * IMAGES for asked in NUMBERS}
    back = stability(scores("slic", sp=turned, rec=rec), ["rec"]).row(0, named=True)
    assert (back["steady"], back["setback"]) == (0, pytest.approx(0.6))


def test_a_single_number_is_neither_stable_nor_not() -> None:
    found = scores("slic")
    one = SuperpixelScores(found.images.filter(pl.col("asked") == 300), found.metrics)
    assert stability(one)["steady"].null_count() == 3


def test_correlations_are_those_of_numpy() -> None:
    found = scores("slic", "grid", co={("grid", 300): [0.5] * IMAGES})
    table = correlations(found, ["rec", "ue_np", "co"])
    assert table.height == 2 * len(NUMBERS) * 3
    for line in table.iter_rows(named=True):
        for column in ("rec", "ue_np", "co"):
            if (line["method"], line["asked"]) == ("grid", 300) and "co" in (column, line["metric"]):
                assert line[column] is None  # it does not vary
                continue
            one, other = (of(found, line["method"], line["asked"], name) for name in (line["metric"], column))
            assert line[column] == pytest.approx(np.corrcoef(one, other)[0, 1])


def test_the_nearest_numbers_and_those_asked_for(wording: SnapshotAssertion) -> None:
    found = scores("slic", "grid")
    few = SuperpixelScores(
        found.images.filter(~((pl.col("method") == "grid") & (pl.col("asked") == 300))), found.metrics
    )

    def there(found: SuperpixelScores) -> dict[str, set[int]]:
        return {str(name): set(one["asked"]) for (name,), one in found.images.group_by("method")}

    assert there(few.nearest_to([280, 90])) == {"slic": {100, 300}, "grid": {100}}  # by the ratio
    assert there(few.nearest_to([173])) == {"slic": {100}, "grid": {100}}
    assert there(few.nearest_to([174])) == {"slic": {300}, "grid": {100}}
    assert there(few.asked_for([300, 900])) == {"slic": {300, 900}, "grid": {900}}
    with pytest.raises(IntraBenchError) as caught:
        few.asked_for([300, 400])
    assert caught == wording


def test_two_methods_on_the_same_images() -> None:
    found = scores("slic", "sitk_slic")
    found = SuperpixelScores(
        found.images.filter(~((pl.col("method") == "slic") & (pl.col("case") == "i03"))), found.metrics
    )
    table = differences(found, "slic", "sitk_slic", ["rec", "ue_np"])
    for line in table.iter_rows(named=True):
        assert line["images"] == IMAGES - 1
        one, other = (
            {name: np.delete(of(found, "sitk_slic", line["asked"], name), 3) for name in ("rec", "ue_np", "sp")},
            {name: of(found, "slic", line["asked"], name) for name in ("rec", "ue_np", "sp")},
        )
        assert line["rec"] == pytest.approx((one["rec"] - other["rec"]).mean())
        assert line["ue_np"] == pytest.approx((other["ue_np"] - one["ue_np"]).mean())  # lower is better
        assert line["rec_low"] < line["rec"] < line["rec_high"]
        assert (line["K_a"], line["K_b"]) == (pytest.approx(other["sp"].mean()), pytest.approx(one["sp"].mean()))
    alone = SuperpixelScores(found.images.filter((pl.col("method") == "slic") | (pl.col("asked") == 0)), found.metrics)
    with pytest.raises(IntraBenchError, match="no image and number"):
        differences(alone, "slic", "sitk_slic")


def test_a_parameter_trades_one_thing_for_another() -> None:
    methods = ("slic", "slic:compactness=1", "slic:compactness=40", "slic:sigma=1", "grid", "slic (least_voxels=9)")
    found = scores(*methods, "slic:compactness=1 (tuned=x)", "slic:compactness=40 (tuned=x)")
    swept = trade_offs(found)
    assert set(swept["kind"]) == {"slic"}
    compactness = swept.filter((pl.col("parameter") == "compactness") & (pl.col("what") == "Rec"))
    assert compactness["name"].unique().sort().to_list() == ["slic, 100", "slic, 300", "slic, 900"]
    here = compactness.filter(pl.col("name") == "slic, 300")
    assert here["strength"].to_list() == [1, 10, 40]  # 10 is the default
    expected = [of(found, f"slic{more}", 300, "rec").mean() for more in (":compactness=1", "", ":compactness=40")]
    assert here["value"].to_list() == pytest.approx(expected)
    assert swept.filter(pl.col("parameter") == "sigma")["strength"].unique().sort().to_list() == [0, 1]
    assert swept["what"].unique(maintain_order=True).to_list() == ["Rec", "UE", "EV", "CO", "CPU, s"]
    assert trade_offs(scores("grid")).is_empty()
