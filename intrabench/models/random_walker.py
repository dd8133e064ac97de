"""A training-free 3D model: the random walker in a neighbourhood of the prompts.

Random walker with priors (Grady, "Multilabel random walker image segmentation using prior models", CVPR 2005; seeds
as in Grady, "Random walks for image segmentation", PAMI 2006). The equation is set up here and not by scikit-image's
`random_walker`, because that takes no priors, offers no time limit, and lets walkers cross thick slices more easily
than thin ones. It needs nothing but scipy.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from intrabench.mask import Bools, Floats, Mask, box_slices, intersection
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.models.parts.neighbourhood import FACES, Frame, Labels, SeedRadius, log_ratio, normalised
from intrabench.models.parts.seeds import BACKGROUND, TARGET, UNKNOWN, Hints, Zones, with_labels
from intrabench.prompts import Derived
from intrabench.specs.specs import switch
from intrabench.specs.values import Millimetres, NotNegative, Positive, Voxels
from intrabench.volume import Volume

_WALL = 0.3  # conductance across the edges of boxes; low, because tight boxes touch the target
_PASSES = 3  # passes that learn tissue from the answer, only with boxes: else the answer would grow
_SURE = 6.0  # log-odds: here even different tissue follows a prompt


@dataclass(eq=False)
class RandomWalker(VolumeModel):
    """Random walker with priors: the probability that a walker from a voxel reaches target before background.

    Each voxel has prior odds, the product of two: those of its place (boxes: an inscribed blob; points: the
    neighbourhood; corrections: the distance to the points that contradict the answer so far, around which alone it
    changes), and those of its tissue (histograms of target and background so far). Walkers rarely cross intensity edges
    and stop after about `reach_mm`.

    beta: how strictly intensity edges stop walkers (intensities from the 1st to the 99th percentile span 1).
    margin_mm: size of the neighbourhood around boxes. size_mm: expected radius of a target that has one point.
    seed_mm: radius around a point that certainly belongs to it. max_voxels: larger neighbourhoods are solved on a
    coarser grid. time_limit_s: then TimeoutError is raised. The defaults were tuned once on a phantom, a spine CT and
    MRI, and four structures of the MNI brain.
    """

    name = "random_walker"
    version = "2"
    dims = 3
    accepts = frozenset({"point", "box2d", "box3d", "scribble"})
    feeds_back = True
    takes_mask = True
    covers = "the neighbourhood of the prompts"
    any_plane = True

    beta: NotNegative = 200.0
    reach_mm: Positive = 2.0
    margin_mm: Millimetres = 10.0
    size_mm: Positive = 12.0
    seed_mm: SeedRadius = 1.0
    max_voxels: Voxels = 1_000_000
    time_limit_s: Positive = 60.0
    derived: Derived = switch("none")

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Solve what the prompts leave open; the answer is valid for the whole volume.

        Raises:
            TimeoutError: it took longer than `time_limit_s`; looked at between all steps and iterations.
        """
        check = _Deadline(self.time_limit_s)
        hints = Hints.of(request, volume.spacing_mm, self.seed_mm, self.size_mm)
        fine = hints.frame(volume, self.margin_mm)
        if fine is None:  # there are no prompts
            return Answer(request.mask)
        frame = fine.coarse(self.max_voxels)
        zones = hints.zones(frame)
        labels = hints.labels(frame, zones)
        check()
        chance = frame.refine(self._chance(frame, hints, zones, labels, frame.image(volume.array), check))
        sure = labels if frame is fine else hints.labels(fine, zones.refined(frame))
        check()
        inside = np.where(sure == UNKNOWN, chance > 0.5, sure == TARGET)
        boxed = (intersection(tuple(block), fine.box) for block in hints.blocks.tolist())
        kept = _pieces(inside, sure == TARGET, [box_slices(box, fine.box[:3]) for box in boxed if box is not None])
        found = with_labels(hints, fine, kept, sure)
        return Answer(found, scores=_scores(found, chance, fine) if request.scores else None)

    def _chance(
        self, frame: Frame, hints: Hints, zones: Zones, labels: Labels, image: Floats, check: Callable[[], None]
    ) -> Floats:
        """The probability of target for every cell."""
        from scipy.special import expit

        image, free, boxed = normalised(image), labels == UNKNOWN, len(hints.blocks) > 0
        known = labels == TARGET
        if hints.corrects:
            depth = frame.depth_mm(frame.mask(hints.mask))
            odds = _SURE * np.clip(depth / (hints.border[0] or 1e-3), -1, 1)
        elif boxed:
            odds = frame.boxes(hints.blocks)[1]
        else:
            away = frame.distance_mm(known)
            odds = (1 - (away / hints.size_mm) ** 2) / 2
        odds = zones.odds(odds.clip(-_SURE, _SURE))
        # without boxes or an answer, the target's tissue is known only at the clicks
        likely = expit(odds) if boxed or hints.corrects else np.exp(-((away / (2 * self.seed_mm)) ** 2))
        chance = np.where(free, likely, known)
        check()
        room = (labels != BACKGROUND) | (not boxed)
        system, inflow = _walks(image, frame.step_mm, free, room, known, self.beta)
        counted = ~free if hints.corrects else None
        for _ in range(_PASSES if boxed else 1):
            prior = expit(odds + log_ratio(image, chance, counted))[free]
            check()
            chance[free] = _solve(system, inflow, prior, self.reach_mm, chance[free], check)
        return chance


