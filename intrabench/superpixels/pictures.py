"""Methods of scikit-image that only know pictures: volumes are divided slice by slice."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.specs.values import NotNegative, Share, Smoothing, Voxels
from intrabench.superpixels.base import Picture, SliceSuperpixels, steered


@dataclass(frozen=True)
class Felzenszwalb(SliceSuperpixels):
    """The graph-based segmentation of Felzenszwalb and Huttenlocher (IJCV 2004; FH in the benchmark) of scikit-image.

    Its `scale` is searched for the wanted number of segments, unless it is given. sigma: of the Gaussian that smooths
    the image first. min_size: pixels of the smallest segment, at most a quarter of the mean size.
    """

    name = "felzenszwalb"
    version = "2"
    extra = "superpixels"
    requires = ("skimage",)

    scale: NotNegative = 0.0
    sigma: Smoothing = 0.5
    min_size: Voxels = 20

    def segment_slice(self, image: Floats32, segments: int) -> NDArray[Any]:
        """Connected labels."""
        from skimage.segmentation import felzenszwalb

        least = max(1, min(self.min_size, image.shape[0] * image.shape[1] // (4 * segments)))

        return felzenszwalb(image, scale=self.scale, sigma=self.sigma, min_size=least, channel_axis=-1)

    def fitted(self, picture: Picture, segments: int) -> Felzenszwalb:
        """With the `scale` for that number."""
        if self.scale:
            return self
        return replace(
            self, scale=steered(lambda x: replace(self, scale=x).segment(picture, segments), segments, 1e-2, 1e4)
        )


@dataclass(frozen=True)
class Quickshift(SliceSuperpixels):
    """Quick shift (Vedaldi and Soatto, ECCV 2008; QS in the benchmark) of scikit-image.

    Its `max_dist` is searched for the wanted number of segments, unless it is given. kernel_size: width of the Gaussian
    of the density. ratio: from 0 to 1, how much colour counts beside place.
    """

    name = "quickshift"
    version = "2"
    extra = "superpixels"
    requires = ("skimage",)

    max_dist: NotNegative = 0.0
    kernel_size: Annotated[float, Interval(ge=1, le=100)] = 3.0
    ratio: Share = 0.5

    def segment_slice(self, image: Floats32, segments: int) -> NDArray[Any]:
        """Labels."""
        from skimage.segmentation import quickshift

        colour = image.shape[-1] == 3
        lab = image if colour else image.repeat(3, axis=2) * np.float32(100.0)

        return quickshift(
            np.ascontiguousarray(lab, np.float64),
            ratio=self.ratio,
            kernel_size=self.kernel_size,
            max_dist=self.max_dist,
            convert2lab=colour,
            rng=0,
            channel_axis=-1,
        )

    def fitted(self, picture: Picture, segments: int) -> Quickshift:
        """With the `max_dist` for that number."""
        if self.max_dist:
            return self
        return replace(
            self, max_dist=steered(lambda x: replace(self, max_dist=x).segment(picture, segments), segments, 1.0, 200.0)
        )
