"""The first clicks of people, found by the object that they are on."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from intrabench.clickability.clicks_csv import RealClicks, identity_of, not_clicked, only, read_clicks
from intrabench.errors import IntraBenchError, NotApplicable
from intrabench.target import Target


@dataclass(frozen=True, eq=False)
class FirstClicks:
    """Entries of a file whose clicks are first ones. Those on one object are numbered from 0, in the file's order."""

    path: Path
    entries: Sequence[RealClicks]

    @cached_property
    def identity(self) -> str:
        """A hash of the clicks, and of what they are on."""
        return identity_of(self.entries)

    def most(self, datasets: Iterable[str]) -> int:
        """The largest number of clicks on one object of these data sets (`Dataset.short_spec`).

        Raises:
            IntraBenchError: there are none.
        """
        names = list(datasets)
        counts = [sum(len(one.clicks) for one in each) for key, each in self._by_object.items() if key[0] in names]
        if not counts:
            raise IntraBenchError(not_clicked(self.path, self.entries, names))
        return max(counts)

    def on(self, dataset: str, target: Target) -> NDArray[np.int64]:
        """The clicks on a target, ``(n, 2)`` rows ``y, x``, pixels.

        Raises:
            NotApplicable: there are none.
            IntraBenchError: the picture was of another size.
        """
        stems = [str(target.instance), *([] if target.siblings else [""])]  # an only object needs no number
        found = [one for stem in stems for one in self._by_object.get((dataset, target.case, stem), ())]
        if not found:
            clicked = any(entry.dataset == dataset for entry in self.entries)
            raise NotApplicable(
                f"{self.path} has no first clicks on this target"
                if clicked
                else not_clicked(self.path, self.entries, [dataset])
            )
        if other := [one.shape for one in found if (1, *one.shape) != target.shape]:
            clicked_size, own_size = (" x ".join(map(str, size)) for size in ((1, *other[0]), target.shape))
            raise IntraBenchError(
                f"{self.path} has clicks on {target.case} with {clicked_size} pixels, but it has {own_size}; use the "
                "data set that the clicks were made on"
            )
        return np.concatenate([one.clicks for one in found])

    @cached_property
    def _by_object(self) -> dict[tuple[str, str, str], list[RealClicks]]:
        """Entries by data set, picture and number of the object."""
        found = defaultdict(list)
        for entry in self.entries:
            found[entry.dataset, entry.image_stem, entry.object_stem].append(entry)
        return found


def first_clicks(path: Path, device: str = "") -> FirstClicks:
    """The first clicks of a file, of one device or of all; a file is read once per process.

    Raises:
        IntraBenchError: the file cannot be read, or has none.
    """
    state = path.stat() if path.is_file() else None
    found = _read(path, state and (state.st_mtime_ns, state.st_size))
    return replace(found, entries=only(found.entries, path, device)) if device else found


@lru_cache(maxsize=2)
def _read(path: Path, state: object) -> FirstClicks:
    """state: of the file; it is read again once that differs."""
    entries = [entry for entry in read_clicks(path) if entry.click_type == "first"]
    if not entries:
        raise IntraBenchError(f"{path} has no first clicks, only corrections; give RClicks' whole clicks.csv")
    return FirstClicks(path, entries)
