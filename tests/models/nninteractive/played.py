"""Volume, prompts and helpers of the tests of nninteractive."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer, Request, Runtime
from intrabench.models.nninteractive import NnInteractive
from intrabench.prompts import Lasso, Prompts, Scribble, boxes, points
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

SHAPE = (20, 24, 28)
PREVIOUS, BOX, NOT_BOX, POINT, NOT_POINT, SCRIBBLE, NOT_SCRIBBLE = range(7)
DECAY = 0.9
JSON = ["plans.json", "dataset.json", "inference_info.json"]


def phantom(shape: tuple[int, int, int] = SHAPE) -> np.ndarray:
    """A bright ball in noise; every voxel has an intensity of its own."""
    z, y, x = np.ogrid[tuple(slice(0, size) for size in shape)]
    ball = (z - 9) ** 2 + (y - 12) ** 2 + (x - 15) ** 2 <= 36
    return (80.0 * ball + np.random.default_rng(3).normal(0, 10, shape)).astype(np.float32)


VOLUME = Volume.from_canonical(phantom(), (3.0, 0.7, 0.8))


def made(folder: Path | None, autozoom: bool = True, **runtime: Any) -> NnInteractive:
    model = NnInteractive(autozoom=autozoom)
    model.runtime = Runtime(weights=folder, **runtime)
    return model


def by_hand(folder: Path, array: np.ndarray, autozoom: bool = False) -> Any:
    """A session as the package's README makes it."""
    import torch
    from nnInteractive.inference.inference_session import nnInteractiveInferenceSession

    threads = torch.get_num_threads()  # which it sets for the whole process
    with redirect_stdout(StringIO()):
        session = nnInteractiveInferenceSession(torch.device("cpu"), torch_n_threads=threads, do_autozoom=autozoom)
        session.initialize_from_trained_model_folder(str(folder))
        session.set_image(array[None])
        session.set_target_buffer(torch.zeros(array.shape, dtype=torch.uint8))
    return session


def turns_of(*prompts: Prompts) -> tuple[Turn, ...]:
    return tuple(Turn(p, (Click(),)) for p in prompts)


def ask(image: Any, turns: Sequence[Turn], mask: Mask | None = None, name: str = "a") -> Mask:
    [answer] = image.segment([Request(name, tuple(turns), mask or Mask.empty())])
    assert isinstance(answer, Answer), answer
    assert answer.seconds > 0
    assert answer.valid.slices is None
    assert answer.valid.box is None
    return answer.update


def play(image: Any, turns: Sequence[Turn], name: str = "a") -> list[Mask]:
    """All turns of one session, one after the other."""
    masks = [Mask.empty()]
    for number in range(len(turns)):
        masks.append(ask(image, turns[: number + 1], masks[-1], name))
    return masks[1:]


def dense(mask: Mask) -> np.ndarray:
    return mask.to_array(SHAPE)


def same(a: Sequence[Mask], b: Sequence[Mask]) -> bool:
    return len(a) == len(b) and all(np.array_equal(dense(one), dense(two)) for one, two in zip(a, b, strict=True))


def channel(image: Any, number: int) -> np.ndarray:
    return image.session.interactions[number].numpy()


def scribble(rows: Any, label: int = 1) -> Prompts:
    return Prompts(scribbles=(Scribble(np.array(rows), label),))


def lasso(rows: Any, label: int = 1) -> Prompts:
    return Prompts(lassos=(Lasso(np.array(rows), label),))


CLICK, CLICK_AWAY = points([(9, 12, 15)]), points([(4, 6, 20)], 0)
BOX2D = boxes({9: (6, 9, 19, 22)})
STROKE = scribble([(9, y, 12 + y // 4) for y in range(8, 18)])
STROKE_AWAY = scribble([(z, 5, 6 + z) for z in range(3, 9)], 0)
LOOP, LOOP_AWAY = lasso([(9, 6, 10), (9, 18, 10), (9, 12, 21)]), lasso([(14, 3, 3), (14, 3, 9), (14, 9, 3)], 0)
ALL = (CLICK, CLICK_AWAY, BOX2D, STROKE, STROKE_AWAY, LOOP, LOOP_AWAY)
