"""Models say when they load a network and when they encode: once per batch or crop, nothing for what is kept."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.mask import Floats32, Mask
from intrabench.models.base import Answer, Failure, Model, Request, Runtime
from intrabench.models.parts import embedding_cache
from intrabench.models.parts.crop_model import CropModel, OpenCrops
from intrabench.progress import Phase, listen
from intrabench.prompts import Prompts, boxes
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.stub import stub

VOLUME = Volume.from_canonical(np.arange(6 * 8 * 10, dtype=np.int16).reshape(6, 8, 10))
FULL = (0, 0, 8, 10)


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


@dataclass(eq=False)
class Crops(CropModel):
    """Encodes each slice of the newest turn, and one crop."""

    name = "crops"
    accepts = frozenset({"box2d"})

    def build(self) -> Any:
        """A network that does nothing."""
        return torch.nn.Identity()

    def encode(self, crop: Floats32) -> Floats32:
        """The crop; the first slice, which begins with 0, fails."""
        if crop.flat[0] == 0:
            raise ValueError("no")
        return crop

    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Nothing, after encoding."""
        for z in request.turns[-1].prompts.slices():
            image.embedding(z, lambda z=z: image.volume.array[z])
        image.embedding("whole", lambda: image.volume.array[1:])
        return Answer(Mask.empty())


def said(model: Model, *asked: Prompts) -> list[tuple[str, str]]:
    """What a model says that opens the volume and answers, without what it says at the end of each step."""
    heard: list[tuple[str, str]] = []

    def hear(phase: Phase, what: str, about: str) -> None:
        if phase:
            heard.append((phase, what))

    with listen(hear), model.open(VOLUME) as image:
        for prompts in asked:
            image.segment([Request("one", (Turn(prompts),))])
    return heard


@pytest.mark.parametrize(
    ("batch", "slices"),
    [
        ("fixed", ["slice 1 of 3", "slice 2 of 3", "slice 3 of 3", "slice 1 of 1"]),
        ("2", ["slices 1 to 2 of 3", "slice 3 of 3", "slice 1 of 1"]),
        ("4", ["slices 1 to 3 of 3", "slice 1 of 1"]),
    ],
)
def test_slices_are_said_once_per_batch(batch: str, slices: list[str]) -> None:
    asked = boxes(dict.fromkeys((0, 3, 5), FULL))
    heard = said(stub(batch), asked, asked, boxes(dict.fromkeys((3, 4), FULL)))
    assert heard == [("loading", "loading stub"), *(("encoding", f"encoding {which}") for which in slices)]


def test_embeddings_of_an_earlier_run_are_not_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "FILE_S", 0.0)  # this model is too fast to be worth it
    asked = boxes(dict.fromkeys((0, 3), FULL))
    assert len(said(stub(embeddings=tmp_path), asked)) == 3
    assert said(stub(embeddings=tmp_path), asked) == [("loading", "loading stub")]


def test_a_network_is_loaded_once() -> None:
    model = stub()
    assert said(model) == [("loading", "loading stub")]
    assert said(model) == []


def test_crops_and_frames_are_said_once_each() -> None:
    model = Crops()
    model.runtime = Runtime(random=True)
    heard = said(model, boxes({1: FULL, 3: FULL}), boxes({3: FULL, 5: FULL}))
    assert heard == [
        ("loading", "loading crops"),
        ("encoding", "encoding slice 2 of 6"),
        ("encoding", "encoding slice 4 of 6"),
        ("encoding", "encoding crop 3"),
        ("encoding", "encoding slice 6 of 6"),
    ]


def test_a_step_that_fails_is_over() -> None:
    model = Crops()
    heard: list[tuple[str, str]] = []
    with listen(lambda phase, what, about: heard.append((phase, what))), model.open(VOLUME) as image:
        [answer] = image.segment([Request("one", (Turn(boxes({0: FULL})),))])
    assert isinstance(answer, Failure)
    assert heard[-2:] == [("encoding", "encoding slice 1 of 6"), ("", "")]
