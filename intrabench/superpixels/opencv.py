"""Methods of OpenCV's contributed modules: they only know pictures, so volumes are divided slice by slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats32
from intrabench.specs.values import Iterations, Positive
from intrabench.superpixels.base import slice_superpixels

MSLIC = 102
"""OpenCV's number for it."""
SMALLEST = 25
"""Percent of the mean size below which OpenCV lets a piece join a neighbour, its default."""
LEAST_EDGE = 6
"""Pixels. Of smaller superpixels OpenCV would join nearly all."""


@slice_superpixels("seeds", "cv2", search={"bins": (3, 5, 10), "prior": (0, 1, 2), "levels": (2, 4)})
def seeds(
    image: Floats32,
    segments: int,
    levels: Iterations = 4,
    prior: Annotated[int, Interval(ge=0, le=5)] = 2,
    bins: Annotated[int, Interval(ge=1, le=100)] = 5,
    iterations: Iterations = 10,
) -> NDArray[Any]:
    """SEEDS (Van den Bergh et al., ECCV 2012): blocks exchange pixels at their boundaries (OpenCV).

    levels: of blocks within blocks, at most; the image must be large enough for them. prior: from 0 to 5, how smooth
    boundaries are. bins: of the histograms of colour. iterations: of exchanging pixels.
    """
    height, width, channels = image.shape
    most = int(np.log2(max(2.0, np.sqrt(height * width / segments))))  # a block of the lowest level has 2 pixels
    levels = min(levels, max(1, most))
    make = _contributed().createSuperpixelSEEDS
    seeds = make(width, height, channels, segments, levels, prior, bins)
    seeds.iterate(_bytes(image), iterations)
    return seeds.getLabels()


@slice_superpixels("lsc", "cv2", search={"ratio": (0.005, 0.01, 0.05, 0.075, 0.1, 0.25, 0.5)})
def lsc(image: Floats32, segments: int, ratio: Positive = 0.075, iterations: Iterations = 10) -> NDArray[Any]:
    """Linear spectral clustering (Li and Chen, CVPR 2015) of OpenCV.

    ratio: how much place counts beside colour. iterations: of k-means.
    """
    make = _contributed().createSuperpixelLSC
    return _clustered(lambda lab, edge: make(lab, edge, ratio), image, segments, iterations)


@slice_superpixels("mslic", "cv2", search={"ruler": (1, 5, 10, 20, 40)})
def mslic(image: Floats32, segments: int, ruler: Positive = 10.0, iterations: Iterations = 10) -> NDArray[Any]:
    """Manifold SLIC (Liu et al., CVPR 2016): superpixels are smaller where there is more to see (OpenCV).

    ruler: how much place counts beside colour. iterations: of k-means.
    """
    make = _contributed().createSuperpixelSLIC
    return _clustered(lambda lab, edge: make(lab, MSLIC, edge, ruler), image, segments, iterations)


def _clustered(make: Callable[[Any, int], Any], image: Floats32, segments: int, iterations: int) -> NDArray[Any]:
    """Labels of a k-means of OpenCV, of one thread: several add up in any order, and LSC then differs each time.

    make: from Lab colours and the edge of a square that is an even share of the image, in pixels.
    """
    import cv2

    edge = max(2, round(float(np.sqrt(image.shape[0] * image.shape[1] / segments))))
    threads = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        found = make(_lab(image), edge)
        found.iterate(iterations)
        if edge >= LEAST_EDGE:
            found.enforceLabelConnectivity(SMALLEST)
    finally:
        cv2.setNumThreads(threads)
    return found.getLabels()


def _contributed() -> Any:
    import cv2

    if not hasattr(cv2, "ximgproc"):
        raise IntraBenchError(
            "the installed OpenCV has no contributed modules; run: pip uninstall opencv-python opencv-python-headless, "
            "then pip install --force-reinstall opencv-contrib-python-headless"
        )
    return cv2.ximgproc


def _bytes(image: Floats32) -> NDArray[np.uint8]:
    """8-bit intensities, colours as blue, green, red."""
    return np.ascontiguousarray((image[..., ::-1] * 255).round().astype(np.uint8))


def _lab(image: Floats32) -> NDArray[np.uint8]:
    """8-bit CIE Lab of colours, as OpenCV advises; grey as it is."""
    import cv2

    found: Any = cv2.cvtColor(_bytes(image), cv2.COLOR_BGR2LAB) if image.shape[-1] == 3 else _bytes(image)
    return found
