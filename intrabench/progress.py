"""What code deep inside is doing, such as encoding a slice; it says so without knowing who listens, if anybody.

A process does one thing at a time: there is one listener, and what a step says counts until it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Literal

Phase = Literal["", "preparing", "loading", "opening", "encoding", "playing", "reading", "writing"]
"""The kind of a step; the empty one says that none goes on."""
Listener = Callable[[Phase, str, str], None]
"""Gets the phase, what is done, and for what: when a step begins, and what goes on again when it ends."""

_listener: Listener | None = None
_now: tuple[Phase, str, str] = "", "", ""
_NOTHING = nullcontext()


def step(phase: Phase, what: str, about: str = "") -> AbstractContextManager[None]:
    """Says what goes on while the context lasts, and then again what went on before; costs nothing if nobody listens.

    what: in words that stand alone, such as ``encoding slice 12 of 80``. about: what it is done for, such as data set,
    case and model; the steps inside inherit it.
    """
    return _NOTHING if _listener is None else _during(phase, what, about)


def proceed(what: str) -> None:
    """The step goes on with something else, such as its next round; what is the same is not said again."""
    global _now
    if _listener is not None and what != _now[1]:
        _now = _now[0], what, _now[2]
        _notify(_now)


def loading(what: str) -> AbstractContextManager[None]:
    """A network is loaded: `what` is ``loading sammed3d``."""
    return step("loading", what)


def encoding(what: str) -> AbstractContextManager[None]:
    """Something is encoded; the clock of the batch stands still meanwhile, and the step has its own time limit."""
    return step("encoding", what)


def joined(what: str, about: str) -> str:
    """For people: ``encoding slice 12 of 80: spine_ct, case ct-22, litemedsam``."""
    return f"{what}: {about}" if about else what


@contextmanager
def listen(listener: Listener) -> Iterator[None]:
    """Calls `listener` for all steps while the context lasts, instead of the one before; what it raises is dropped."""
    global _listener, _now
    before = _listener, _now
    _listener, _now = listener, ("", "", "")
    try:
        yield
    finally:
        _listener, _now = before


@contextmanager
def _during(phase: Phase, what: str, about: str) -> Iterator[None]:
    global _now
    before, _now = _now, (phase, what, about or _now[2])
    try:
        _notify(_now)
        yield
    finally:
        _now = before
        _notify(before)


def _notify(now: tuple[Phase, str, str]) -> None:
    if _listener is not None:
        with suppress(Exception):  # a listener that is gone must not fail what it listened to
            _listener(*now)
