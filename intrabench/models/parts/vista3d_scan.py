"""A scan as VISTA3D sees it, and the ways from the scan's voxels there and back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Box, Mask
from intrabench.volume import Volume

if TYPE_CHECKING:
    import torch

STEP_MM = 1.5
HU = (-963.8247715525971, 1053.678477684517)
"""What becomes 0 and 1; values beyond are clipped."""
MARGIN = 10
"""Voxels kept around the foreground, which is everything above 0 HU."""


@dataclass(frozen=True, eq=False)
class Scan:
    """image: ``(1, x, y, z)`` in RAS, resampled, cropped to the foreground, in [0, 1].

    to_image: 4 x 4, from voxels ``x, y, z`` of the volume to those of the image. nearest: along each of x, y, z, the
    image's voxel nearest to each voxel of the volume; it may lie outside.
    """

    image: torch.Tensor
    to_image: NDArray[np.float64]
    nearest: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, volume: Volume) -> Scan:
        """Prepare a volume by MONAI's transforms, as its authors do.

        Raises:
            ValueError: the image has channels, or no voxel above 0 HU.
        """
        import torch
        from monai.data import MetaTensor
        from monai.transforms import CropForeground, ScaleIntensityRange, Spacing

        if volume.array.ndim != 3:
            raise ValueError("VISTA3D takes grey volumes, not colour images")
        if not (volume.array > 0).any():
            raise ValueError("VISTA3D looks at what is above 0 HU, and no voxel of this scan is")
        affine = torch.diag(torch.tensor([*volume.spacing_mm[::-1], 1.0], dtype=torch.float64))
        array = np.ascontiguousarray(volume.array.transpose(2, 1, 0)[None], dtype=np.float32)
        spaced = Spacing((STEP_MM,) * 3, mode="bilinear")(MetaTensor(torch.from_numpy(array), affine=affine))
        cropped = CropForeground(margin=MARGIN, allow_smaller=True)(spaced)
        image = ScaleIntensityRange(*HU, 0, 1, clip=True)(cropped)
        start = np.linalg.solve(spaced.affine.numpy(), image.affine.numpy())[:3, 3].round().astype(np.int64)
        sides = zip(volume.shape[::-1], volume.spacing_mm[::-1], start, strict=True)
        nearest = tuple(_nearest(size, step) - first for size, step, first in sides)
        to_image = np.linalg.inv(image.affine.numpy()) @ affine.numpy()
        return cls(image.as_tensor().float(), to_image, nearest)

    @cached_property
    def box(self) -> Box:
        """The volume's voxels that the image shows, a half-open box."""
        kept = [self._kept(axis, 0, self.image.shape[1 + axis]) for axis in (2, 1, 0)]
        low, high = zip(*((int(one[0]), int(one[-1]) + 1) for one in kept), strict=True)
        return *low, *high

    def inside(self, points: NDArray[Any]) -> NDArray[np.bool_]:
        """Which points, rows ``z, y, x, ...`` of the volume, the image shows."""
        low, high = self.box[:3], self.box[3:]
        shown: NDArray[np.bool_] = np.all((points[:, :3] >= low) & (points[:, :3] < high), axis=1)
        return shown

    def positions(self, points: NDArray[Any]) -> NDArray[np.float64]:
        """Points ``z, y, x, ...`` in coordinates of the image, rows ``x, y, z``, not rounded."""
        moved: NDArray[np.float64] = np.column_stack([points[:, 2::-1], np.ones(len(points))]) @ self.to_image.T
        return moved[:, :3]

    def paste(self, found: NDArray[np.bool_], start: Sequence[int]) -> Mask:
        """A mask ``(x, y, z)`` whose first voxel lies at `start` of the image, in the volume, by nearest neighbour."""
        corner, index = [], []
        for axis, first in enumerate(start):
            kept = self._kept(axis, first, first + found.shape[axis])
            corner.append(int(kept[0]) if len(kept) else 0)
            index.append(self.nearest[axis][kept] - first)
        return Mask.of(found[np.ix_(*index)].transpose(2, 1, 0), corner[::-1])

    def _kept(self, axis: int, first: int, end: int) -> NDArray[np.intp]:
        """The volume's voxels along one axis whose nearest voxel of the image is in a range."""
        return np.flatnonzero((self.nearest[axis] >= first) & (self.nearest[axis] < end))


def _nearest(size: int, step_mm: float) -> NDArray[np.int64]:
    """For each voxel along an axis of the volume the nearest one of the resampled axis.

    Asked of MONAI's own way back, whose rounding decides where two are equally near.
    """
    import torch
    from monai.data import MetaTensor
    from monai.transforms import Spacing
    from monai.transforms.utils import convert_applied_interp_mode

    resample = Spacing((STEP_MM,) * 3, mode="bilinear")
    affine = torch.diag(torch.tensor([step_mm, STEP_MM, STEP_MM, 1.0], dtype=torch.float64))
    line = resample(MetaTensor(torch.zeros(1, size, 1, 1), affine=affine))
    line[:] = torch.arange(line.shape[1], dtype=line.dtype)[None, :, None, None]
    line.applied_operations = convert_applied_interp_mode(line.applied_operations, mode="nearest")
    return resample.inverse(line)[0, :, 0, 0].numpy().round().astype(np.int64)
