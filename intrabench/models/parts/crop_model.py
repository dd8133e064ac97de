"""Base of models that encode crops of volumes: each crop is encoded once, and one failure does not affect others."""

from __future__ import annotations

import time
from abc import abstractmethod
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar

from intrabench.mask import Floats32
from intrabench.models.base import Answer, Predictor, Request, SequentialPredictor, checked
from intrabench.models.parts.embedding_cache import Key
from intrabench.models.parts.embeddings import EmbeddingStore, opened
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.replay import memory_of
from intrabench.progress import encoding
from intrabench.volume import Volume


class CropModel(NetworkModel):
    """Base of 3D networks that work on crops; a subclass defines `encode` and `segment_one`.

    `feeds_back` says that an answer depends on what the one before left as its memory, besides the prompts. `passing`
    says that crops lie where the clicks are, so few come again; those that exceed the memory are not kept in a file.
    """

    feeds_back = True
    passing: ClassVar[bool] = False

    @abstractmethod
    def encode(self, crop: Floats32) -> Floats32:
        """The embedding of one crop, arrays of any one shape."""

    @abstractmethod
    def segment_one(self, image: OpenCrops, request: Request) -> Answer:
        """Answer one request; `image` has the volume and, by `image.embedding`, the embedding of each crop."""

    def prepared(self, volume: Volume) -> Any:
        """Computed once per opened image; available as `OpenCrops.prepared`."""
        return None

    def open(self, volume: Volume) -> AbstractContextManager[Predictor]:
        """Load the network if needed and open one image; crops are encoded on demand."""
        self.load()
        return opened(OpenCrops, self, volume)


class OpenCrops(SequentialPredictor):
    """An opened image of a `CropModel`: `store` holds the embeddings of its crops."""

    def __init__(self, model: CropModel, volume: Volume, store: EmbeddingStore) -> None:
        self.model, self.volume, self.store = model, volume, store
        self.prepared, self._notes = model.prepared(volume), model.notes(volume)

    def embedding(self, key: Key, crop: Callable[[], Floats32]) -> Floats32:
        """The embedding `key`, encoded from `crop` on first use."""
        if key not in self.store:
            started, depth = time.perf_counter(), self.volume.shape[0]
            what = f"slice {key + 1} of {depth}" if isinstance(key, int) else f"crop {self.store.encoded + 1}"
            with encoding(f"encoding {what}"):
                embedding = self.model.encode(crop())
            self.store.put(key, embedding, time.perf_counter() - started, self.model.passing)
            self.encode_s += time.perf_counter() - started
        return self.store.get(key)

    def answer(self, request: Request) -> Answer:
        """The model's answer, with what it notes about the scan."""
        if self.model.feeds_back:
            request = replace(request, memory=memory_of(request, self._one))
        answer = self._one(request)
        return replace(answer, notes=(*self._notes, *answer.notes))

    def _one(self, request: Request) -> Answer:
        return checked(self.model.segment_one(self, request), f"{self.model.name}.segment_one")
