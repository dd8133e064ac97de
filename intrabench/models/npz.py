"""Somebody's program as a model, by the npz files of the CVPR 2025 challenge on interactive 3D segmentation.

Format: https://github.com/JunMa11/CVPR-MedSegFMCompetition, as its evaluation script writes and reads it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from intrabench.files.names import file_name
from intrabench.mask import Array, Mask, occupied
from intrabench.models.base import Answer, JointAnswer, JointRequest
from intrabench.models.outside.launchers import Inside
from intrabench.models.outside.npz_files import Axes, RoundFiles, Steps, known_steps, turned
from intrabench.models.outside.output_files import in_range, read_segs
from intrabench.models.outside.program_model import MOST_BYTES, Asked, ProgramImage, ProgramModel, requests_of
from intrabench.models.outside.programs import Program
from intrabench.models.parts.intensity import assumed, slice_images
from intrabench.specs.specs import switch
from intrabench.volume import Volume


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
