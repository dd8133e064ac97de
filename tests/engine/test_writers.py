"""A model or a prompter that writes into what all share fails alone, and changes no other score."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl
import pytest

import intrabench
from intrabench.engine.check import check
from intrabench.mask import Mask
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.models.parts.embeddings import EmbeddingStore
from intrabench.prompters.base import Prompter, Turns, User
from intrabench.prompts import Click, Turn, points
from intrabench.volume import Volume
from tests.broken_models import Filling

pytestmark = [pytest.mark.usefixtures("data"), pytest.mark.filterwarnings("ignore::UserWarning")]
SMALL = "phantom:shape=16x32x32,instances=2"
COLUMNS = ["model", "prompter", "target", "status", "dice", "prompts_hash"]
SENTENCE = "cannot be written into; copy the array first, array.copy()"


@dataclass(eq=False)
class Writer(VolumeModel):
    """Sets the scan to zero."""

    name = "a_writer"
    accepts = frozenset({"box2d", "box3d"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        volume.array[...] = 0
        return Answer(Mask.empty())


@dataclass(frozen=True)
class Eraser(Prompter):
    """Erases the target."""

    name = "a_eraser"

    def interact(self, user: User) -> Turns:
        user.target.mask.array[:] = False
        yield Turn(points([(0, 0, 0)]), (Click(),))


def others(rows: pl.DataFrame) -> list[Any]:
    kept = rows.filter(~pl.col("model").str.contains("a_writer") & ~pl.col("prompter").str.contains("a_eraser"))
    return kept.select(COLUMNS).sort(COLUMNS[:3]).rows()


def test_writers_fail_alone() -> None:
    alone = intrabench.run(model=["random_walker", "box_fill"], prompter="box_slice", dataset=SMALL)
    together = intrabench.run(
        model=[Writer(), "random_walker", "box_fill"], prompter=[Eraser(), "box_slice"], dataset=SMALL
    )
    assert others(together) == others(alone)
    failed = together.filter(pl.col("status") == "error")
    assert len(failed) == 2 * (3 + 1)
    assert failed["error"].str.contains(SENTENCE, literal=True).all()
    assert failed.filter(pl.col("prompter").str.contains("a_eraser"))["error"].str.starts_with("prompter: ").all()


def test_what_all_share_cannot_be_written_into_nor_can_its_views() -> None:
    array = np.zeros((3, 4, 5), np.float32)
    volume, mask = Volume.from_canonical(array), Mask.of(np.ones((2, 2, 2), bool))
    given = points([(1, 1, 1)])
    with EmbeddingStore(1.0) as store:
        store.put(0, np.zeros((2, 2), np.float32))
        embedding = store.get(0)
    shared = [volume.array, volume.grid.affine, volume.affine, mask.array, mask.occupied_slices]
    for one in [*shared, given.points, given.clicked, given.boxes2d, Mask.empty().array, embedding]:
        assert isinstance(one, np.ndarray)
        for view in (one, one[:], one[...], one.view(), one.T, np.asarray(one)):
            assert not view.flags.writeable
    array[0, 0, 0] = 1.0  # the caller's own array is still his
    crop = mask.crop((0, 0, 0, 2, 2, 2))
    crop[:] = False  # a copy
    assert mask.voxels == 8


def test_check_tells_of_a_model_that_writes() -> None:
    found = {finding.name: finding for finding in check(Writer())}
    assert SENTENCE in found["prompts"].message

    class Sly(Filling):
        """Writes past numpy, as other libraries do."""

        def segment_one(self, volume: Volume, request: Request) -> Answer:
            base = volume.array.base
            assert base is not None
            base.setflags(write=True)
            base[0, 0, 0] += 1
            return super().segment_one(volume, request)

    said = {finding.name: (finding.ok, finding.message) for finding in check(Sly())}
    assert said["scan"] == (False, "it changed the scan, which all models share; copy it first")
