"""Somebody's program as a model, by the npz files of the CVPR 2025 challenge on interactive 3D segmentation.

Format: https://github.com/JunMa11/CVPR-MedSegFMCompetition, as its evaluation script writes and reads it.
"""

from __future__ import annotations

import pickle
import shutil
import stat
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from intrabench.files.names import file_name
from intrabench.mask import Array, Index, Mask, occupied
from intrabench.models.base import Answer, JointAnswer, JointRequest, Request
from intrabench.models.outside.launchers import Inside
from intrabench.models.outside.output_files import in_range, read_segs
from intrabench.models.outside.program_model import (
    MOST_BYTES,
    Asked,
    ProgramImage,
    ProgramModel,
    boxes_of,
    clicks_of,
    requests_of,
)
from intrabench.models.outside.programs import Program, deleted
from intrabench.models.parts.intensity import assumed, slice_images
from intrabench.specs.specs import switch
from intrabench.volume import Volume

Axes = tuple[bool, bool, bool]
"""Which of the axes z, y, x of our canonical arrays are turned around in the file."""
Steps = tuple[tuple[int, ...], ...]
"""How many turns each class had after each step of a joint session; in a step, a class may have no turn."""


@dataclass(eq=False)
class Npz(ProgramModel):
    """Any program that reads and writes the npz files of the CVPR 2025 challenge: a command, or a container.

    It finds `inputs/CASE.npz` with the image, boxes, clicks and its own last answer, and writes `outputs/CASE.npz` with
    `segs`. In joint sessions all targets are classes of one file; else each target is a file of its own, and one run
    answers for all targets that wait. Containers are run as the challenge runs them, `sh predict.sh` in the folder
    /workspace, but without a network; a command gets the folders as INPUTS and OUTPUTS, or where it has `{inputs}` and
    `{outputs}`.

    intensity: how scans become the 8 bits of the challenge (modality: CT by the soft-tissue window, others by
    percentiles; raw: voxels as they are). axes: SAR is our own order, SPL turns rows and columns around, as files of a
    scanner have them. The parameters of all programs (docker, takes, stay, ...) are in docs/your_model.md.
    """

    name = "npz"
    dims = 3
    accepts = frozenset({"point", "box3d"})
    possible = frozenset({"point", "box3d"})
    grey_only = True
    joint = True
    feeds_back = True
    takes_mask = True
    inside = Inside("/workspace/inputs", "/workspace/outputs", ("sh", "predict.sh"))

    intensity: Literal["modality", "ct_soft", "volume", "volume_positive", "raw"] = switch("modality")
    axes: Literal["SAR", "SPL"] = switch("SAR")

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """What `intensity` assumes about the scan."""
        return () if self.intensity == "raw" else assumed(volume, self.intensity)

    def opened(self, volume: Volume, running: Program) -> NpzImage:
        """Write the image once."""
        return NpzImage(self, volume, running)


