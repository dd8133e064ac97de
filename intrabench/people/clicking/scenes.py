"""What is clicked: for each target of a data set the picture, or the slice in which it is largest."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store
from intrabench.datasets.cases.selection import check_targets, select_cases, select_targets
from intrabench.datasets.cases.stored_case import CaseIndex
from intrabench.errors import IntraBenchError, in_words
from intrabench.files.atomic import atomically, writing
from intrabench.files.grid import acquisition_plane
from intrabench.files.names import file_name
from intrabench.mask import TURNED, Bools, reordered
from intrabench.people.clicking.displays import Picture
from intrabench.people.slices import largest_slice, seen, slice_picture
from intrabench.play.validate import Refused
from intrabench.results.merged_clicks import SLICES
from intrabench.target import TargetInfo


@dataclass(frozen=True)
class Scene:
    """A target to be clicked. code: opaque. label: its name. stem, number: of picture and object in a file of clicks.

    dataset: that they are of, ours or `SLICES`. aspect: height of a pixel divided by its width.
    """

    code: str
    label: str
    dataset: str
    stem: str
    number: str
    aspect: float
    source: tuple[Dataset, str, str]


class Scenes:
    """The targets of data sets. What cannot be prepared is said in `notes`, and left out.

    folder: where slices of scans are stored as pictures with masks. window: as of `ct_window`.
    """

    def __init__(
        self,
        datasets: Sequence[Dataset],
        cases: Sequence[str],
        targets: Sequence[str],
        folder: Path,
        window: str = "",
        named: bool = False,
    ) -> None:
        """Download and convert the cases. named: leave out targets that their name does not tell from others.

        Raises:
            IntraBenchError: nothing is left.
        """
        self.notes, self._folder, self._window = list[str](), folder, window
        indexes = list[CaseIndex]()
        self._scenes = dict[str, Scene]()
        for dataset in datasets:
            for case in select_cases(dataset, cases):
                try:
                    index = store.prepare(dataset, case)
                except Exception as error:  # whatever a data set of the user's raises
                    self.notes.append(f"{dataset.short_spec}, case {case}: {in_words(error)}")
                    continue
                indexes.append(index)
                names = Counter(map(dataset.card.called, index.targets))
                for info in select_targets(index, targets):
                    called = dataset.card.called(info)
                    if named and names[called] > 1:
                        self.notes.append(f"{dataset.short_spec}, case {case}: several targets are called {called}")
                    elif info.voxels:
                        self._add(dataset, case, info, index)
        self.notes = list(dict.fromkeys(self.notes))
        check_targets(indexes, targets)
        if not self._scenes:
            found = "; ".join(["there is no target to click", *self.notes])
            raise IntraBenchError(f"{found}; give another data set or display")
        self.picture_of = lru_cache(maxsize=8)(self._picture_of)

    def __len__(self) -> int:
        return len(self._scenes)

    @property
    def all(self) -> list[Scene]:
        """In the order of the data."""
        return list(self._scenes.values())

    def __getitem__(self, code: str) -> Scene:
        """The scene with this code.

        Raises:
            Refused: there is none.
        """
        if code not in self._scenes:
            raise Refused("there is no such picture; reload the page")
        return self._scenes[code]

    def _add(self, dataset: Dataset, case: str, info: TargetInfo, index: CaseIndex) -> None:
        code = hashlib.sha256(repr((dataset.spec, case, info.id)).encode()).hexdigest()[:16]
        named, stem, number, aspect = dataset.short_spec, case, str(info.instance), 1.0
        if index.shape[0] > 1 or index.modality != "natural RGB":
            plane = acquisition_plane(index.shape, index.spacing_mm)
            spacing = reordered(index.spacing_mm, TURNED[plane])
            named, number = SLICES, ""
            stem = file_name(dataset.name, case, f"{info.label}-{info.instance}")
            aspect = spacing[1] / spacing[2]
        elif len(index.targets) == 1:
            number = ""
        called = dataset.card.called(info)
        self._scenes[code] = Scene(code, called, named, stem, number, aspect, (dataset, case, info.id))

    def _picture_of(self, code: str) -> tuple[Picture, Bools]:
        """RGB ``(y, x, 3)`` and mask ``(y, x)`` of a scene, as seen on the screen; a slice is stored, too.

        Raises:
            Refused: there is no such scene.
            IntraBenchError: the case cannot be read, or the folder not be written.
        """
        scene = self[code]
        dataset, case, id = scene.source
        stored = store.open_case(dataset, case)
        (target,) = stored.targets([id])
        if scene.dataset != SLICES:
            return slice_picture(stored.volume, 0, target.mask), target.mask.to_array(target.shape)[0]
        plane = acquisition_plane(stored.index.shape, stored.index.spacing_mm)
        volume, target = stored.volume.turned(plane), target.turned(plane)
        z, turned = largest_slice(target.mask), seen(volume)
        picture = np.ascontiguousarray(slice_picture(volume, z, target.mask, self._window)[turned])
        mask: Bools = np.ascontiguousarray(target.mask.to_array(target.shape)[z][turned])
        self._store(scene.stem, {"images": picture, "masks": mask.astype(np.uint8) * 255})
        return picture, mask

    def _store(self, stem: str, pictures: Mapping[str, Any]) -> None:
        for kind, array in pictures.items():
            path = self._folder / SLICES / kind / f"{stem}.png"
            if not path.exists():
                with writing(path):
                    path.parent.mkdir(parents=True, exist_ok=True)
                    with atomically(path) as part:
                        Image.fromarray(array).save(part, "PNG")
