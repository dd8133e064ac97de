"""The server of a study: what it gives, what it refuses, and that no answer is lost or doubled."""

from __future__ import annotations

import json
import re
import signal
import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.people.rating.answers import Answers
from intrabench.people.rating.study import Study
from intrabench.people.servers.guard import BURST, LARGEST, Rates
from tests.conftest import Said
from tests.people.rating.conftest import answer, rating
from tests.people.served import Client, Running
from tests.people.servers.test_guard import PATHS, check_bodies


@pytest.fixture(scope="module")
def shared(designed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Running, Study]]:
    """A server that several tests ask; each rates other places."""
    import shutil

    folder = tmp_path_factory.mktemp("served") / "study"
    shutil.copytree(designed, folder)
    with rating(folder) as server:
        yield server, Study.open(folder)


def test_a_rater_gets_the_study_and_its_jobs(shared: tuple[Running, Study]) -> None:
    server, study = shared
    client = server.client("r1")
    status, page = Client(client.address).ask("")
    assert (status, b"<html" in page.lower()) == (200, True)
    status, about = client.ask("api/study")
    assert (status, about["title"], about["rater"]) == (200, "A study", "r1")
    assert (about["order"], about["trained"]) == (study.order("r1"), False)
    status, job = client.ask(f"api/job/{about['order'][0]}")
    assert (status, job["id"]) == (200, about["order"][0])
    case = about["cases"][job["case"]]
    status, slab = client.ask(f"api/image/{job['case']}/0", **{"Accept-Encoding": "gzip"})
    assert (status, slab[:2]) == (200, b"\x1f\x8b")  # compressed as it lies there
    assert case["shape"] == [12, 40, 44]
    assert client.ask("api/trained", {}) == (200, {})
    assert client.ask("api/study")[1]["trained"] is True


@pytest.mark.parametrize(
    "path", ["api/job/nothing", "api/image/c9/0", "api/image/c1/77", "api/image/c1/-1", "key.json"]
)
def test_there_is_nothing_else(shared: tuple[Running, Study], path: str) -> None:
    assert shared[0].client("r1").ask(path)[0] == 404


def test_every_request_needs_a_token_and_comes_from_the_page(shared: tuple[Running, Study]) -> None:
    server, study = shared
    client = server.client("r1")
    job = study.order("r1")[0]
    for path in ("api/study", f"api/job/{job}", "api/image/c1/0", "key.json"):
        assert Client(client.address).ask(path)[0] == 401
        assert Client(client.address, "x" * 32).ask(path)[0] == 401
        assert Client(client.address, "ü").ask(path, **{"Authorization": "Bearer \xfc"})[0] == 401
    host = client.address.split("/")[2]
    assert client.ask("api/study", Origin=f"http://{host}")[0] == 200
    assert client.ask("api/study", Origin="http://evil.example")[0] == 403
    assert client.ask("api/study", Origin="null")[0] == 403
    assert client.ask("api/study", Host="evil.example:80")[0] == 421
    assert client.ask("api/study", Host=f"localhost:{server.port}")[0] == 200


def test_bodies_are_cut_on_every_path_without_a_token(shared: tuple[Running, Study]) -> None:
    check_bodies(f"http://127.0.0.1:{shared[0].port}", PATHS["rate"])


def test_answers_are_stored_once_and_taken_back_once(shared: tuple[Running, Study], wording: SnapshotAssertion) -> None:
    server, study = shared
    client = server.client("r1")
    assert client.ask("api/answers", answer(study, "r1", 2)) == (200, {"done": [2]})
    assert client.ask("api/answers", answer(study, "r1", 2)) == (200, {"done": [2]})
    status, said = client.ask("api/answers", answer(study, "r1", 2, id="another-tab"))
    assert (status, said["error"]) == (409, wording)
    assert client.ask("api/answers", answer(study, "r1", 3, score=None, skip="image"))[0] == 200
    assert client.ask("api/undo", {"id": "undo-0001", "place": 3}) == (200, {"done": [2]})
    assert client.ask("api/undo", {"id": "undo-0001", "place": 3}) == (200, {"done": [2]})
    assert client.ask("api/undo", {"id": "undo-0002", "place": 2})[0] == 409
    assert client.ask("api/study")[1]["done"] == [2]
    assert server.client("r2").ask("api/study")[1]["done"] == []


