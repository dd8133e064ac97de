"""The server of a rating study."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StrictInt, StringConstraints
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp

from intrabench.errors import IntraBenchError
from intrabench.people.rating import guideline
from intrabench.people.rating.answers import AlreadyAnswered, Answer, Answers
from intrabench.people.rating.study import Study
from intrabench.people.servers.guard import Rates, Rules
from intrabench.people.servers.page_server import Refusals, answered, page_app, posted, refusal, slab
from intrabench.play.validate import Refused

Id = Annotated[str, StringConstraints(pattern=r"^[0-9A-Za-z-]{8,64}$")]
Seconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
Count = Annotated[StrictInt, Field(ge=0, le=10**6)]


class PostedAnswer(BaseModel):
    """An answer as a page sends it. seen: the slices that were shown, in the plane in which the scan is read."""

    model_config = ConfigDict(extra="forbid")

    id: Id
    place: Count
    job: str
    score: Annotated[StrictInt, Field(ge=1, le=10)] | None = None
    clinical: Literal["accept", "minor", "major", "reject"] | None = None
    pair: Literal["a", "b", "tie"] | None = None
    skip: str | None = None
    errors: list[str] = []
    seconds: Seconds
    paused_seconds: Seconds = 0.0
    seen: list[Count] = []
    views: Count = 0
    comment: Annotated[str, StringConstraints(max_length=2000, strip_whitespace=True)] = ""


class PostedUndo(BaseModel):
    """Taking back the answer of a place."""

    model_config = ConfigDict(extra="forbid")

    id: Id
    place: Count


def answer_of(study: Study, rater: str, posted: PostedAnswer) -> Answer:
    """The answer, if it fits the study: its job, its questions, and all slices seen.

    Raises:
        Refused: it does not, with a sentence for the rater.
    """
    order = study.order(rater)
    if posted.place >= len(order) or order[posted.place] != posted.job:
        raise Refused("this mask is not yours to rate; reload the page")
    if {*posted.errors} - {each["id"] for each in guideline.ERRORS} or len({*posted.errors}) < len(posted.errors):
        raise Refused("there is no such kind of error; reload the page")
    if posted.skip is not None:
        if posted.skip not in [each["id"] for each in guideline.SKIPS]:
            raise Refused("give one of the reasons to skip")
        if (posted.score, posted.clinical, posted.pair) != (None, None, None):
            raise Refused("a mask is rated or skipped, not both")
    else:
        _complete(study, posted)
    fields = posted.model_dump(exclude={"seen", "errors"})
    return Answer(rater=rater, errors=tuple(posted.errors), **fields)


def _complete(study: Study, posted: PostedAnswer) -> None:
    asked = study.content["questions"]
    for question, answer in (("score", posted.score), ("clinical", posted.clinical), ("pair", posted.pair)):
        if question in asked and answer is None:
            raise Refused("answer every question, or skip the mask")
        if question not in asked and answer is not None:
            raise Refused("that is not asked in this study; reload the page")
    first, last = study.see(posted.job)
    left = sorted({*range(first, last)} - {*posted.seen})
    if left:
        raise Refused(f"look at all slices of the structure first; slice {left[0]} was not shown yet")


REFUSALS: Refusals = (
    (Refused, 422, "{}"),
    (AlreadyAnswered, 409, "{}"),
    # a file of the study was damaged meanwhile; raters are told no paths
    (IntraBenchError, 503, "a file of this study cannot be read; tell whoever runs it"),
    (OSError, 507, "{}; your answer is kept in this browser and sent again"),
)


def make_app(study: Study, hosts: frozenset[str], rates: Rates | None = None) -> ASGIApp:
    """The app of a study; hosts: names by which it may be called.

    Raises:
        IntraBenchError: raters could tell masks apart in this study, or its answers cannot be opened.
    """
    study.refuse_open()
    answers = Answers(study.answers_file)
    server = _Server(study, answers)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        answers.close()

    get = {"/api/study": server.about, "/api/job/{id}": server.job, "/api/image/{case}/{slab}": server.image}
    get["/api/gallery"] = server.gallery
    post = {"/api/answers": server.answer, "/api/undo": server.undo, "/api/trained": server.trained}
    rules = Rules(study.tokens, hosts, rates=rates or Rates())
    return page_app("rate", get, post, REFUSALS, rules, lifespan)


class _Server:
    """The endpoints of a study."""

    def __init__(self, study: Study, answers: Answers) -> None:
        self._study, self._answers = study, answers

    async def about(self, request: Request) -> Response:
        who, answers = request.state.who, self._answers
        done, trained, closed = await run_in_threadpool(
            lambda: (answers.done(who), answers.trained(who), answers.closed)
        )
        return JSONResponse({**self._study.about(who), "done": done, "trained": trained, "closed": bool(closed)})

    async def job(self, request: Request) -> Response:
        path = self._study.job_file(request.state.who, request.path_params["id"])
        if path is None:
            return refusal(404, "there is no such mask")
        return Response(await run_in_threadpool(path.read_bytes), media_type="application/json")

    async def image(self, request: Request) -> Response:
        path = self._study.image_file(request.path_params["case"], request.path_params["slab"])
        return (
            refusal(404, "there is no such image") if path is None else slab(await run_in_threadpool(path.read_bytes))
        )

    async def gallery(self, request: Request) -> Response:
        return await answered(self._study.gallery)

    async def answer(self, request: Request) -> Response:
        given, who = await posted(PostedAnswer, request), request.state.who
        return await self._changed(who, lambda: self._answers.add(answer_of(self._study, who, given)))

    async def undo(self, request: Request) -> Response:
        given, who = await posted(PostedUndo, request), request.state.who
        return await self._changed(who, lambda: self._answers.undo(who, given.place, given.id))

    async def trained(self, request: Request) -> Response:
        await run_in_threadpool(self._answers.train, request.state.who)
        return JSONResponse({})

    async def _changed(self, who: str, store: Callable[[], None]) -> Response:
        await run_in_threadpool(store)
        return await answered(lambda: {"done": self._answers.done(who)})
