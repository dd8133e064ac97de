"""Packed arrays: what the official client sends is read, and what would take too much memory is refused unread."""

from __future__ import annotations

import re
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from intrabench.people.servers.arrays import NUMBERS, TYPES, TooLarge, check_header, pack, unpack
from intrabench.play.validate import Refused

MOST = 10**6


def header(shape: tuple[int, ...], kind: bytes = b"uint8", magic: bytes = b"NNIA", version: int = 1) -> bytes:
    about = struct.pack("<4sBBBB", magic, version, 1, len(shape), len(kind))
    return about + kind + struct.pack(f"<{len(shape)}q", *shape)


def packed(array: Any) -> bytes:
    from nnInteractive.inference.remote.serialization import pack_array

    return pack_array(array)


@pytest.mark.parametrize("kind", sorted(NUMBERS))
def test_all_numbers_of_images_come_through(kind: str, wording: SnapshotAssertion) -> None:
    array = (np.arange(24).reshape(1, 2, 3, 4) % 7).astype(kind)
    found = unpack(packed(array), MOST, images=True)
    assert found.dtype == array.dtype
    assert np.array_equal(found, array)
    if kind not in TYPES:
        with pytest.raises(Refused) as caught:
            unpack(packed(array), MOST)
        assert caught == wording


def test_what_we_pack_the_official_client_reads() -> None:
    from nnInteractive.inference.remote.serialization import unpack_array

    mask = np.random.default_rng(0).random((5, 6, 7)) > 0.5
    assert np.array_equal(unpack_array(pack(mask.astype(np.uint8))), mask)


@pytest.mark.parametrize("kind", [b"object", b"V8", b"<U4", b"complex64", b"datetime64", b"\xff"])
def test_types_that_hold_no_plain_numbers_are_refused(kind: bytes) -> None:
    with pytest.raises(Refused):
        unpack(header((2, 2, 2), kind), MOST, images=True)


@pytest.mark.parametrize(
    "sent",
    [
        header((1000, 1000, 1000)),
        header((2**40, 2**40, 2**40, 2**40)),
        header((2, -1, 2)),
        header((2, 0, 2)),
        header((1,) * 9),
        header((2, 2), magic=b"NPY1"),
        header((2, 2), version=2),
        b"NNIA",
        b"",
        header((2, 2)),
        header((2, 2)) + struct.pack("<IQQ", 1, 4, 3) + b"abc",
        header((2, 2)) + struct.pack("<IQQ", 2**31, 2**60, 2**60),
    ],
    ids=[
        "large",
        "huge",
        "negative",
        "empty",
        "nine axes",
        "letters",
        "version",
        "short",
        "nothing",
        "no chunk",
        "short chunk",
        "huge chunk",
    ],
)
def test_what_cannot_be_is_refused_before_memory_is_taken(sent: bytes, wording: SnapshotAssertion) -> None:
    with pytest.raises(Refused) as caught:
        unpack(sent, MOST)
    assert re.sub(r"(?<=unpacked) \(.*\)", "", str(caught.value)) == wording


def test_too_large_is_its_own_refusal() -> None:
    with pytest.raises(TooLarge):
        check_header(header((MOST + 1,)), MOST, TYPES)
    assert check_header(header((MOST,)), MOST, TYPES) == ((MOST,), "uint8")


@given(st.binary(max_size=200))
def test_no_bytes_do_worse_than_a_refusal(sent: bytes) -> None:
    with pytest.raises(Refused):
        unpack(b"NNIA\x01\x01" + sent, MOST)
