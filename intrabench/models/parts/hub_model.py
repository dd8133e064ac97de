"""What models have in common whose network, preparation and weights are a repository in the format of the hub."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Floats32
from intrabench.models.networks.hf_families import FAMILIES, Family
from intrabench.models.parts.network_model import NetworkModel
from intrabench.models.parts.random_weights import fill_randomly
from intrabench.models.weights.hub import Repository
from intrabench.specs.specs import Reach, switch


@dataclass(eq=False)
class HubModel(NetworkModel):
    """Base of them. `video`: it takes the family's class for videos.

    repo: a repository of the Hugging Face hub, or a folder. revision: its branch, tag or commit.
    """

    extra = "hf"
    requires = ("transformers", "torchvision")
    encoder = "vision_encoder"
    video: ClassVar[bool] = False
    steps: ClassVar[str] = "1"

    repo: Annotated[str, Reach("repository")] = ""
    revision: Annotated[str, Reach()] = switch("main")

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """With the commit of the repository, or a hash of the folder's configuration.

        Raises:
            IntraBenchError: the repository cannot be found.
        """
        return f"{self.steps}/{self.repository.version}" if self.repo else self.steps

    @property
    def weights(self) -> str | None:
        """The repository."""
        return self.repository.id if self.repo else None

    @cached_property
    def repository(self) -> Repository:
        """Where the files are."""
        return Repository(self.repo, self.revision)

    @cached_property
    def family(self) -> Family:
        """Which networks the repository holds.

        Raises:
            IntraBenchError: the repository cannot be found, or nothing here can prompt such a network.
        """
        kind = str(self.repository.config().get("model_type", ""))
        usable = {key: family for key, family in FAMILIES.items() if family.video or not self.video}
        if kind not in usable:
            instead = "; the model hf takes it" if kind in FAMILIES else ""
            raise IntraBenchError(
                f"{self.repo} has the model_type {kind or '(none)'}, and {self.name} takes {', '.join(usable)}{instead}"
            )
        return usable[kind]

    def check_runnable(self) -> None:
        """Refuse a repository that is not there or holds another kind of network."""
        if not self.repo:
            raise IntraBenchError(
                f"{self.name} needs a repository; write {self.name}:repo=ORG/NAME or {self.name}:repo=FOLDER"
            )
        if self.repository.is_folder and self.revision != "main":
            raise IntraBenchError(f"{self.repo} is a folder, which has no revision {self.revision}; omit revision")
        _ = self.family

    def build(self) -> Any:
        """The network, with its weights unless they are random."""
        from intrabench.models.networks import hf

        folder = self.repository.described() if self.runtime.random else self.repository.located()
        return (hf.build if self.runtime.random else hf.load)(folder, self.family, self.video)

    def filled(self, network: Any) -> Any:
        """Random weights, or those that it was built with. The image and the prompts share one positional encoding."""
        if self.runtime.random:
            fill_randomly(network)
            shared = network.prompt_encoder.shared_embedding.positional_embedding
            network.shared_image_embedding.positional_embedding.data.copy_(shared)
        return network

    @cached_property
    def processor(self) -> Any:
        """What prepares an image, as the repository says."""
        from intrabench.models.networks import hf

        return hf.image_processor(self._folder, self.family, int(self.network.prompt_encoder.input_image_size))

    @cached_property
    def side(self) -> int:
        """The side of the square that the network sees.

        Raises:
            IntraBenchError: what the processor makes of an image is no square.
        """
        from intrabench.models.networks import hf

        return hf.side_of(self.processor, self._folder)

    def pixels(self, image: NDArray[Any]) -> Floats32:
        """An 8-bit image ``(y, x)`` or ``(y, x, 3)`` as the network takes it, ``(3, side, side)``."""
        colours = np.repeat(image[..., None], 3, axis=2) if image.ndim == 2 else np.array(image)
        prepared = self.processor(images=colours, input_data_format="channels_last", return_tensors="pt")
        pixels: Floats32 = prepared["pixel_values"][0].numpy()
        return pixels

    @property
    def _folder(self) -> Path:
        return self.repository.described()
