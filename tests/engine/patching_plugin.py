"""A model that changes what all code of its process shares, and a sound one that depends on it."""

import gc
import json
import os
import signal
import sys
from dataclasses import dataclass

import numpy as np

from intrabench.datasets.phantom import Phantom
from intrabench.engine.result_batches import ResultBatch
from intrabench.mask import Mask
from intrabench.models.base import Answer
from intrabench.models.box_fill import BoxFill
from intrabench.prompters.box_slice import BoxSlice

FORGED = {
    "word": 7,
    "content": ("download", (1,)),
    "part": ("part", "nonsense"),
    "others": ("part", ResultBatch([{"session": "of another model", "dice": 1.0}])),
}


def nothing(*args, **options):
    return 0


def patch(how):
    """Change something for good."""
    if how in ("numpy", "all"):
        np.count_nonzero = nothing
    if how in ("scipy", "all"):
        import scipy.ndimage

        scipy.ndimage.gaussian_filter = scipy.ndimage.label = scipy.ndimage.distance_transform_edt = nothing
    if how == "torch":
        import torch

        torch.as_tensor = torch.from_numpy = nothing
    if how in ("json", "all"):
        json.dumps = nothing
    if how in ("path", "all"):
        sys.path.clear()
    if how in ("recursion", "all"):
        sys.setrecursionlimit(150)
    if how == "parent":
        os.kill(os.getppid(), signal.SIGTERM)
    if how in FORGED:
        (line,) = (found for found in gc.get_objects() if type(found).__name__ == "_WorkerConnection")
        line._connection.send(FORGED[how])
    if how == "itself":
        os.kill(os.getpid(), signal.SIGTERM)


def deep(number):
    return number and 1 + deep(number - 1)


@dataclass(eq=False)
class Patching(BoxFill):
    """Box fill that changes something shared in each request."""

    name = "patching"
    how: str = ""

    def segment_one(self, volume, request):
        answer = super().segment_one(volume, request)
        patch(self.how)
        return answer


@dataclass(eq=False)
class Sound(BoxFill):
    """Box fill, less the voxels that are dark after smoothing, by way of what others may have changed."""

    name = "sound"
    tensors: bool = False

    def segment_one(self, volume, request):
        import colorsys  # which nobody has imported yet

        import scipy.ndimage

        answer = super().segment_one(volume, request)
        z, y, x = (slice(low, high) for low, high in zip(answer.update.box[:3], answer.update.box[3:], strict=True))
        smooth = scipy.ndimage.gaussian_filter(volume.array[z, y, x].astype(np.float32), 1.0)
        bright = smooth > float(np.median(smooth))
        if self.tensors:
            import torch

            bright = (torch.as_tensor(smooth) > float(np.median(smooth))).numpy()
        assert np.count_nonzero(bright) == bright.sum()
        assert json.dumps([deep(200), *colorsys.rgb_to_hsv(0, 0, 1)[1:]]) == "[200, 1.0, 1]"
        return Answer(Mask(answer.update.start, bright))


@dataclass(frozen=True)
class Wild(BoxSlice):
    """Box slice that changes numpy."""

    name = "wild"

    def interact(self, user):
        yield from super().interact(user)
        patch("numpy")


@dataclass(frozen=True)
class Rough(Phantom):
    """Phantoms whose conversion changes numpy."""

    name = "rough"
    shape: tuple[int, int, int] = (16, 32, 32)

    def load(self, case, files):
        loaded = super().load(case, files)
        np.count_nonzero = nothing
        return loaded
