"""Draws the examples of the rating guideline on a phantom, for people.md; `make docs` runs it."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw
from small_pictures import shrink

from intrabench.datasets.base import Files
from intrabench.people.rating.gallery import SIDE, Slice, gallery
from intrabench.registry import registry

FILE = Path(__file__).parent / "pictures" / "rating_examples.png"
PHANTOM = "phantom:shape=12x64x64,instances=2,noise=0,seed=5"
_ACROSS, _LINE = 5, 46


def sheet() -> Image.Image:
    """A tile for each score, each kind of error, and what is none, with its words."""
    dataset = registry.make("datasets", PHANTOM)
    volume, targets = dataset.load(dataset.cases()[0], Files(None, None))  # type: ignore[arg-type]
    found = gallery([Slice.of(target, volume) for target in targets], np.random.default_rng(0))
    tiles = [
        (one, f"{one.get('score', '')} {one['text']} (Dice {one['dice']:.2f})".strip())
        for part in ("scores", "errors", "no_errors")
        for one in found[part]
    ]
    high = SIDE + _LINE
    drawn = Image.new("RGB", (_ACROSS * SIDE, -(-len(tiles) // _ACROSS) * high))
    pen = ImageDraw.Draw(drawn)
    for place, (one, words) in enumerate(tiles):
        x, y = place % _ACROSS * SIDE, place // _ACROSS * high
        picture = Image.open(io.BytesIO(base64.b64decode(one["picture"].partition(",")[2])))
        drawn.paste(picture, (x + (SIDE - picture.width) // 2, y))
        pen.multiline_text((x + 4, y + SIDE + 2), _wrapped(words), fill="white", spacing=1)
    return drawn


def _wrapped(words: str) -> str:
    from textwrap import wrap

    return "\n".join(wrap(words, 36)[:3])


if __name__ == "__main__":
    sheet().save(FILE)
    shrink(FILE)
