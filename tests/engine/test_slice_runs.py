"""Runs of a slice model: every slice is encoded once, whatever asks for it, and once ever with kept embeddings."""

from __future__ import annotations

from pathlib import Path

import polars as pl

import intrabench

PLUGIN = '''
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from intrabench.models.parts.slice_model import SliceModel, SliceResult


@dataclass(eq=False)
class Boxes(SliceModel):
    """Fills boxes, and notes what it encodes."""

    name = "boxes"
    accepts = frozenset({"box2d"})

    def slice_images(self, volume):
        return lambda z: volume.array[z]

    def encode(self, images):
        time.sleep(0.05 if Path("slow").exists() else 0)
        with Path("encoded").open("a") as file:
            file.writelines(f"{image.astype(float).sum()}\\n" for image in images)
        return [np.full((4, 8, 8), image.mean(), np.float32) for image in images]

    def decode(self, items):
        def filled(item):
            mask = np.zeros(item.shape, bool)
            y0, x0, y1, x1 = item.box
            mask[y0:y1, x0:x1] = True
            return SliceResult(mask)
        return [filled(item) for item in items]
'''

DATASET = "phantom:shape=16x32x32,instances=4"


def run(out: str, **options: object) -> pl.DataFrame:
    Path("boxes.py").write_text(PLUGIN)
    prompters = ["box_slice", "box_interp:n=2", "box_volume"]
    return intrabench.run("boxes", prompters, DATASET, plugin=[Path("boxes.py")], out=out, **options)  # type: ignore[arg-type]


def encoded() -> list[str]:
    return Path("encoded").read_text().splitlines()


def test_every_slice_is_encoded_once_and_answers_are_those_of_box_fill(data: Path) -> None:
    rows = run("one", memory=0)  # nothing fits in memory, and still
    assert len(encoded()) == len(set(encoded()))
    floor = intrabench.run("box_fill", ["box_slice", "box_interp:n=2", "box_volume"], DATASET, out="floor")
    order = ["target", "prompter"]
    assert rows.sort(order)["dice"].to_list() == floor.sort(order)["dice"].to_list()
    assert rows.filter(pl.col("prompter") == "box_volume")["adapted"].unique().to_list() == ["box3d->box2d"]


def test_kept_embeddings_are_not_computed_again(data: Path) -> None:
    Path("slow").touch()  # else it would not be worth it
    first = run("one", cache_embeddings=True)
    count = len(encoded())
    again = run("two", cache_embeddings=True)
    assert len(encoded()) == count
    assert again["dice"].to_list() == first["dice"].to_list()
    assert list((data / "embeddings").iterdir())
    run("three")  # nobody knows what else a class of the user's own depends on
    assert len(encoded()) == 2 * count