class NpzImage(ProgramImage[str]):
    """A scan as an npz file."""

    def __init__(self, model: Npz, volume: Volume, running: Program) -> None:
        super().__init__(running, model.runtime.batch)
        self.shape, self.notes = volume.shape, model.notes(volume)
        self.axes: Axes = (False, True, True) if model.axes == "SPL" else (False, False, False)
        self.case = file_name(volume.case or "case")
        imgs = _grey(volume, model)
        self.files = RoundFiles(running.inputs.parent / "image.npz", imgs, volume.spacing_mm, self.axes)
        self.several = max(1, MOST_BYTES // (imgs.nbytes + imgs.size))

    def write(self, requests: Sequence[Asked]) -> list[str]:
        """A file for each request, or joint request."""
        several = len(requests) > 1
        names = [
            f"{self.case}_{number}.npz" if several else f"{self.case}.npz" for number in range(1, len(requests) + 1)
        ]
        asked = [(requests_of(request), _steps(request)) for request in requests]
        self.files.write(self.program.inputs, dict(zip(names, asked, strict=True)))
        return names

    def read(self, request: Asked, name: str) -> Answer | JointAnswer:
        """The label map: class i is the i-th target."""
        labels = read_segs(self.program.outputs, name, self.shape)
        labels = turned(in_range(labels, len(requests_of(request)), f"segs in {name}"), self.axes)
        if isinstance(request, JointRequest):
            where = occupied(labels) or (slice(0, 0),) * 3
            z, y, x = (bound.start for bound in where)
            return JointAnswer((z, y, x), labels[where], memory=_steps(request), notes=self.notes)
        return Answer(Mask.of(labels), notes=self.notes)


def _steps(request: Asked) -> Steps:
    return known_steps(requests_of(request), request.memory or ())


def _grey(volume: Volume, model: Npz) -> Array:
    """The image in 8 bits, as the challenge has it, or as it is."""
    if model.intensity == "raw":
        return volume.array
    slices = slice_images(volume, model.intensity)
    grey = np.empty(volume.shape, np.uint8)
    for z in range(len(grey)):
        grey[z] = slices(z)
    return grey


class RoundFiles:
    """The files of one scan in a folder, each with the same image and other prompts.

    The image is written once for each opened scan, into a file without compression, and copied for each target, which
    the system does at the speed of its memory. For a round only what is new is written behind it, for a zip file can
    grow. Each is written anew as far as it differs from the last round, unless the program has touched it.
    """

    def __init__(self, image: Path, imgs: Array, spacing_mm: Sequence[float], axes: Axes) -> None:
        """Write to `image` what is the same in all: `imgs` and `spacing` in mm, as the challenge's x, y, z."""
        self.image, self.shape, self.axes = image, (imgs.shape[0], imgs.shape[1], imgs.shape[2]), axes
        self._written: dict[str, tuple[int, ...]] = {}  # names, and how the files were left
        with zipfile.ZipFile(image, "w", zipfile.ZIP_STORED, allowZip64=True) as file:
            _add(file, "imgs", turned(imgs, axes))
            _add(file, "spacing", np.array(spacing_mm[::-1], dtype=np.float64))
        with zipfile.ZipFile(image) as file:
            self._same, self._end = len(file.infolist()), file.start_dir

    def write(self, folder: Path, requests: Mapping[str, tuple[Sequence[Request], Steps]]) -> None:
        """Write one file of each name for its classes, one request for each, and delete all others."""
        for entry in list(folder.iterdir()):
            if entry.name not in requests or _state(entry) != self._written.get(entry.name):
                deleted(entry)
        self._written = {name: self._write(folder / name, *asked) for name, asked in requests.items()}

    def _write(self, path: Path, requests: Sequence[Request], steps: Steps) -> tuple[int, ...]:
        if not path.exists():
            shutil.copyfile(self.image, path)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED, allowZip64=True) as file:
            # zipfile cannot cut members off: its lists are shortened, and it goes on writing where the image ends
            for old in file.filelist[self._same :]:  # a new member takes the place of what follows the image
                del file.NameToInfo[old.filename]
            del file.filelist[self._same :]
            file.start_dir = self._end
            file._didModify = True  # type: ignore[attr-defined]  # cut off what is left, also if nothing is added
            for name, array in prompts_of(requests, self.shape, self.axes, steps).items():
                _add(file, name, array)
        return _state(path)


def _state(path: Path) -> tuple[int, ...]:
    """What changes when somebody writes a file."""
    state = path.lstat()
    return state.st_ino, state.st_size, state.st_mtime_ns, stat.S_IFMT(state.st_mode)


def prompts_of(requests: Sequence[Request], shape: Index, axes: Axes, steps: Steps = ()) -> Mapping[str, Array]:
    """`boxes`, `clicks`, `clicks_order` and `prev_pred`, as far as there are any.

    All limits of boxes are inclusive, and all places ``[z, y, x]``. A class without a click in a step in which others
    have one has None in `clicks_order` there.
    """
    found: dict[str, Array] = {}
    boxes = boxes_of(requests)
    if any(box is not None for box in boxes):
        found["boxes"] = _objects([None if box is None else _box(box, shape, axes) for box in boxes])
    clicks = [
        [_turned(rows, shape, axes) for rows in of_class]
        for of_class in _by_step(requests, steps or known_steps(requests))
    ]
    if any(len(rows) for of_class in clicks for rows in of_class) or any(one.mask.any() for one in requests):
        found["prev_pred"] = previous(requests, shape, axes)  # first: it has the same size each time
        found["clicks"] = _objects([_clicks(of_class) for of_class in clicks])
        found["clicks_order"] = _order(clicks)
    return found


