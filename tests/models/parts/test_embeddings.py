"""Embeddings stay within their memory, come back bit by bit, and a cache serves later runs."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

import numpy as np
import pytest

from intrabench.models.parts.embedding_cache import EmbeddingCache
from intrabench.models.parts.embeddings import EmbeddingStore

RNG_SEED = 3


@pytest.fixture
def embeddings() -> list[np.ndarray]:
    """Four embeddings of 256 KiB."""
    rng = np.random.default_rng(RNG_SEED)
    return [rng.standard_normal((64, 32, 32), dtype=np.float32) for _ in range(4)]


@pytest.mark.parametrize("memory_mb", [0, 0.5, 100])
def test_all_come_back_whatever_the_memory(memory_mb: float, embeddings: list[np.ndarray]) -> None:
    with EmbeddingStore(memory_mb) as store:
        for z, embedding in enumerate(embeddings):
            assert z not in store
            store.put(z, embedding)
            assert z in store
        for z in (3, 0, 2, 1, 0):
            assert np.array_equal(store.get(z), embeddings[z])
        assert store.encoded == 4
        with pytest.raises(KeyError):
            store.get(9)


def test_memory_is_bounded_and_the_oldest_goes_first(embeddings: list[np.ndarray]) -> None:
    with EmbeddingStore(0.5) as store:  # two fit
        store.put(0, embeddings[0])
        store.put(1, embeddings[1])
        store.get(0)  # now 1 is the oldest
        store.put(2, embeddings[2])
        assert list(store._recent) == [0, 2]
        assert store._bytes == 2 * embeddings[0].nbytes


def test_temporary_files_have_no_name_that_could_be_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embeddings: list[np.ndarray]
) -> None:
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(place))
    with EmbeddingStore(0) as store:
        store.put(5, embeddings[0])
        assert list(place.iterdir()) == []
        assert np.array_equal(store.get(5), embeddings[0])
        assert store._spilled is not None
    assert store._spilled is None


def test_enough_memory_writes_no_file(embeddings: list[np.ndarray]) -> None:
    with EmbeddingStore(100) as store:
        store.put(5, embeddings[0])
        assert store._spilled is None


def test_a_cache_serves_the_next_store(tmp_path: Path, embeddings: list[np.ndarray]) -> None:
    with EmbeddingStore(100, EmbeddingCache(tmp_path / "kept", 1)) as store:
        store.put(2, embeddings[2])
    with EmbeddingStore(0, EmbeddingCache(tmp_path / "kept", 1)) as store:
        assert 2 in store
        assert 1 not in store
        assert np.array_equal(store.get(2), embeddings[2])
        assert store.encoded == 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["2.npy"]  # and no half-written ones


def test_what_others_remove_while_an_image_is_open_is_still_there(tmp_path: Path, embeddings: list[np.ndarray]) -> None:
    with EmbeddingStore(0, EmbeddingCache(tmp_path / "kept", 1)) as store:
        store.put(2, embeddings[2])
        shutil.rmtree(tmp_path / "kept")
        assert np.array_equal(store.get(2), embeddings[2])
