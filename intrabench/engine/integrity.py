"""Tells whether somebody changed what all share, past numpy, which refuses: torch, for one, writes where it likes."""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Predictor, Request
from intrabench.target import Target
from intrabench.volume import Volume

R = TypeVar("R")
T = TypeVar("T")
CHUNK = 4093
"""Words of 8 bytes; a prime, so that the same change of every word never cancels."""

REMEDY = "which all share; copy the array first, array.copy()"


class IntegrityCheck:
    """A scan and targets as they are now. `seconds` is how long a look at them takes."""

    def __init__(self, volume: Volume, targets: Iterable[Target] = ()) -> None:
        self._volume, self._targets = volume, tuple(targets)
        started = time.perf_counter()
        self._as_it_was = self._now()
        self.seconds = time.perf_counter() - started

    @property
    def broken(self) -> bool:
        """Whether the scan or a target has changed since."""
        try:
            return self._now() != self._as_it_was
        except Exception:  # what somebody put in their place may be anything
            return True

    def _now(self) -> list[Any]:
        volume = self._volume
        scans = dict.fromkeys((volume, volume.upright))  # one, unless it is read in another plane
        arrays = [array for one in scans for array in (one.array, one.grid.affine, one.affine)]
        scan = [volume.grid.shape, volume.spacing_mm, volume.modality, *map(_checksum, arrays)]
        return [scan, *map(_target, self._targets)]


class IntegrityMonitor(Predictor):
    """An image that notes who changed the scan or a target while one session is played."""

    def __init__(self, image: Predictor, integrity: IntegrityCheck) -> None:
        self.image, self.integrity = image, integrity
        self._who = ""

    @property
    def message(self) -> str:
        """Who changed them, as a sentence; empty if nobody did."""
        self._look("prompter: it or a metric")
        return self._who and f"{self._who} changed the scan or a target, {REMEDY}"

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """The answers of the image."""
        return self._witnessed(self.image.segment, requests)

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        """The answers of the image."""
        return self._witnessed(self.image.segment_jointly, requests)

    def _witnessed(self, segment: Callable[[T], R], requests: T) -> R:
        self._look("prompter: it or a metric")
        answers = segment(requests)
        self._look("model: it")
        return answers

    def _look(self, who: str) -> None:
        if not self._who and self.integrity.broken:
            self._who = who


def _target(target: Target) -> list[Any]:
    return [target.id, target.shape, target.spacing_mm, target.siblings, *map(_mask, (target.mask, target.ignore))]


def _mask(mask: Mask) -> list[Any]:
    return [mask.start, mask.voxels, *map(_checksum, (mask.array, mask.occupied_slices))]


def _checksum(array: Any) -> tuple[Any, ...]:
    """Against accidents: words that only change places within a chunk go unseen, but 150 MB take 15 ms."""
    content: Any = np.ascontiguousarray(array).reshape(-1).view(np.uint8)
    summed = len(content) // (8 * CHUNK) * (8 * CHUNK)
    sums: Any = content[:summed].view(np.uint64).reshape(-1, CHUNK).sum(axis=1)
    return array.shape, array.dtype.str, zlib.crc32(sums), zlib.crc32(content[summed:])
