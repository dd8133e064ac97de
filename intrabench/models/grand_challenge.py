"""Somebody's program as a model, by the files of grand-challenge, as autoPET IV and V and ToothFairy3 use them.

Format: https://github.com/lab-midas/autoPETCTIV and the containers of its successor autoPET V.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np

from intrabench.errors import IntraBenchError, several
from intrabench.files.names import file_name
from intrabench.mask import Array, Mask
from intrabench.models.base import Answer, JointAnswer, JointRequest
from intrabench.models.outside.launchers import Inside
from intrabench.models.outside.output_files import in_range, read_one_image
from intrabench.models.outside.program_model import Asked, ProgramImage, ProgramModel, clicks_of, requests_of
from intrabench.models.outside.programs import Program
from intrabench.specs.specs import Reach, switch
from intrabench.turns import Turn
from intrabench.volume import Volume

BACKGROUND = "background"
"""What points on it are called."""
PointOrder = Literal["xyz", "zyx"]
"""Of the indices of a point: as in the file, or as in an array of it."""


@dataclass(eq=False)
class GrandChallenge(ProgramModel):
    """Any program with the files of grand-challenge, such as the containers of autoPET: a command, or a container.

    It finds `/input/images/IMAGE/CASE.mha` on the scan's own grid and the points in `/input/lesion-clicks.json`, and
    writes one image into `/output/images/ANSWER/`, with 0 and 1 on that grid. A container does what it does by itself;
    a command gets the folders as INPUTS and OUTPUTS, or where it has `{inputs}` and `{outputs}`. Points are voxel
    indices x, y, z; strokes are given as their points. In joint sessions, if `targets` names the targets of a case in
    their order, positive points bear these names, and the image has 1, 2, ... for them.

    image: the folder of the image, or several for channels, `"ct,pet"`. prompts: the file of the points. answer: the
    folder of the answer. foreground, background: what points are called there. order: of the indices; zyx is that of
    arrays, as ToothFairy3 has it. The parameters of all programs (docker, takes, stay, time_limit_s, ...) are in
    docs/your_model.md.
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
    background: Annotated[str, Reach()] = switch(BACKGROUND)
    targets: Annotated[str, Reach()] = switch("")
    order: PointOrder = switch("xyz")

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in [*self.places, self.prompts, self.answer]:
            if not re.fullmatch(r"\w[\w.-]*", name):
                raise ValueError(f"{name!r} is no name of a folder or file; use letters, digits, hyphens and dots")

    @property
    def joint(self) -> bool:  # type: ignore[override]
        """Whether the program answers for all targets of a case at once."""
        return bool(self.targets)

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
        (asked,) = requests
        points = [
            named
            for request, name in zip(requests_of(asked), self._names(asked), strict=True)
            for turn in request.given
            for named in named_points(self.volume, turn, (name, self.model.background), self.model.order)
        ]
        write_points(self.program.inputs / self.model.prompts, points)
        (self.program.outputs / "images" / self.model.answer).mkdir(parents=True, exist_ok=True)
        for folder in (self.program.outputs / "images", self.program.outputs / "images" / self.model.answer):
            folder.chmod(0o777)  # whoever the program is in its container
        return [None]

    def read(self, request: Asked, name: None) -> Answer | JointAnswer:
        """The mask, or the label map of all targets."""
        labels = read_one_image(self.program.outputs, f"images/{self.model.answer}", self.volume.grid)
        found = in_range(labels, len(requests_of(request)), f"the image in images/{self.model.answer}")
        return JointAnswer((0, 0, 0), found) if isinstance(request, JointRequest) else Answer(Mask.of(found))

    def _names(self, asked: Asked) -> list[str]:
        """What the positive points of each target are called."""
        if not isinstance(asked, JointRequest):
            return [self.model.foreground]
        names = [name.strip() for name in self.model.targets.split(",")]
        if len(names) != len(asked.requests):
            raise IntraBenchError(
                f"gc:targets={self.model.targets!r} names {several(len(names), 'target')}, but the case has "
                f"{len(asked.requests)}; name each, in the order of `intrabench data list`"
            )
        return names


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


def named_points(volume: Volume, turn: Turn, names: tuple[str, str], order: PointOrder) -> list[dict[str, Any]]:
    """The points of a turn as grand-challenge has them; names: of those on the target, and on the background."""
    rows = clicks_of(turn.prompts)
    places = indices_in_file(volume, rows[:, :3])[:, :: 1 if order == "xyz" else -1]
    return [
        {"point": place, "name": names[0] if label else names[1]}
        for place, label in zip(places.tolist(), rows[:, 3].tolist(), strict=True)
    ]


def write_points(path: Path, points: Sequence[Mapping[str, Any]]) -> None:
    """Write points as JSON of grand-challenge."""
    content = {"version": {"major": 1, "minor": 0}, "type": "Multiple points", "points": points}
    path.write_text(json.dumps(content), encoding="utf-8")


def indices_in_file(volume: Volume, rows: Array) -> Array:
    """Canonical voxels ``z, y, x`` as indices ``x, y, z`` of the original file."""
    grid = volume.grid
    to_file: Any = np.linalg.inv(grid.affine) @ volume.affine
    return np.asarray(np.rint(rows @ to_file[:3, :3].T + to_file[:3, 3]), dtype=np.int64)
