"""The embeddings of one image: each slice is encoded once; embeddings that exceed the memory are kept in a file."""

from __future__ import annotations

import math
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import IO, TypeVar

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats32, frozen
from intrabench.models.base import Model, Predictor
from intrabench.models.parts.embedding_cache import EmbeddingCache, Key, cache_for
from intrabench.volume import Volume

M = TypeVar("M", bound=Model)


@contextmanager
def opened(
    predictor: Callable[[M, Volume, EmbeddingStore], Predictor], model: M, volume: Volume
) -> Iterator[Predictor]:
    """An image opened by a model, with its own store, which is closed with it."""
    with EmbeddingStore(model.runtime.memory_mb, cache_for(model, volume)) as store:
        yield predictor(model, volume, store)


class EmbeddingStore:
    """Embeddings by slice or crop. The most recently used are in memory, up to `memory_mb`, others in a file.

    The file has no name, so that nothing is left of it. A `cache` of the same image and encoder is asked once for what
    is not here, and gets what is put. `encoded` counts what was put.
    """

    def __init__(self, memory_mb: float, cache: EmbeddingCache | None = None) -> None:
        self.encoded = 0
        self._room = int(memory_mb * 2**20)
        self._bytes = 0
        self._recent: OrderedDict[Key, Floats32] = OrderedDict()
        self._cache = cache
        self._spilled: IO[bytes] | None = None
        self._places: dict[Key, int] = {}  # in the file without a name, in bytes
        self._passing: set[Key] = set()

    def __enter__(self) -> EmbeddingStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __contains__(self, key: Key) -> bool:
        if key in self._recent or key in self._places:
            return True
        kept = None if self._cache is None else self._cache.read(key)
        if kept is not None:  # from now on it is here, whatever happens to its file
            self._remember(key, kept)
        return kept is not None

    def put(self, key: Key, embedding: Floats32, seconds: float = math.inf, passing: bool = False) -> None:
        """Keep an embedding, which took so many seconds; a `passing` one only as long as the memory has room for it.

        Raises:
            IntraBenchError: it fits neither into memory nor on the disk.
        """
        self.encoded += 1
        if passing:
            self._passing.add(key)
        if self._cache is not None:
            self._cache.write(key, embedding, seconds)
        self._remember(key, embedding)

    def get(self, key: Key) -> Floats32:
        """An embedding, from memory or from a file.

        Raises:
            KeyError: key was never put.
        """
        if key in self._recent:
            self._recent.move_to_end(key)
            return self._recent[key]
        if key in self._places:
            embedding = self._read(key)
            self._remember(key, embedding)
            return frozen(embedding)
        if key in self:  # in the cache
            return self.get(key)
        raise KeyError(key)

    def close(self) -> None:
        """Release everything but the cache."""
        self._recent.clear()
        self._bytes = 0
        self._places.clear()
        if self._spilled is not None:
            self._spilled.close()
            self._spilled = None

    def _remember(self, key: Key, embedding: Floats32) -> None:
        self._recent[key] = frozen(embedding)  # sessions share it
        self._bytes += embedding.nbytes
        while self._bytes > self._room and not (key in self._passing and len(self._recent) == 1):  # it is needed now
            oldest, evicted = self._recent.popitem(last=False)
            self._bytes -= evicted.nbytes
            if oldest not in self._places and oldest not in self._passing:
                self._spill(oldest, evicted)

    def _spill(self, key: Key, embedding: Floats32) -> None:
        try:
            if self._spilled is None:
                self._spilled = tempfile.TemporaryFile()  # noqa: SIM115
            place = self._spilled.seek(0, os.SEEK_END)
            np.save(self._spilled, embedding, allow_pickle=False)
            self._spilled.flush()
        except OSError as error:
            raise IntraBenchError(
                f"{tempfile.gettempdir()} cannot be written ({error.strerror}); free some space there or increase "
                "--memory"
            ) from error
        self._places[key] = place

    def _read(self, key: Key) -> Floats32:
        assert self._spilled is not None
        self._spilled.seek(self._places[key])
        embedding: Floats32 = np.load(self._spilled, allow_pickle=False)
        return embedding
