"""The scribble robot of DAVIS Interactive: it draws a stroke through the middle of each error of a frame.

Caelles et al., "The 2018 DAVIS Challenge on Video Object Segmentation", arXiv:1803.00557; the stages are those of
davisinteractive 1.0.4: opening, medial axis, trees, longest path, Bezier curve.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from intrabench.davis.skeleton import longest_path, medial_axes, trees
from intrabench.errors import IntraBenchError
from intrabench.mask import Bools, Floats

Run = tuple[int, int, int]
"""Of a row of a footprint: how far below it lies, and its columns, half-open."""
MOST_POINTS = 1000
"""Of a stroke; longer paths are drawn as they are."""
SHRINKING = 0.9
"""By so much the opening shrinks until something is left of the error."""


@dataclass(frozen=True)
class ScribbleRobot:
    """Draws strokes into errors. The defaults are those of the published service, bugs included; `MENDED` has none.

    kernel_size, max_kernel_radius: the radius of the opening is ``kernel_size / 2 * sqrt(area)`` pixels, or mm, and no
    more. min_nodes: shorter middle lines are left out. nb_points: points of a stroke. never_empty: an error without a
    stroke gets the deepest of its pixels. inside: points of a stroke that leave the error are left out.
    """

    kernel_size: float = 0.2
    max_kernel_radius: float = 16.0
    min_nodes: int = 4
    nb_points: int = MOST_POINTS
    never_empty: bool = False
    inside: bool = False

    def strokes(
        self, error: Bools, rng: np.random.Generator | None = None, spacing_mm: tuple[float, float] | None = None
    ) -> list[Floats]:
        """Strokes through one error, as `strokes_in` draws them."""
        return self.strokes_in([error], rng, spacing_mm)[0]

    def strokes_in(
        self,
        errors: Sequence[Bools],
        rng: np.random.Generator | None = None,
        spacing_mm: tuple[float, float] | None = None,
    ) -> list[list[Floats]]:
        """Strokes through each error ``(y, x)`` of a frame: rows ``y, x`` of pixels, whole numbers at their centres.

        The same as one error after the other, but faster. rng: breaks ties; None: always the same way. spacing_mm: of
        the pixels ``(y, x)``, for the radius of the opening; None: it is in pixels, as published.
        """
        windows = [self._window(error, spacing_mm) if error.any() else None for error in errors]
        thick = [self.thick(one[0], spacing_mm) if one else np.zeros((0, 0), bool) for one in windows]
        axes = zip(windows, medial_axes(thick, rng), strict=True)
        return [self._through(*one, axis, spacing_mm) if one else [] for one, axis in axes]

    def _through(
        self, window: Bools, corner: NDArray[np.intp], axis: Bools, spacing_mm: tuple[float, float] | None
    ) -> list[Floats]:
        """Strokes through an error along its medial axis."""
        found = []
        for pixels, tree in trees(axis, self.min_nodes):
            curve = bezier(pixels[longest_path(tree)], self.nb_points)
            if self.inside:
                near = np.rint(curve).astype(np.int64)
                curve = curve[window[near[:, 0], near[:, 1]]]
            found += [curve + corner] if len(curve) else []
        return found or ([self._deepest(window, spacing_mm) + corner] if self.never_empty else [])

    def thick(self, error: Bools, spacing_mm: tuple[float, float] | None = None) -> Bools:
        """The error without its thin parts: its opening; if that is empty, by a smaller disk, and in the end itself."""
        unit = spacing_mm or (1.0, 1.0)
        radius = min(
            0.5 * self.kernel_size * np.sqrt(np.count_nonzero(error) * unit[0] * unit[1]), self.max_kernel_radius
        )
        found = error
        while min(radius / unit[0], radius / unit[1]) > 1:
            found = opened(error, runs(radius / unit[0], radius / unit[1]))
            if found.any():
                break
            radius *= SHRINKING
        return found if found.any() or not self.never_empty else error

    def _window(self, error: Bools, spacing_mm: tuple[float, float] | None) -> tuple[Bools, NDArray[np.intp]]:
        """The part of a frame that the opening of an error depends on, and its first pixel."""
        rows, columns = np.flatnonzero(error.any(axis=1)), np.flatnonzero(error.any(axis=0))
        reach = [int(np.ceil(2 * self.max_kernel_radius / mm)) + 2 for mm in spacing_mm or (1.0, 1.0)]
        low = np.maximum([rows[0] - reach[0], columns[0] - reach[1]], 0)
        high = rows[-1] + reach[0] + 1, columns[-1] + reach[1] + 1
        return error[low[0] : high[0], low[1] : high[1]], low

    def _deepest(self, error: Bools, spacing_mm: tuple[float, float] | None) -> Floats:
        """The pixel of an error that is farthest from its border, the first of several."""
        import edt

        depth = np.asarray(edt.edt(error.view(np.uint8), anisotropy=spacing_mm or (1.0, 1.0), black_border=True))
        return np.array([np.unravel_index(depth.round(3).argmax(), depth.shape)], dtype=np.float64)


MENDED = ScribbleRobot(never_empty=True, inside=True)
"""The same robot without its bugs."""


def bezier(points: NDArray[np.number], count: int = MOST_POINTS) -> Floats:
    """The Bezier curve with these control points, rows ``y, x``, from the last to the first; at most `MOST_POINTS`.

    As published, more control points than that are returned as they are.
    """
    if len(points) > MOST_POINTS:
        return np.asarray(points, dtype=np.float64)
    return np.asarray(_weights(len(points), min(count, MOST_POINTS)) @ points, dtype=np.float64)


@lru_cache(maxsize=8)
def _weights(points: int, count: int) -> Floats:
    """(count, points) Bernstein polynomials: how much each control point weighs at each point of the curve."""
    from scipy.special import gammaln, xlogy

    along, degree, order = np.linspace(0, 1, count)[:, None], points - 1, np.arange(points)
    # by logarithms, for binomial coefficients of hundreds are larger than any float
    chosen = gammaln(degree + 1) - gammaln(order + 1) - gammaln(degree - order + 1)
    weights: Floats = np.exp(chosen + xlogy(degree - order, along) + xlogy(order, 1 - along))
    return weights


def scribbles(
    robot: ScribbleRobot,
    truth: NDArray[np.integer],
    answer: NDArray[np.integer],
    objects: Sequence[int],
    rng: np.random.Generator | None = None,
) -> list[tuple[int, Floats]]:
    """Strokes into all errors of a frame of labels ``(y, x)``, each with its object; 0 is background.

    The error of an object are its pixels that the answer lacks, so what an object has too much is drawn for what it
    really is.
    """
    wrong = truth != answer
    found = robot.strokes_in([(truth == one) & wrong for one in (0, *objects)], rng)
    return [(one, path) for one, paths in zip((0, *objects), found, strict=True) for path in paths]


def worst_frame(
    scores: NDArray[np.floating],
    drawn: Collection[int],
    candidates: Sequence[int] | None = None,
    started: Collection[int] = (),
    first: bool = True,
) -> int:
    """The frame with the lowest score.

    scores: (frames,). drawn: frames in which the robot has drawn already; they are left out as long as there are
    others, and once it has drawn in all, none is left out any more. candidates: only these frames; none means all.
    started: frames with the scribbles that people gave first, left out as long as there are others; the published
    robot draws there as elsewhere. first: of equal ones the first, else that which NumPy's unstable sort has first, as
    published.

    Raises:
        IntraBenchError: a candidate is no frame.
    """
    count = len(scores)
    if wrong := [frame for frame in candidates or () if not 0 <= frame < count]:
        raise IntraBenchError(
            f"frame {wrong[0]} cannot be a candidate for the next scribble; the video has the frames 0 to {count - 1}"
        )
    allowed = sorted(set(candidates or range(count)))
    left = [frame for frame in allowed if frame not in drawn]
    for choice in ([frame for frame in left if frame not in started], left, allowed):
        if choice:
            if first:
                return choice[int(np.argmin(np.asarray(scores)[choice]))]
            return next(int(frame) for frame in np.argsort(scores) if frame in choice)
    raise AssertionError("a sequence has frames")


def footprint(radius: float) -> Bools:
    """The disk, a square array; of a fractional radius its grid begins at ``-radius``."""
    steps = np.arange(-radius, radius + 1)
    return np.asarray(np.add.outer(steps**2, steps**2) <= radius**2, dtype=bool)


@lru_cache(maxsize=64)
def runs(y_radius: float, x_radius: float) -> list[Run]:
    """The rows of a disk, or of an ellipse, relative to the pixel that it belongs to."""
    if y_radius == x_radius:
        disk = footprint(y_radius)
    else:
        y, x = (np.arange(-np.floor(radius), np.floor(radius) + 1) for radius in (y_radius, x_radius))
        disk = np.add.outer((y / y_radius) ** 2, (x / x_radius) ** 2) <= 1
    middle = disk.shape[0] // 2, disk.shape[1] // 2
    found = []
    for number, row in enumerate(disk):
        columns = np.flatnonzero(row)
        if len(columns):
            found.append((number - middle[0], int(columns[0]) - middle[1], int(columns[-1]) + 1 - middle[1]))
    return found


def opened(mask: Bools, disk: list[Run]) -> Bools:
    """The opening of a mask ``(y, x)`` by a disk with fractional radius, which is not symmetric.

    As scikit-image's ``rank.minimum`` and ``rank.maximum`` with ``disk(radius)``: a footprint lies from its middle,
    rounded up, it is mirrored for neither, and what is beyond the image counts for nothing.
    """
    inside = ~_touched(~mask, disk)  # nothing outside of the mask in the disk
    if not any(down == 0 and first <= 0 < stop for down, first, stop in disk):
        inside &= _touched(np.ones_like(mask), disk)  # some disks lack their own pixel, and have none in a corner
    return _touched(inside, disk)


def _touched(mask: Bools, disk: list[Run]) -> Bools:
    """Where the disk of a pixel holds a pixel of the mask."""
    height, width = mask.shape
    reach = max(max(abs(first), abs(stop)) for _, first, stop in disk)
    sums = np.zeros((height, width + 2 * reach + 1), np.int32)  # beyond the image they stay the same
    np.cumsum(mask, axis=1, out=sums[:, reach + 1 : reach + 1 + width])
    sums[:, reach + 1 + width :] = sums[:, reach + width, None]
    found, rows = np.zeros(mask.shape, bool), dict[tuple[int, int], list[int]]()
    for down, first, stop in disk:
        rows.setdefault((first, stop), []).append(down)
    # A row of the disk has a pixel of the mask if the sums before and after it differ; rows of one extent share this.
    for (first, stop), downs in rows.items():
        there = sums[:, reach + stop : reach + stop + width] > sums[:, reach + first : reach + first + width]
        for down in downs:
            if abs(down) < height:
                found[max(-down, 0) : height - max(down, 0)] |= there[max(down, 0) : height + min(down, 0)]
    return found
