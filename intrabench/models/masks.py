"""Stored predictions as a model: masks of nnU-Net, or of anything else, one file for each case."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np

from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.folder.nnunet import FILE, regions_of
from intrabench.documents import read_json
from intrabench.errors import IntraBenchError, in_words
from intrabench.mask import Box, Mask
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, failure_of
from intrabench.models.outside.answers import IMAGES, image_on, segs_of
from intrabench.names import file_name
from intrabench.prompts import Prompts
from intrabench.specs import switch
from intrabench.volume import Volume, whole_numbers

Values = Mapping[str, tuple[int, ...]]
ENDS = 1 << 16
"""Bytes at both ends of a file that tell whether it has changed: packed files have their checksums there."""


@dataclass(eq=False)
class Masks(Model):
    """Stored predictions: `FOLDER/CASE.nii.gz` on the scan's own grid (or .nii, .mha, .nrrd, .npz with `segs`).

    The answer to the first turn is the stored mask of the target's label, and stays so: prompts change nothing, they
    only say which of several instances is meant. `masks:folder=FOLDER+random_walker` has another model correct it.

    folder: where the files are. labels: which values mean which label, `"liver=1,lesion=2"`; empty: as `dataset.json`
    in the folder says, which nnU-Net leaves there, and `label_N` is N. instances: one: all voxels of the label.
    components: the connected part of them, values: the value in the file, of which most voxels lie under the prompts.
    """

    name = "masks"
    dims = 3
    accepts = frozenset({"point", "box2d", "box3d", "scribble", "lasso"})
    feeds_back = True
    unprompted = True

    folder: str = ""
    labels: str = switch("")
    instances: Literal["one", "components", "values"] = switch("one")

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """With a hash of the files: their names, sizes and both ends."""
        return f"1/{_hash_of(Path(self.folder))}" if self.folder else "1"

    def check_runnable(self) -> None:
        """Refuse a folder that is not there, and labels that cannot be read."""
        if not self.folder or not Path(self.folder).is_dir():
            raise IntraBenchError(f"masks: folder={self.folder or '...'} is no folder; give that of the predictions")
        assert self.values is not None

    @cached_property
    def values(self) -> Values:
        """The values of each label, as far as somebody says.

        Raises:
            IntraBenchError: what says it cannot be read.
        """
        if self.labels:
            found: dict[str, tuple[int, ...]] = {}
            for part in self.labels.split(","):
                name, _, value = part.rpartition("=")
                if not name.strip() or not value.strip().isdecimal():
                    raise IntraBenchError(
                        f'masks: labels={self.labels!r} does not fit; write labels="liver=1,lesion=2"'
                    )
                found[name.strip()] = (*found.get(name.strip(), ()), int(value))
            return found
        described = Path(self.folder) / FILE
        return regions_of(read_json(described, {}).get("labels"), described) if described.is_file() else {}

    def of_label(self, label: str) -> tuple[int, ...]:
        """The values of a label.

        Raises:
            IntraBenchError: nobody says which.
        """
        if label in self.values:
            return self.values[label]
        if found := re.fullmatch(r"label_(\d+)", label):
            return (int(found[1]),)
        known = ", ".join(self.values) or f"there is no {FILE}"
        raise IntraBenchError(
            f'masks: which value in {self.folder} is {label!r} is not known ({known}); say it, labels="{label}=1"'
        )

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Read the file of the case."""
        yield _Stored(self, _read(Path(self.folder), volume))


class _Stored(Predictor):
    """The stored label map of a case ``(z, y, x)``."""

    def __init__(self, model: Masks, labels: Any) -> None:
        self.model, self.map = model, labels
        self._parts: dict[str, list[Mask]] = {}

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        return [self._guarded(request) for request in requests]

    def _guarded(self, request: Request) -> Answer | Failure:
        try:
            return Answer(request.mask if len(request.turns) > 1 else self._first(request))
        except Exception as error:
            return failure_of(error, 0.0)

    def _first(self, request: Request) -> Mask:
        if self.model.instances == "one":
            return Mask.union(self.parts(request.label))
        prompts = request.turns[-1].prompts
        found = [(_under(part, prompts), part) for part in self.parts(request.label)]
        most, part = max(found, key=lambda one: one[0], default=(0, Mask.empty()))
        return part if most else Mask.empty()

    def parts(self, label: str) -> list[Mask]:
        """What the file has of a label: all of it, its connected parts, or each value."""
        if label not in self._parts:
            if self.model.instances == "values":
                self._parts[label] = _by_value(self.map)
            else:
                whole = Mask.of(np.isin(self.map, self.model.of_label(label)))
                self._parts[label] = [whole] if self.model.instances == "one" else Instances().split(whole)
        return self._parts[label]


def _by_value(labels: Any) -> list[Mask]:
    """The mask of each value above 0, from its own box."""
    from scipy import ndimage

    masks = []
    for value, where in enumerate(ndimage.find_objects(labels), start=1):
        if where is not None:
            z, y, x = (bound.start for bound in where)
            masks.append(Mask.of(labels[where] == value, (z, y, x)))
    return masks


def _under(mask: Mask, prompts: Prompts) -> int:
    """How many voxels of a mask lie under the positive prompts; in boxes all voxels count."""
    strokes = [stroke.points for stroke in prompts.scribbles if stroke.label == 1]
    points = np.vstack([prompts.points[prompts.points[:, 3] == 1, :3], *strokes])
    blocks = [np.array([z, y0, x0, z + 1, y1, x1]) for z, y0, x0, y1, x1 in prompts.boxes2d]
    blocks += [] if prompts.box3d is None else [prompts.box3d]
    blocks += [
        np.hstack([lasso.points.min(axis=0), lasso.points.max(axis=0) + 1]) for lasso in prompts.lassos if lasso.label
    ]
    places = points - mask.start
    inside = places[((places >= 0) & (places < mask.array.shape)).all(axis=1)]
    count = int(np.count_nonzero(mask.array[tuple(inside.T)]))
    return count + sum(mask.within(_box(block)).voxels for block in blocks)


def _box(block: Any) -> Box:
    z0, y0, x0, z1, y1, x1 = map(int, block)
    return z0, y0, x0, z1, y1, x1


def _read(folder: Path, volume: Volume) -> Any:
    """The label map of a case, canonical.

    Raises:
        IntraBenchError: there is no file for it, or it does not fit the scan.
    """
    if not volume.case:
        raise IntraBenchError("masks: this scan has no name, so its prediction cannot be found; give it a case")
    names = {file_name(volume.case): None} | ({volume.case: None} if Path(volume.case).name == volume.case else {})
    paths = [folder / f"{name}{ending}" for name in names for ending in (*IMAGES, ".npz")]
    path = next((path for path in paths if path.is_file()), None)
    if path is None:
        raise IntraBenchError(f"{folder} has no prediction for the case {volume.case}; expected {paths[1].name} there")
    try:
        if path.suffix == ".npz":
            return segs_of(path, str(path), volume.shape)
        return whole_numbers(image_on(path, volume.grid), str(path))
    except IntraBenchError:
        raise
    except Exception as error:  # readers raise different exceptions for damaged files
        raise IntraBenchError(f"{path} cannot be read ({in_words(error)[:300]}); predict it again") from error


def _hash_of(folder: Path) -> str:
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if path.is_file() and path.name.lower().endswith((*IMAGES, ".npz", FILE)):
            size = path.stat().st_size
            with path.open("rb") as file:
                head = file.read(ENDS)
                file.seek(max(0, size - ENDS))
                found.update(f"{path.name} {size}".encode() + head + file.read())
    return found.hexdigest()[:12]