def _scores(found: Mask, chance: Floats, frame: Frame) -> Floats:
    """How sure the voxels of an answer's array are: as computed, and entirely where nothing was."""
    scores = found.array.astype(np.float64)
    common = intersection(found.box, frame.box)
    if common is not None:
        scores[box_slices(common, found.start)] = chance[box_slices(common, frame.box[:3])]
    return scores


class _Deadline:
    """Raises TimeoutError if called after the time limit."""

    def __init__(self, limit_s: float) -> None:
        self.limit_s, self.end = limit_s, time.perf_counter() + limit_s

    def __call__(self) -> None:
        if time.perf_counter() > self.end:
            raise TimeoutError(f"no answer within {self.limit_s:g} s; increase time_limit_s or decrease max_voxels")


def _walks(
    image: Floats, step_mm: tuple[float, float, float], free: Bools, room: Bools, target: Bools, beta: float
) -> tuple[Any, Floats]:
    """The graph's Laplacian over the free cells in C order (sparse, per mm^2), and what flows in from target seeds.

    An edge weighs ``exp(-beta * difference**2) / step_mm**2``: a finite-volume diffusion, so anisotropic cells give
    the same answer in millimetres. Cells that are neither free nor target are background, of probability 0.
    """
    from scipy import sparse

    size = int(np.count_nonzero(free))
    number = np.full(free.shape, -1, dtype=np.int32)
    number[free] = np.arange(size, dtype=np.int32)
    # A row of the matrix has seven places, in the order of its columns: the neighbours before a cell along z, y and x,
    # itself, those after it along x, y and z. So the sparse matrix is made without sorting.
    others = np.full((7, *free.shape), -1, dtype=np.int32)  # of each cell its row of the matrix, in C order
    entries = np.zeros((7, *free.shape))
    degree, inflow = np.zeros(free.shape), np.zeros(free.shape)
    for axis, (lower, upper) in enumerate(FACES):
        weight = np.exp(-beta * (image[lower] - image[upper]) ** 2) / step_mm[axis] ** 2
        weight *= np.where(room[lower] == room[upper], 1.0, _WALL)
        for place, here, there in ((6 - axis, lower, upper), (axis, upper, lower)):
            others[place][here], entries[place][here] = number[there], -weight
            degree[here] += weight
            inflow[here] += weight * target[there]
    others[3], entries[3] = number, degree
    columns = others[:, free].T
    linked = columns >= 0
    starts = np.zeros(size + 1, dtype=np.int32)
    np.cumsum(linked.sum(axis=1), out=starts[1:])
    return sparse.csr_array((entries[:, free].T[linked], columns[linked], starts), shape=(size, size)), inflow[free]


def _solve(
    system: Any, inflow: Floats, prior: Floats, reach_mm: float, guess: Floats, check: Callable[[], None]
) -> Floats:
    """Probabilities of the free cells: ``(L + g) p = inflow + g * prior`` with ``g = 1 / reach_mm**2``.

    g makes the matrix so diagonally dominant that conjugate gradients, preconditioned by its diagonal, need some twenty
    iterations, a fifth of the time of multigrid (pyamg). Not scipy's `cg`: it sums by BLAS, whose last bits depend on
    the number of threads.
    """
    from scipy import sparse

    stop = 1 / reach_mm**2
    matrix = system + stop * sparse.eye_array(len(prior), format="csr")
    scale = 1 / matrix.diagonal()
    right = inflow + stop * prior
    p, residual = guess.copy(), right - matrix @ guess
    step = scale * residual
    energy, enough = (residual * step).sum(), 1e-6 * (right * right * scale).sum()
    for _ in range(1000):
        if energy <= enough:
            break
        check()
        pushed = matrix @ step
        length = energy / (step * pushed).sum()
        p += length * step
        residual -= length * pushed
        before, energy = energy, (residual * residual * scale).sum()
        step = scale * residual + energy / before * step
    return np.asarray(p, dtype=np.float64).clip(0, 1)


def _pieces(answer: Bools, seeds: Bools, boxes: list[tuple[slice, slice, slice]]) -> NDArray[np.bool_]:
    """Keep the pieces with a target seed and the largest in each box; without seeds and boxes the largest of all."""
    from scipy import ndimage

    labels, count = ndimage.label(answer)
    if count <= 1:
        return answer
    keep = np.zeros(count + 1, dtype=bool)
    keep[np.unique(labels[seeds])] = True
    for where in boxes or [np.s_[:, :, :]] * (not seeds.any()):
        sizes = np.bincount(labels[where].ravel(), minlength=2)
        keep[1 + np.argmax(sizes[1:])] |= bool(sizes[1:].any())
    keep[0] = False
    return np.asarray(keep[labels], dtype=bool)
