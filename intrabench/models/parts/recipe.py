"""Recipes: the named steps around a 2D network, as its authors have them or as another benchmark had."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from intrabench.models.parts import intensity, resize
from intrabench.specs import specs
from intrabench.specs.specs import switch
from intrabench.volume import Volume

Policy = Literal["official", "radioactive"]
Multimask = Literal["single", "best", "first_click"]
"""single: the one mask of the decoder's own choice. best: of three masks the one that it thinks best. first_click: best
for a single point without a box or a mask prompt, because only that is ambiguous, single for everything else, as SAM's
authors advise."""
Feedback = Literal["logits", "sigmoid", "none"]
"""What of the last low-resolution answer comes back as the mask prompt."""
Fractions = Literal["cut", "rounded", "kept"]
"""What happens to fractions of the values from 0 to 255. cut: off, as in files. rounded: to the nearest whole number,
halves down, as in RadioActive, which adds a tiny number to the range that it divides by."""


@dataclass(frozen=True)
class Recipe:
    """Steps around a network. `threshold` is on logits; `predicts_all`: see `SliceModel.predicts_all`."""

    intensity: intensity.Intensity
    resize: resize.Resize
    multimask: Multimask = "single"
    feedback: Feedback = "none"
    threshold: float = 0.0
    predicts_all: bool = False
    fractions: Fractions = "cut"


STEPS = ("intensity", "resize", "multimask", "feedback", "threshold")
"""The steps that can be replaced by themselves."""


@dataclass(eq=False)
class WithRecipe:
    """The parameters of models that have recipes: a policy by name, and single steps to replace in it.

    `lacks` names steps that a model does not have.

    policy: the steps of the model's authors (official) or of the code behind the IntRaBench paper (radioactive).
    intensity: how the values of a scan become those from 0 to 255. resize: how a slice becomes the square that the
    network sees. multimask: which of the network's masks counts: its own choice (single), the one of three that it
    thinks best, or the best for a first click alone. feedback: what of its last answer comes back as the mask prompt.
    threshold: on logits; voxels above it are answered.
    """

    name: ClassVar[str]
    lacks: ClassVar[tuple[str, ...]] = ()
    recipes: ClassVar[Mapping[str, Recipe]]

    policy: Policy = "official"
    intensity: intensity.Intensity | None = switch(None)
    resize: resize.Resize | None = switch(None)
    multimask: Multimask | None = switch(None)
    feedback: Feedback | None = switch(None)
    threshold: float | None = switch(None)

    @classmethod
    def default_words(cls) -> dict[str, str]:
        """Each step that the model has, with what it is if it is not given: ``volume``, or that of each policy."""
        found = {}
        for step in (step for step in STEPS if step not in cls.lacks):
            values = {policy: specs.written(getattr(recipe, step)) for policy, recipe in cls.recipes.items()}
            each = ", ".join(f"{value} ({policy})" for policy, value in values.items())
            found[step] = each if len(set(values.values())) > 1 else next(iter(values.values()))
        return found

    def __post_init__(self) -> None:
        if self.policy not in self.recipes:
            raise ValueError(f"policy={self.policy}, but {self.name} has only {', '.join(self.recipes)}")
        for step in self.lacks:
            if getattr(self, step) is not None:
                raise ValueError(f"{step}={getattr(self, step)}, but {self.name} has no such step; omit it")

    @property
    def feeds_back(self) -> bool:
        """Whether the last answer of a slice comes back."""
        return self.recipe.feedback != "none"

    @property
    def predicts_all(self) -> bool:
        """Whether a round is one prediction of all prompted slices."""
        return self.recipe.predicts_all

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """What the recipe assumes about the scan."""
        return intensity.assumed(volume, self.recipe.intensity)

    @property
    def recipe(self) -> Recipe:
        """The steps of the policy, with those that were given by themselves in their places."""
        steps = {step: getattr(self, step) for step in STEPS if getattr(self, step) is not None}
        return replace(self.recipes[self.policy], **steps)
