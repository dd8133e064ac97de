"""Models that are networks: built, given their weights and put on their device at the first use."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats32
from intrabench.models.base import Model
from intrabench.models.installing import how_to_install, importing
from intrabench.progress import loading

if TYPE_CHECKING:
    from torch import Tensor


class NetworkModel(Model):
    """Base of models with a network: a subclass writes `build`.

    `encoder` names the submodule that ``--compile`` compiles. float32 is exact; bfloat16 and float16 compute under
    torch's automatic casting, with weights kept in float32.
    """

    extra: str | None = "torch"
    requires: tuple[str, ...] = ("torch",)
    devices = ("cpu", "cuda")
    dtypes = ("float32", "bfloat16", "float16")
    encoder: ClassVar[str] = "image_encoder"

    @abstractmethod
    def build(self) -> Any:
        """The network without its weights, a ``torch.nn.Module``; imports what the extra installs."""

    def filled(self, network: Any) -> Any:
        """A network that was built, with its weights."""
        from intrabench.models.parts.checkpoints import fill

        return fill(network, self)

    @cached_property
    def network(self) -> Any:
        """The network with its weights, on the device of the runtime; loaded at the first use.

        Raises:
            IntraBenchError: the extra is not installed, or the weights are absent, damaged or do not fit.
        """
        from intrabench.models.parts.allocator import keep_freed_memory

        if self.runtime.dtype not in self.dtypes:
            raise IntraBenchError(f"model {self.name} computes in {', '.join(self.dtypes)}, not {self.runtime.dtype}")
        if self.runtime.device == "cpu":
            keep_freed_memory()
        with loading(f"loading {self.name}"):
            network = self.filled(self._built())
            network = network.eval().requires_grad_(False).to(self.runtime.device)
            if self.runtime.compile:
                getattr(network, self.encoder).compile()
        return network

    def load(self) -> None:
        """Load the network and its weights now."""
        _ = self.network

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Inside, torch keeps no gradients and computes in the dtype of the runtime."""
        import torch

        kind, low = torch.device(self.runtime.device).type, self.runtime.dtype != "float32"
        dtype = getattr(torch, self.runtime.dtype) if low else torch.bfloat16
        with torch.inference_mode(), torch.autocast(kind, dtype, enabled=low):
            yield

    def tensor(self, array: NDArray[Any]) -> Tensor:
        """A copy of an array as float32, on the device of the runtime."""
        import torch

        return torch.from_numpy(np.array(array, dtype=np.float32, order="C")).to(self.runtime.device)

    def embedding_of(self, array: NDArray[Any], encode: Callable[[Tensor], Tensor]) -> Floats32:
        """What `encode` makes of a batch of this one array."""
        with self.computing():
            embedding: Floats32 = encode(self.tensor(array[None])).float()[0].cpu().numpy()
        return embedding

    def finite(self, logits: Any) -> Any:
        """The logits, if all of them are numbers.

        Raises:
            FloatingPointError: some are not.
        """
        if not logits.isfinite().all():
            raise FloatingPointError(f"{self.name} answered with NaN or infinite values; try --dtype float32")
        return logits

    def _built(self) -> Any:
        import torch

        with (
            importing(f"model {self.name} needs", how_to_install(str(self.extra))),
            torch.random.fork_rng(devices=[]),  # initial weights are overwritten: leave the global stream alone
        ):
            return self.build()
