"""A scan that somebody reads in another plane, for models that need canonical axes."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from intrabench.mask import TURNED, UPRIGHT, Plane, Region, reordered, reordered_box
from intrabench.models.base import (
    WHOLE,
    Answer,
    AnyAnswer,
    AnyRequest,
    Failure,
    JointAnswer,
    JointRequest,
    Model,
    Predictor,
    Request,
    checked,
    failure_of,
    open_image,
)
from intrabench.turns import Turn
from intrabench.volume import Volume


@contextmanager
def open_in_plane(model: Model, volume: Volume) -> Iterator[Predictor]:
    """As `open_image`, for requests in the plane in which a scan is read."""
    if volume.plane == "axial" or model.any_plane:
        with open_image(model, volume) as image:
            yield image
        return
    with open_image(model, volume.upright) as image:
        yield Upright(image, volume.plane)


class Upright(Predictor):
    """An image opened with canonical axes; its requests and answers are in a plane.

    Prompts must be of the kinds that `Abilities.across` leaves. What cannot be said in the other plane fails alone.
    """

    def __init__(self, image: Predictor, plane: Plane) -> None:
        self.image, self._to, self._back = image, UPRIGHT[plane], TURNED[plane]
        self.costly_calls = image.costly_calls  # type: ignore[misc]
        # A model may know a session by the turns that it was given, so each turn stays one object.
        self._turns: WeakKeyDictionary[Turn, Turn] = WeakKeyDictionary()

    def segment(self, requests: Sequence[Request]) -> list[Answer | Failure]:
        """The answers of the image, in the plane."""
        return self._asked(self.image.segment, requests, self._request, self._answer)

    def segment_jointly(self, requests: Sequence[JointRequest]) -> list[JointAnswer | Failure]:
        """The joint answers of the image, in the plane."""
        return self._asked(self.image.segment_jointly, requests, self._joint_request, self._joint_answer)

    def _asked(
        self,
        segment: Callable[[Sequence[AnyRequest]], list[AnyAnswer | Failure]],
        requests: Sequence[AnyRequest],
        upright: Callable[[AnyRequest], AnyRequest],
        back: Callable[[AnyAnswer, AnyRequest], AnyAnswer],
    ) -> list[AnyAnswer | Failure]:
        started, answers = time.perf_counter(), dict[int, AnyAnswer | Failure]()
        asked = dict[int, AnyRequest]()
        for number, request in enumerate(requests):
            try:
                asked[number] = upright(request)
            except ValueError as error:
                answers[number] = failure_of(error, started)
        found = segment(tuple(asked.values())) if asked else []
        for (number, request), answer in zip(asked.items(), found, strict=True):
            answers[number] = answer
            if not isinstance(answer, Failure):
                try:
                    answers[number] = back(answer, request)
                except Exception as error:  # a model of the user's own may answer anything
                    answers[number] = failure_of(error, started)
        return [answers[number] for number in range(len(requests))]

    def _turn(self, turn: Turn) -> Turn:
        if turn not in self._turns:
            self._turns[turn] = replace(turn, prompts=turn.prompts.reordered(self._to))
        return self._turns[turn]

    def _request(self, request: Request) -> Request:
        turns = tuple(map(self._turn, request.turns))
        return replace(request, turns=turns, mask=request.mask.reordered(self._to))

    def _joint_request(self, request: JointRequest) -> JointRequest:
        return replace(request, requests=tuple(map(self._request, request.requests)))

    def _answer(self, answer: Answer, request: Request) -> Answer:
        checked(answer, f"{type(self.image).__name__}.segment")
        if answer.valid.slices is not None:  # they are axial; no region of another plane is some of them
            whole = request.mask.overwrite(answer.update, answer.valid)
            answer = replace(answer, update=whole, valid=WHOLE, scores=None)
        scores = None if answer.scores is None else np.transpose(answer.scores, self._back)
        where = self._places(answer)
        return replace(answer, update=answer.update.reordered(self._back), scores=scores, **where)

    def _joint_answer(self, answer: JointAnswer, request: JointRequest) -> JointAnswer:
        if answer.valid.slices is not None:
            raise ValueError("a label map of some axial slices cannot be given in another plane")
        labels = np.ascontiguousarray(np.transpose(answer.labels, self._back))
        return replace(answer, start=reordered(answer.start, self._back), labels=labels, **self._places(answer))

    def _places(self, answer: Answer | JointAnswer) -> dict[str, Any]:
        """Where the answer is valid, and its reach."""
        box, reach = (box and reordered_box(box, self._back) for box in (answer.valid.box, answer.reach))
        return {"valid": Region(box=box), "reach": reach}
