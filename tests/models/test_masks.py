"""Stored predictions as a model, and as what another model begins from."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.files.grid import OtherGrid
from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Request, open_image
from intrabench.models.box_fill import BoxFill
from intrabench.models.masks import Masks
from intrabench.models.parts.two_stage_model import TwoStageModel
from intrabench.prompts import Lasso, Prompts, Scribble, box3d, boxes, points
from intrabench.registry import registry
from intrabench.turns import Turn
from intrabench.volume import Grid, Volume
from tests.conftest import Said

SHAPE = (4, 6, 8)
AFFINE = np.diag([-1.0, -1.5, 3.0, 1.0])


def scan(case: str = "anna") -> Volume:
    array = np.arange(np.prod(SHAPE), dtype=np.int16).reshape(SHAPE[::-1])
    volume = Volume.from_file_order(array, AFFINE)
    return Volume(volume.array, volume.grid, case=case)


def labels() -> np.ndarray:
    """Canonical: two pieces of 1 and one of 2."""
    found = np.zeros(SHAPE, np.uint8)
    found[0:2, 0:2, 0:3] = 1
    found[3, 4:6, 5:8] = 1
    found[1:3, 3:5, 1] = 2
    return found


def store(folder: Path, array: np.ndarray, name: str = "anna.nii.gz", grid: Grid | None = None) -> Path:
    """A prediction on the grid of the file, as nnU-Net writes it."""
    folder.mkdir(exist_ok=True)
    grid = grid or scan().grid
    nib.save(nib.Nifti1Image(grid.from_canonical(array), grid.affine), folder / name)  # type: ignore[attr-defined]
    return folder


def asked(model: Masks, volume: Volume) -> list[Answer | Failure]:
    with open_image(model, volume) as image:
        return image.segment([Request("s", (Turn(Prompts()),), label="label_2")])


def answer(model: Masks, prompts: Prompts, label: str = "liver", **more: Any) -> np.ndarray:
    with open_image(model, scan()) as image:
        (found,) = image.segment([Request("s", (Turn(prompts),), label=label, **more)])
    assert isinstance(found, Answer), found
    return found.update.to_array(SHAPE)


def test_labels_by_dataset_json_by_number_and_by_hand(tmp_path: Path) -> None:
    folder = store(tmp_path / "predictions", labels())
    (folder / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "liver": 1, "both": [1, 2]}}))
    click = points([(0, 5, 0)])  # prompts change nothing
    np.testing.assert_array_equal(answer(Masks(str(folder)), click), labels() == 1)
    np.testing.assert_array_equal(answer(Masks(str(folder)), click, "both"), labels() > 0)
    np.testing.assert_array_equal(answer(Masks(str(folder)), Prompts(), "label_2"), labels() == 2)
    by_hand = Masks(str(folder), labels="liver=2,spleen=1,spleen=2")
    np.testing.assert_array_equal(answer(by_hand, click), labels() == 2)
    np.testing.assert_array_equal(answer(by_hand, click, "spleen"), labels() > 0)


@pytest.mark.parametrize(
    ("prompts", "piece"),
    [
        (points([(0, 1, 2)]), 0),
        (points([(3, 4, 5)]), 1),
        (Prompts(np.array([[0, 0, 0, 0], [3, 5, 7, 1]])), 1),  # a click on the background chooses nothing
        (points([(3, 0, 0)]), None),
        (boxes({3: (3, 4, 6, 8)}), 1),
        (box3d((0, 0, 0, 4, 5, 8)), 0),  # most of the voxels in it
        (Prompts(scribbles=(Scribble(np.array([[1, 0, 0], [3, 4, 5], [3, 4, 6]])),)), 1),
        (Prompts(lassos=(Lasso(np.array([[0, 0, 0], [0, 3, 0], [0, 3, 4]])),)), 0),
        (Prompts(), None),
    ],
)
def test_components_under_the_prompts(tmp_path: Path, prompts: Prompts, piece: int | None) -> None:
    model = Masks(str(store(tmp_path / "p", labels())), labels="liver=1", instances="components")
    pieces = np.zeros((2, *SHAPE), bool)
    pieces[0, 0:2, 0:2, 0:3] = pieces[1, 3, 4:6, 5:8] = True
    expected = np.zeros(SHAPE, bool) if piece is None else pieces[piece]
    np.testing.assert_array_equal(answer(model, prompts), expected)


def test_values_under_the_prompts(tmp_path: Path) -> None:
    """Numbers of instances mean no labels."""
    model = Masks(str(store(tmp_path / "p", labels())), instances="values")
    np.testing.assert_array_equal(answer(model, points([(2, 4, 1)]), "lesion"), labels() == 2)
    np.testing.assert_array_equal(answer(model, points([(3, 4, 5)]), "lesion"), labels() == 1)


def test_corrections_change_nothing(tmp_path: Path) -> None:
    model, so_far = Masks(str(store(tmp_path / "p", labels()))), Mask.of(np.ones((1, 1, 1)), (1, 1, 1))
    with open_image(model, scan()) as image:
        (found,) = image.segment([Request("s", (Turn(points([(0, 0, 0)])),) * 2, so_far, label="liver")])
    assert isinstance(found, Answer)
    assert found.update is so_far


def test_other_kinds_of_files(tmp_path: Path) -> None:
    import SimpleITK as sitk

    folder = store(tmp_path / "nii", labels(), "anna.nii")
    image = sitk.ReadImage(folder / "anna.nii")
    for name in ("anna.mha", "anna.nrrd"):
        (tmp_path / name).mkdir()
        sitk.WriteImage(image, tmp_path / name / name)
        np.testing.assert_array_equal(answer(Masks(str(tmp_path / name), labels="liver=1"), Prompts()), labels() == 1)
    (tmp_path / "npz").mkdir()
    np.savez(tmp_path / "npz" / "anna.npz", segs=labels())
    np.testing.assert_array_equal(answer(Masks(str(tmp_path / "npz"), labels="liver=1"), Prompts()), labels() == 1)


@pytest.mark.parametrize(
    "case",
    [
        "berta",
        "../p/anna",
        "",
        "small",
        "moved",
        "half",
        "cut",
        "flat",
    ],
)
def test_predictions_that_do_not_fit(tmp_path: Path, case: str, wording: SnapshotAssertion) -> None:
    folder, grid = store(tmp_path / "p", labels()), scan().grid
    store(folder, labels()[:, :, 1:], "small.nii.gz", Grid((7, 6, 4), AFFINE))
    store(folder, labels(), "moved.nii.gz", Grid(grid.shape, AFFINE + np.eye(4, k=3)))
    store(folder, labels() / np.float32(2), "half.nii.gz")
    (folder / "cut.nii.gz").write_bytes((folder / "anna.nii.gz").read_bytes()[:50])
    np.savez(folder / "flat.npz", segs=labels()[0])
    with (
        pytest.raises(IntraBenchError) as caught,
        open_image(Masks(str(folder)), scan(case)),
    ):
        pass
    assert re.sub(r"\(EOFError.*?\)", "(EOFError)", str(caught.value)) == wording


@pytest.mark.parametrize("kind", ["two files", "soft", "negative"])
def test_predictions_that_nothing_accounts_for(tmp_path: Path, kind: str, wording: SnapshotAssertion) -> None:
    folder = store(tmp_path / "p", labels())
    if kind == "two files":
        np.savez(folder / "anna.npz", segs=labels())
    elif kind == "negative":
        store(folder, labels().astype(np.int16) - 1)
    else:
        slopes = np.abs(np.arange(8) - 3.5)[None, None] + np.abs(np.arange(6) - 2.5)[None, :, None]
        store(folder, np.broadcast_to(250 - 60 * slopes, SHAPE).clip(0).astype(np.uint8))
    with pytest.raises(IntraBenchError) as caught, open_image(Masks(str(folder)), scan()):
        pass
    assert caught == wording


def test_a_file_of_a_target_has_one_mask(tmp_path: Path, wording: SnapshotAssertion) -> None:
    store(tmp_path / "anna", labels(), "lesion.1.nii.gz")
    with open_image(Masks(str(tmp_path), instances="files"), scan()) as image:
        (failed,) = image.segment([Request("s", (Turn(Prompts()),), label="lesion")])
    assert isinstance(failed, Failure)
    assert failed.message == wording
    store(tmp_path / "anna", 255 * (labels() == 1).astype(np.uint8), "lesion.1.nii.gz")
    np.testing.assert_array_equal(answer(Masks(str(tmp_path), instances="files"), Prompts(), "lesion"), labels() == 1)


def test_a_grid_that_is_a_little_off_fits_and_is_noted(tmp_path: Path) -> None:
    for off, told in ((0.005, ()), (0.05, ("mask off the grid",))):
        grid = Grid(scan().grid.shape, AFFINE + off * np.eye(4, k=3))
        model = Masks(str(store(tmp_path / f"{off}", labels(), grid=grid)))
        np.testing.assert_array_equal(answer(model, Prompts(), "label_2"), labels() == 2)
        assert model.notes(scan()) == told
        (found,) = asked(model, scan())
        assert isinstance(found, Answer)
        assert found.notes == told


def test_masks_on_another_grid_are_resampled_if_that_is_allowed(tmp_path: Path) -> None:
    """Of a crop with half of the step in x, in another order of axes; a file for each target, too."""
    fine, wanted = np.repeat(labels(), 2, axis=2)[:, 1:], labels().copy()
    wanted[:, 0] = 0
    affine = scan().affine.copy()
    affine[:3, 3] += affine[:3, 1] - affine[:3, 2] / 4
    affine[:3, 2] /= 2
    folder = tmp_path / "p"
    folder.mkdir()
    nib.save(nib.Nifti1Image(fine, affine), folder / "anna.nii.gz")  # type: ignore[attr-defined]
    with pytest.raises(OtherGrid), open_image(Masks(str(folder)), scan()):
        pass
    model = Masks(str(folder), resample=True)
    assert model.notes(scan()) == ("mask resampled",)
    np.testing.assert_array_equal(answer(model, Prompts(), "label_1"), wanted == 1)
    np.testing.assert_array_equal(answer(model, Prompts(), "label_2"), wanted == 2)
    (tmp_path / "anna").mkdir()
    nib.save(nib.Nifti1Image((fine == 2) * 1, affine, dtype="int16"), tmp_path / "anna" / "liver.1.nii")  # type: ignore[attr-defined]
    model = Masks(str(tmp_path), instances="files", resample=True)
    np.testing.assert_array_equal(answer(model, Prompts()), wanted == 2)
    store(tmp_path / "far", labels(), grid=Grid(scan().grid.shape, AFFINE + 100 * np.eye(4, k=3)))
    with pytest.raises(OtherGrid), open_image(Masks(str(tmp_path / "far"), resample=True), scan()):
        pass
    both = TwoStageModel(model, BoxFill())
    assert both.notes(scan()) == ("mask resampled",)


@pytest.mark.parametrize("instances", ["one", "files"])
def test_predictions_on_another_grid_are_no_dice_of_0(tmp_path: Path, say: Callable[..., Said], instances: str) -> None:
    folder = predictions(tmp_path)
    case = folder / "case-1.nii.gz"
    image = nib.load(case)  # type: ignore[attr-defined]
    image.affine[:3, 3] += (0.8, 0, 0)
    nib.save(nib.Nifti1Image(np.asarray(image.dataobj), image.affine), case)  # type: ignore[attr-defined]
    if instances == "files":
        (folder / "case-1").mkdir()
        case.rename(folder / "case-1" / "blob.1.nii.gz")
    phantom = "phantom:shape=48x96x96,instances=2,orientation=LPS"
    words = ("--prompter", "center_slice", "--dataset", phantom, "--out", str(tmp_path / "out"))
    said = say("run", "--model", f"masks:folder={folder},instances={instances}", *words)
    assert said.code == 1
    rows = pl.read_parquet(tmp_path / "out" / "rows" / "*.parquet")
    assert rows.select("status", "dice").rows() == [("no_data", None)] * 2
    assert "0.8 mm in x" in rows["error"][0]


def test_a_label_that_nobody_knows(tmp_path: Path, wording: SnapshotAssertion) -> None:
    with open_image(Masks(str(store(tmp_path / "p", labels()))), scan()) as image:
        (found,) = image.segment([Request("s", (Turn(points([(0, 0, 0)])),), label="liver")])
    assert isinstance(found, Failure)
    assert found.message == wording


def test_the_version_is_that_of_the_files(tmp_path: Path) -> None:
    folder = store(tmp_path / "p", labels())
    before = Masks(str(folder)).version
    assert Masks(str(folder)).version == before
    (folder / "log.txt").write_text("not a prediction")
    assert Masks(str(folder)).version == before
    store(folder, np.roll(labels(), 1))
    assert Masks(str(folder)).version != before


@pytest.mark.parametrize(
    "spec",
    [
        "masks",
        "masks:folder=nowhere",
        'masks:folder=.,labels="liver"',
        "masks:folder=.+box_fill+box_fill",
        "masks:folder=.+sam",
        "masks:folder=.+nothing",
    ],
)
def test_what_cannot_be_run_is_refused_at_once(say: Callable[..., Said], spec: str, wording: SnapshotAssertion) -> None:
    said = say("run", "--model", spec, "--prompter", "box_slice", "--dataset", "phantom")
    assert said.code == 2
    assert " ".join(said.err.split()) == wording


def predictions(tmp_path: Path) -> Path:
    """An nnU-Net-like folder of predictions for a phantom: its labels, moved by two voxels."""
    from intrabench.datasets.cases import store as cases

    phantom = registry.make("datasets", "phantom:shape=48x96x96,instances=2,orientation=LPS")
    case = cases.prepare(phantom, "case-1") and cases.open_case(phantom, "case-1")
    found = np.zeros(case.volume.shape, np.uint8)
    for target in case.targets():
        found[target.mask.to_array(found.shape)] = 1
    folder = store(tmp_path / "nnunet", np.roll(found, 2, axis=2), "case-1.nii.gz", case.volume.grid)
    (folder / "dataset.json").write_text(json.dumps({"labels": {"background": 0, "blob": 1}}))
    return folder


def test_a_folder_of_masks_corrected_by_clicks(tmp_path: Path, say: Callable[..., Said]) -> None:
    """The stored answer and its corrections are rows of one table."""
    folder = predictions(tmp_path)
    alone = f"masks:folder={folder},instances=components"
    words = [
        "--prompter",
        "center_slice+click_center",
        "--dataset",
        "phantom:shape=48x96x96,instances=2,orientation=LPS",
    ]
    models = [word for model in (alone, f"{alone}+random_walker", "random_walker") for word in ("--model", model)]
    said = say("run", *models, *words, "--rounds", "3", "--out", str(tmp_path / "out"))
    assert said.code == 0, said.err
    rows = pl.read_parquet(tmp_path / "out" / "rows" / "*.parquet").sort("target", "round")
    dice = {
        model: part.group_by("round", maintain_order=True).agg(pl.col("dice").mean())["dice"].to_list()
        for (model,), part in rows.group_by("model")
    }
    assert set(dice) == {alone, f"{alone}+random_walker", "random_walker"}
    assert len(set(dice[alone])) == 1  # nobody corrects
    assert 0.5 < dice[alone][0] < 0.95
    assert dice[f"{alone}+random_walker"][0] == dice[alone][0]
    assert dice[f"{alone}+random_walker"][-1] > dice[alone][0] + 0.02
    assert dice[f"{alone}+random_walker"] != dice["random_walker"]
    versions = dict(rows.select("model", "model_version").unique().iter_rows())
    assert versions[f"{alone}+random_walker"] == f"{versions[alone]}+{versions['random_walker']}"
    assert say("verify", str(tmp_path / "out")).code == 0


def test_stored_masks_are_there_before_anybody_prompts(tmp_path: Path, say: Callable[..., Said]) -> None:
    """nnU-Net first, then clicks: all instances of the label at once, and its answer costs nothing."""
    folder = predictions(tmp_path)
    said = say(
        *("run", "--model", f"masks:folder={folder}+random_walker", "--model", f"masks:folder={folder}"),
        *("--model", "random_walker", "--prompter", "nothing+click_center", "--rounds", "5"),
        *("--dataset", "phantom:shape=48x96x96,instances=2,orientation=LPS+whole", "--out", str(tmp_path / "out")),
    )
    assert said.code == 0, said.err
    rows = pl.read_parquet(tmp_path / "out" / "rows" / "*.parquet").sort("round")
    corrected, stored, alone = (
        rows.filter(model=model)
        for model in (f"masks:folder={folder}+random_walker", f"masks:folder={folder}", "random_walker")
    )
    assert corrected["interactions"].to_list() == [0, 1, 2, 3, 4, 5]
    assert corrected["dice"][0] == stored["dice"][0] > 0.5
    assert corrected["dice"][5] > corrected["dice"][0] + 0.02
    assert stored["dice"].n_unique() == 1
    assert (alone["dice"][0], alone["status"][0]) == (0, "empty")  # it needs prompts
    assert corrected["dice"][1] > alone["dice"][1]


def test_a_file_for_each_target(tmp_path: Path) -> None:
    """Of overlapping masks of a label the box means that which fits it, a click the smaller one."""
    large, small = np.zeros((2, *SHAPE), np.uint8)
    large[0:3, 0:5, 0:6] = small[0:2, 0:2, 0:3] = 1
    for name, mask in (("lesion.1__sam__seed0", large), ("lesion.2", small), ("kidney%2Fleft.1__sam", 1 - large)):
        store(tmp_path / "anna", mask, f"{name}.nii.gz")
    model = Masks(str(tmp_path), instances="files")
    np.testing.assert_array_equal(answer(model, Prompts(), "kidney/left"), large == 0)  # the only one
    np.testing.assert_array_equal(answer(model, box3d((0, 0, 0, 2, 3, 3)), "lesion"), small)
    np.testing.assert_array_equal(answer(model, box3d((0, 0, 0, 3, 5, 5)), "lesion"), large)
    np.testing.assert_array_equal(answer(model, points([(1, 1, 1)]), "lesion"), small)
    np.testing.assert_array_equal(answer(model, points([(2, 4, 4)]), "lesion"), large)
    assert not answer(model, points([(3, 5, 7)]), "lesion").any()
    before = model.version
    store(tmp_path / "anna", large, "lesion.2.nii.gz")
    assert Masks(str(tmp_path), instances="files").version != before


def test_folders_that_do_not_have_one_file_for_each_target(tmp_path: Path, wording: SnapshotAssertion) -> None:
    folder = tmp_path / "set"
    folder.mkdir()
    store(folder / "anna", labels(), "lesion.1__sam__round0.nii.gz")
    for model, sentence in (
        (Masks(str(folder)), "add instances=files"),
        (Masks(str(tmp_path), instances="files"), f"give folder={folder}"),
        (Masks(str(folder / "anna"), instances="files"), "expected anna/TARGET.nii.gz there"),
    ):
        with pytest.raises(IntraBenchError, match=re.escape(sentence)), open_image(model, scan()):
            pass
    with open_image(Masks(str(folder), instances="files"), scan()) as image:
        (failed,) = image.segment([Request("s", (Turn(Prompts()),), label="liver")])
    assert isinstance(failed, Failure)
    assert failed.message == wording
    store(folder / "anna", labels(), "lesion.1__sam__round1.nii.gz")
    model = Masks(str(folder), instances="files")
    with (
        pytest.raises(IntraBenchError) as caught,
        open_image(model, scan()),
    ):
        pass
    assert caught == wording
