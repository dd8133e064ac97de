"""Human-like clicks, drawn from a clickability model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import ceil
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability import GROUPS
from intrabench.clickability.base import Clickability
from intrabench.clickability.named import click_model
from intrabench.clickability.sampling import Mass, draw, group_of
from intrabench.errors import WrongType
from intrabench.identity.versions import version_of
from intrabench.mask import Box, Mask, grow
from intrabench.prompters.base import Refinement
from intrabench.prompters.click_deepest import Space, Worse, click, is_planar, unclicked, worse_errors
from intrabench.prompters.user import User
from intrabench.specs.specs import Reach, switch
from intrabench.turns import Turn

_PAPER_SIGMA = 0.01  # of the image's diagonal
_PUBLISHED_SEED, _PUBLISHED_CLICKS = 42, 20  # seed of each image, and clicks per target


@dataclass(frozen=True)
class ClickabilityClick(Refinement):
    """A click where people would click, drawn from a clickability model; may also come first.

    It lands on the missed or the wrongly included voxels, whichever are deeper (see `click_deepest`), with the
    probability that the model gives. No such model has been validated in radiology.

    model: a name from `intrabench list clickability`, or the path of a checkpoint of `rclicks`. group: 1 to 10 for a
    tenth of the probability, from the least to the most likely clicks, or all. space: as in `click_deepest`; models
    that look at the image always choose a slice. definition: code clicks on the error, paper on the error blurred by
    1 % of the diagonal. mass: precision of the groups, single as published. draws: published uses the same random
    numbers for every image. weights: a file for `rclicks`, as its parameter of that name.

    Source: RClicks (Antonov et al., NeurIPS 2024), https://github.com/emb-ai/rclicks.
    """

    name = "clickability"
    begins = True
    computes = True
    model: Annotated[str, Reach(room="clickability")] = "distance"
    group: Annotated[str, Reach()] = "all"
    space: Space = switch("volume")
    definition: Literal["code", "paper"] = switch("code")
    mass: Mass = switch("double")
    draws: Literal["own", "published"] = switch("own")
    weights: Annotated[str, Reach()] = switch("")

    def __post_init__(self) -> None:
        if self.group != "all" and self.group not in map(str, range(1, GROUPS + 1)):
            raise ValueError(f"group={self.group} is not a group; give 1 to {GROUPS}, or all")
        other = self.map.other_weights
        if self.weights not in ("", other):
            raise ValueError(f"{self.model} has other weights ({other or 'its own'}); omit weights={self.weights}")
        object.__setattr__(self, "weights", other)  # part of the spec, because other weights give other clicks

    @cached_property
    def map(self) -> Clickability:
        """The clickability model."""
        return click_model(self.model)

    @property
    def version(self) -> str:  # type: ignore[override]
        """Its own, and that of the model of where people click."""
        return f"2/{version_of(self.map)}"

    def correct(self, user: User, mask: Mask) -> Turn | None:
        """One click; None if every wrong voxel has been clicked."""
        planar = self.map.looks or self.definition == "paper" or is_planar(user, self.space)
        worse = worse_errors(user, mask, planar=planar)
        if worse is None:
            return None
        box = self._window(user, worse.mask, planar)
        weights = self._weights(user, worse, box, planar)
        if self.group != "all":
            pixels = int(np.prod(user.target.shape[1:])) if planar else 0  # published only for images
            weights = group_of(weights, int(self.group), self.mass, pixels)
        if not weights.any():  # the model expects no click on this error
            return click(worse.deepest(), worse.label)
        return click(np.add(draw(weights, self._uniform(user), self.mass), box[:3]), worse.label)

    def _window(self, user: User, wrong: Mask, planar: bool) -> Box:
        """The box around the error with a margin of one voxel, or more if the blur or the model needs it."""
        _, height, width = user.target.shape
        if self.map.looks:
            return wrong.box[0], 0, 0, wrong.box[3], height, width
        margin = 1 if self.definition == "code" else 1 + ceil(4 * _PAPER_SIGMA * np.hypot(height, width))
        return grow(wrong.box, (0 if planar else margin, margin, margin), user.target.shape)

    def _weights(self, user: User, worse: Worse, box: Box, planar: bool) -> NDArray[np.floating]:
        """The likelihood of a click on each voxel of the box; 0 where the user has clicked."""
        from scipy import ndimage

        error, target = worse.mask.crop(box), user.target.mask.crop(box)
        image = _rgb(user, box[0]) if self.map.looks else None
        plane = 0 if planar else slice(None)
        spacing_mm = user.target.spacing_mm[1:] if planar else user.target.spacing_mm
        found = np.asarray(self.map.probability(image, target[plane], error[plane], spacing_mm))
        if found.shape != error[plane].shape:
            raise WrongType(
                f"{self.map.name}.probability returned an array of the shape {found.shape}, expected that "
                f"of the error, {error[plane].shape}"
            )
        if not (np.isfinite(found).all() and (found >= 0).all()):
            raise ValueError(f"{self.model} must give a finite number of 0 or more for each pixel")
        if self.definition == "paper":
            sigma = _PAPER_SIGMA * np.hypot(*user.target.shape[1:])
            found = found * ndimage.gaussian_filter(error[plane].astype(np.float32), sigma)
        else:
            found = found * error[plane]
        return unclicked(user, found.reshape(error.shape), box[:3])

    def _uniform(self, user: User) -> float:
        """The random number of this click.

        published: one number per click from NumPy's seed 42, restarted for each image and continued over its targets.
        The published code used no number if the model expects no click on the whole error, which is very rare.
        """
        if self.draws == "own":
            return float(user.rng("click").random())
        me = user.target.label, user.target.instance
        before = sum((other.label, other.instance) < me for other in user.target.siblings) * _PUBLISHED_CLICKS
        stream = np.random.RandomState((_PUBLISHED_SEED + user.seed) % 2**32)
        return float(stream.random_sample(before + user.round + 1)[-1])


def _rgb(user: User, z: int) -> NDArray[np.uint8]:
    """A slice as displayed, ``(y, x, 3)``: photos unchanged, CT in a soft-tissue window, others scaled per slice."""
    from intrabench.models.parts.intensity import Intensity, slice_images

    if user.image is None:
        raise ValueError("this clickability model needs the image, which is missing here")
    intensity: Intensity = "ct_soft" if user.image.is_ct else "slice_positive"
    image = slice_images(user.image, intensity)(z)
    colours = image if image.ndim == 3 else np.repeat(image[..., None], 3, axis=2)
    return np.ascontiguousarray(colours[..., :3]).astype(np.uint8)
