"""Embeddings stay within their memory, come back bit by bit, and a kept folder serves later runs."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest

from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.box_fill import BoxFill
from intrabench.models.parts.embeddings import EmbeddingStore, content_key, store_for
from intrabench.volume import Grid, Volume

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
        assert store._held == 2 * embeddings[0].nbytes


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


def test_a_kept_folder_serves_the_next_store(tmp_path: Path, embeddings: list[np.ndarray]) -> None:
    with EmbeddingStore(100, tmp_path / "kept") as store:
        store.put(2, embeddings[2])
    with EmbeddingStore(0, tmp_path / "kept") as store:
        assert 2 in store
        assert 1 not in store
        assert np.array_equal(store.get(2), embeddings[2])
        assert store.encoded == 0
    assert [path.name for path in (tmp_path / "kept").iterdir()] == ["2.npy"]  # and no half-written ones


@pytest.mark.parametrize("shape", [None, (30000, 30000, 30000), (11,)], ids=["no header", "108 TB", "a number more"])
def test_a_damaged_file_is_told_and_removed(tmp_path: Path, shape: tuple[int, ...] | None) -> None:
    with (tmp_path / "2.npy").open("wb") as file:
        if shape is not None:
            np.lib.format.write_array_header_1_0(file, {"descr": "<f4", "fortran_order": False, "shape": shape})
        file.write(bytes(40))
    with EmbeddingStore(1, tmp_path) as store:
        with pytest.raises(IntraBenchError, match=r"2\.npy was damaged and has been deleted"):
            store.get(2)
        assert 2 not in store


def test_the_key_depends_on_content_and_maker() -> None:
    image = np.random.default_rng(RNG_SEED).integers(0, 9, (3, 4, 5)).astype(np.int16)
    other = image.copy()
    other[2, 3, 4] += 1
    keys = {content_key(image, "a"), content_key(other, "a"), content_key(image, "b"), content_key(image, "a", "")}
    keys |= {content_key(image.astype(np.int32), "a"), content_key(image.reshape(3, 5, 4), "a")}
    assert len(keys) == 6
    assert content_key(np.asfortranarray(image), "a") == content_key(image, "a")


def test_embeddings_of_an_older_version_of_a_model_are_not_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, embeddings: list[np.ndarray]
) -> None:
    model = BoxFill()
    model.runtime = Runtime(embeddings=tmp_path)
    volume = Volume(np.zeros((2, 3, 4), np.int16), Grid((2, 3, 4), np.eye(4)), "CT")
    with store_for(model, volume) as store:
        store.put(0, embeddings[0])
    with store_for(model, volume) as store:
        assert 0 in store
    monkeypatch.setattr(BoxFill, "version", "next")
    with store_for(model, volume) as store:
        assert 0 not in store
