"""The images that people clicked on: the picture, the object and the error that the clicks correct."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability.clicks_csv import RealClicks, identity_of
from intrabench.datasets.base import Dataset
from intrabench.datasets.cases import store
from intrabench.datasets.convert.photo import read_photo
from intrabench.errors import IntraBenchError, broken
from intrabench.randomness import stream
from intrabench.target import Target

ClickedImage = tuple[NDArray[np.uint8], NDArray[np.bool_], NDArray[np.bool_]]
"""The picture ``(y, x, 3)``, the whole target ``(y, x)``, and the error ``(y, x)`` that the clicks correct."""

_HALF = 127  # masks are stored as probabilities, 0 to 255


@dataclass(frozen=True, eq=False)
class Example:
    """A training example: one instance and one error of a segmentation, with the clicks of many people to correct it.

    image: 8-bit RGB ``(y, x, 3)``. target, error: ``(y, x)``, the whole instance and the part to be corrected; both are
    equal for a first click. clicks: rows ``y, x``, pixels of the image.
    """

    image: NDArray[np.uint8]
    target: NDArray[np.bool_]
    error: NDArray[np.bool_]
    clicks: NDArray[np.int64]


@dataclass(frozen=True)
class ClickedImages:
    """Gives the `ClickedImage` of an entry of a file of clicks.

    datasets: natural images by `Dataset.short_spec`, as in the file's column ``dataset``. masks: folder of the
    corrected masks ``FULL_STEM.png``, at any depth; None to use only first clicks.
    """

    datasets: Mapping[str, Dataset]
    masks: Path | None = None

    def __call__(self, entry: RealClicks) -> ClickedImage:
        """Load the clicked image of an entry.

        Raises:
            IntraBenchError: the picture, the object or the mask is missing.
        """
        dataset = self.datasets[entry.dataset]
        if entry.image_stem not in dataset.cases():
            raise IntraBenchError(
                f"{entry.dataset} has no picture {entry.image_stem}, which was clicked as {entry.full_stem}; use the "
                "data set that the clicks were made on"
            )
        image, targets = _case(dataset, entry.image_stem)
        target = _chosen(targets, entry)
        whole = target.mask.to_array(target.shape)[0]
        return image, whole, self._error(entry, target, whole)

    def wanted(self, entries: Iterable[RealClicks]) -> list[RealClicks]:
        """The entries of these data sets; without masks, only first clicks."""
        selected = [entry for entry in entries if entry.dataset in self.datasets]
        return [entry for entry in selected if self.masks is not None or entry.click_type == "first"]

    def _error(self, entry: RealClicks, target: Target, whole: NDArray[np.bool_]) -> NDArray[np.bool_]:
        if entry.click_type == "first":
            return whole
        mask = self._mask(entry)
        if mask.shape != whole.shape:
            raise IntraBenchError(
                f"the mask of {entry.full_stem} has {mask.shape[0]} x {mask.shape[1]} pixels, but its picture has "
                f"{whole.shape[0]} x {whole.shape[1]}; use the masks that belong to the data set"
            )
        wrong = whole & ~mask if entry.click_type == "fn" else mask & ~whole
        return wrong & ~target.ignore.to_array(target.shape)[0]

    def _mask(self, entry: RealClicks) -> NDArray[np.bool_]:
        assert self.masks is not None
        path = _masks_in(self.masks).get(entry.full_stem)
        if path is None:
            raise IntraBenchError(
                f"{self.masks} has no {entry.full_stem}.png, the mask that was corrected; give the folder of the "
                "published masks with --masks"
            )
        mask = read_photo(path).array[0, :, :, 0]
        if 0 < mask.max() <= _HALF:
            raise IntraBenchError(
                f"{path} has no value above {_HALF}; save masks as 0 and 255, or as such probabilities"
            )
        return mask > _HALF


class Examples(Sequence[Example]):
    """Entries as examples for training; images are read on demand."""

    def __init__(self, entries: Sequence[RealClicks], scene_of: Callable[[RealClicks], ClickedImage]) -> None:
        self._entries, self._scene_of = entries, scene_of

    @property
    def identity(self) -> str:
        """A hash of the entries and their clicks."""
        return identity_of(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, place: int) -> Example:  # type: ignore[override]
        entry = self._entries[place]
        return Example(*self._scene_of(entry), entry.clicks)


def divided(entries: Sequence[RealClicks], validation: str, seed: int = 0) -> tuple[list[RealClicks], list[RealClicks]]:
    """Entries for training and for validation; no picture is in both.

    validation: a share of the pictures, such as 0.25, drawn with the seed; or a file with the names of pictures.

    Raises:
        IntraBenchError: `validation` is neither, or leaves one part empty.
    """
    path = Path(validation)
    if path.is_file():
        try:
            stems = {line.strip() for line in path.read_text(encoding="utf-8").splitlines()}
        except UnicodeDecodeError as error:
            raise broken(path, error) from error
    else:
        try:
            share = float(validation)
        except ValueError as error:
            raise IntraBenchError(
                f"--validation {validation} is neither a file nor a share; write for example 0.25"
            ) from error
        pictures = sorted({entry.image_stem for entry in entries})
        stems = {one for one in pictures if stream("validation", seed, one).random() < share}
    learnt = [entry for entry in entries if entry.image_stem not in stems]
    kept = [entry for entry in entries if entry.image_stem in stems]
    if not learnt or not kept:
        raise IntraBenchError(
            f"--validation {validation} leaves {len(learnt)} entries for training and {len(kept)} for validation; "
            "choose another share, or pictures that are in the file of clicks"
        )
    return learnt, kept


@lru_cache(maxsize=8)
def _case(dataset: Dataset, case: str) -> tuple[NDArray[np.uint8], tuple[Target, ...]]:
    store.prepare(dataset, case)
    stored = store.open_case(dataset, case)
    image = stored.volume.array
    if image.shape[0] != 1:
        raise IntraBenchError(
            f"{dataset.short_spec}, case {case} has {image.shape[0]} slices; clicks need pictures of one slice"
        )
    return image[0], tuple(stored.targets())


def _chosen(targets: Sequence[Target], entry: RealClicks) -> Target:
    """The clicked object: the one with the entry's number, or the only one."""
    matches = [one for one in targets if str(one.instance) == entry.object_stem] if entry.object_stem else list(targets)
    if len(matches) != 1:
        instances = ", ".join(str(one.instance) for one in targets)
        raise IntraBenchError(
            f"{entry.full_stem} refers to object {entry.object_stem or '(the only one)'}, but {entry.dataset}, case "
            f"{entry.image_stem} has {instances or 'none'}; use the data set that the clicks were made on"
        )
    return matches[0]


@lru_cache(maxsize=2)
def _masks_in(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in sorted(folder.rglob("*.png"))}
