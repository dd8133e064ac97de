"""Somebody's program as a model, by the files of grand-challenge, as autoPET IV and V use them.

Format: https://github.com/lab-midas/autoPETCTIV and the containers of its successor autoPET V.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.files.names import file_name
from intrabench.mask import Array, Mask
from intrabench.models.base import Answer, JointAnswer, Request
from intrabench.models.outside.launchers import Inside
from intrabench.models.outside.output_files import in_range, read_one_image
from intrabench.models.outside.program_model import Asked, ProgramImage, ProgramModel, clicks_of, requests_of
from intrabench.models.outside.programs import Program
from intrabench.specs.specs import Reach, switch
from intrabench.volume import Volume


@dataclass(eq=False)
class GrandChallenge(ProgramModel):
    """Any program with the files of grand-challenge, such as the containers of autoPET: a command, or a container.

    It finds `/input/images/IMAGE/CASE.mha` on the scan's own grid and the points in `/input/lesion-clicks.json`, and
    writes one image into `/output/images/ANSWER/`, with 0 and 1 on that grid. A container does what it does by itself;
    a command gets the folders as INPUTS and OUTPUTS, or where it has `{inputs}` and `{outputs}`. Points are voxel
    indices x, y, z; strokes are given as their points.

    image: the folder of the image, or several for channels, `"ct,pet"`. prompts: the file of the points. answer: the
    folder of the answer. foreground, background: what points are called there. The parameters of all programs (docker,
    takes, stay, time_limit_s, ...) are in docs/your_model.md.
    """

    name = "gc"
    dims = 3
    accepts = frozenset({"point", "scribble"})
    possible = frozenset({"point", "scribble"})
    unprompted = True
    inside = Inside("/input", "/output")

    image: Annotated[str, Reach()] = switch("ct")
    prompts: Annotated[str, Reach()] = switch("lesion-clicks.json")
    answer: Annotated[str, Reach()] = switch("tumor-lesion-segmentation")
    foreground: Annotated[str, Reach()] = switch("tumor")
    background: Annotated[str, Reach()] = switch("background")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in [*self.places, self.prompts, self.answer]:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(f"{name!r} is no name of a folder or file; use letters, digits, hyphens and dots")

    @property
    def places(self) -> list[str]:
        """The folder of each channel."""
        return [place.strip() for place in self.image.split(",")]

    def opened(self, volume: Volume, running: Program) -> GrandChallengeImage:
        """Write the image once."""
        channels = volume.array.shape[3] if volume.array.ndim == 4 else 1
        if channels != len(self.places):
            raise IntraBenchError(
                f"the scan has {channels} channels, but gc:image={self.image} names {len(self.places)}; name each once"
            )
        return GrandChallengeImage(self, volume, running)


class GrandChallengeImage(ProgramImage[None]):
    """A scan in `/input/images`, which stays there; only the points change."""

    def __init__(self, model: GrandChallenge, volume: Volume, running: Program) -> None:
        super().__init__(running, model.runtime.batch)
        self.model, self.volume = model, volume
        write_images(running.inputs, volume, model.places, file_name(volume.case or "case"))

    def write(self, requests: Sequence[Asked]) -> list[None]:
        """The points; there is one request."""
        (request,) = requests
        names = self.model.foreground, self.model.background
        write_points(self.program.inputs / self.model.prompts, self.volume, requests_of(request)[0], names)
        (self.program.outputs / "images" / self.model.answer).mkdir(parents=True, exist_ok=True)
        for folder in (self.program.outputs / "images", self.program.outputs / "images" / self.model.answer):
            folder.chmod(0o777)  # whoever the program is in its container
        return [None]

    def read(self, request: Asked, name: None) -> Answer | JointAnswer:
        """The mask."""
        labels = read_one_image(self.program.outputs, f"images/{self.model.answer}", self.volume.grid)
        return Answer(Mask.of(in_range(labels, 1, f"the image in images/{self.model.answer}")))


def write_images(folder: Path, volume: Volume, places: Sequence[str], name: str) -> None:
    """Write ``images/PLACE/NAME.mha`` for each channel of a scan, on its original grid, without compression."""
    import SimpleITK as sitk

    for channel, place in enumerate(places):
        array = volume.array if volume.array.ndim == 3 else volume.array[..., channel]
        stored = volume.grid.from_canonical(array)
        image = sitk.GetImageFromArray(np.ascontiguousarray(stored.transpose(2, 1, 0)))
        affine = volume.grid.affine.copy()
        affine[:2] *= -1  # ITK points to Left and Posterior
        spacing = np.linalg.norm(affine[:3, :3], axis=0)
        image.SetSpacing(spacing.tolist())
        image.SetOrigin(affine[:3, 3].tolist())
        image.SetDirection((affine[:3, :3] / spacing).ravel().tolist())
        path = folder / "images" / place / f"{name}.mha"
        path.parent.mkdir(parents=True, exist_ok=True)
        sitk.WriteImage(image, str(path), useCompression=False)


def write_points(path: Path, volume: Volume, request: Request, names: tuple[str, str]) -> None:
    """Write the points so far; names: of those on the target, and of those on the background."""
    rows = np.vstack([*(clicks_of(turn.prompts) for turn in request.given), np.zeros((0, 4), int)])
    places = indices_in_file(volume, rows[:, :3])
    points = [
        {"point": place, "name": names[0] if label else names[1]}
        for place, label in zip(places.tolist(), rows[:, 3].tolist(), strict=True)
    ]
    content = {"version": {"major": 1, "minor": 0}, "type": "Multiple points", "points": points}
    path.write_text(json.dumps(content), encoding="utf-8")


def indices_in_file(volume: Volume, rows: Array) -> Array:
    """Canonical voxels ``z, y, x`` as indices ``x, y, z`` of the original file."""
    grid = volume.grid
    to_file: Any = np.linalg.inv(grid.affine) @ volume.affine
    return np.asarray(np.rint(rows @ to_file[:3, :3].T + to_file[:3, 3]), dtype=np.int64)
