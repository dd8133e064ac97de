"""Stored predictions as a model: masks of nnU-Net, or of anything else, one file for each case."""

from __future__ import annotations

import glob
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, get_args
from urllib.parse import unquote

import numpy as np

from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.resample import labels_onto_grid
from intrabench.datasets.convert.upright import from_files
from intrabench.datasets.folder.nnunet import FILE, regions_of
from intrabench.errors import IntraBenchError, in_words
from intrabench.files.documents import read_json
from intrabench.files.grid import Grid, OtherGrid
from intrabench.files.headers import Arrays, image_shape
from intrabench.files.label_values import check_hard, from_zero
from intrabench.files.names import file_name
from intrabench.mask import Box, Mask, masks_of
from intrabench.models.base import Answer, Model, Predictor, Request, SequentialPredictor
from intrabench.models.outside.output_files import IMAGES, check_on, image_on, segs_of
from intrabench.prompts import PromptKind, Prompts
from intrabench.specs.specs import Reach, switch
from intrabench.volume import Volume, read_grid

Values = Mapping[str, tuple[int, ...]]
ENDS = 1 << 16
"""Bytes at both ends of a file that tell whether it has changed: packed files have their checksums there."""


@dataclass(eq=False)
class Masks(Model):
    """Stored predictions: `FOLDER/CASE.nii.gz` on the scan's own grid (or .nii, .mha, .nrrd, .npz with `segs`).

    Of a scan that is resampled this is the grid of its files, or the one that it is resampled to.

    The answer to the first turn is the stored mask of the target's label, and stays so: prompts change nothing, they
    only say which of several instances is meant. `masks:folder=FOLDER+random_walker` has another model correct it.

    folder: where the files are. labels: which values mean which label, `"liver=1,lesion=2"`; empty: as `dataset.json`
    in the folder says, which nnU-Net leaves there, and `label_N` is N. instances: one: all voxels of the label.
    components: the connected part of them, values: the value in the file, of which most voxels lie under the prompts.
    files: `FOLDER/CASE/TARGET.nii.gz`, a mask for each target, as `intrabench export masks` writes them; of several of
    a label, that which fits the prompts best. resample: true: masks on another grid are resampled by nearest neighbour.
    """

    name = "masks"
    dims = 3
    accepts = frozenset(get_args(PromptKind)) - {"text"}
    feeds_back = True
    unprompted = True

    folder: Annotated[str, Reach("read")] = ""
    labels: Annotated[str, Reach()] = switch("")
    instances: Literal["one", "components", "values", "files"] = switch("one")
    resample: bool = switch(False)

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """With a hash of the files: their names, sizes and both ends."""
        return f"1/{_hash_of(Path(self.folder), self.instances == 'files')}" if self.folder else "1"

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
        choices = ", ".join(self.values) or f"there is no {FILE}"
        raise IntraBenchError(
            f'masks: which value in {self.folder} is {label!r} is not known ({choices}); say it, labels="{label}=1"'
        )

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Read the file of the case, or find its files."""
        folder = Path(self.folder)
        if self.instances == "files":
            yield _Files(self, _files_of(folder, volume), volume)
        else:
            yield _Stored(self, _file_of(folder, volume), volume)

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """Whether masks of a case are off its grid or are resampled, by the headers of their files."""
        folder = Path(self.folder)
        files = _files_of(folder, volume).values() if self.instances == "files" else [_file_of(folder, volume)]
        found: dict[str, None] = {}
        for path in files:
            try:
                found |= dict.fromkeys(_placed(path, volume, self.resample)[1])
            except OtherGrid:
                raise
            except Exception:  # what is damaged is told by the sessions that need it
                continue
        return tuple(found)


class _Stored(SequentialPredictor):
    """The stored label map of a case ``(z, y, x)``."""

    def __init__(self, model: Masks, path: Path | None, volume: Volume) -> None:
        # before the first session, as nothing of the case counts if a file lies elsewhere
        self.model, self.notes = model, model.notes(volume)
        self.map: Any = None if path is None else _map_in(path, volume, model.resample)
        self._parts: dict[str, list[Mask]] = {}

    def answer(self, request: Request) -> Answer:
        return Answer(request.mask if len(request.turns) > 1 else self._first(request), notes=self.notes)

    def _first(self, request: Request) -> Mask:
        if self.model.instances == "one":
            return Mask.union(self.parts(request.label))
        return _most(_under, request.turns[-1].prompts, self.parts(request.label))

    def parts(self, label: str) -> list[Mask]:
        """What is stored of a label: all of it, its connected parts, each value, or the mask of each file."""
        if label not in self._parts:
            self._parts[label] = self._of(label)
        return self._parts[label]

    def _of(self, label: str) -> list[Mask]:
        if self.model.instances == "values":
            return list(masks_of(self.map).values())
        whole = Mask.of(np.isin(self.map, self.model.of_label(label)))
        return [whole] if self.model.instances == "one" else Instances().split(whole)


class _Files(_Stored):
    """The stored masks of a case, a file for each target."""

    def __init__(self, model: Masks, files: Mapping[str, Path], volume: Volume) -> None:
        super().__init__(model, None, volume)
        self._files, self._volume = files, volume

    def _first(self, request: Request) -> Mask:
        parts = self.parts(request.label)
        return parts[0] if len(parts) == 1 else _most(_fit, request.turns[-1].prompts, parts)

    def _of(self, label: str) -> list[Mask]:
        """The masks of a label, small ones first: where masks overlap, a click in both means the smaller one."""
        files = [path for target, path in self._files.items() if re.sub(r"\.\d+$", "", target) == label]
        if not files:
            labels = ", ".join(self._files)
            raise IntraBenchError(f"{self.model.folder} has no mask of {label} for this case, only of {labels}")
        masks = [_mask_in(path, self._volume, self.model.resample) for path in files]
        return sorted(masks, key=lambda mask: mask.voxels)


def _most(measure: Callable[[Mask, Prompts], float], prompts: Prompts, parts: Sequence[Mask]) -> Mask:
    """The first mask with the largest measure; an empty one if that is 0."""
    found = [(measure(part, prompts), part) for part in parts]
    most, part = max(found, key=lambda one: one[0], default=(0, Mask.empty()))
    return part if most else Mask.empty()


def _under(mask: Mask, prompts: Prompts) -> float:
    """How many voxels of a mask lie under the positive prompts; in boxes all voxels count."""
    return _points_in(mask, prompts) + sum(mask.within(block).voxels for block in _blocks(prompts))


def _fit(mask: Mask, prompts: Prompts) -> float:
    """How well a mask fits the positive prompts: the points in it, and its Dice with their boxes.

    Masks of neighbours may overlap, and a large one may have more voxels in a box than that which the box means.
    """
    blocks = _blocks(prompts)
    size = sum((z1 - z0) * (y1 - y0) * (x1 - x0) for z0, y0, x0, z1, y1, x1 in blocks)
    inside = sum(mask.within(block).voxels for block in blocks)
    return _points_in(mask, prompts) + 2 * inside / max(mask.voxels + size, 1)


def _points_in(mask: Mask, prompts: Prompts) -> int:
    """How many positive points and points of positive scribbles lie in a mask."""
    strokes = [stroke.points for stroke in prompts.strokes if stroke.label == 1 and not stroke.closed]
    places = np.vstack([prompts.points[prompts.points[:, 3] == 1, :3], *strokes]) - mask.start
    inside = places[((places >= 0) & (places < mask.array.shape)).all(axis=1)]
    return int(np.count_nonzero(mask.array[tuple(inside.T)]))


def _blocks(prompts: Prompts) -> list[Box]:
    """The boxes of prompts, those on slices and around lassos, too."""
    loops = [stroke.extent for stroke in prompts.strokes if stroke.label and stroke.closed]
    return [_box(block) for block in [*prompts.blocks, *loops]]


def _box(block: Any) -> Box:
    z0, y0, x0, z1, y1, x1 = map(int, block)
    return z0, y0, x0, z1, y1, x1


def _file_of(folder: Path, volume: Volume) -> Path:
    """The file of a case.

    Raises:
        IntraBenchError: there is none, or there are several.
    """
    names = _names(volume)
    paths = [folder / f"{name}{ending}" for name in names for ending in (*IMAGES, ".npz")]
    found = list(dict.fromkeys(path for path in paths if path.is_file()))
    if len(found) > 1:
        both = " and ".join(path.name for path in found)
        raise IntraBenchError(f"{folder} has {both} for the case {volume.case}; leave one of them there")
    if not found:
        if any((folder / name).is_dir() for name in names):
            raise IntraBenchError(
                f"{folder} has a folder for the case {volume.case}, not a file; if it has a mask for each target, add "
                "instances=files"
            )
        raise IntraBenchError(f"{folder} has no prediction for the case {volume.case}; expected {paths[1].name} there")
    return found[0]


def _files_of(folder: Path, volume: Volume) -> dict[str, Path]:
    """The file of each target of a case, by its id, which `intrabench export masks` writes before two underscores.

    Raises:
        IntraBenchError: there are none for the case, or several for a target.
    """
    names = _names(volume)
    place = next((folder / name for name in names if (folder / name).is_dir()), None)
    if place is None:
        below = [path.parent for path in sorted(folder.glob(f"*/{glob.escape(names[0])}")) if path.is_dir()]
        instead = f"give folder={below[0]}" if below else f"expected {names[0]}/TARGET.nii.gz there"
        raise IntraBenchError(f"{folder} has no folder for the case {volume.case}; {instead}")
    found: dict[str, Path] = {}
    for path in sorted(place.iterdir()):
        if ending := next((one for one in IMAGES if path.name.lower().endswith(one)), ""):
            target = unquote(path.name[: -len(ending)].split("__")[0])
            if target in found:
                raise IntraBenchError(
                    f"{place} has two masks of {target}, {found[target].name} and {path.name}; leave one of each "
                    "target there, as `intrabench export masks` does with --model, --prompter and --round"
                )
            found[target] = path
    return found


def _names(volume: Volume) -> list[str]:
    """What files of a case are called.

    Raises:
        IntraBenchError: the case has no name.
    """
    if not volume.case:
        raise IntraBenchError("masks: this scan has no name, so its prediction cannot be found; give it a case")
    return [file_name(volume.case), *([volume.case] if Path(volume.case).name == volume.case else [])]


def _placed(path: Path, volume: Volume, resample: bool) -> tuple[Grid, tuple[str, ...]]:
    """The grid on which a file lies, and what rows note of it.

    That is the grid of the scan's files or that on which it is played, unless the file is to be resampled.

    Raises:
        OtherGrid: it lies on another one, and `resample` is false, or none of its voxels are in the scan.
        IntraBenchError: its header cannot be read.
    """
    grids = [*([volume.original.grid] if volume.original else []), volume.grid]
    if path.suffix == ".npz":  # which states no more than a shape
        with Arrays(path) as arrays:
            shape = arrays.announced("segs")[0] if "segs" in arrays else None
        return next((grid for grid in grids if grid.canonical_shape == shape), volume.grid), ()
    image_shape(path)  # refuses a header that names files of others
    own = read_grid(path)
    grid = next((grid for grid in grids if grid.same_as(own)), None)
    if grid is None and resample and volume.grid.meets(own):
        return own, ("mask resampled",)
    grid = grid or grids[0]
    return grid, ("mask off the grid",) if check_on(path, grid) else ()


def _map_in(path: Path, volume: Volume, resample: bool) -> Any:
    """The label map of a file, canonical, on the grid on which the scan is played.

    Raises:
        OtherGrid: it does not lie on the grid of the scan, and `resample` is false.
        IntraBenchError: it cannot be read.
    """
    try:
        grid, _ = _placed(path, volume, resample)
        if path.suffix == ".npz":
            labels = segs_of(path, str(path), grid.canonical_shape)
        else:
            labels = from_zero(image_on(path, grid), str(path))
            check_hard(labels, str(path), "cut it at a threshold and write whole labels")
        if grid is volume.grid:
            return labels
        if volume.original is not None and grid is volume.original.grid:
            return from_files(labels, volume)
        return labels_onto_grid(labels, grid.canonical_affine, volume.grid)
    except IntraBenchError:
        raise
    except Exception as error:  # readers raise different exceptions for damaged files
        raise IntraBenchError(f"{path} cannot be read ({in_words(error)[:300]}); predict it again") from error


def _mask_in(path: Path, volume: Volume, resample: bool) -> Mask:
    """The mask of a file, which has one value beside 0; raises as `_map_in`."""
    labels = _map_in(path, volume, resample)
    inside = labels[labels > 0]
    if inside.size and inside.min() != inside.max():
        raise IntraBenchError(
            f"{path} holds the values {inside.min()} to {inside.max()}, expected a mask of one; omit instances=files "
            "if it is a label map"
        )
    return Mask.of(labels > 0)


def _hash_of(folder: Path, below: bool) -> str:
    """A hash of the files of a folder; below: of those in its folders."""
    found = hashlib.sha256()
    for path in sorted(folder.glob("*/*") if below else folder.iterdir()) if folder.is_dir() else ():
        if path.is_file() and path.name.lower().endswith((*IMAGES, ".npz", FILE)):
            size = path.stat().st_size
            with path.open("rb") as file:
                head = file.read(ENDS)
                file.seek(max(0, size - ENDS))
                name = path.relative_to(folder).as_posix()
                found.update(f"{name} {size}".encode() + head + file.read())
    return found.hexdigest()[:12]