def known_steps(requests: Sequence[Request], earlier: Steps = ()) -> Steps:
    """The steps so far, the newest last; earlier: those of the last answer, if somebody kept them."""
    counts = [len(request.turns) for request in requests]
    if earlier:
        return (*earlier, tuple(counts))
    return tuple(tuple(min(step, count) for count in counts) for step in range(1, max(counts) + 1))


def _by_step(requests: Sequence[Request], steps: Steps) -> list[list[Array]]:
    """The clicks of each class in each step, as far as they still count."""
    found = []
    for number, request in enumerate(requests):
        first, of_class, before = len(request.turns) - len(request.given), [], 0
        for step in steps:
            turns = request.turns[max(before, first) : step[number]]
            of_class.append(np.vstack([*(clicks_of(turn.prompts) for turn in turns), np.zeros((0, 4), int)]))
            before = step[number]
        found.append(of_class)
    return found


def previous(requests: Sequence[Request], shape: Index, axes: Axes) -> Array:
    """The answers so far as a label map ``(z, y, x)``; where several claim a voxel, the later class has it."""
    labels = np.zeros(shape, np.uint8 if len(requests) < 256 else np.uint16)
    for label, request in enumerate(requests, start=1):
        z0, y0, x0, z1, y1, x1 = request.mask.box
        labels[z0:z1, y0:y1, x0:x1][request.mask.array] = label
    return turned(labels, axes)


def turned(array: Array, axes: Axes) -> Array:
    """An array with some axes turned around; no copy."""
    return array[tuple(slice(None, None, -1 if turn else 1) for turn in axes)]


def _turned(rows: Array, shape: Index, axes: Axes) -> Array:
    """Rows ``z, y, x, ...`` with some axes turned around."""
    rows = np.array(rows)
    for axis, turn in enumerate(axes):
        if turn:
            rows[:, axis] = shape[axis] - 1 - rows[:, axis]
    return rows


def _box(box: Array, shape: Index, axes: Axes) -> dict[str, int]:
    """As the challenge has it: the extent in z, and the limits on a slice in its middle."""
    corners = _turned(np.array([box[:3], box[3:] - 1]), shape, axes)
    (z0, y0, x0), (z1, y1, x1) = corners.min(axis=0).tolist(), corners.max(axis=0).tolist()
    return {
        "z_min": z0,
        "z_max": z1,
        "z_mid": z0 + (z1 - z0 + 1) // 2,
        "z_mid_x_min": x0,
        "z_mid_y_min": y0,
        "z_mid_x_max": x1,
        "z_mid_y_max": y1,
    }


def _clicks(rounds: Sequence[Array]) -> dict[str, list[list[int]]]:
    rows = np.vstack([*rounds, np.zeros((0, 4), int)])
    return {"fg": rows[rows[:, 3] == 1, :3].tolist(), "bg": rows[rows[:, 3] == 0, :3].tolist()}


def _order(clicks: Sequence[Sequence[Array]]) -> Array:
    """For each class its clicks by kind; all classes have as many entries, step by step."""
    order: list[list[str | None]] = [[] for _ in clicks]
    for step in zip(*clicks, strict=True):
        most = max(map(len, step))
        for of_class, rows in zip(order, step, strict=True):
            kinds = ["fg" if label else "bg" for label in rows[:, 3]]
            of_class += [*kinds, *([None] * (most - len(kinds)))]
    return np.array(order, dtype=object if any(None in one for one in order) else None)


def _objects(values: Sequence[Any]) -> Array:
    """A list of dictionaries as numpy makes it: an array of objects."""
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return array


def _add(file: zipfile.ZipFile, name: str, array: Array) -> None:
    """Add an array as numpy does; arrays of objects so that numpy 1 reads them, too, which knows no ``numpy._core``."""
    with file.open(f"{name}.npy", "w", force_zip64=True) as stream:
        if not array.dtype.hasobject:
            np.lib.format.write_array(stream, np.ascontiguousarray(array), allow_pickle=False)
            return
        np.lib.format.write_array_header_1_0(stream, {"descr": "|O", "fortran_order": False, "shape": array.shape})
        stream.write(pickle.dumps(array, protocol=2).replace(b"cnumpy._core.multiarray\n", b"cnumpy.core.multiarray\n"))
