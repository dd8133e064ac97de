"""The server of `intrabench annotate`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import writing
from intrabench.files.documents import write_json
from intrabench.mask import Mask
from intrabench.people.annotating.annotation import Annotation, View
from intrabench.people.images import Slabs, packed, page
from intrabench.people.servers.guard import Guard, Rates, Rules
from intrabench.people.tokens import new_token, read_tokens
from intrabench.play.gestures import Gesture
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


class Given(Change):
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
        known = read_tokens(path)
    except FileNotFoundError:
        known = {}
    missing = {rater: new_token() for rater in raters if rater not in known}
    if missing:
        with writing(path):
            write_json(path, {**known, **missing}, private=True)
    return {rater: {**known, **missing}[rater] for rater in raters}


class _Scans:
    """The slabs of the scans that were looked at last."""

    def __init__(self, annotation: Annotation) -> None:
        self._annotation, self._kept = annotation, dict[str, Slabs]()
        self._tasks = {task.scan: task.code for task in reversed(annotation.tasks("r"))}

    def __call__(self, scan: str) -> Slabs:
        if scan not in self._tasks:
            raise Refused("there is no such scan; go back to the list")
        found = self._kept.pop(scan, None)
        if found is None:
            found = Slabs(self._annotation.scan(self._tasks[scan]))
            while len(self._kept) >= SCANS:
                self._kept.pop(next(iter(self._kept)))
        self._kept[scan] = found
        return found


def make_app(
    annotation: Annotation,
    tokens: Mapping[str, str],
    hosts: frozenset[str],
    title: str,
    outline: bool = False,
    rates: Rates | None = None,
) -> ASGIApp:
    """The app; hosts: names by which it may be called. outline: whether people see the reference.

    Whoever made `annotation` closes it after the server.
    """
    html, scans = page("annotate"), _Scans(annotation)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        resting = asyncio.create_task(_rest(annotation))
        yield
        resting.cancel()

    async def index(request: Request) -> Response:
        return HTMLResponse(html)

    def shown(code: str, view: View) -> dict[str, Any]:
        return _shown(code, view, annotation.reference(code) if outline else None)

    def give(who: str, posted: Given) -> View:
        gestures = [Gesture.from_json(each) for each in posted.gestures]
        return annotation.give(posted.code, who, posted.id, gestures)

    def changing(change: Callable[[str, Any], View], model: type[Change]) -> Callable[[Request], Any]:
        async def endpoint(request: Request) -> Response:
            try:
                posted = model.model_validate_json(await request.body())
            except ValidationError as error:
                where = ".".join(map(str, error.errors()[0]["loc"])) or "what was sent"
                return _error(422, f"{where} is not as expected; reload the page")
            who = request.state.who
            return await _answered(lambda: shown(posted.code, change(who, posted)))

        return endpoint

    async def study(request: Request) -> Response:
        return await _answered(lambda: _about(annotation, title, request.state.who))

    async def case(request: Request) -> Response:
        return await _answered(lambda: dict(scans(request.path_params["case"]).about))

    async def task(request: Request) -> Response:
        code, who = request.path_params["code"], request.state.who
        return await _answered(lambda: shown(code, annotation.view(code, who)))

    async def image(request: Request) -> Response:
        name, slab = request.path_params["case"], request.path_params["slab"]
        try:
            content = await run_in_threadpool(lambda: scans(name)[int(slab)])
        except (Refused, IndexError, ValueError):
            return _error(404, "there is no such image")
        except IntraBenchError as error:
            return _error(503, str(error))
        return Response(content, media_type="application/octet-stream", headers={"Content-Encoding": "gzip"})

    undo = changing(lambda who, sent: annotation.undo(sent.code, who, sent.id, sent.seconds, sent.at), Change)
    finish = changing(lambda who, sent: annotation.finish(sent.code, who, sent.id, sent.seconds, sent.at), Change)
    routes = [
        Route("/", index),
        Route("/api/annotation", study),
        Route("/api/case/{case}", case),
        Route("/api/image/{case}/{slab}", image),
        Route("/api/task/{code}", task),
        Route("/api/turn", changing(give, Given), methods=["POST"]),
        Route("/api/undo", undo, methods=["POST"]),
        Route("/api/finish", finish, methods=["POST"]),
    ]
    return Guard(Starlette(routes=routes, lifespan=lifespan), Rules(tokens, hosts, rates=rates or Rates()))


def _about(annotation: Annotation, title: str, who: str) -> dict[str, Any]:
    """What a person has to do."""
    tasks = [
        {"code": task.code, "case": task.scan, "label": task.target, "state": task.state, "turns": task.turns}
        | ({"middle": task.middle} if task.middle else {})
        for task in annotation.tasks(who)
    ]
    return {"id": annotation.id, "title": title, "rater": who, "takes": annotation.takes, "tasks": tasks}


def _shown(code: str, view: View, reference: Mask | None) -> dict[str, Any]:
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


async def _answered(call: Callable[[], Any]) -> Response:
    """The result as JSON, or a sentence: 422 for what the person can change, 503 for what may go better later."""
    try:
        return JSONResponse(await run_in_threadpool(call))
    except Refused as error:
        return _error(422, str(error))
    except (IntraBenchError, OSError) as error:
        return _error(503, str(error))


def _error(status: int, reason: str) -> Response:
    return JSONResponse({"error": reason}, status)