@pytest.mark.parametrize(
    "change",
    [
        {"score": 11},
        {"score": 7.5},
        {"score": True},
        {"score": None},
        {"clinical": "accept"},
        {"seconds": -1},
        {"seen": []},
        {"skip": "image"},
        {"skip": "tired", "score": None},
        {"errors": ["ugly"]},
        {"errors": ["holes", "holes"]},
        {"job": "j0000000000"},
        {"place": 99},
        {"id": "../../etc"},
        {"extra": 1},
    ],
    ids=str,
)
def test_what_is_no_answer_is_refused_with_a_sentence(
    shared: tuple[Running, Study], change: dict[str, object], wording: SnapshotAssertion
) -> None:
    server, study = shared
    status, said = server.client("r2").ask("api/answers", answer(study, "r2", 5, **change))
    assert status == 422
    assert re.sub(r"slice \d+", "slice N", said["error"]) == wording
    assert 5 not in server.client("r2").ask("api/study")[1]["done"]


@pytest.mark.parametrize("body", [b"{", b"[]", b"\xff", b"null", b'{"id": NaN}', b"[" * 30_000])
def test_what_is_no_json_is_refused(shared: tuple[Running, Study], body: bytes) -> None:
    assert shared[0].client("r2").ask("api/answers", body)[0] == 422


def test_large_posts_and_too_many_are_refused(shared: tuple[Running, Study]) -> None:
    client = shared[0].client("r2")
    assert client.ask("api/answers", b"x" * (LARGEST + 1))[0] == 413
    clock = [0.0]
    rates = Rates(lambda: clock[0])
    assert [rates.allow("a") for _ in range(int(BURST) + 2)] == [True] * int(BURST) + [False] * 2
    assert rates.allow("b")
    clock[0] += 0.25
    assert [rates.allow("a") for _ in range(3)] == [True, True, False]


def test_a_killed_server_loses_and_doubles_nothing(study: Study) -> None:
    """It is killed while answers come in; what it confirmed is there, and what is sent again is stored once."""
    places = range(len(study.order("r1")))
    confirmed: set[tuple[str, int]] = set()
    with rating(study.folder) as server, ThreadPoolExecutor(4) as pool:
        clients = {rater: server.client(rater) for rater in study.raters}

        def send(rater: str, place: int) -> None:
            try:
                if clients[rater].ask("api/answers", answer(study, rater, place))[0] == 200:
                    confirmed.add((rater, place))
            except (OSError, HTTPException):  # before an answer, or amid one
                pass
            if len(confirmed) == 9:
                server.process.send_signal(signal.SIGKILL)

        list(pool.map(lambda one: send(*one), [(rater, place) for place in places for rater in clients]))
        port = server.port
    assert 9 <= len(confirmed) < 2 * len(places)
    stored = Answers(study.answers_file)
    known = {(row["rater"], row["place"]) for row in stored.all()}
    stored.close()
    assert confirmed <= known
    with rating(study.folder, port) as server:  # the same link goes on
        for rater in study.raters:
            client = server.client(rater)
            for place in places:
                assert client.ask("api/answers", answer(study, rater, place))[0] == 200
            assert client.ask("api/study")[1]["done"] == list(places)
    stored = Answers(study.answers_file)
    assert len(stored.all()) == 2 * len(places)
    stored.close()


def test_a_server_ends_by_an_interrupt(study: Study) -> None:
    with rating(study.folder) as server:
        assert server.client("r1").ask("api/answers", answer(study, "r1", 0))[0] == 200
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(120) == 0
        assert server.process.stderr is not None
        assert "Traceback" not in server.process.stderr.read()
    with rating(study.folder) as server, pytest.raises(AssertionError, match="give another --port"):
        rating(study.folder, server.port).__enter__()


def test_a_full_disk_is_told_and_the_answer_can_be_sent_again() -> None:
    import asyncio

    from starlette.requests import Request
    from starlette.responses import Response

    from intrabench.people.rating.server import REFUSALS
    from intrabench.people.servers.page_server import refusing

    async def full(request: Request) -> Response:
        raise OSError("the answer could not be stored (database or disk is full)")

    found = asyncio.run(refusing(full, REFUSALS)(Request({"type": "http", "method": "POST"})))
    assert (found.status_code, b"kept in this browser and sent again" in bytes(found.body)) == (507, True)


