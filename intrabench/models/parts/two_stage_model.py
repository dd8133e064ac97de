"""Two models that share the work: one answers the first turn, the other corrects it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.identity.versions import version_of
from intrabench.models.base import Answer, Failure, Model, Predictor, Request, Runtime
from intrabench.models.parts.upright import open_in_plane
from intrabench.prompts import Abilities, Prompts
from intrabench.turns import Turn
from intrabench.volume import Volume


@dataclass(eq=False)
class TwoStageModel(Model):
    """The first model's answer to the first turn, corrected by the second, which knows of no earlier prompts.

    It takes what the second takes, because that is asked more often. It answers without prompts if the first does.
    """

    first: Model
    second: Model

    def __post_init__(self) -> None:
        second: Any = self.second
        for name in ("dims", "accepts", "extra", "requires", "grey_only", "devices", "dtypes", "threads"):
            setattr(self, name, getattr(second, name))
        self.unprompted = self.first.unprompted  # type: ignore[misc]

    name = "begun"

    @property
    def spec(self) -> str:
        """Both specs, joined by ``+``."""
        return f"{self.first.spec}+{self.second.spec}"

    @property
    def short_spec(self) -> str:
        """Both, joined by ``+``."""
        return f"{self.first.short_spec}+{self.second.short_spec}"

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """Both, joined by ``+``."""
        return f"{version_of(self.first)}+{version_of(self.second)}"

    @property
    def weights(self) -> str | None:
        """Those of the second."""
        return self.second.weights

    @property
    def abilities(self) -> Abilities:
        """Those of the second, which need not begin."""
        return replace(self.second.abilities, unprompted=self.first.unprompted)

    @property
    def any_plane(self) -> bool:
        """As the second; the first is opened in its own way."""
        return self.second.any_plane

    @property
    def covers(self) -> str:
        """In words."""
        return f"{self.first.covers}; corrections: {self.second.covers}"

    @property
    def runtime(self) -> Runtime:
        """That of the second; the first computes on the same device, and each has half of the memory."""
        return self.second.runtime

    @runtime.setter
    def runtime(self, runtime: Runtime) -> None:
        half = replace(runtime, memory_mb=runtime.memory_mb // 2)
        self.first.runtime = replace(half, weights=None, random=False, dtype="float32")
        self.second.runtime = half

    def notes(self, volume: Volume) -> tuple[str, ...]:
        """Those of both."""
        return tuple(dict.fromkeys((*self.first.notes(volume), *self.second.notes(volume))))

    def check_runnable(self) -> None:
        """Both are checked."""
        self.first.check_runnable()
        self.second.check_runnable()

    def load(self) -> None:
        """Both are loaded."""
        self.first.load()
        self.second.load()

    def unload(self) -> None:
        """Both are dropped."""
        super().unload()
        self.first.unload()
        self.second.unload()

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Open the image with the first, and with the second once there are corrections."""
        with ExitStack() as stack:
            first = stack.enter_context(open_in_plane(self.first, volume))
            yield _Shared(first, lambda: stack.enter_context(open_in_plane(self.second, volume)))


class _Shared(Predictor):
    def __init__(self, first: Predictor, opened: Callable[[], Predictor]) -> None:
        """opened: opens the image with the second model."""
        self.first, self._opened = first, opened

    @cached_property
    def second(self) -> Predictor:
        return self._opened()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        begins = [len(request.turns) == 1 for request in requests]
        asked = [request for request, begin in zip(requests, begins, strict=True) if begin]
        corrected = [_corrected(request) for request, begin in zip(requests, begins, strict=True) if not begin]
        first = iter(self.first.segment(asked) if asked else [])
        later = iter(self.second.segment(corrected) if corrected else [])
        return [_forgotten(next(first)) if begin else next(later) for begin in begins]


def _corrected(request: Request) -> Request:
    """The request with a first turn without prompts; the mask is what it begins from."""
    first, *later = request.turns
    return replace(request, turns=(Turn(Prompts(), first.actions), *later))


def _forgotten(answer: Answer | Failure) -> Answer | Failure:
    """The answer without a memory and a reach, which are not the second model's."""
    return answer if isinstance(answer, Failure) else replace(answer, memory=None, reach=None)


def two_stage_model(models: Sequence[Model], spec: str) -> TwoStageModel:
    """The model of ``FIRST+SECOND``.

    Raises:
        IntraBenchError: there are more than two, or the second does not start from a mask of others.
    """
    if len(models) != 2:
        raise IntraBenchError(f"{spec!r} names {len(models)} models; write FIRST+SECOND")
    first, second = models
    if not (second.takes_mask or not second.accepts & {"point", "scribble"}):
        raise IntraBenchError(
            f"{spec!r}: {second.name} cannot start from a mask of another model; random_walker, nninteractive, npz and "
            "models that take only boxes can"
        )
    return TwoStageModel(first, second)
