"""Embeddings that outlast a run: a folder for each image and encoder, together up to a quota.

Whatever goes wrong here costs time and nothing else: what cannot be read is encoded again, what cannot be written is
not kept.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import io
import os
import platform
import shutil
import zlib
from collections.abc import Iterator
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically
from intrabench.identity.versions import version_of
from intrabench.mask import Floats32
from intrabench.models.base import Model, Runtime
from intrabench.models.parts import random_weights
from intrabench.models.weights.hashes import sha256_of_path
from intrabench.models.weights.registry import RANDOM, identity
from intrabench.volume import Volume
from intrabench.workspace import data_root

Key = int | str
"""The key of an embedding: the slice z, or a crop's name, which must be valid in file names."""

VARIABLE = "INTRABENCH_CACHE_GB"
"""The environment variable with the quota, in GB."""
QUOTA_GB = Runtime.embeddings_gb
LEFT_FREE = 2 * 10**9
"""Bytes of the disk that are never taken, because results may be on it."""
STEPS = 100
"""What all have written is counted again after each hundredth of the quota that a process writes itself."""
FILE_S, BYTES_PER_S = 0.01, 1e8
"""About what it takes to write a file and read it again, on a slow disk: what is encoded faster is not kept."""


def folder() -> Path:
    """Where embeddings of all runs are kept."""
    return data_root() / "embeddings"


def quota_gb(gb: float | None = None) -> float:
    """The quota: as asked, else by `VARIABLE`, else `QUOTA_GB`.

    Raises:
        IntraBenchError: the variable is no number.
    """
    if gb is not None:
        return gb
    text = os.environ.get(VARIABLE, "")
    try:
        found = float(text or QUOTA_GB)
    except ValueError:
        found = -1
    if not 0 < found < 1e9:
        raise IntraBenchError(f"{VARIABLE} {text} is not a size; give GB, such as 20, or --no-cache-embeddings")
    return found


REPORTED = 50_000_000
"""Bytes of kept embeddings from which on runs tell about them."""


def usage_line(quota: float, least: int | None = None) -> str:
    """One line about what is kept, for the output of a run; empty if that is less than so many bytes, or `REPORTED`."""
    used, place = sum(size for _, _, size in _kept(folder())), _existing(folder())
    if used < (REPORTED if least is None else least):
        return ""
    line = f"embeddings for later runs: {used / 1e9:.1f} of {quota:g} GB in {folder()}"
    if not os.access(place, os.W_OK) or shutil.disk_usage(place).free < LEFT_FREE:
        return f"{line}, where no more can be written: free some space, or give --no-cache-embeddings"
    return f"{line} (--no-cache-embeddings keeps none, --cache-gb sets the size)"


def cache_for(model: Model, volume: Volume) -> EmbeddingCache | None:
    """The cache of one image and one model; None if the runtime names none, or nothing is encoded.

    The folder's name stands for everything that an embedding depends on, so the machine and batches are in it, too. The
    number of threads is not, although it moves last bits: it changes with the number of workers.
    """
    runtime = model.runtime
    if runtime.embeddings is None or not model.encodes:
        return None
    weights = identity(model)
    if weights == RANDOM:
        weights += sha256_of_path(Path(random_weights.__file__))
    made_by = (model.spec, version_of(model), weights, runtime.dtype, runtime.device, runtime.batch)
    key = content_key(volume.array, *made_by, volume.modality, str(runtime.compile), *_surroundings(model))
    return EmbeddingCache(runtime.embeddings / f"{_mark(model)}-{key}", runtime.embeddings_gb)


def each_mb(model: Model) -> float:
    """The mean size of the embeddings of a model that are kept, in MB; 0 if there are none."""
    folders = [] if model.runtime.embeddings is None else model.runtime.embeddings.glob(f"{_mark(model)}-*")
    sizes = list[int]()
    for one in folders:
        with suppress(OSError):  # others may remove it meanwhile
            sizes += [file.stat().st_size for file in one.glob("*.npy")]
    return sum(sizes) / len(sizes) / 1e6 if sizes else 0.0


def _mark(model: Model) -> str:
    """What the names of the folders of a model begin with; models of the same have embeddings of the same size."""
    return hashlib.sha256(f"{model.spec} {model.runtime.dtype}".encode()).hexdigest()[:8]


def content_key(array: NDArray[np.generic], *made_by: str) -> str:
    """A name for the embeddings of `array` ``(z, ...)``: a hash of its content and of all that determines them."""
    digest = hashlib.sha256(repr((made_by, array.shape, array.dtype.str)).encode())
    for plane in array:
        digest.update(plane.tobytes())
    return digest.hexdigest()[:32]


