"""Half precision by torch has the bits of numpy's."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from intrabench.models.parts.precision import half, larger, single


@pytest.fixture(scope="module", autouse=True)
def _imports() -> None:
    """Imported now: collecting tests is quick without torch."""
    global torch
    import torch


def numbers() -> np.ndarray:
    """All kinds of floats: each exponent, halves between two results, infinities, both zeros."""
    bits = np.arange(0, 2**32, 40_503, dtype=np.uint64).astype(np.uint32)
    every = np.arange(65536, dtype=np.uint16).view(np.float16).astype(np.float32)
    between = (every[:-1] + every[1:]) / 2
    found = np.concatenate([bits.view(np.float32), every, between])
    return np.where(np.isnan(found), np.float32(0), found)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid")
def test_arrays_have_the_bits_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    values = numbers()
    short = values.astype(np.float16)
    frozen = values.copy()
    frozen.flags.writeable = False
    for array in (values, frozen, values[::-1]):
        assert np.array_equal(half(array).view(np.uint16), array.astype(np.float16).view(np.uint16))
    assert np.array_equal(single(short).view(np.uint32), short.astype(np.float32).view(np.uint32))
    assert np.array_equal(half(values.astype(np.float64)), values.astype(np.float64).astype(np.float16))
    monkeypatch.delitem(sys.modules, "torch")
    assert np.array_equal(half(values), short)


def test_what_is_converted_is_a_copy() -> None:
    values = np.zeros((2, 3), np.float16)
    assert not np.shares_memory(half(values), values)
    assert not np.shares_memory(half(values.astype(np.float32)[0]), values)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert single(np.broadcast_to(np.float16(1), (2, 2))).tolist() == [[1, 1], [1, 1]]


def test_tensors_stay_tensors() -> None:
    rows = torch.arange(6.0).reshape(2, 3)
    kept = half(rows[1])
    assert (kept.dtype, kept.tolist(), kept.untyped_storage().nbytes()) == (torch.float16, [3, 4, 5], 6)
    assert single(kept) is kept
    assert larger(kept, torch.tensor([9.0, 0, 0]).half()).tolist() == [9, 4, 5]
    assert larger(np.array([1, 5]), np.array([2, 3])).tolist() == [2, 5]
