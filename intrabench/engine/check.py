"""Check that a model keeps the contract that every run relies on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations
from typing import Any, get_args

import numpy as np

from intrabench.datasets.base import Files
from intrabench.datasets.phantom import Phantom
from intrabench.engine.cost import measured, remember
from intrabench.engine.integrity import REMEDY, IntegrityCheck
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError, foreign, in_words, several
from intrabench.mask import Mask
from intrabench.metrics.parts.overlap import Overlap
from intrabench.models.base import Answer, Failure, Model, Predictor, Request
from intrabench.models.outside.program_model import ProgramModel
from intrabench.play.lockstep import ask
from intrabench.prompts import STROKES, PromptKind, Prompts, boxes, points
from intrabench.prompts import box3d as box3d_prompts
from intrabench.target import Target
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

SCAN = Phantom(shape=(4, 80, 96), spacing=(5.0, 1.0, 1.5), instances=3)
"""Anisotropic, and all three axes differ in length."""
ORIENTATIONS = ("LPI", "AIL")
TARGETS = 50
GROWTH_MB = 200.0
"""Growth of memory beyond this counts as a leak."""
AGAIN = "the same exception"
PATIENCE_SECONDS = 60.0
"""The memory test of a slow model stops after this time, with fewer targets."""


@dataclass(frozen=True)
class Finding:
    """One line of the report; `ok` is None for a measurement or a warning."""

    name: str
    ok: bool | None
    message: str


class Broken(IntraBenchError):
    """The model failed on a valid request."""


def check(runner: ModelRunner) -> Iterator[Finding]:
    """Yield findings one by one; what the model raises is one that is not ok. A process of its own is ended."""
    try:
        yield from _findings(runner)
    finally:
        runner.close()


def _findings(runner: ModelRunner) -> Iterator[Finding]:
    started = time.perf_counter()
    try:
        with foreign():
            runner.load()
    except IntraBenchError:
        raise
    except Exception as error:  # the model's own code may raise anything
        yield Finding("load", False, in_words(error))
        return
    took = f"{time.perf_counter() - started:.1f} s"
    yield Finding("load", True, f"in {runner.remote.python}" if runner.remote else took)
    volume, targets = SCAN.load("case-1", Files(None, None))  # type: ignore[arg-type]
    parts: list[Callable[[ModelRunner, Volume, Sequence[Target]], Iterator[Finding]]] = [
        _prompts,
        _repeated,
        _together,
        _feedback,
        _mixtures,
        _orientations,
        _prompt_outside,
        _no_prompts,
        _memory,
        _cost,
    ]
    told, integrity = set[str](), IntegrityCheck(volume, targets)
    for part in parts:
        try:
            yield from _guarded(part(runner, volume, targets))
        except Exception as error:  # the other checks still run
            message = in_words(error)
            yield Finding(part.__name__.strip("_").replace("_", " "), False, AGAIN if message in told else message)
            told.add(message)
    kept = not integrity.broken  # numpy refuses to write there, other libraries may not
    yield Finding("scan", kept, "unchanged" if kept else f"it changed the scan, {REMEDY}")


def _guarded(findings: Iterator[Finding]) -> Iterator[Finding]:
    step = foreign()(partial(next, findings, None))
    while (finding := step()) is not None:
        yield finding


def prompt(kind: PromptKind, target: Target) -> Prompts:
    """A prompt of one kind for the middle slice of a target, or for the whole target."""
    middle = target.mask.occupied_slices[len(target.mask.occupied_slices) // 2]
    inside = target.mask.slice(int(middle)).coordinates()
    centre = inside[np.argmin(((inside - inside.mean(axis=0)) ** 2).sum(axis=1))]
    z, (y0, x0), (y1, x1) = int(middle), inside[:, 1:].min(axis=0), inside[:, 1:].max(axis=0) + 1
    if kind == "box2d":
        return boxes({z: (y0, x0, y1, x1)})
    if kind == "box3d":
        return box3d_prompts(target.mask.box)
    if kind == "text":
        return Prompts(text=f"{target.label} {target.instance}")
    corners = np.array([(z, y0, x0), (z, y0, x1 - 1), (z, y1 - 1, x1 - 1), (z, y1 - 1, x0)])
    row = inside[inside[:, 1] == centre[1]]
    drawn = [stroke(corners if stroke.closed else row) for stroke in STROKES.values() if stroke.kind == kind]
    return Prompts().with_strokes(drawn) if drawn else points([centre])


def _prompts(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """The model takes each kind that it accepts, and a different prompt of that kind gets a different answer."""
    with runner.open(volume) as image:
        for kind in sorted(runner.model.abilities.accepts):
            started = time.perf_counter()
            first = _answer(image, _request(runner.model, kind, targets[0]))
            seconds = time.perf_counter() - started
            used = False
            for target in targets[1:]:
                again = time.perf_counter()
                used = not _same(first, _answer(image, _request(runner.model, kind, target)))
                warm = time.perf_counter() - again
                if used:
                    break
            message = f"changes the answer; {seconds:.2f} s the first time, {warm:.2f} s then"
            unused = f"a different prompt gets the same answer{_without(runner.model, kind)}"
            yield Finding(f"prompt {kind}", used, message if used else unused)


def _without(model: Model, kind: str) -> str:
    """How to say that a program ignores prompts of a kind."""
    others = ",".join(sorted(model.accepts - {kind}))
    if not isinstance(model, ProgramModel) or not others:
        return ""
    quoted = f'"{others}"' if "," in others else others
    return f"; if the program ignores them, add takes={quoted} to the model"


def _repeated(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """The same request on the same image, opened twice, gets the same answer."""
    asked = _request(runner.model, _kind(runner.model), targets[0])
    first, second = (_alone(runner, volume, asked) for _ in range(2))
    same = _same(first, second)
    yield Finding("determinism", same, "the same answer twice" if same else "the same request got two answers")
    yield Finding("time", None, f"encode {first.encode_seconds:.2f} s, answer {first.seconds:.2f} s")


def _together(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """An answer depends neither on the other requests in its batch nor on their order."""
    asked = [_request(runner.model, _kind(runner.model), target) for target in targets[:2]]
    with runner.open(volume) as image:
        together = ask(image, asked)
        backwards = ask(image, asked[::-1])[::-1]
        alone = [_answer(image, request) for request in asked]
    same = all(_same(a, b) and _same(a, c) for a, b, c in zip(alone, together, backwards, strict=True))
    yield Finding("batch", same, "same answers as for single requests" if same else "answers depend on other requests")


def _feedback(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """A correction uses the session's memory; without it the model gets the same answer by replaying the turns."""
    asked = _request(runner.model, _kind(runner.model), targets[0])
    with runner.open(volume) as image:
        first = _answer(image, asked)
        turns = (*asked.turns, _turn(_kind(runner.model), targets[0]))
        second = Request(asked.session, turns, first.update, first.memory)
        started = time.perf_counter()
        corrected = _answer(image, second)
        seconds = time.perf_counter() - started
        replayed = _answer(image, replace(second, memory=None))
    same = _same(corrected, replayed, logits=False)
    memory = "keeps a memory per session" if first.memory is not None else "keeps no memory"
    message = (
        f"{memory}; replaying the turns gives the same answer"
        if same
        else "the answer without memory differs from the one with it"
    )
    yield Finding("feedback", same, message)
    yield Finding("time per round", None, f"{seconds:.3f} s for a correction of the answer before")


