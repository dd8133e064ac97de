"""What a model remembers of a session, rebuilt from the session's turns when it was lost."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from intrabench.mask import Mask
from intrabench.models.base import Answer, Failure, Request


def memory_of(request: Request, answer: Callable[[Request], Answer | Failure]) -> Any:
    """The memory that the turns before the newest left: the request's own, else that of answering them again in order.

    None where there is no earlier turn.

    Raises:
        RuntimeError: an earlier turn has no answer.
    """
    memory = request.memory
    if memory is not None:
        return memory
    for count in range(1, len(request.turns)):
        asked = replace(
            request, turns=request.turns[:count], mask=Mask.empty(), memory=memory, scores=False, last=False
        )
        replayed = answer(asked)
        if isinstance(replayed, Failure):
            raise RuntimeError(f"turn {count} of {len(request.turns)} could not be replayed: {replayed.message}")
        memory = replayed.memory
    return memory
