"""VISTA3D as MONAI keeps it: clicks and classes by MONAI's own inferers, each window encoded once for all clicks.

He et al., "VISTA3D", CVPR 2025, https://arxiv.org/abs/2406.05285; the steps are those of the bundle ``vista3d`` of
https://github.com/Project-MONAI/model-zoo. Axes here are MONAI's: ``(x, y, z)`` of an array in RAS.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from copy import deepcopy
from typing import Any

import torch
from monai.apps.vista3d.inferer import point_based_window_inferer
from monai.inferers import SlidingWindowInferer
from monai.networks.nets.vista3d import VISTA3D, vista3d132
from torch import Tensor, nn

WINDOW = (128, 128, 128)
"""The shape of what the network sees, in voxels of 1.5 mm."""
OVERLAP = 0.3
"""Of neighbouring windows that look for a class."""
ZERO_SHOT = 133
"""The class of what the network was not trained on: the first index after those that it knows."""

Slices = Sequence[slice]
Embed = Callable[[str, Tensor], Tensor]
"""From the name of a window and its image ``(1, 1, *WINDOW)`` to what `encode` gives, to cache by."""


def build_vista3d() -> VISTA3D:
    """VISTA3D for 132 classes with untrained weights."""
    return vista3d132()


def encode(network: VISTA3D, window: Tensor) -> Tensor:
    """What no click reaches, ``(1, 48, 64, 64, 64)``: the image encoder and the first layers of the point head.

    They halve each axis, so this is an eighth of the encoder's output of a window.
    """
    features, _ = network.image_encoder(window, with_point=True, with_label=False)
    return network.point_head.feat_downsample(features)


class Clicks:
    """Answers clicks on one image ``(1, x, y, z)``; `embed` gives the embeddings of its windows.

    unseen: the logit of what no window has shown. MONAI's own NaN would stay in `previous` whatever is clicked there.

    MONAI's `VISTA3D` remembers the embedding of one window only. Here it gets an encoder and first layers of the point
    head that return what `embed` gives, and everything else of the original.
    """

    def __init__(self, network: VISTA3D, image: Tensor, embed: Embed) -> None:
        self._image, self._embed = image, embed
        self._features, self._low = _Constant(), _Constant()
        point_head = deepcopy(network.point_head)
        point_head.feat_downsample = self._low
        self._network = VISTA3D(self._features, network.class_head, point_head).eval()
        self.unseen = float(network.NINF_VALUE)
        self._device = next(network.parameters()).device

    def __call__(
        self, points: Tensor, labels: Tensor, first: int, kind: int, previous: Tensor | None
    ) -> tuple[Tensor, list[Slices]]:
        """Logits ``(x, y, z)`` and the windows that were computed: those around the points from number `first` on.

        points: ``(k, 3)``, all that count. labels: ``(k,)``, 1 target, 0 background. kind: the class. previous: logits
        ``(x, y, z)``, which are changed where the clicks ask for it; without them what no window shows is NaN.
        """
        seen: list[Slices] = []

        def predict(window: Tensor, *, patch_coords: list[Slices], point_coords: Tensor, **asked: Any) -> Tensor:
            place = tuple(patch_coords[0][2:])
            seen.append(self._unpadded(place))
            low = self._embed("_".join(str(along.start) for along in place), window.to(self._device))
            # the network needs no more than the shape of the encoder's output
            self._features.value = low.new_empty(1).expand(1, low.shape[1], *window.shape[2:]), None
            self._low.value = low
            return self._network(window, patch_coords, _rounding_inside(point_coords, place), **asked)

        device = self._device
        kinds = torch.tensor([[kind]], device=device)
        shown = self._network.convert_point_label(labels[None].clone(), [kind])  # of tumours and vessels 2 and 3
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Setting affine")  # MONAI sets it itself
            logits = point_based_window_inferer(
                inputs=self._image[None],
                roi_size=WINDOW,
                predictor=predict,
                point_coords=points[None].to(device),
                point_labels=shown.to(device),
                prompt_class=kinds,
                prev_mask=None if previous is None else previous[None, None],
                point_start=first,
                transpose=True,
            )
        return logits.as_tensor()[0, 0], seen

    def _unpadded(self, place: Slices) -> Slices:
        """The part of a window inside the image, which MONAI pads on both sides if it is smaller than a window."""
        part = []
        for along, size, window in zip(place, self._image.shape[1:], WINDOW, strict=True):
            before = max(0, window - size) // 2
            part.append(slice(max(0, along.start - before), min(size, along.stop - before)))
        return part


def automatic(network: VISTA3D, image: Tensor, classes: Sequence[int]) -> Tensor:
    """Logits ``(class, x, y, z)`` of classes in a whole image ``(1, x, y, z)``, without any click."""
    device = next(network.parameters()).device
    windows = SlidingWindowInferer(
        WINDOW, 1, OVERLAP, mode="gaussian", padding_mode="replicate", sw_device=device, device="cpu", with_coord=True
    )
    asked = torch.tensor(classes, device=device)[:, None]
    return windows(image[None], network, transpose=True, class_vector=asked)[0]


class _Constant(nn.Module):
    """Returns what was put into it, whatever it is asked."""

    value: Any = None

    def forward(self, *_: Any, **__: Any) -> Any:
        return self.value


def _rounding_inside(points: Tensor, place: Slices) -> Tensor:
    """Points ``(1, k, 3)`` of the image, moved by up to half a voxel where MONAI would lose them or fail.

    It ignores a point at 0, and looks for a voxel that is not there where it rounds one to the end of a window.
    """
    ends = points.new_tensor([along.stop for along in place])
    return torch.where((points < ends) & (points >= ends - 0.5), ends - 0.501, points).clamp(min=0.001)
