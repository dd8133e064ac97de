"""The base classes of methods that divide an image into superpixels."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import foreign
from intrabench.mask import Floats32
from intrabench.specs.component import Component, of_function
from intrabench.specs.values import expect
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import connected, merged, relabelled
from intrabench.volume import Volume

Labelled = Callable[..., NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Picture:
    """What a method is given: intensities ``(z, y, x, channel)`` from 0 to 1, one or three channels, of a volume."""

    array: Floats32
    volume: Volume

    @property
    def spacing_mm(self) -> tuple[float, float, float]:
        """Size of a voxel ``(z, y, x)``."""
        return self.volume.spacing_mm

    @property
    def colour(self) -> bool:
        """Whether it has red, green and blue."""
        return self.array.shape[-1] == 3

    def cells(self, segments: int) -> tuple[int, int, int]:
        """Into how many parts each axis ``(z, y, x)`` is divided by a grid of about `segments` equal cells.

        Cells are as near to cubes as voxels allow; one axis after the other gets its share of what is left.
        """
        shape, left, found = self.array.shape[:3], float(segments), [1, 1, 1]
        lengths = {axis: shape[axis] * self.spacing_mm[axis] for axis in range(3) if shape[axis] > 1}
        for axis in sorted(lengths, key=lambda axis: lengths[axis]):
            edge = (np.prod(list(lengths.values())) / left) ** (1 / len(lengths))
            found[axis] = min(shape[axis], max(1, round(lengths.pop(axis) / edge)))
            left = max(1.0, left / found[axis])
        return found[0], found[1], found[2]


@dataclass(frozen=True)
class Superpixels(Component):
    """Base of all methods. A subclass is a frozen dataclass with a `name`, its parameters, and `segment`.

    version: changes whenever the same image gives other superpixels. requires: the modules of the extra named `extra`.
    search: values of parameters that `intrabench superpixels tune` tries, in all combinations.
    """

    version = "1"
    extra: ClassVar[str | None] = None
    requires: ClassVar[tuple[str, ...]] = ()
    search: ClassVar[Mapping[str, tuple[float, ...]]] = {}

    @abstractmethod
    def segment(self, picture: Picture, segments: int) -> NDArray[Any]:
        """Labels ``(z, y, x)``, whole numbers from 0, about as many as `segments`; they need not be connected."""

    def fitted(self, picture: Picture, segments: int) -> Superpixels:
        """The method with parameters that give about as many segments, if it has to search for them; else itself.

        The time of a search does not count as the method's.
        """
        return self


@dataclass(frozen=True)
class SliceSuperpixels(Superpixels):
    """Base of methods for pictures: a subclass writes `segment_slice`, and volumes are divided slice by slice."""

    @abstractmethod
    def segment_slice(self, image: Floats32, segments: int) -> NDArray[Any]:
        """Labels ``(y, x)`` of one slice ``(y, x, channel)``, whole numbers from 0."""

    def segment(self, picture: Picture, segments: int) -> NDArray[Any]:
        """Labels of all slices, which get the same share of the segments each."""
        each, found, first = max(1, round(segments / len(picture.array))), [], 0
        for image in picture.array:
            labels = np.asarray(self.segment_slice(image, each))
            labels = labels - labels.min() + first
            found.append(labels)
            first = int(labels.max()) + 1
        return np.stack(found)


def superpixels(name: str, requires: str = "", **attributes: Any) -> Callable[[Labelled], type[Superpixels]]:
    """Make a method of a function that does what `Superpixels.segment` says; see `of_function`.

    requires: the module that it needs. attributes: others of the class.
    """
    about = _about(name, requires) | attributes
    return lambda function: of_function(Superpixels, "segment", function, **about)


def slice_superpixels(name: str, requires: str = "", **attributes: Any) -> Callable[[Labelled], type[Superpixels]]:
    """The same of a function that does what `SliceSuperpixels.segment_slice` says."""
    about = _about(name, requires) | attributes
    return lambda function: of_function(SliceSuperpixels, "segment_slice", function, **about)


def _about(name: str, requires: str) -> dict[str, Any]:
    return {"name": name} | ({"extra": "superpixels", "requires": (requires,)} if requires else {})


def searched(parameter: str, low: float, high: float) -> Callable[[Any, Picture, int], Superpixels]:
    """The method `fitted` that searches a parameter between two values, as `steered` does, unless it is given."""

    def fitted(self: Any, picture: Picture, segments: int) -> Superpixels:
        def made(value: float) -> Superpixels:
            return replace(self, **{parameter: value})

        if getattr(self, parameter):
            return self
        return made(steered(lambda value: made(value).segment(picture, segments), segments, low, high))

    return fitted


def partition(method: Superpixels, picture: Picture, segments: int, least_voxels: int = 1) -> Partition:
    """The superpixels of an image: each component becomes one, and none keeps fewer than `least_voxels`.

    Raises:
        WrongType: the method returned no array.
        IntraBenchError: what it returned is no label map of the image.
    """
    with foreign():
        ready = method.fitted(picture, segments)
        started = time.process_time()
        found: Any = ready.segment(picture, segments)
        cpu_s = time.process_time() - started
    expect(np.ndarray, found, f"{method.name}.segment returned", "an array of labels (z, y, x)")
    regions = relabelled(found, picture.array.shape[:3], f"{method.name}: the label map")
    components = connected(regions)
    extra = int(components.max() - regions.max())
    labels = merged(components, picture.array, least_voxels)
    return Partition(labels, picture.spacing_mm, extra, cpu_s, picture.volume.array)


def steered(run: Callable[[float], NDArray[Any]], segments: int, low: float, high: float) -> float:
    """The parameter with which a method gives about `segments` connected segments, where it has none for their number.

    run: from its parameter, which makes segments larger, to labels ``(z, y, x)``. The parameter is searched between
    `low` and `high` by bisection of its logarithm, until the number is within a twentieth, or 10 times; the nearest
    number wins.
    """
    best, nearest = low, np.inf
    for _ in range(10):
        middle = float(np.sqrt(low * high))
        number = int(connected(run(middle)).max()) + 1
        distance = abs(np.log(number / segments))
        if distance < nearest:
            best, nearest = middle, float(distance)
        if abs(number - segments) <= segments / 20:
            break
        low, high = (middle, high) if number > segments else (low, middle)
    return best