def _surroundings(model: Model) -> Iterator[str]:
    """Versions of packages, processor and GPU, by which embeddings differ in their last bits."""
    for package in ("torch", "torchvision", "numpy", *model.requires):
        with suppress(importlib.metadata.PackageNotFoundError):
            yield f"{package} {importlib.metadata.version(package)}"
    if find_spec("torch") is None:
        yield platform.machine()
        return
    import torch

    if model.runtime.device == "cuda" and torch.cuda.is_available():
        yield torch.cuda.get_device_name()
    yield f"{platform.machine()} {torch.backends.cpu.get_cpu_capability()}"


class EmbeddingCache:
    """The kept embeddings of one image and one encoder in `folder`, beside those of others.

    Together they have `quota` GB; those whose image was not opened for longest go first. Several processes may write
    at once: none writes more than a hundredth of the quota without counting what all have written.
    """

    def __init__(self, folder: Path, quota: float) -> None:
        self.folder, self._quota = folder, int(quota * 1e9)
        self._allowed, self._full, self._used = 0, False, False

    def read(self, key: Key) -> Floats32 | None:
        """An embedding; None if it is not kept, or its file is damaged, which is then removed."""
        path = self._path(key)
        try:
            content = path.read_bytes()
            if zlib.crc32(content[:-4]) != int.from_bytes(content[-4:], "little") or len(content) < 5:
                raise ValueError("damaged")
            found = np.load(io.BytesIO(content[:-4]), allow_pickle=False)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, EOFError):
            with suppress(OSError):
                path.unlink()
            return None
        if not self._used:
            self._used = True
            with suppress(OSError):
                os.utime(self.folder)  # the last use decides what goes first
        return np.asarray(found, dtype=np.float32)

    def write(self, key: Key, embedding: Floats32, seconds: float) -> None:
        """Keep an embedding that took so many seconds, if there is room and that was long enough to be worth it."""
        if self._full or seconds < FILE_S + embedding.nbytes / BYTES_PER_S:
            return
        content = io.BytesIO()
        np.save(content, packed(embedding), allow_pickle=False)
        content.write(zlib.crc32(content.getbuffer()).to_bytes(4, "little"))
        try:
            self._full = not self._room_for(content.tell())
            if not self._full:
                with atomically(self._path(key), durable=False) as part:
                    part.write_bytes(content.getbuffer())
        except OSError:  # a full disk, a folder that may not be changed: the run goes on without
            self._full = True

    def _path(self, key: Key) -> Path:
        return self.folder / f"{key}.npy"

    def _room_for(self, size: int) -> bool:
        """Whether so many bytes may be written; older embeddings make room."""
        # Others write, too, but to count looks at all files, so it is done once for each step of the quota.
        if size > self._allowed:
            step = max(self._quota // STEPS, size)
            used = self._make_room(step)
            free = shutil.disk_usage(_existing(self.folder)).free - LEFT_FREE
            self._allowed = min(self._quota - used, free, step)
        self._allowed -= size
        return self._allowed >= 0

    def _make_room(self, step: int) -> int:
        """Remove what was used longest ago until a tenth of the quota, or a step, is free; returns the bytes left."""
        kept = sorted(_kept(self.folder.parent))
        used = sum(size for _, _, size in kept)
        goal = self._quota - max(self._quota // 10, step)
        for _, path, size in kept if used + step > self._quota else ():
            if used > goal and path != self.folder:
                shutil.rmtree(path, ignore_errors=True)
                used -= size
        return used


def packed(embedding: Floats32) -> NDArray[np.floating]:
    """The embedding in half precision if that loses not a single bit, as after computing in float16; else as it is."""
    with np.errstate(over="ignore"):
        half = embedding.astype(np.float16)
    return half if np.array_equal(half.astype(embedding.dtype), embedding) else embedding


def _kept(root: Path) -> Iterator[tuple[float, Path, int]]:
    """Last use, folder and bytes of all that is kept; what others remove meanwhile is left out."""
    with suppress(OSError), os.scandir(root) as folders:
        for one in folders:
            with suppress(OSError), os.scandir(one) as files:
                size = sum(file.stat().st_size for file in files)
                yield one.stat().st_mtime, Path(one.path), size


def _existing(path: Path) -> Path:
    return next(one for one in (path, *path.parents) if one.exists())
