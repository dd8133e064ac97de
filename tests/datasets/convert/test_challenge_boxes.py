"""Boxes of the CVPR 2025 challenge: what their pickles may hold, and that nothing in them is executed."""

from __future__ import annotations

import io
import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.challenge_boxes import FIELDS, first_boxes, unpickled
from intrabench.errors import IntraBenchError

BOX = dict(zip(FIELDS, (2, 6, 4, 10, 20, 13, 25), strict=True))
AS_NUMPY = {
    name: kind(value)
    for kind, (name, value) in zip([np.int64, np.int32, np.uint8, np.float64] * 2, BOX.items(), strict=False)
}


def stored(value: Any, protocol: int = 4) -> bytes:
    """As ``numpy.savez`` stores it, with any protocol."""
    file = io.BytesIO()
    array = np.asarray(value, dtype=object)
    np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(array))
    pickle.dump(array, file, protocol=protocol)
    return file.getvalue()


class Runs:
    """What would be executed if the pickle were trusted."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> Any:
        return os.mkdir, (str(self.file),)


@pytest.mark.parametrize("protocol", [3, 4])  # of numpy then and now
@pytest.mark.parametrize("entry", [BOX, AS_NUMPY, list(BOX.values()), np.array(list(BOX.values()))], ids=str)
def test_numbers_in_any_form(entry: Any, protocol: int) -> None:
    array = np.empty(1, object)
    array[0] = entry
    assert first_boxes(unpickled(stored(array, protocol)), "f") == [(2, 20, 10, 7, 26, 14)]


def test_a_list_in_an_array_without_axes() -> None:
    array = np.empty((), object)
    array[()] = [BOX, BOX]
    assert first_boxes(unpickled(stored(array)), "f") == [(2, 20, 10, 7, 26, 14)] * 2


@pytest.mark.parametrize("inside", ["entry", "value"])
def test_nothing_is_executed(tmp_path: Path, inside: str) -> None:
    trap = Runs(tmp_path / "made")
    array = np.empty(1, object)
    array[0] = trap if inside == "entry" else {**BOX, "z_min": trap}
    with pytest.raises(pickle.UnpicklingError, match=r"it names posix.mkdir"):
        unpickled(stored(array))
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("row", [{}, {**BOX, "z_mid": None}, {**BOX, "z_min": "2"}, [1, 2], [1.5] * 7, [np.nan] * 7])
def test_what_is_no_box(row: Any, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        first_boxes([row], "f")
    assert caught == wording
