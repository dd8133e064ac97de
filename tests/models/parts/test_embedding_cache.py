"""Kept embeddings: known by all that they depend on, within their quota, never worth an error."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.grabcut import GrabCut
from intrabench.models.parts import embedding_cache
from intrabench.models.parts.embedding_cache import EmbeddingCache, cache_for, content_key, packed, quota_gb, usage_line
from intrabench.models.sammed2d import SAMMed2D
from intrabench.volume import Grid, Volume

SLOW = 9.0
"""Seconds of an encoding that is worth keeping."""
SIZE = 2**20


def embedding(seed: int = 3) -> np.ndarray:
    """One of 1 MiB, which half precision cannot hold."""
    return np.random.default_rng(seed).standard_normal((64, 64, 64), dtype=np.float32)


def used(root: Path) -> int:
    return sum(path.stat().st_size for path in root.rglob("*.npy"))


def test_what_was_written_is_read_bit_by_bit_by_another(tmp_path: Path) -> None:
    given = embedding()
    EmbeddingCache(tmp_path / "a", 1).write(7, given, SLOW)
    found = EmbeddingCache(tmp_path / "a", 1).read(7)
    assert found is not None
    assert found.dtype == np.float32
    assert np.array_equal(found, given)
    assert EmbeddingCache(tmp_path / "a", 1).read(8) is None
    assert EmbeddingCache(tmp_path / "b", 1).read(7) is None


def test_only_what_loses_nothing_is_kept_in_half_precision(tmp_path: Path) -> None:
    exact = embedding().astype(np.float16).astype(np.float32)
    assert packed(exact).dtype == np.float16
    for other in (embedding(), exact * np.float32(1e9), np.full(9, 1e-30, np.float32)):
        assert packed(other) is other
    cache = EmbeddingCache(tmp_path / "a", 1)
    cache.write("half", exact, SLOW)
    assert used(tmp_path) < 0.51 * SIZE
    found = cache.read("half")
    assert found is not None
    assert found.dtype == np.float32
    assert np.array_equal(found, exact)


def test_what_is_encoded_faster_than_it_is_read_is_not_kept(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "a", 1)
    cache.write(1, embedding(), 0.01)
    assert used(tmp_path) == 0
    cache.write(1, embedding(), 0.03)  # about what a slow disk needs for 1 MiB is 0.02 s
    assert used(tmp_path) > SIZE


@pytest.mark.parametrize("damage", ["cut", "flipped", "empty", "other"])
def test_a_damaged_file_is_removed_and_not_found(tmp_path: Path, damage: str) -> None:
    cache = EmbeddingCache(tmp_path, 1)
    cache.write(2, embedding(), SLOW)
    (file,) = tmp_path.glob("*.npy")
    content = bytearray(file.read_bytes())
    content[5000] ^= 1
    file.write_bytes({"cut": content[:-9], "flipped": content, "empty": b"", "other": b"x" * 99}[damage])
    assert cache.read(2) is None
    assert not file.exists()


def test_the_longest_unused_images_go_first(tmp_path: Path) -> None:
    root, quota = tmp_path / "kept", 10.5 * SIZE / 1e9
    for name, last in (("old", 100), ("older", 50), ("used", 10)):
        cache = EmbeddingCache(root / name, quota)
        for z in range(3):
            cache.write(z, embedding(), SLOW)
        os.utime(root / name, (last, last))
    assert EmbeddingCache(root / "used", quota).read(0) is not None  # now it was used last
    new = EmbeddingCache(root / "new", quota)
    for z in range(3):
        new.write(z, embedding(), SLOW)
    assert sorted(path.name for path in root.iterdir()) == ["new", "old", "used"]
    assert new.read(2) is not None


def test_one_image_never_takes_more_than_the_quota(tmp_path: Path) -> None:
    cache = EmbeddingCache(tmp_path / "a", 3.5 * SIZE / 1e9)
    for z in range(9):
        cache.write(z, embedding(), SLOW)
    assert used(tmp_path) < 3.5 * SIZE
    assert cache.read(2) is not None


def test_several_that_write_in_turn_stay_within_the_quota(tmp_path: Path) -> None:
    quota = 10.5 * SIZE
    caches = [EmbeddingCache(tmp_path / str(n), quota / 1e9) for n in range(4)]
    for z in range(8):
        for cache in caches:
            cache.write(z, embedding(), SLOW)
            assert used(tmp_path) <= quota


def test_a_full_disk_stops_keeping_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    cache = EmbeddingCache(tmp_path / "a", 1)
    cache.write(1, embedding(), SLOW)
    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", full)
        cache.write(2, embedding(), SLOW)
    cache.write(3, embedding(), SLOW)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["1.npy"]


def test_the_last_of_the_disk_is_left_to_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedding_cache, "LEFT_FREE", 1 << 60)
    EmbeddingCache(tmp_path / "a", 1).write(1, embedding(), SLOW)
    assert used(tmp_path) == 0


def test_the_key_depends_on_content_and_maker() -> None:
    image = np.random.default_rng(3).integers(0, 9, (3, 4, 5)).astype(np.int16)
    other = image.copy()
    other[2, 3, 4] += 1
    keys = {content_key(image, "a"), content_key(other, "a"), content_key(image, "b"), content_key(image, "a", "")}
    keys |= {content_key(image.astype(np.int32), "a"), content_key(image.reshape(3, 5, 4), "a")}
    assert len(keys) == 6
    assert content_key(np.asfortranarray(image), "a") == content_key(image, "a")


def test_everything_that_an_embedding_depends_on_is_in_its_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch

    runtime = Runtime(embeddings=tmp_path, random=True)
    volume = Volume(np.arange(24, dtype=np.int16).reshape(2, 3, 4), Grid((2, 3, 4), np.eye(4)), "CT")

    def folder(model: SAMMed2D, image: Volume = volume, **others: Any) -> Path:
        model.runtime = replace(runtime, **others)
        cache = cache_for(model, image)
        assert cache is not None
        return cache.folder

    def with_(patched: object, name: str, value: object) -> Path:
        with monkeypatch.context() as patch:
            patch.setattr(patched, name, value)
            return folder(SAMMed2D())

    file = tmp_path / "weights.pth"
    file.write_bytes(b"mine")
    same: Callable[[], Path] = lambda: folder(SAMMed2D())  # noqa: E731
    others = [
        folder(SAMMed2D(policy="radioactive")),
        folder(SAMMed2D(), replace(volume, modality="MR")),
        folder(SAMMed2D(), replace(volume, array=volume.array + 1)),
        folder(SAMMed2D(), dtype="bfloat16"),
        folder(SAMMed2D(), batch="4"),
        folder(SAMMed2D(), compile=True),
        folder(SAMMed2D(), random=False, weights=file),
        with_(SAMMed2D, "version", "next"),
        with_(embedding_cache, "sha256_of_path", lambda path: f"other {path.name}"),
        with_(embedding_cache.importlib.metadata, "version", lambda package: f"{package} of tomorrow"),
    ]
    assert len({same(), *others}) == 1 + len(others)
    assert same() == same() == with_(torch, "get_num_threads", lambda: 77)
    assert folder(SAMMed2D(), memory_mb=1, embeddings_gb=3) == same()


def test_nothing_is_kept_where_nothing_is_encoded_or_nobody_asked(tmp_path: Path) -> None:
    volume = Volume.from_canonical(np.zeros((2, 3, 4), np.int16))
    model, instant = SAMMed2D(), GrabCut()
    instant.runtime = Runtime(embeddings=tmp_path)
    assert cache_for(model, volume) is cache_for(instant, volume) is None


def test_the_quota_is_asked_set_or_the_default(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    assert (quota_gb(), quota_gb(0.5)) == (20, 0.5)
    monkeypatch.setenv("INTRABENCH_CACHE_GB", "3.5")
    assert (quota_gb(), quota_gb(2)) == (3.5, 2)
    for wrong in ("much", "-1", "0", "nan"):
        monkeypatch.setenv("INTRABENCH_CACHE_GB", wrong)
        with pytest.raises(IntraBenchError) as caught:
            quota_gb()
        assert caught == wording


def test_one_line_says_what_is_kept(data: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    assert usage_line(20) == ""
    for z in range(100):
        EmbeddingCache(data / "embeddings" / "a", 20).write(z, embedding(), SLOW)
    begin = f"embeddings for later runs: 0.1 of 20 GB in {data / 'embeddings'}"
    assert usage_line(20) == wording
    monkeypatch.setattr(embedding_cache, "LEFT_FREE", 1 << 60)
    told = f"{begin}, where no more can be written: free some space, or give --no-cache-embeddings"
    assert usage_line(20) == told
