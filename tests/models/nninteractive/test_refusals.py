"""Prompts as nninteractive marks them; and the scans, prompts and files that it refuses."""

from __future__ import annotations

import json
import os
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.nninteractive import NnInteractive
from intrabench.models.parts.nninteractive_marks import marks
from intrabench.prompts import Prompts, boxes, points
from intrabench.registry.registry import make
from intrabench.volume import Volume
from tests.models.nninteractive.played import (
    BOX2D,
    CLICK,
    POINT,
    SHAPE,
    VOLUME,
    ask,
    channel,
    lasso,
    made,
    phantom,
    same,
    scribble,
    turns_of,
)
from tests.models.nninteractive_folder import write_folder
from tests.wording import without_reasons


class TestMarks:
    def of(self, prompts: Prompts, thickness: Sequence[int] = (2, 2, 2)) -> Any:
        (mark,) = marks(prompts, SHAPE, thickness)
        return mark

    def test_a_brush_is_round_and_lies_in_the_plane_of_the_stroke(self) -> None:
        axial = self.of(scribble([(3, 5, 6), (3, 6, 7)]))
        assert axial.bbox == [[3, 4], [4, 8], [5, 9]]
        assert axial.image[0].tolist() == [[1, 1, 1, 0], [1, 1, 1, 1], [1, 1, 1, 1], [0, 1, 1, 1]]
        coronal = self.of(scribble([(3, 5, 6), (4, 5, 8)]))
        assert coronal.bbox == [[2, 6], [5, 6], [5, 10]]
        assert coronal.image[:, 0].tolist() == [[1, 1, 1, 0, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 0, 1, 1, 1]]
        assert self.of(scribble([(3, 5, 6), (4, 7, 6)])).bbox == [[2, 6], [4, 9], [6, 7]]
        assert self.of(scribble([(3, 5, 6), (4, 6, 8)])).bbox == [[3, 5], [4, 8], [5, 10]]  # in no plane: axial
        wide = self.of(scribble([(3, 5, 6)]), (5, 1, 1))
        assert wide.image[0].tolist() == [
            [0, 1, 1, 1, 0], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [1, 1, 1, 1, 1], [0, 1, 1, 1, 0]
        ]  # fmt: skip
        thin = self.of(scribble([(3, 5, 6), (3, 6, 7)]), (1, 1, 1))
        assert thin.image[0].tolist() == [[1, 0], [0, 1]]

    def test_a_brush_at_the_border_is_cut(self) -> None:
        assert self.of(scribble([(0, 0, 27)])).bbox == [[0, 1], [0, 2], [26, 28]]

    def test_a_lasso_is_filled_with_its_outline(self) -> None:
        horseshoe = self.of(
            lasso([(2, 0, 0), (2, 4, 0), (2, 4, 4), (2, 0, 4), (2, 0, 3), (2, 3, 3), (2, 3, 1), (2, 0, 1)])
        )
        assert horseshoe.bbox == [[2, 3], [0, 5], [0, 5]]
        assert horseshoe.image[0].tolist() == [[1, 1, 0, 1, 1]] * 3 + [[1] * 5] * 2
        assert self.of(lasso([(2, 7, 8)])).image.tolist() == [[[1]]]
        assert self.of(lasso([(2, 7, 8), (2, 7, 10)])).image.tolist() == [[[1, 1, 1]]]

    def test_the_mark_in_the_middle_slice_comes_last(self) -> None:
        found = marks(points([(z, 5, 5) for z in (2, 4, 9, 11, 15)]), SHAPE, (2, 2, 2))
        assert [mark.bbox[0][0] for mark in found] == [2, 15, 4, 11, 9]
        both = Prompts(points=np.array([[4, 1, 1, 0], [4, 2, 2, 1]]), boxes2d=np.array([[4, 0, 0, 3, 3]]))
        assert [(mark.kind, mark.label) for mark in marks(both, SHAPE, (2, 2, 2))] == [
            ("bbox", 1),
            ("point", 0),
            ("point", 1),
        ]
        assert marks(Prompts(), SHAPE, (2, 2, 2)) == []

    @pytest.mark.parametrize(
        "prompts",
        [
            points([(20, 0, 0)]),
            points([(0, -1, 0)]),
            points([(0, 0, 0)], 2),
            boxes({3: (6, 6, 6, 9)}),
            boxes({3: (9, 6, 6, 9)}),
            boxes({3: (6, 6, 25, 9)}),
            scribble([(0, 0, 0), (0, 24, 0)]),
            scribble(np.zeros((0, 3), dtype=int)),
            lasso([(0, 0, 0), (0, 0, 5), (0, 30, 5)]),
            lasso([(0, 0, 0), (0, 0, 5), (1, 5, 5)]),
            lasso([(0, 0, 0), (0, 0, 5), (0, 5, 5)], -1),
        ],
    )
    def test_what_cannot_be_is_refused(self, prompts: Prompts, wording: SnapshotAssertion) -> None:
        with pytest.raises(ValueError) as caught:
            marks(prompts, SHAPE, (2, 2, 2))
        assert caught == wording