def _mixtures(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """Warns if a truthful prompt of a second kind, in any order, halves the Dice of the answer to the first."""
    target, lost = targets[0], list[str]()
    pairs = list(permutations(sorted(runner.model.abilities.accepts - {"text"}), 2))
    with runner.open(volume) as image:
        for kinds in pairs:
            asked, dice = Request(f"{kinds}", ()), list[float]()
            for kind in kinds:
                asked = replace(asked, turns=(*asked.turns, _turn(kind, target)))
                answer = _answer(image, asked)
                asked = replace(asked, mask=asked.mask.overwrite(answer.update, answer.valid), memory=answer.memory)
                dice.append(Overlap.of(target.mask, asked.mask).dice)
            if dice[1] < dice[0] / 2:
                lost.append(f"{kinds[1]} after {kinds[0]}: Dice {dice[0]:.2f} to {dice[1]:.2f}")
    if pairs:
        warning = f"Warning: a truthful prompt of another kind halves the Dice ({'; '.join(lost)})"
        yield Finding("mixtures", None if lost else True, warning if lost else "no second prompt halves the Dice")


def _orientations(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """The order in which a file stores its axes changes nothing."""
    asked = _request(runner.model, _kind(runner.model), targets[0])
    expected = _alone(runner, volume, asked)
    for orientation in ORIENTATIONS:
        flipped, _ = replace(SCAN, orientation=orientation).load("case-1", Files(None, None))  # type: ignore[arg-type]
        same = _same(expected, _alone(runner, flipped, asked))
        inside = all(low >= 0 and high <= n for low, high, n in _ranges(expected.update, volume))
        message = "same answer as in RAS" if same else "the answer differs from that in RAS"
        message = message if inside else "the answer extends outside of the volume"
        yield Finding(
            f"file in {orientation}, {'x'.join(f'{mm:g}' for mm in SCAN.spacing)} mm", same and inside, message
        )


def _prompt_outside(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """A prompt far outside of the image fails with a message and spoils no other request."""
    kind, far = _kind(runner.model), tuple(10 * n for n in volume.shape)
    outside = boxes({far[0]: (far[1], far[2], far[1] + 9, far[2] + 9)}) if kind == "box2d" else points([far])
    if kind == "box3d":
        outside = box3d_prompts((far[0], far[1], far[2], far[0] + 9, far[1] + 9, far[2] + 9))
    ok, message = _harmless(runner, volume, Turn(outside), _request(runner.model, kind, targets[0]))
    what = f"{_ARTICLES.get(kind, 'a point')} outside the scan"
    yield Finding("prompt outside", ok, message if ok else f"{what} {message}")


def _no_prompts(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """A turn without prompts fails with a message or changes nothing, and spoils no other request."""
    good = _request(runner.model, _kind(runner.model), targets[0])
    ok, message = _harmless(runner, volume, Turn(Prompts(), (Click(),)), good)
    yield Finding("no prompts", ok, message if ok else f"a turn without prompts {message}")


def _harmless(runner: ModelRunner, volume: Volume, turn: Turn, good: Request) -> tuple[bool, str]:
    """Whether a turn to which there is no answer gets none, and lets another request be answered; and in words."""
    with runner.open(volume) as image:
        _answer(image, good)
        failed, answered = ask(image, [Request("outside", (turn,)), good])
    if isinstance(failed, Answer) and failed.update.any():
        return False, "got a mask; raise an exception or return an empty one"
    if isinstance(answered, Failure):
        return False, f"spoils the other requests, of which none may fail ({answered.message})"
    return True, failed.message if isinstance(failed, Failure) else "an empty answer"


_ARTICLES = {"box2d": "a 2D box", "box3d": "a 3D box"}


def _memory(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """Memory does not grow with the number of targets on one opened image."""
    kind = _kind(runner.model)
    with runner.open(volume) as image:
        for target in targets:  # memory cached per slice is not a leak
            _answer(image, _request(runner.model, kind, target))
        before, started, number = runner.memory_mb(), time.perf_counter(), 0
        while number < TARGETS and time.perf_counter() - started < PATIENCE_SECONDS:
            request = _request(runner.model, kind, targets[number % len(targets)])
            _answer(image, Request(f"target-{number}", request.turns))
            number += 1
        grown = runner.memory_mb() - before
    yield Finding("memory", grown < GROWTH_MB, f"{round(grown):+d} MiB over {several(number, 'target')}")


def _cost(runner: ModelRunner, volume: Volume, targets: Sequence[Target]) -> Iterator[Finding]:
    """Parameters, operations, memory and time, which `info` tells afterwards; of a model of this process."""
    if runner.remote:
        return
    asked = _request(runner.model, _kind(runner.model), targets[0])
    cost = measured(runner, volume, [asked, replace(asked, session="next")])
    remember(runner.model, cost)
    yield Finding("cost", None, str(cost))


def _kind(model: Model) -> PromptKind:
    """The kind of prompt used in most checks: the simplest that the model takes."""
    kinds: tuple[PromptKind, ...] = get_args(PromptKind)
    return next(kind for kind in kinds if kind in model.abilities.accepts)


def _request(model: Model, kind: PromptKind, target: Target) -> Request:
    return Request(f"{kind} {target.id}", (_turn(kind, target),))


def _turn(kind: PromptKind, target: Target) -> Turn:
    """A turn of the user: one without actions could be treated as a part of the turn before."""
    return Turn(prompt(kind, target), (Click(),))


def _alone(runner: ModelRunner, volume: Volume, request: Request) -> Answer:
    with runner.open(volume) as image:
        return _answer(image, request)


def _answer(image: Predictor, request: Request) -> Answer:
    (answer,) = ask(image, [request])
    if isinstance(answer, Failure):
        raise Broken(answer.message)
    return answer


def _same(one: Any, other: Any, logits: bool = True) -> bool:
    """Whether two answers are equal: their masks and, if `logits`, their memory for the next turn."""
    if not (isinstance(one, Answer) and isinstance(other, Answer)):
        return False
    a, b = (Mask.of(answer.update.array, answer.update.start) for answer in (one, other))
    same = a.start == b.start and np.array_equal(a.array, b.array)
    return same and (not logits or _equal(one.memory, other.memory))


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return bool(np.array_equal(one, other))
    if hasattr(one, "cpu") and hasattr(other, "cpu"):  # tensors
        return bool(np.array_equal(one.cpu(), other.cpu()))
    return type(one) is type(other)


def _ranges(mask: Mask, volume: Volume) -> list[tuple[int, int, int]]:
    return list(zip(mask.box[:3], mask.box[3:], volume.shape, strict=True))
