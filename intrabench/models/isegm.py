"""Click networks of RITM's family, through the inference code of their own repositories."""

from __future__ import annotations

import re
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from annotated_types import Interval
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Model, Predictor, Request, SequentialPredictor
from intrabench.models.outside.isegm_repository import Network, Package, code_of, root_of
from intrabench.models.parts.intensity import Intensity, assumed, slice_images
from intrabench.models.parts.replay import memory_of
from intrabench.models.parts.slice_scores import SliceScores
from intrabench.progress import loading
from intrabench.specs.specs import Reach, switch
from intrabench.specs.values import Natural, Pixels
from intrabench.volume import Volume

States = dict[int, Any]
"""What a session remembers: the predictor of each slice z, as its last answer left it."""
SLICES = 8
"""Of which an image keeps predictors that have seen no click."""


@dataclass(eq=False)
class Isegm(Model):
    """Click networks of RITM, FocalClick, CDNet, SimpleClick, CFR-ICL, GPCIS, AdaptiveClick, SegNext and their kin.

    They run through the package `isegm` of their authors' repository, which you clone, as its evaluation script runs
    them: every answer uses all clicks of the slice in their order, the last prediction, and the crop that the predictor
    zoomed in to. Nothing of it comes with IntraBench. Photographs are what they were trained on; scans are played slice
    by slice, as grey pictures. docs/clickability.md has the checkpoints, and which options they need.

    repo: the clone. checkpoint: its file. Both are code: loading a checkpoint unpickles it, which runs whatever its
    author put in. trust=true says that you trust both; nothing is loaded without it, and only by the process that
    plays. Most repositories need packages of their own: install them in another environment, and give its interpreter
    with --python. Licences of the code as their authors state them: MIT for RITM, ClickSEG (FocalClick, CDNet),
    SimpleClick, GPCIS, AdaptiveClick and SegNext; unknown for CFR-ICL. No terms are stated for the weights, which were
    trained on COCO, LVIS or SBD.

    The other parameters have the names of the evaluation scripts. mode: NoBRS, or FocalClick, CDNet and Baseline for
    ClickSEG and GPCIS. zoom: crops of 400, of 448x448, or none; empty: 400, for SimpleClick and its kin 448x448, as
    their scripts do on most data sets. zoom_first: zoom in from the first click on, which fixed sizes always do. flip:
    average with the mirrored image; default is what the repository does. infer_size: of ClickSEG and GPCIS.
    clicks_limit: the network sees only so many first clicks (0: all). cf_n, acf: steps of CFR-ICL's cascade, perhaps
    adaptive. thresh: where a probability counts as target. intensity: how scans become 8 bits.
    """

    name = "isegm"
    dims = 2
    accepts = frozenset({"point"})
    extra = "torch"
    requires = ("torch",)
    devices = ("cpu", "cuda")
    encodes = False
    feeds_back = True

    repo: Annotated[str, Reach("program")] = ""
    checkpoint: Annotated[str, Reach("program")] = ""
    trust: bool = False
    mode: Literal["NoBRS", "FocalClick", "CDNet", "Baseline"] = switch("NoBRS")
    zoom: Annotated[str, Reach()] = switch("")
    zoom_first: bool = switch(False)
    flip: Literal["default", "on", "off"] = switch("default")
    infer_size: Pixels = switch(0)
    clicks_limit: Natural = switch(0)
    cf_n: Natural = switch(0)
    acf: bool = switch(False)
    thresh: Annotated[float, Interval(gt=0, lt=1)] = 0.49
    intensity: Intensity = switch("modality")

    def __post_init__(self) -> None:
        if not re.fullmatch(r"|none|[1-9]\d*(x[1-9]\d*)?", self.zoom):
            raise ValueError(f"zoom={self.zoom} is no size; give 400 (the longer side), 448x448 or none")
        if self.acf and not self.cf_n:
            raise ValueError("acf makes the cascade adaptive, which cf_n=0 does not have; give cf_n=4 or so")

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """With a hash of the repository's code."""
        return f"1/{code_of(root_of(self._repo))}" if self.repo else "1"

    @property
    def weights_file(self) -> Path | None:
        """The checkpoint."""
        return self._checkpoint if self.checkpoint and self._checkpoint.is_file() else None

    def check_runnable(self) -> None:
        """Refuse what is not there, and what the user does not trust."""
        if not self.repo:
            raise IntraBenchError("isegm: repo=PATH is missing; give the clone of a repository such as RITM")
        root_of(self._repo)
        if self.weights_file is None:
            what = f"checkpoint={self.checkpoint} is no file" if self.checkpoint else "checkpoint=PATH is missing"
            raise IntraBenchError(f"isegm: {what}; give one that the repository's authors published")
        if self.runtime.random:
            raise IntraBenchError("isegm has no random weights: a checkpoint says what the network is; omit --weights")
        if not self.trust:
            raise IntraBenchError(
                f"isegm: {self.checkpoint} is a pickle, which can run any code when it is loaded, and so can "
                f"{self.repo}; if you trust both, add trust=true"
            )

    def load(self) -> None:
        """Load the network and its weights now."""
        _ = self.network

    @cached_property
    def network(self) -> Network:
        """The network, loaded at the first use.

        Raises:
            IntraBenchError: it cannot be, or the user does not trust it.
        """
        self.check_runnable()
        with loading("loading isegm"):
            return Network(Package(root_of(self._repo)), self._checkpoint, self, self.runtime.device)

    @property
    def _repo(self) -> Path:
        return Path(self.repo).expanduser()

    @property
    def _checkpoint(self) -> Path:
        return Path(self.checkpoint).expanduser()

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """What `intensity` assumes about the scan."""
        return assumed(volume, self.intensity)

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Open one image; the network sees a slice when it is clicked."""
        return nullcontext(ClickedSlices(self, volume))


class ClickedSlices(SequentialPredictor):
    """An opened image, of which predictors have seen some slices."""

    def __init__(self, model: Isegm, volume: Volume) -> None:
        self.model, self.shape, self.notes = model, volume.shape, model.notes(volume)
        self.network = model.network
        self._image: Callable[[int], NDArray[Any]] = slice_images(volume, model.intensity)
        self._seen: OrderedDict[int, Any] = OrderedDict()

    def answer(self, request: Request) -> Answer:
        """The answer for the slices with a new click."""
        memory: States = dict(memory_of(request, partial(self.answer_or_failure, self.answer)) or {})
        clicks, slices = self._clicks(request), request.given[-1].prompts.slices()
        masks, scores = [], SliceScores()
        for z in slices:
            state = memory[z] if z in memory else self._saw(z)
            found, memory[z] = self.network.answer(state, clicks[clicks[:, 0] == z, 1:])
            if found.shape != self.shape[1:]:
                raise ValueError(f"the predictor answered with {found.shape} for a slice of {self.shape[1:]}")
            masks.append(Mask.of((found > self.model.thresh)[None], (z, 0, 0)))
            if request.scores:
                scores.add(masks[-1], found)
        update = Mask.union(masks)
        return Answer(update, Region(slices), memory, notes=self.notes, scores=scores.within(update.box))

    def _clicks(self, request: Request) -> NDArray[Any]:
        """All clicks that count, rows ``z, y, x, label``, oldest first.

        Raises:
            ValueError: there is no new one, one lies outside, or there are other prompts.
        """
        if not request.given[-1].prompts.kinds:
            raise ValueError("there is no click")
        if others := {kind for turn in request.given for kind in turn.prompts.kinds} - {"point"}:
            raise ValueError(f"isegm takes points, not {', '.join(sorted(others))}")
        clicks = np.vstack([turn.prompts.points for turn in request.given])
        if ((clicks[:, :3] < 0) | (clicks[:, :3] >= self.shape)).any():
            raise ValueError(f"a click lies outside of the image of {' x '.join(map(str, self.shape))} voxels")
        return clicks

    def _saw(self, z: int) -> Any:
        """A predictor that has seen a slice; the last ones are kept for other sessions."""
        if z not in self._seen:
            started = time.perf_counter()
            image = np.rint(self._image(z)).astype(np.uint8)  # a copy, for torch warns of others
            colours = image if image.ndim == 3 else image[..., None].repeat(3, axis=2)
            self._seen[z] = self.network.see(np.ascontiguousarray(colours))
            self.encode_s += time.perf_counter() - started
            if len(self._seen) > SLICES:
                self._seen.popitem(last=False)
        return self._seen[z]