class TestRefusals:
    @pytest.mark.parametrize(
        "array",
        [
            np.full(SHAPE, np.nan, dtype=np.float32),
            np.where(phantom() > 0, np.inf, 0),
            np.zeros(SHAPE, dtype=np.int16),
            np.pad(np.ones((4, 4, 4)), 8),
            np.stack([phantom()] * 3, axis=-1),
        ],
    )
    def test_images_that_cannot_be_normalised(
        self, model: NnInteractive, array: np.ndarray, wording: SnapshotAssertion
    ) -> None:
        with pytest.raises(ValueError) as caught:
            model.open(Volume.from_canonical(array))
        assert caught == wording

    def test_integers_are_images_too_and_stay_as_they_are(self, model: NnInteractive) -> None:
        array = np.rint(phantom()).astype(np.int16)
        before = array.copy()
        with model.open(Volume.from_canonical(array)) as image:
            first = ask(image, turns_of(CLICK))
        with model.open(Volume.from_canonical(array.astype(np.float32))) as image:
            assert same([first], [ask(image, turns_of(CLICK))])
        assert np.array_equal(array, before)

    def test_a_missing_package_is_one_sentence(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
    ) -> None:
        monkeypatch.setitem(sys.modules, "nnInteractive.inference.inference_session", None)
        with pytest.raises(IntraBenchError) as error:
            made(tmp_path).open(VOLUME)
        assert str(error.value).startswith("model nninteractive needs nnInteractive")
        assert str(error.value) == wording

    def test_missing_weights_are_one_sentence(self, tmp_path: Path, wording: SnapshotAssertion) -> None:
        with pytest.raises(IntraBenchError) as caught:
            made(None).load()
        assert caught == wording
        with pytest.raises(IntraBenchError) as caught:
            made(tmp_path / "absent").load()
        assert caught == wording

    def test_precision_is_not_to_be_chosen(self, wording: SnapshotAssertion) -> None:
        with pytest.raises(IntraBenchError) as caught:
            made(None, dtype="bfloat16").load()
        assert caught == wording

    @pytest.mark.parametrize(
        "name", ["plans.json", "dataset.json", "inference_info.json", "fold_0/checkpoint_final.pth"]
    )
    def test_a_folder_without_one_of_its_files(
        self, tmp_path: Path, folder: Path, name: str, wording: SnapshotAssertion
    ) -> None:
        broken = write_folder(tmp_path / "broken")
        (broken / name).unlink()
        with pytest.raises(IntraBenchError) as caught:
            made(broken).load()
        assert without_reasons(str(caught.value)) == wording

    def test_the_metadata_of_the_first_published_checkpoint(self, tmp_path: Path, folder: Path) -> None:
        """It says nothing but the name of a class, which stands for a decay of 0.9 and balls of radius 4."""
        legacy = write_folder(tmp_path / "legacy", patch=32, bias=-0.8)
        (legacy / "inference_info.json").unlink()
        (legacy / "inference_session_class.json").write_text(json.dumps("nnInteractiveInferenceSession"))
        with made(legacy, autozoom=False).open(VOLUME) as image:
            ask(image, turns_of(CLICK))
            assert image.session.current_interaction_intensity == pytest.approx(1 / 0.9)
            assert [line.any() for line in channel(image, POINT)[:, 12, 15]] == [5 <= z <= 13 for z in range(20)]

    def test_another_network_than_the_planned_one(self, tmp_path: Path, folder: Path) -> None:
        broken = write_folder(tmp_path / "broken")
        plans = json.loads((broken / "plans.json").read_text())
        plans["configurations"]["3d_fullres"]["architecture"]["arch_kwargs"]["features_per_stage"] = [4, 8, 16]
        (broken / "plans.json").write_text(json.dumps(plans))
        with pytest.raises(IntraBenchError, match=r"Error\(s\) in loading state_dict"):
            made(broken).load()

    def test_a_checkpoint_runs_no_code(self, tmp_path: Path, folder: Path, wording: SnapshotAssertion) -> None:
        evil = write_folder(tmp_path / "evil", logged=_Touch(tmp_path / "touched"))
        with pytest.raises(IntraBenchError) as caught:
            made(evil).load()
        assert without_reasons(str(caught.value)) == wording
        assert not (tmp_path / "touched").exists()
        assert "TORCH_FORCE_WEIGHTS_ONLY_LOAD" not in os.environ

    def test_checkpoints_written_with_another_numpy_are_read(self, tmp_path: Path, folder: Path) -> None:
        old = write_folder(tmp_path / "old", bias=-0.8, patch=32)
        path = old / "fold_0" / "checkpoint_final.pth"
        with zipfile.ZipFile(path) as archive:
            content = {name: archive.read(name) for name in archive.namelist()}
        (pickled,) = (name for name in content if name.endswith("data.pkl"))
        now, before = (b"numpy._core.", b"numpy.core.") if np.__version__ >= "2" else (b"numpy.core.", b"numpy._core.")
        assert now in content[pickled]
        content[pickled] = content[pickled].replace(now, before)
        with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
            for name, data in content.items():
                archive.writestr(name, data)
        with made(old, autozoom=False).open(VOLUME) as image:
            assert ask(image, turns_of(BOX2D)).any()

    @pytest.mark.parametrize("name", ["builtins.print", "torch.nn.Module.apply", "torch.nn.functional.torch.load"])
    def test_plans_call_nothing_but_networks(
        self, tmp_path: Path, folder: Path, name: str, wording: SnapshotAssertion
    ) -> None:
        evil = write_folder(tmp_path / "evil", network_class=name)
        with pytest.raises(IntraBenchError) as caught:
            made(evil).load()
        assert caught == wording

    def test_specs_choose_the_autozoom(self) -> None:
        assert make("models", "nninteractive").autozoom is True
        assert make("models", "nninteractive:autozoom=false").autozoom is False


class _Touch:
    """Makes a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)
