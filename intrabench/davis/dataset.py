"""A folder as DAVIS 2017 has it: frames, masks, the human scribbles, and lists of sequences.

``JPEGImages/480p/NAME/00000.jpg``, ``Annotations/480p/NAME/00000.png`` (palette; 0 background, 255 void),
``Scribbles/NAME/001.json`` and ``ImageSets/2017/val.txt``. The last two may be missing in a folder of one's own: then
all sequences count, and the robot draws the first scribbles.
"""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.metrics import VOID
from intrabench.errors import IntraBenchError
from intrabench.files.scribble_file import Scribbles, read_scribbles

SUBSETS = {"train": ("train",), "val": ("val",), "trainval": ("train", "val")}
VARIABLE = "DATASET_DAVIS"
"""Names the folder where no `davis_root` is given, as in the published package."""
Labels = NDArray[np.uint8]


class Davis:
    """The sequences of a folder.

    Raises:
        IntraBenchError: there is no such folder, or it has no masks.
    """

    def __init__(self, davis_root: str | Path | None = None) -> None:
        root = davis_root or os.environ.get(VARIABLE)
        if not root:
            raise IntraBenchError(f"give davis_root, the folder of DAVIS 2017, or set {VARIABLE}")
        self.root = Path(root).expanduser()
        self.masks, self.images = self.root / "Annotations" / "480p", self.root / "JPEGImages" / "480p"
        if not self.masks.is_dir():
            raise IntraBenchError(f"{self.root} has no folder Annotations/480p; give the folder of DAVIS 2017 (480p)")

    def sequences(self, subset: str = "val") -> list[str]:
        """The names of the sequences of ``train``, ``val`` or ``trainval``."""
        if subset not in SUBSETS:
            raise IntraBenchError(
                f"there is no subset {subset!r}; choose from {', '.join(SUBSETS)} (test-dev has no public masks)"
            )
        lists = self.root / "ImageSets" / "2017"
        if not lists.is_dir():
            return sorted(folder.name for folder in self.masks.iterdir() if folder.is_dir())
        files = [lists / f"{part}.txt" for part in SUBSETS[subset]]
        for file in files:
            if not file.is_file():
                raise IntraBenchError(f"{file} is missing; it lists the sequences of {subset}")
        return [name for file in files for name in file.read_text(encoding="utf-8").split()]

    def scribble_sets(self, sequence: str) -> int:
        """How many people drew first scribbles; 1 if nobody did."""
        from intrabench.datasets.convert.video import people

        return max(len(people(self.root / "Scribbles" / sequence)), 1)

    def load_annotations(self, sequence: str) -> Labels:
        """The true objects ``(frame, y, x)``; 0 is background, 255 void.

        Raises:
            IntraBenchError: there are none, frames differ in size, or the objects are not numbered 1, 2, ...
        """
        return _annotations(self.masks / sequence)

    def load_images(self, sequence: str) -> NDArray[np.uint8]:
        """The frames ``(frame, y, x, colour)``."""
        from intrabench.datasets.convert.photo import read_photo

        files = sorted((self.images / sequence).glob("*.jpg"))
        if len(files) != len(self.load_annotations(sequence)):
            raise IntraBenchError(
                f"{self.images / sequence} has {len(files)} frames (.jpg), but {self.masks / sequence} has "
                f"{len(self.load_annotations(sequence))} masks; add what is missing"
            )
        return np.concatenate([np.asarray(read_photo(file).array) for file in files])

    def num_objects(self, sequence: str) -> int:
        """The number of objects, which are 1 to this."""
        labels = self.load_annotations(sequence)
        return int(labels[labels != VOID].max())

    def load_scribble(self, sequence: str, scribble_idx: int) -> Scribbles | None:
        """The first scribbles of one person (1, 2, ...); None if nobody drew any.

        Raises:
            IntraBenchError: the file is damaged or does not fit the sequence.
        """
        path = self.root / "Scribbles" / sequence / f"{scribble_idx:03}.json"
        if not path.is_file():
            return None
        frames, objects = len(self.load_annotations(sequence)), self.num_objects(sequence)
        return read_scribbles(path, sequence, frames, objects)


@lru_cache(maxsize=1)
def _annotations(folder: Path) -> Labels:
    from intrabench.datasets.convert.photo import read_ids

    files = sorted(folder.glob("*.png"))
    if not files:
        raise IntraBenchError(f"{folder} has no masks (.png); add one for each frame")
    masks = [read_ids(file, "palette") for file in files]
    for file, mask in zip(files, masks, strict=True):
        if mask.shape != masks[0].shape:
            raise IntraBenchError(f"{file} has the shape {mask.shape}, but {files[0].name} has {masks[0].shape}")
    labels = np.stack(masks).astype(np.uint8)
    found = np.setdiff1d(np.unique(labels), [0, VOID]).tolist()
    if not found or found != list(range(1, found[-1] + 1)):
        numbers = ", ".join(map(str, found)) or "none"
        raise IntraBenchError(f"the objects in {folder} are {numbers}; number them 1, 2, ... without gaps")
    labels.flags.writeable = False  # all who ask get the same
    return labels
