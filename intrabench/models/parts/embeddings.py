"""The embeddings of one image: each slice is encoded once; embeddings that exceed the memory are kept in files."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from intrabench.atomic import atomically
from intrabench.bounded import npy
from intrabench.errors import IntraBenchError
from intrabench.frozen import frozen
from intrabench.models.base import Model, Predictor
from intrabench.models.weights.registry import identity
from intrabench.versions import version_of
from intrabench.volume import Volume

Floats = NDArray[np.float32]
M = TypeVar("M", bound=Model)
Key = int | str
"""The key of an embedding: the slice z, or a crop's name, which must be valid in file names."""


@contextmanager
def opened(
    predictor: Callable[[M, Volume, EmbeddingStore], Predictor], model: M, volume: Volume
) -> Iterator[Predictor]:
    """An image opened by a model, with its own store, which is closed with it."""
    with store_for(model, volume) as store:
        yield predictor(model, volume, store)


def store_for(model: Model, volume: Volume) -> EmbeddingStore:
    """The store of one image and one model, in the folder for embeddings if the runtime names one.

    The folder's name stands for everything that an embedding depends on, to the last bit: so the device and batches are
    in it, too.
    """
    runtime = model.runtime
    if runtime.embeddings is None:
        return EmbeddingStore(runtime.memory_mb)
    made_by = (model.spec, version_of(model), identity(model), runtime.dtype, runtime.device, runtime.batch)
    key = content_key(volume.array, *made_by, volume.modality, str(runtime.compile))
    return EmbeddingStore(runtime.memory_mb, runtime.embeddings / key)


def content_key(array: NDArray[Any], *made_by: str) -> str:
    """A name for the embeddings of `array` ``(z, ...)``: a hash of its content and of all that determines them."""
    digest = hashlib.sha256(repr((made_by, array.shape, array.dtype.str)).encode())
    for plane in array:
        digest.update(plane.tobytes())
    return digest.hexdigest()[:32]


class EmbeddingStore:
    """Embeddings by slice or crop. The most recently used are in memory, up to `memory_mb`; others are read from files.

    Without `folder` they are in one file that has no name, so that nothing is left of it. A `folder`, which must belong
    to one image and one encoder (see `content_key`), keeps all embeddings, so that a later run finds them. `encoded`
    counts what was put.
    """

    def __init__(self, memory_mb: float, folder: Path | None = None) -> None:
        self.encoded = 0
        self._room = int(memory_mb * 2**20)
        self._held = 0
        self._recent: OrderedDict[Key, Floats] = OrderedDict()
        self._kept = folder
        self._spilled: IO[bytes] | None = None
        self._places: dict[Key, int] = {}  # in the file without a name, in bytes

    def __enter__(self) -> EmbeddingStore:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __contains__(self, key: Key) -> bool:
        return key in self._recent or self._written(key)

    def put(self, key: Key, embedding: Floats) -> None:
        """Keep an embedding.

        Raises:
            IntraBenchError: a file cannot be written, for example because the disk is full.
        """
        self.encoded += 1
        if self._kept is not None:
            self._write(key, embedding)
        self._remember(key, embedding)

    def get(self, key: Key) -> Floats:
        """An embedding, from memory or from its file.

        Raises:
            KeyError: key was never put.
            IntraBenchError: its file is damaged; it is removed, so that the next run encodes the slice again.
        """
        if key in self._recent:
            self._recent.move_to_end(key)
            return self._recent[key]
        if not self._written(key):
            raise KeyError(key)
        embedding = self._read(key)
        self._remember(key, embedding)
        return frozen(embedding)

    def close(self) -> None:
        """Release everything except the files of a permanent folder."""
        self._recent.clear()
        self._held = 0
        self._places.clear()
        if self._spilled is not None:
            self._spilled.close()
            self._spilled = None

    def _remember(self, key: Key, embedding: Floats) -> None:
        self._recent[key] = frozen(embedding)  # sessions share it
        self._held += embedding.nbytes
        while self._held > self._room:
            oldest, evicted = self._recent.popitem(last=False)
            self._held -= evicted.nbytes
            if not self._written(oldest):
                self._write(oldest, evicted)

    def _written(self, key: Key) -> bool:
        return key in self._places if self._kept is None else (self._kept / f"{key}.npy").exists()

    def _write(self, key: Key, embedding: Floats) -> None:
        place = Path(tempfile.gettempdir()) if self._kept is None else self._kept / f"{key}.npy"
        try:
            if self._kept is None:
                self._spill(key, embedding)
            else:
                with atomically(place, durable=False) as part, part.open("wb") as file:
                    np.save(file, embedding, allow_pickle=False)
        except OSError as error:
            raise IntraBenchError(
                f"{place} cannot be written ({error.strerror}); free some space there or increase --memory"
            ) from error

    def _spill(self, key: Key, embedding: Floats) -> None:
        if self._spilled is None:
            self._spilled = tempfile.TemporaryFile()  # noqa: SIM115
        place = self._spilled.seek(0, os.SEEK_END)
        np.save(self._spilled, embedding, allow_pickle=False)
        self._spilled.flush()
        self._places[key] = place

    def _read(self, key: Key) -> Floats:
        if self._kept is None:
            assert self._spilled is not None
            self._spilled.seek(self._places[key])
            embedding: Floats = np.load(self._spilled, allow_pickle=False)
            return embedding
        path = self._kept / f"{key}.npy"
        try:
            embedding = npy(path)
        except (IntraBenchError, OSError, ValueError, EOFError) as error:
            path.unlink(missing_ok=True)
            raise IntraBenchError(f"{path} was damaged and has been deleted; run again to encode it again") from error
        return embedding
