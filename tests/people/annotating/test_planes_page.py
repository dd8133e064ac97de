"""The three planes of the page lie as radiologists see them, whatever the plane in which the scan is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.mask import TURNED, UPRIGHT, Plane
from tests.people.annotating.test_page import annotating, person
from tests.tabs import Tabs

SCANS: dict[Plane, str] = {
    "axial": "phantom:shape=12x40x44,spacing=2.5x0.7x0.7,instances=1",
    "coronal": "phantom:shape=44x12x40,spacing=0.7x2.5x0.7,instances=1",
    "sagittal": "phantom:shape=44x40x12,spacing=0.7x0.7x2.5,instances=1",
}
LAID = """({ plane, shape, neurological }) => {
  const count = shape[0] * shape[1] * shape[2], found = {};
  const info = { plane, shape, spacing: [3, 1, 1], photo: false, channels: 1 };
  const words = Uint16Array.from({ length: count }, (_, n) => n), volume = { info, words, has: (z) => z !== 1 };
  const table = Uint32Array.from({ length: count }, (_, n) => n + 1);
  const mask = new Mask([0, 0, 0, ...shape], new Uint8Array(Math.ceil(count / 8)).fill(0xb4));
  document.querySelectorAll("#viewer figure").forEach((figure, axis) => {
    const pane = new Pane(figure, axis);
    pane.show(volume, neurological);
    pane.index = 0;
    const [height, width] = [shape[pane.row], shape[pane.column]];
    pane.fill(volume, table, height, width);
    const pixels = new Uint32Array(pane.picture.data.buffer), cut = mask.cut(axis, 0, pane.row, pane.column);
    found[figure.querySelector("figcaption").firstChild.data.trim()] = {
      ends: pane.borders().concat(pane.borders().map((end) => OPPOSITE[end])),
      size: [height, width], pixels: [...pixels], mask: [...cut.cells],
    };
  });
  return found;
}"""


@pytest.fixture
def tab(chromium: Any) -> Any:
    tabs = Tabs(chromium)
    yield tabs
    tabs.reset()


@pytest.mark.parametrize("neurological", [False, True])
@pytest.mark.parametrize("plane", TURNED)
def test_planes_lie_as_radiologists_see_them(plane: Plane, neurological: bool, tab: Tabs, data: Path) -> None:
    """Letters at the top and on the left, voxels of scan and mask; slices that are not there yet are black."""
    canonical = (3, 4, 5)
    shape = [canonical[axis] for axis in TURNED[plane]]
    array = np.arange(60).reshape(shape)
    bits = np.unpackbits(np.full(8, 0xB4, np.uint8))[:60].reshape(shape)
    upright = UPRIGHT[plane]
    there = np.ones(shape, bool)
    there[1] = False
    pixels = np.where(there, array + 1, 0).transpose(upright)
    with annotating(SCANS[plane]) as server:
        one = person(tab, server)
        captions = [text.split()[0] for text in one.page.locator("#viewer figcaption").all_inner_texts()]
        found = one.page.evaluate(LAID, {"plane": plane, "shape": shape, "neurological": neurological})
    assert captions[0].lower() == plane
    assert {name: about["ends"] for name, about in found.items()} == {
        "Axial": ["A", *("LPR" if neurological else "RPL")],
        "Coronal": ["S", *("LIR" if neurological else "RIL")],
        "Sagittal": ["S", "A", "I", "P"],
    }
    for axis, name in enumerate(("Axial", "Coronal", "Sagittal")):
        about = found[name]
        seen = np.array(about["pixels"]).reshape(about["size"])
        along = 1 if neurological and name != "Sagittal" else -1
        assert np.array_equal(seen, pixels.take(0, axis)[::-1, ::along]), name
        assert about["mask"] == bits.transpose(upright).take(0, axis).ravel().tolist(), name
