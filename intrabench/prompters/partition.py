"""Nobody prompts: for protocols in which models divide images."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.errors import NotApplicable
from intrabench.prompters.base import Prompter
from intrabench.prompters.user import Turns, User


@dataclass
class PartitionOnly(Prompter):
    """Gives no prompts. Models divide the image, and their superpixels are measured (protocol superpixels@1)."""

    name = "partition"

    def interact(self, user: User) -> Turns:
        """Nothing, where a target is to be prompted."""
        raise NotApplicable("the prompter partition gives no prompts; it belongs to --protocol superpixels@1")
        yield  # what makes it a generator
