"""The server of `intrabench annotate`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.documents import write_json
from intrabench.mask import Mask
from intrabench.people.annotating.annotation import Annotation, View
from intrabench.people.images import Orientation, Slabs, packed
from intrabench.people.servers.guard import Rates, Rules
from intrabench.people.servers.page_server import Refusals, answered, page_app, posted, refusal, slab
from intrabench.people.tokens import new_token, read_tokens
from intrabench.play.gestures import Gesture, tools
from intrabench.play.validate import Refused
from intrabench.prompters.human import Human
from intrabench.reporting.page.views import marks

SCANS = 2
"""Scans whose slabs are kept."""
IDLE_S = 120.0
"""A scan for which nobody asked for so long is given free for runs."""
Number = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Change(BaseModel):
    """What every change has: the task, an id that the page made, active seconds, and when it was, since 1970."""

    model_config = ConfigDict(extra="forbid")

    code: str
    id: Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{8,64}$")]
    seconds: Number = 0.0
    at: Number = 0.0


class PostedFinish(Change):
    """The end of a session, with what the person has to say."""

    comment: Annotated[str, StringConstraints(max_length=2000, strip_whitespace=True)] = ""


class PostedTurn(Change):
    """A turn."""

    gestures: list[dict[str, Any]]


def check_raters(raters: list[str]) -> None:
    """Refuse names of people.

    Raises:
        IntraBenchError: a rater is no pseudonym.
    """
    for rater in raters:
        try:
            Human(rater)
        except (ValueError, TypeError) as error:
            raise IntraBenchError(f"--rater {rater}: {error}") from error


def tokens_of(folder: Path, raters: list[str]) -> dict[str, str]:
    """The token of each rater, the same as before in this results folder, so that their links stay.

    Raises:
        IntraBenchError: the file cannot be read or written.
    """
    path = folder / "people" / "raters.json"
    try:
        tokens = read_tokens(path)
    except FileNotFoundError:
        tokens = {}
    missing = {rater: new_token() for rater in raters if rater not in tokens}
    if missing:
        with writing(path):
            write_json(path, {**tokens, **missing}, private=True)
    return {rater: {**tokens, **missing}[rater] for rater in raters}


class _Scans:
    """The slabs of the scans that were looked at last."""

    def __init__(self, annotation: Annotation, window: str) -> None:
        self._annotation, self._window, self._kept = annotation, window, dict[str, Slabs]()
        self._tasks = dict[str, list[str]]()
        for task in annotation.tasks("r"):
            self._tasks.setdefault(task.scan, []).append(task.code)

    def __call__(self, scan: str) -> Slabs:
        if scan not in self._tasks:
            raise Refused("there is no such scan; go back to the list")
        found = self._kept.pop(scan, None)
        if found is None:
            codes = self._tasks[scan]
            targets = [self._annotation.reference(code) for code in codes]
            found = Slabs(self._annotation.scan(codes[0]), targets, self._window)
            while len(self._kept) >= SCANS:
                self._kept.pop(next(iter(self._kept)))
        self._kept[scan] = found
        return found


REFUSALS: Refusals = ((Refused, 422, "{}"), (IntraBenchError, 503, "{}"), (OSError, 503, "{}"))
"""422 for what the person can change, 503 for what may go better later."""


def make_app(
    annotation: Annotation,
    tokens: Mapping[str, str],
    hosts: frozenset[str],
    title: str,
    outline: bool = False,
    rates: Rates | None = None,
    window: str = "",
    orientation: Orientation = "radiological",
) -> ASGIApp:
    """The app; hosts: names by which it may be called. outline: whether people see the reference.
    window: of CT, with which the page begins; empty: the one that fits the targets.

    Whoever made `annotation` closes it after the server.
    """
    server = _Server(annotation, title, outline, window, orientation)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        resting = asyncio.create_task(_rest(annotation))
        yield
        resting.cancel()

    get = {
        **{"/api/annotation": server.about, "/api/case/{case}": server.case},
        **{"/api/image/{case}/{slab}": server.image, "/api/task/{code}": server.task},
    }
    post = {"/api/turn": server.turn, "/api/undo": server.undo, "/api/finish": server.finish}
    post["/api/reopen"] = server.reopen
    return page_app("annotate", get, post, REFUSALS, Rules(tokens, hosts, rates=rates or Rates()), lifespan)


class _Server:
    """The endpoints of an annotation."""

    def __init__(
        self, annotation: Annotation, title: str, outline: bool, window: str, orientation: Orientation
    ) -> None:
        self._annotation, self._title, self._outline, self._orientation = annotation, title, outline, orientation
        self._scans = _Scans(annotation, window)

    async def about(self, request: Request) -> Response:
        """What a person has to do."""
        return await answered(lambda: self._about(request.state.who))

    def _about(self, who: str) -> dict[str, Any]:
        tasks = [
            {"code": task.code, "case": task.scan, "label": task.target, "state": task.state, "turns": task.turns}
            | ({"middle": task.middle} if task.middle else {})
            for task in self._annotation.tasks(who)
        ]
        about = {"id": self._annotation.id, "title": self._title, "rater": who, "closed": self._annotation.closed}
        about["orientation"] = self._orientation
        return {**about, "takes": self._annotation.takes, "tools": [vars(tool) for tool in tools()], "tasks": tasks}

    async def case(self, request: Request) -> Response:
        return await answered(lambda: self._scans(request.path_params["case"]).about)

    async def image(self, request: Request) -> Response:
        name, number = request.path_params["case"], request.path_params["slab"]
        try:
            return slab(await run_in_threadpool(lambda: self._scans(name)[int(number)]))
        except (Refused, IndexError, ValueError):
            return refusal(404, "there is no such image")

    async def task(self, request: Request) -> Response:
        code, who = request.path_params["code"], request.state.who
        return await self._answer(code, lambda: self._annotation.view(code, who))

    async def turn(self, request: Request) -> Response:
        sent, who = await posted(PostedTurn, request), request.state.who
        gestures = [Gesture.from_json(each) for each in sent.gestures]
        return await self._answer(sent.code, lambda: self._annotation.give(sent.code, who, sent.id, gestures))

    async def undo(self, request: Request) -> Response:
        return await self._changed(request, self._annotation.undo)

    async def finish(self, request: Request) -> Response:
        sent, who = await posted(PostedFinish, request), request.state.who
        given = sent.code, who, sent.id, sent.seconds, sent.at, sent.comment
        return await self._answer(sent.code, lambda: self._annotation.finish(*given))

    async def reopen(self, request: Request) -> Response:
        return await self._changed(request, self._annotation.reopen)

    async def _changed(self, request: Request, change: Callable[..., View]) -> Response:
        sent, who = await posted(Change, request), request.state.who
        return await self._answer(sent.code, lambda: change(sent.code, who, sent.id, sent.seconds, sent.at))

    async def _answer(self, code: str, view: Callable[[], View]) -> Response:
        """Where a session stands."""
        return await answered(lambda: _state(code, view(), self._annotation.reference(code) if self._outline else None))


def _state(code: str, view: View, reference: Mask | None) -> dict[str, Any]:
    """Where a session stands."""
    drawn: dict[str, list[Any]] = {"points": [], "boxes": [], "strokes": []}
    for turn in view.turns:
        for name, each in marks(turn.prompts).items():
            drawn[name] += each
    return {
        "code": code,
        "mask": packed(view.mask),
        "marks": drawn,
        "turns": len(view.turns),
        "finished": view.finished,
        "problem": view.problem,
        "model_s": view.model_s,
        "outline": None if reference is None else packed(reference),
    }


async def _rest(annotation: Annotation) -> None:
    while True:
        await asyncio.sleep(IDLE_S / 10)
        await run_in_threadpool(annotation.rest, IDLE_S)
