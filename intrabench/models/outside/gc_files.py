"""The files of grand-challenge and autoPET: an image for each channel, and a JSON of points; both on the file's grid.

Points are voxel indices ``[x, y, z]`` of the image, as autoPET has them: those of a stroke one by one, in order.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.mask import Array
from intrabench.models.base import Request
from intrabench.models.outside.program_model import clicks_of
from intrabench.volume import Volume


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
