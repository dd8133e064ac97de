"""Clickability models with a network, whose weights are a file."""

from __future__ import annotations

from pathlib import Path

from intrabench.clickability.base import Clickability
from intrabench.errors import IntraBenchError
from intrabench.models.weights import registry


class NetworkClickability(Clickability):
    """A subclass has the parameter `weights`: a path, or empty for the published file in the folder of weights."""

    weights = ""

    @property
    def file(self) -> Path:
        """The path of the checkpoint.

        Raises:
            IntraBenchError: the file is missing; the message says what to do.
        """
        if self.weights:
            path = Path(self.weights).expanduser()
            if not path.is_file():
                raise IntraBenchError(
                    f"{self.name}:weights={self.weights} is not a file; give the path of a checkpoint"
                )
            return path
        entry = registry.get(self.name)
        if registry.find(entry.id) is None:
            raise IntraBenchError(
                f"the weights {entry.id} are missing; put {entry.file} into {registry.folder()} or give "
                f"{self.name}:weights=PATH (it is at {' or '.join(entry.pages)})"
            )
        return registry.locate(entry.id)

    @property
    def other_weights(self) -> str:
        """The beginning of the checkpoint's sha256 unless it is the published file.

        Raises:
            IntraBenchError: the file is missing; the message says what to do.
        """
        from intrabench.models.weights.hashes import sha256_of_path

        sha256 = sha256_of_path(self.file)
        return "" if registry.is_registered(self.name, sha256) else sha256[:12]
