"""First clicks as they are collected: a file in the format of RClicks' clicks.csv, with what was shown and to whom."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from threading import RLock
from typing import Any

import numpy as np

from intrabench.clickability.valid_clicks import beside
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.locks import Busy, locked
from intrabench.people.clicking.displays import Display, Picture, displayed
from intrabench.people.clicking.scenes import Scene, Scenes
from intrabench.play.gestures import check_time
from intrabench.play.validate import Refused
from intrabench.randomness import stream
from intrabench.results.merged_clicks import FILE, lock_of

SECONDS = (1.5, 2.0, 1.5)
"""How long RClicks shows the image, what to click, and the image again before a click counts."""
DEVICES = ("pc", "mobile")


@dataclass(frozen=True)
class CollectedClick:
    """A row: the columns of RClicks, and more. beside: pixels from the click to the target, 0 on it. id: made by the
    page, so that a click that arrives twice counts once.
    """

    dataset: str
    full_stem: str
    click_type: str
    x: int
    y: int
    w: int
    h: int
    image_stem: str
    object_stem: str
    model_type: str
    device: str
    display: str
    rater: str
    seconds: float
    beside: float
    id: str


class Collection:
    """The clicks of all people in ``RESULTS/people/clicks``; one process at a time. A click is on the disk at once."""

    def __init__(self, folder: Path, scenes: Scenes, display: Display) -> None:
        """Take the lock and read what was clicked before.

        Raises:
            IntraBenchError: another process collects into this folder, or the file is damaged or cannot be written.
        """
        self.scenes, self.display, self._path, self._lock = scenes, display, folder / FILE, RLock()
        with ExitStack() as stack:
            try:
                stack.enter_context(locked(lock_of(folder)))
            except Busy as busy:
                raise IntraBenchError(
                    f"clicks are collected into {folder} already, by {busy}; choose another --out"
                ) from busy
            self._clicked = self._read()
            self._stack = stack.pop_all()

    def __enter__(self) -> Collection:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def done(self, rater: str) -> set[str]:
        """The codes of what a person has clicked in this display."""
        with self._lock:
            by_place = {(row["dataset"], row["full_stem"]) for row in self._clicked.values() if self._same(row, rater)}
        return {scene.code for scene in self.scenes.all if (scene.dataset, _stem(scene)) in by_place}

    def shown(self, code: str, rater: str) -> tuple[Picture, Picture | str]:
        """The picture of a scene, and what tells a person what to click.

        Raises:
            Refused, IntraBenchError: as of `Scenes.picture_of`.
        """
        with self._lock:
            picture, mask = self.scenes.picture_of(code)
        chance = stream("shifted target", 0, code, rater)
        return picture, displayed(picture, mask, self.display, chance, self.scenes[code].label)

    def click(self, code: str, rater: str, id: str, at: tuple[float, float], seconds: float, device: str) -> None:
        """Store a click. at: ``y, x`` in pixels of the picture. seconds: from when a click counted.

        Raises:
            Refused: it is beside the picture, or the target was clicked already.
            IntraBenchError: the file cannot be written.
        """
        check_time(seconds, 0.0)
        with self._lock:
            if id in self._clicked:
                return
            if code in self.done(rater):
                raise Refused("this target was clicked already; reload the page")
            scene, (picture, mask) = self.scenes[code], self.scenes.picture_of(code)
            height, width = picture.shape[:2]
            y, x = (int(np.floor(place)) for place in at)
            if not (0 <= y < height and 0 <= x < width):
                raise Refused("the click is beside the picture; click on it")
            if device not in DEVICES:
                raise Refused(f"the device is {device!r:.20}, expected {' or '.join(DEVICES)}")
            one = CollectedClick(
                dataset=scene.dataset,
                full_stem=_stem(scene),
                click_type="first",
                x=x,
                y=y,
                w=width,
                h=height,
                image_stem=scene.stem,
                object_stem=scene.number,
                model_type="",
                device=device,
                display=self.display,
                rater=rater,
                seconds=round(seconds, 3),
                beside=beside(mask, y, x),
                id=id,
            )
            self._append(asdict(one))
            self._clicked[id] = {name: str(value) for name, value in asdict(one).items()}

    def _same(self, row: Mapping[str, str], rater: str) -> bool:
        return (row["rater"], row["display"]) == (rater, self.display)

    def _append(self, row: Mapping[str, Any]) -> None:
        text = io.StringIO()
        csv.DictWriter(text, [*row], lineterminator="\n").writerow(row)
        with writing(self._path), self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> dict[str, dict[str, str]]:
        """What was clicked before, by id; without the half-written line that a kill may leave."""
        names = [field.name for field in fields(CollectedClick)]
        with writing(self._path):
            if not self._path.exists():
                self._path.write_text(",".join(names) + "\n", encoding="utf-8")
            content = self._path.read_bytes()
            if not content.endswith(b"\n"):
                content = content[: content.rfind(b"\n") + 1]
                self._path.write_bytes(content)
        rows = list(csv.DictReader(io.StringIO(content.decode("utf-8", "replace"))))
        if any([*row] != names or None in row.values() for row in rows):
            raise IntraBenchError(f"{self._path} is no file of collected clicks; move it away")
        return {row["id"]: row for row in rows}


def _stem(scene: Scene) -> str:
    """The `full_stem` of a first click: picture and object (RClicks writes seven underscores between them)."""
    return f"{scene.stem}_______{scene.number}" if scene.number else scene.stem
