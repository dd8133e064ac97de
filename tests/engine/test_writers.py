"""A model or a prompter that writes into what all share fails alone, and changes no other score."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.check import check
from intrabench.engine.integrity import CHUNK, IntegrityCheck
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import in_words
from intrabench.mask import Mask, frozen
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, VolumeModel
from intrabench.models.box_fill import BoxFill
from intrabench.models.parts.embeddings import EmbeddingStore
from intrabench.prompters.base import Prompter
from intrabench.prompters.box_slice import BoxSlice
from intrabench.prompters.user import Turns, User
from intrabench.prompts import points
from intrabench.target import Target
from intrabench.turns import Click, Turn
from intrabench.volume import Volume
from tests.broken_models import Filling
from tests.conftest import make_target

pytestmark = [pytest.mark.usefixtures("data"), pytest.mark.filterwarnings("ignore::UserWarning")]
SMALL = "phantom:shape=16x32x32,instances=2"
COLUMNS = ["model", "prompter", "target", "status", "dice", "prompts_hash"]
SENTENCE = "cannot be written into; copy the array first, array.copy()"


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


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


def test_check_tells_of_a_model_that_writes(wording: SnapshotAssertion) -> None:
    found = {finding.name: finding for finding in check(ModelRunner(Writer()))}
    assert SENTENCE in found["prompts"].message

    class Sly(Filling):
        """Writes past numpy, as other libraries do."""

        def segment_one(self, volume: Volume, request: Request) -> Answer:
            torch.from_numpy(volume.array).add_(1)
            return super().segment_one(volume, request)

    said = {finding.name: (finding.ok, finding.message) for finding in check(ModelRunner(Sly()))}
    assert said["scan"] == (False, wording)


def test_nobody_makes_a_frozen_array_writeable_again() -> None:
    array = np.arange(24, dtype="<i2").reshape(2, 3, 4)
    locked = array.view()
    locked.flags.writeable = False  # a view that is read-only, of an array that is not
    big, shared = array.astype(">f4"), np.asarray(memoryview(array))
    for one in (array, array[:, ::-1], np.asfortranarray(array), locked, big, shared):
        kept = frozen(one)
        assert (kept.dtype, kept.shape, kept.strides) == (one.dtype, one.shape, one.strides)
        assert np.array_equal(kept, one)
        assert frozen(kept) is kept
        for again in (kept, kept.view(), kept[:1], np.lib.stride_tricks.as_strided(kept)):
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag") as raised:
                again.flags.writeable = True
            assert SENTENCE in in_words(raised.value)
    assert np.shares_memory(frozen(array), array)
    assert not frozen(np.zeros(2, "M8[s]")).flags.writeable  # dates have no buffer


def test_a_hidden_voxel_is_no_voxel(wording: SnapshotAssertion) -> None:
    hidden = np.ma.masked_array(np.ones((1, 1, 2)), mask=[[[True, False]]])
    for make in (Mask.of, lambda array: Mask((0, 0, 0), array), lambda array: points(array.reshape(1, 2))):
        with pytest.raises(ValueError) as caught:
            make(hidden)  # type: ignore[operator]
        assert caught == wording


def past_numpy(array: np.ndarray) -> None:
    """Changes an array where it lies; torch does not ask numpy."""
    torch.from_numpy(array).logical_not_() if array.dtype == bool else torch.from_numpy(array).mul_(0)


@dataclass(eq=False)
class Torch(Model):
    """Fills boxes, and changes the scan."""

    name = "a_writer"
    accepts = frozenset({"box2d", "box3d"})
    when: str = "segment"

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        if self.when == "open":
            past_numpy(volume.array)
        yield TorchImage(volume, self.when)
        if self.when == "close":
            past_numpy(volume.array)


class TorchImage(Predictor):
    def __init__(self, volume: Volume, when: str) -> None:
        self.volume, self.when = volume, when

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        upper = any(request.turns[0].prompts.boxes2d[0, 0] > 5 for request in requests)  # the second target
        if self.when == "segment" or (self.when == "second" and upper):
            past_numpy(self.volume.array)
        if self.when == "replace":
            object.__setattr__(self.volume, "array", np.zeros_like(self.volume.array))
        if self.when == "grid":
            past_numpy(self.volume.grid.affine)
        return [BoxFill().segment_one(self.volume, request) for request in requests]


@dataclass(frozen=True)
class TorchUser(Prompter):
    """Draws boxes, and changes what it sees."""

    name = "a_eraser"
    what: str = "target"

    def interact(self, user: User) -> Turns:
        assert user.image is not None
        if self.what == "scan":
            past_numpy(user.image.array)
        if self.what == "voxels":
            vars(user.target.mask)["voxels"] = 1  # twice the overlap by this is a Dice above 1
        mask = yield from next_turn(BoxSlice().interact(user))
        if self.what == "answer":
            past_numpy(mask.array)
            object.__setattr__(mask, "start", (0, 0, 0))
        if self.what == "target":
            past_numpy(user.target.mask.array)


def next_turn(turns: Turns) -> Generator[Turn, Mask, Mask]:
    return (yield next(turns))


GOOD: dict[str, Any] = {"model": ["random_walker", "box_fill"], "prompter": ["box_slice"], "dataset": SMALL}
CHANGED = "changed the scan or a target, which all share; copy the array first, array.copy()"


@pytest.mark.parametrize("when", ["segment", "second", "replace", "grid", "open", "close"])
def test_a_model_that_writes_past_numpy_fails_alone(when: str) -> None:
    alone = intrabench.run(**GOOD)
    together = intrabench.run(**{**GOOD, "model": [Torch(when), *GOOD["model"]]})
    assert others(together) == others(alone)
    mine = together.filter(pl.col("model").str.contains("a_writer")).sort("target")
    said = {"open": "model: on opening, it changed the scan, which all share; copy the array first, array.copy()"}
    wrong = ("error", 0.0, said.get(when, f"model: it {CHANGED}"))
    filled = alone.filter(pl.col("model") == "box_fill").sort("target")["dice"].to_list()
    right = [("ok", dice, "") for dice in filled]
    expected = {"close": right, "second": [right[0], wrong]}.get(when, [wrong, wrong])
    assert mine.select("status", "dice", "error").rows() == expected


@pytest.mark.parametrize("what", ["scan", "target", "voxels"])
def test_a_prompter_that_writes_past_numpy_fails_alone(what: str, wording: SnapshotAssertion) -> None:
    alone = intrabench.run(**GOOD)
    together = intrabench.run(**{**GOOD, "prompter": [TorchUser(what), "box_slice"]})
    assert others(together) == others(alone)
    mine = together.filter(pl.col("prompter").str.contains("a_eraser"))
    assert mine.select("status", "dice", "error").unique().rows() == [("error", 0.0, wording)]


def test_what_a_prompter_does_to_the_answer_it_sees_changes_no_score() -> None:
    rows = intrabench.run(**{**GOOD, "prompter": [TorchUser("answer"), "box_slice"]})
    by = ["model", "target"]
    seen, drawn = (rows.filter(pl.col("prompter").str.contains(name)).sort(by) for name in ("a_eraser", "box_slice"))
    assert seen["dice"].to_list() == drawn["dice"].to_list()
    assert drawn["dice"].min() > 0.8  # type: ignore[operator]


def test_the_seal_is_broken_by_any_change() -> None:
    def fresh() -> tuple[Volume, Target, IntegrityCheck]:
        volume = Volume.from_canonical(np.arange(60, dtype=np.int16).reshape(3, 4, 5))
        target = replace(make_target(volume.array > 30), ignore=Mask.of(volume.array > 58))
        return volume, target, IntegrityCheck(volume, [target])

    volume, target, integrity = fresh()
    assert volume.is_ct is not None  # remembers what it computed
    assert target.mask.coordinates().any()
    assert not integrity.broken
    changes: list[Callable[[Volume, Target], object]] = [
        lambda volume, target: torch.from_numpy(volume.array).copy_(torch.from_numpy(volume.array).flip(0)),
        lambda volume, target: past_numpy(volume.affine),
        lambda volume, target: setattr(volume.array, "shape", (60,)),
        lambda volume, target: setattr(volume.array, "dtype", "u2"),
        lambda volume, target: object.__setattr__(volume, "array", None),
        lambda volume, target: object.__setattr__(volume, "modality", "CT"),
        lambda volume, target: vars(volume).update(spacing_mm=(9.0, 9.0, 9.0)),
        lambda volume, target: object.__setattr__(target.mask, "start", (0, 0, 1)),
        lambda volume, target: past_numpy(target.mask.occupied_slices),
        lambda volume, target: past_numpy(target.ignore.array),
        lambda volume, target: object.__setattr__(target, "spacing_mm", (0.1, 0.1, 0.1)),
        lambda volume, target: object.__setattr__(target, "siblings", ("x",)),
    ]
    for number, change in enumerate(changes):
        volume, target, integrity = fresh()
        change(volume, target)
        assert integrity.broken, number


def test_the_seal_sees_changes_anywhere_in_a_large_scan() -> None:
    volume = Volume.from_canonical(np.random.default_rng(0).integers(-1000, 1000, (5, 81, 123), dtype=np.int16))
    integrity, scan = IntegrityCheck(volume), torch.from_numpy(volume.array)
    assert volume.array.nbytes > 2 * 8 * CHUNK  # summed chunks and a rest
    before = scan.clone()
    changes: list[Callable[[torch.Tensor], object]] = [
        lambda scan: scan.add_(16),
        lambda scan: scan.neg_(),
        lambda scan: scan.copy_(scan.flip(0)),
        lambda scan: scan.copy_(scan.flip(2)),
        lambda scan: scan[0, 0, 0].add_(1),
        lambda scan: scan[4, 80, 122].add_(1),
        lambda scan: scan.clamp_(-999, 998),
    ]
    for number, change in enumerate(changes):
        change(scan)
        assert integrity.broken, number
        scan.copy_(before)
        assert not integrity.broken
