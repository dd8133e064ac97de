"""The published tables of RClicks: complete, in agreement with themselves, and found by our names."""

from __future__ import annotations

import math
from pathlib import Path

import polars as pl
import pytest

from intrabench.models.weights import registry as weights
from intrabench.protocols.rclicks_paper import MODELS
from intrabench.registry import registry
from intrabench.reporting.reference.rclicks import DATASETS, TABLES, checkpoint_of, published

DECODED = Path(__file__).parents[3] / "shared" / "golden" / "rclicks" / "paper_tables_9_12.csv"


@pytest.fixture(scope="module")
def printed() -> pl.DataFrame:
    return pl.read_csv(TABLES, comment_prefix="#", infer_schema_length=None)


def test_all_printed_numbers_are_there(printed: pl.DataFrame) -> None:
    assert printed.shape == (33 * 5, 5 + 3 * 6 + 7)
    assert printed.null_count().sum_horizontal().item() == 0
    assert set(printed["dataset"]) == set(DATASETS.values())
    assert len(printed.unique(["checkpoint", "dataset"])) == len(printed)


def test_the_tables_agree_with_themselves(printed: pl.DataFrame) -> None:
    """Differences of means are the means' differences; of ratios that is not so, which makes dSB of clicks larger."""
    for table, rounding in (("nof", 1e-9), ("auc", 0.01 + 1e-9)):
        apart = pl.col(f"{table}_sample") - pl.col(f"{table}_base") - pl.col(f"{table}_dsb")
        assert printed.select(apart.abs().max()).item() <= rounding
    fewer = printed.filter(pl.col("noc_sample") < pl.col("noc_base"))
    assert len(fewer) == 17
    assert (printed["noc_dsb"] > -10).all()


def test_numbers_are_those_of_the_paper() -> None:
    """Base NoC of the text of the tables, and what Table 4 repeats of TETRIS."""
    expected = {
        "coco_lvis_h18_itermask": (1.54, 2.26, 5.74, 2.98, 3.22),
        "cocolvis_vit_huge": (1.50, 1.75, 4.78, 2.65, 2.26),
        "sam_vit_b_01ec64": (1.88, 2.15, 5.15, 4.86, 2.97),
        "mobile_sam": (1.70, 2.73, 5.92, 5.24, 3.38),
    }
    for checkpoint, row in expected.items():
        assert tuple(found.noc.base for name in DATASETS if (found := published(name, checkpoint))) == row
    found = published("TETRIS", "sam_vit_h_4b8939")
    assert found is not None
    assert (found.noc.base, found.noc.sample, found.noc.dsb) == (2.66, 2.66, 5.95)


@pytest.mark.skipif(not DECODED.exists(), reason="needs the tables as they were decoded from the paper's text")
def test_first_clicks_are_those_of_table_12() -> None:
    decoded = pl.read_csv(DECODED).filter(paper_table=12)
    numbers = {(one["dataset"], one["checkpoint"], one["column"]): one for one in decoded.iter_rows(named=True)}
    checked = 0
    for dataset, checkpoint in decoded.select("dataset", "checkpoint").unique().iter_rows():
        found = published(dataset, checkpoint)
        assert found is not None
        for users, column in ((found.real, "user1"), (found.simulated, "sample1")):
            line = numbers[dataset, checkpoint, column]
            assert [100 * users.mean, 100 * users.spread] == pytest.approx([line["value"], line["std"]])
        assert found.real.nsr == numbers[dataset, checkpoint, "nsr_user1"]["value"]
        checked += 1
    assert checked == 33 * 5


def test_scores_are_0_to_1_and_ratios_percent() -> None:
    found = published("davis345", "coco_lvis_h32_itermask")
    assert found is not None
    assert (found.method, found.backbone, found.data) == ("RITM", "HR32-IT", "C+L")
    assert found.auc.base == pytest.approx(0.9067)
    assert found.auc.dgr == pytest.approx(0.8663 - 0.8997, abs=1.5e-4)
    assert found.auc.nsr is not None
    assert math.isclose(found.auc.nsr, 100 * found.auc.spread / found.auc.sample, rel_tol=0.5)
    assert found.real.nsr is not None
    assert 0 < found.real.mean < found.first_click < 1 < found.real.nsr < 100


@pytest.mark.parametrize(("checkpoint", "spec"), MODELS.items())
def test_specs_mean_the_weights_that_the_model_takes(checkpoint: str, spec: str) -> None:
    model = registry.make("models", spec)
    assert checkpoint == weights.get(model.weights).file.rpartition(".")[0]
    assert checkpoint == checkpoint_of(spec) == checkpoint_of(model.short_spec)  # as rows name it
    for dataset in DATASETS:
        found = published(dataset, model.short_spec)
        assert found is not None
        assert found.checkpoint == checkpoint


def test_sam_is_the_best_of_three_masks_and_sam_2_the_single_one() -> None:
    """Of SAM, RClicks' code always asked for three masks and took the best; of SAM 2 for one."""
    assert {spec.partition(":")[0]: registry.make("models", spec).recipe.multimask for spec in MODELS.values()} == {
        "sam": "best",
        "sam2": "single",
        "mobile_sam": "best",
    }
    assert len(MODELS) == 3 + 2 * 4 + 1
    found = published("grabcut", "sam2:multimask=single"), published("grabcut", "sam:multimask=best")
    assert [(one.method, one.backbone) for one in found if one] == [("SAM2.1", "Hiera-T"), ("SAM", "ViT-B")]


@pytest.mark.parametrize(
    ("dataset", "model"),
    [
        ("lnq", "sam:multimask=best"),
        ("grabcut", "litemedsam"),
        ("grabcut", "sam"),
        ("grabcut", "sam:multimask=single"),
        ("grabcut", "sam2"),
        ("grabcut", "sam2:multimask=best"),
        ("grabcut", "sam:policy=radioactive,multimask=best"),
        ("grabcut", "sam:size=x,multimask=best"),
        ("grabcut", "sam2:size=h,multimask=single"),
        ("grabcut", "sam:"),
    ],
)
def test_what_was_not_published(dataset: str, model: str) -> None:
    assert published(dataset, model) is None