def test_answers_are_kept_by_the_page_while_the_disk_is_full(study: Study, wording: SnapshotAssertion) -> None:
    """Really full: no write of the server succeeds. What is refused then is stored once when it is sent again."""
    with rating(study.folder) as server:
        client = server.client("r1")
        assert client.ask("api/answers", answer(study, "r1", 0))[0] == 200
        server.fill_disk(True)
        for _ in range(2):
            status, said = client.ask("api/answers", answer(study, "r1", 1))
            assert (status, said["error"]) == (507, wording)
        assert client.ask("api/study")[1]["done"] == [0]
        server.fill_disk(False)
        assert client.ask("api/answers", answer(study, "r1", 1))[0] == 200
        assert client.ask("api/answers", answer(study, "r1", 1))[0] == 200
        assert client.ask("api/study")[1]["done"] == [0, 1]
    stored = Answers(study.answers_file)
    assert [row["place"] for row in stored.all()] == [0, 1]
    stored.close()


def test_the_owner_sees_who_is_where_and_closes_the_study(study: Study, say: Callable[..., Said]) -> None:
    folder = str(study.folder)
    lines = json.loads(say("rate", "status", folder, "--json").out)
    assert [(one["rater"], one["answered"], one["training"], one["closed"]) for one in lines] == [
        ("r1", 0, "open", None),
        ("r2", 0, "open", None),
    ]
    with rating(study.folder) as server:
        client = server.client("r1")
        assert client.ask("api/answers", answer(study, "r1", 0, seconds=90, comment=" a leak "))[0] == 200
        assert client.ask("api/answers", answer(study, "r1", 1, score=None, skip="image", seconds=30))[0] == 200
        assert client.ask("api/answers", answer(study, "r1", 2, comment="x" * 2001))[0] == 422
        (one, _) = json.loads(say("rate", "status", folder, "--json").out)
        assert (one["answered"], one["of"], one["skipped"], one["comments"]) == (2, len(study.order("r1")), 1, 1)
        assert (one["minutes"], one["seconds_each"]) == (2.0, 60.0)
        assert one["first"] <= one["last"]
        assert f"2 of {len(study.order('r1'))} " in say("rate", "status", folder).out
        say("rate", "close", folder)
        status, said = client.ask("api/answers", answer(study, "r1", 2))
        assert (status, "closed" in said["error"]) == (422, True)
        assert client.ask("api/undo", {"id": "undo-0001", "place": 1})[0] == 422
        assert client.ask("api/study")[1]["closed"] is True
        assert json.loads(say("rate", "status", folder, "--json").out)[0]["closed"]
        say("rate", "close", folder, "--reopen")
        assert client.ask("api/answers", answer(study, "r1", 2))[0] == 200
    say("rate", "export", folder, "answers.csv")
    assert pl.read_csv("answers.csv")["comment"].to_list() == ["a leak", "", ""]


def test_a_study_from_before_comments_is_opened(study: Study) -> None:
    base = sqlite3.connect(study.answers_file)
    base.execute(
        "CREATE TABLE answers (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, rater TEXT NOT NULL, place INTEGER"
        " NOT NULL, job TEXT NOT NULL, score INTEGER, clinical TEXT, pair TEXT, skip TEXT, errors TEXT NOT NULL,"
        " seconds REAL NOT NULL, paused_seconds REAL NOT NULL, views INTEGER NOT NULL, guideline TEXT NOT NULL, at TEXT"
        " NOT NULL, undone TEXT)"
    )
    values = ("one", "r1", 0, study.order("r1")[0], 7, "[]", 3.5, 0.0, 4, "2", "2026-01-01T00:00:00+00:00")
    names = "id, rater, place, job, score, errors, seconds, paused_seconds, views, guideline, at"
    base.execute(f"INSERT INTO answers ({names}) VALUES ({', '.join('?' * len(values))})", values)
    base.commit()
    base.close()
    answers = Answers(study.answers_file)
    assert [(one["score"], one["comment"]) for one in answers.all()] == [(7, "")]
    answers.close()
