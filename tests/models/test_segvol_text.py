"""Texts of a session in SegVol: what reaches the network, what is loaded and read once, and what is missing."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.models.base import Failure, Request, Runtime
from intrabench.models.segvol import SegVol
from intrabench.prompts import Prompts, box3d, points
from intrabench.turns import Turn
from intrabench.volume import Volume
from tests.models.stub import answers, request
from tests.models.test_segvol import BRIGHT, SHAPE

LIVER, SPLEEN = Prompts(text="liver"), Prompts(text="Spleen")
SENTENCES = {text: f"A computerized tomography of a {text}." for text in ("liver", "Spleen")}


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    pytest.importorskip("segment_anything")
    pytest.importorskip("transformers")
    global torch, functional
    import torch
    from torch.nn import functional


class Recorder:
    """A network whose logits are the brightness of its window less a half; notes the prompts and texts it gets."""

    def __init__(self) -> None:
        self.encoded = 0
        self.asked: list[tuple[torch.Tensor | None, ...]] = []
        self.texts: list[float | None] = []

    def encode(self, windows: torch.Tensor) -> torch.Tensor:
        self.encoded += 1
        return functional.avg_pool3d(windows, (1, 4, 4))

    def decode(self, embedding: torch.Tensor, *asked: Any, text: torch.Tensor | None = None) -> torch.Tensor:
        self.asked.append(asked)
        self.texts.append(None if text is None else float(text[0, 0]))
        return embedding - 0.5


class Reader:
    """Stands in for the text encoder: a text is its number of tokens."""

    def __init__(self) -> None:
        self.tokens: list[list[int]] = []

    def __call__(self, tokens: torch.Tensor) -> torch.Tensor:
        self.tokens += tokens.tolist()
        return torch.full((1, 768), float(tokens.shape[1]))


def volume() -> Volume:
    array = np.full(SHAPE, -3000, dtype=np.int16)
    array[4:, 4:, 7:] = 200
    array[BRIGHT] = 1000
    return Volume.from_canonical(array)


@pytest.fixture
def image() -> Iterator[Any]:
    model = SegVol()
    model.runtime = Runtime(random=True)
    model.network, model.text_encoder = Recorder(), Reader()
    with model.open(volume()) as one:
        yield one


def tokens(text: str) -> float:
    """How many tokens the sentence has, letter by letter and without blanks, with both ends."""
    return len(SENTENCES[text].replace(" ", "")) + 2.0


def test_a_text_alone_goes_alone_into_the_frame_and_each_window(image: Any) -> None:
    (answer,) = answers(image, [request("a", LIVER)])
    network = image.model.network
    assert network.asked == [(None, None, None)] * 3
    assert network.texts == [tokens("liver")] * 3
    truth = np.zeros(SHAPE, dtype=bool)
    truth[BRIGHT] = True
    found = answer.update.to_array(SHAPE)
    assert 2 * (found & truth).sum() > 0.9 * (found.sum() + truth.sum())


def test_a_text_goes_with_points_and_box_as_they_would_go_without_it(image: Any) -> None:
    turns = points([(20, 30, 40)]), box3d((5, 20, 20, 40, 50, 60))
    for given in ((turns[0],), (turns[1],), turns):
        network = image.model.network
        network.asked, network.texts = [], []
        answers(image, [request("a", *given)])
        plain, network.asked = network.asked, []
        assert network.texts == [None] * 3
        answers(image, [request("b", LIVER, *given)])
        assert network.texts == [None] * 3 + [tokens("liver")] * 3
        for one, other in zip(plain, network.asked, strict=True):
            assert all(a is b or torch.equal(a, b) for a, b in zip(one, other, strict=True))


def test_the_newest_text_counts_and_stays_in_later_rounds(image: Any) -> None:
    answers(image, [request("a", LIVER, SPLEEN, points([(20, 30, 40)]))])
    assert image.model.network.texts == [tokens("Spleen")] * 3
    image.model.network.texts = []
    afresh = Turn(points([(20, 30, 40)]), afresh=True)
    answers(image, [Request("b", (Turn(LIVER), afresh))])
    assert image.model.network.texts == [None] * 3


def test_images_are_encoded_once_and_texts_read_once(image: Any) -> None:
    for session in ("a", "b"):
        answers(
            image, [request(session, LIVER), request(session, SPLEEN), request(session, LIVER, points([(9, 9, 9)]))]
        )
    assert image.model.network.encoded == image.store.encoded == 3
    assert [len(one) for one in image.model.text_encoder.tokens] == [tokens("liver"), tokens("Spleen")]


def test_without_a_text_its_encoder_is_not_loaded(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.delitem(sys.modules, "intrabench.models.networks.segvol_text", raising=False)
    model = SegVol()
    model.runtime = Runtime(random=True)
    model.network = Recorder()
    with model.open(volume()) as image:
        assert answers(image, [request("a", points([(20, 30, 40)]))])[0].update.any()
        (failed,) = image.segment([request("b", LIVER)])
    assert isinstance(failed, Failure)
    assert failed.message == wording
    assert not {"text_encoder", "tokenizer"} & vars(model).keys()


def test_missing_merges_are_one_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("INTRABENCH_WEIGHTS", str(tmp_path))
    model = SegVol()
    model.network, model.text_encoder = Recorder(), Reader()
    with model.open(volume()) as image:
        failed, fine = image.segment([request("a", LIVER), request("b", points([(20, 30, 40)]))])
        assert isinstance(failed, Failure)
        assert failed.message == wording
        assert not isinstance(fine, Failure)
        (tmp_path / "merges.txt").write_text("#version: 0.2\nl i\n")
        (failed,) = image.segment([request("a", LIVER)])
        assert failed.message == wording


def test_a_text_that_is_too_long_fails_alone(image: Any, wording: SnapshotAssertion) -> None:
    long, fine = image.segment([request("a", Prompts(text="kidney " * 20)), request("b", LIVER)])
    assert isinstance(long, Failure)
    assert long.message == wording
    assert not isinstance(fine, Failure)


def test_unloading_drops_what_texts_loaded(image: Any) -> None:
    answers(image, [request("a", LIVER)])
    image.model.unload()
    assert not {"network", "text_encoder", "tokenizer", "read"} & vars(image.model).keys()
