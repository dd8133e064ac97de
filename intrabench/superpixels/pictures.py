"""Methods of scikit-image that only know pictures: volumes are divided slice by slice."""

from __future__ import annotations

from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.mask import Floats32
from intrabench.specs.values import NotNegative, Share, Smoothing, Voxels
from intrabench.superpixels.base import searched, slice_superpixels


@slice_superpixels(
    "felzenszwalb",
    "skimage",
    version="2",
    fitted=searched("scale", 1e-2, 1e4),
    search={"sigma": (0, 0.5, 1), "min_size": (5, 10, 20, 60)},
)
def felzenszwalb(
    image: Floats32, segments: int, scale: NotNegative = 0.0, sigma: Smoothing = 0.5, min_size: Voxels = 20
) -> NDArray[Any]:
    """The graph-based segmentation of Felzenszwalb and Huttenlocher (IJCV 2004; FH in the benchmark) of scikit-image.

    Its `scale` is searched for the wanted number of segments, unless it is given. sigma: of the Gaussian that smooths
    the image first. min_size: pixels of the smallest segment, at most a quarter of the mean size.
    """
    from skimage.segmentation import felzenszwalb

    least = max(1, min(min_size, image.shape[0] * image.shape[1] // (4 * segments)))

    return felzenszwalb(image, scale=scale, sigma=sigma, min_size=least, channel_axis=-1)


@slice_superpixels(
    "quickshift",
    "skimage",
    version="2",
    fitted=searched("max_dist", 1.0, 200.0),
    search={"ratio": (0, 0.5, 1), "kernel_size": (1, 2, 3, 5)},
)
def quickshift(
    image: Floats32,
    segments: int,
    max_dist: NotNegative = 0.0,
    kernel_size: Annotated[float, Interval(ge=1, le=100)] = 3.0,
    ratio: Share = 0.5,
) -> NDArray[Any]:
    """Quick shift (Vedaldi and Soatto, ECCV 2008; QS in the benchmark) of scikit-image.

    Its `max_dist` is searched for the wanted number of segments, unless it is given. kernel_size: width of the Gaussian
    of the density. ratio: from 0 to 1, how much colour counts beside place.
    """
    from skimage.segmentation import quickshift

    colour = image.shape[-1] == 3
    lab = image if colour else image.repeat(3, axis=2) * np.float32(100.0)

    return quickshift(
        np.ascontiguousarray(lab, np.float64),
        ratio=ratio,
        kernel_size=kernel_size,
        max_dist=max_dist,
        convert2lab=colour,
        rng=0,
        channel_axis=-1,
    )
