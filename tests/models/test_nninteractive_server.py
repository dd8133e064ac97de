"""The model `nninteractive_server` against models in this process, and against servers that are full, old or gone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from starlette.applications import Starlette
from starlette.responses import JSONResponse
from starlette.routing import Route
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import FailedSessions, IntraBenchError
from intrabench.models import nninteractive_server
from intrabench.models.base import Answer, Failure, Request, Runtime
from intrabench.models.nninteractive import NnInteractive
from intrabench.prompts import points
from intrabench.registry import registry
from intrabench.volume import Volume
from tests.conftest import Said
from tests.models.nninteractive.played import ALL, VOLUME, same, turns_of
from tests.models.nninteractive.played import play as played
from tests.models.nninteractive_folder import write_folder
from tests.people.servers.serving import INSIDE, ball, client, official, running, served
from tests.people.servers.test_app import until_free
from tests.processes import Process, command
from tests.wording import without_reasons

DATA = "phantom:shape=16x40x44,spacing=3x1x1,instances=2"
SAME = ("target", "round", "status", "adapted", "dice", "prompts_hash")


def rows(model: str, prompter: str, **options: Any) -> pl.DataFrame:
    found = intrabench.run(model, prompter, DATA, out=f"out-{len(list(Path().glob('out-*')))}", **options)
    return found.sort("target", "round").select(*SAME, "error")


@pytest.mark.parametrize("prompter", ["box_interp:n=3+scribble", "point_interp:n=3+click_volume", "box_volume"])
def test_rows_are_those_of_the_same_model_here(data: Path, prompter: str) -> None:
    """Several targets are corrected in turn, so their state at the server is restored in between; spacing matters."""
    with served() as address:
        far = rows(f"nninteractive_server:url={address}", prompter, rounds=3)
    assert far.equals(rows("random_walker", prompter, rounds=3))
    assert set(far["status"]) == {"ok"}


def test_the_image_is_sent_once_and_targets_follow_without_it(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nnInteractive.inference.remote import nnInteractiveRemoteInferenceSession as Session

    sent, real = list[tuple[str, int]](), Session._post_binary

    def counting(self: Any, path: str, meta: Any, content: bytes, timeout: Any = None) -> Any:
        sent.append((path, len(content)))
        return real(self, path, meta, content, timeout)

    monkeypatch.setattr(Session, "_post_binary", counting)
    with served() as address:
        rows(f"nninteractive_server:url={address}", "point_interp:n=3")
    assert [path for path, _ in sent] == ["/set_image"]


def test_corrections_of_one_target_are_not_sent_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a run the mask of a request is a copy of the answer."""
    from intrabench.models.parts.nninteractive_image import OneImage

    replayed, real = list[int](), OneImage._replay
    monkeypatch.setattr(
        OneImage, "_replay", lambda self, mask, earlier: replayed.append(1) or real(self, mask, earlier)
    )
    with served() as address, remote(address).open(Volume.from_canonical(ball())) as image:
        turns = turns_of(points([INSIDE]), points([(6, 15, 20)]))
        (first,) = image.segment([Request("a", turns[:1])])
        assert isinstance(first, Answer)
        image.segment([Request("a", turns, first.update.copy())])
    assert replayed == [1]


def remote(address: str) -> Any:
    return registry.make("models", f"nninteractive_server:url={address}")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("nnInteractive.inference.inference_session")
    return write_folder(tmp_path_factory.mktemp("weights") / "model", patch=16, bias=-0.8)


@pytest.fixture(scope="module")
def theirs(folder: Path) -> Iterator[str]:
    """The official server with a small network that nobody trained."""
    with official(folder, max_sessions=2, do_autozoom=False) as address:
        yield address


def test_the_official_server_answers_as_its_package_does_here(theirs: str, folder: Path) -> None:
    here, there = NnInteractive(autozoom=False), remote(theirs)
    here.runtime = Runtime(weights=folder)
    assert there.abilities.accepts == {"point", "box2d", "scribble", "lasso"}
    found = []
    for model in (here, there):
        with model.open(VOLUME) as image:
            masks = played(image, turns_of(*ALL))
            found.append([*masks, *played(image, turns_of(*ALL[:2]), "b")])
            (late,) = image.segment([Request("a", turns_of(*ALL), masks[-2])])  # replayed
            assert isinstance(late, Answer)
            found[-1].append(late.update)
    assert same(*found)
    assert found[0][0].any()


def test_intrabench_check_takes_an_address(theirs: str, say: Callable[..., Said]) -> None:
    said = say("check", theirs)
    assert said.code == 0, said.out
    lines = {line[8:41].strip(): line[:8].strip() for line in said.out.splitlines()}
    wanted = (
        "determinism",
        "feedback",
        "file in LPI, 5x1x1.5 mm",
        "file in AIL, 5x1x1.5 mm",
        "no prompts",
        "prompt lasso",
    )
    assert [lines[name] for name in wanted] == ["ok"] * len(wanted)
    assert "time per round" in lines


def test_what_the_server_does_not_take_is_converted(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Capabilities without scribbles, boxes and lassos: they become points here, as the rows say."""
    from intrabench.people.servers import protocol

    real = protocol.capabilities

    def less(model: Any) -> dict[str, Any]:
        about = real(model)
        del about["intrabench"]
        return about | {"supported_interactions": {"points": True, "scribble": False, "bbox2d": False}}

    with monkeypatch.context() as patched:
        patched.setattr(protocol, "capabilities", less)
        stack = ExitStack()
        address = stack.enter_context(served())
    with stack:
        assert remote(address).abilities.accepts == {"point"}
        found = rows(f"nninteractive_server:url={address}", "box_slice+scribble", rounds=1)
    assert set(found["status"]) == {"ok"}
    assert "box2d->point" in found.filter(round=0)["adapted"][0]
    assert "scribble->point" in found.filter(round=1)["adapted"].to_list()


def described(about: Any, status: int = 200) -> Starlette:
    """A server that only says what it is."""

    async def capabilities(request: Any) -> JSONResponse:
        return JSONResponse(about, status)

    return Starlette(routes=[Route("/capabilities", capabilities)])


@pytest.mark.parametrize(
    ("about", "status"),
    [
        ({"inference_session_version": "3.0.0", "supported_interactions": {}}, 200),
        ({"inference_session_version": "1.9", "supported_interactions": {}}, 200),
        ({"inference_session_version": "2.6", "supported_interactions": {}}, 200),
        ({"supported_interactions": {}}, 200),
        (["anything"], 200),
        ({"detail": "Invalid bearer token"}, 401),
        ({}, 404),
    ],
)
def test_other_servers_are_told_in_a_sentence(about: Any, status: int, wording: SnapshotAssertion) -> None:
    with running(described(about, status)) as address, pytest.raises(IntraBenchError) as caught:
        _ = remote(address).abilities
    assert caught == wording


def test_nobody_at_the_address(data: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ("run", "-p", "box_volume", "-d", DATA, "-m", "nninteractive_server:url=http://127.0.0.1:9")
    said = say(*words)
    assert (said.code, without_reasons(said.err)) == (2, wording)
    assert say("check", "http://127.0.0.1:9").code == 2
    assert say("check", "nninteractive_server:url=here").err.count("is no address") == 1


def test_a_token_comes_from_the_environment(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    with served(token="secret") as address:
        with pytest.raises(IntraBenchError, match="wants a token"):
            _ = remote(address).abilities
        monkeypatch.setenv("NN_INTERACTIVE_API_KEY", "wrong")
        with pytest.raises(IntraBenchError) as caught:
            _ = remote(address).abilities
        assert caught == wording
        monkeypatch.setenv("NN_INTERACTIVE_API_KEY", "secret")
        model = remote(address)
        assert "secret" not in model.spec
        with model.open(Volume.from_canonical(ball())) as image:
            (found,) = image.segment([Request("a", turns_of(points([INSIDE])))])
        assert found.update.any()


def test_a_server_that_dies_in_between_fails_the_rows_with_a_sentence(data: Path, wording: SnapshotAssertion) -> None:
    volume, turn = Volume.from_canonical(ball()), turns_of(points([INSIDE]))
    with ExitStack() as stack:
        address = stack.enter_context(served())
        model = remote(address)
        with model.open(volume) as image:
            (found,) = image.segment([Request("a", turn)])
            assert isinstance(found, Answer)
            stack.close()
            (failed,) = image.segment([Request("b", turn)])
            assert isinstance(failed, Failure)
            assert failed.status == "error"
            assert f"the server at {address} is gone" in failed.message
            assert without_reasons(failed.message) == wording
            with served(port=int(address.rpartition(":")[2])):  # and it comes back, without the image
                (again,) = image.segment([Request("c", turn)])
            assert isinstance(again, Answer)
            assert again.update.voxels == found.update.voxels


DYING = """
import os
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.random_walker import RandomWalker


@dataclass(eq=False)
class Dying(RandomWalker):
    name = "dying"

    def segment_one(self, volume, request):
        asked = Path("asked.txt")
        asked.write_text(asked.read_text() + "x" if asked.exists() else "x")
        if asked.read_text() == "xx":
            os._exit(9)
        return super().segment_one(volume, request)
"""


def test_a_run_outlives_its_server_and_the_same_command_completes_it(data: Path) -> None:
    Path("dying.py").write_text(DYING)

    process = Process(command, "serve", "dying", "--plugin", "dying.py", "--port", "0")
    address = process.stdout.readline().split(" at ")[1].strip().rstrip("/")
    with pytest.warns(FailedSessions):
        found = intrabench.run(address, "point_interp:n=3", DATA, out="out")
    assert process.wait(120) == 9
    process.end()
    first, second = found.sort("target").select("status", "error").rows()
    assert first == ("ok", "")
    assert second[0] == "error"
    assert f"the server at {address} is gone" in second[1]
    registry.add_plugin(Path("dying.py"))
    with served("dying", port=int(address.rpartition(":")[2])):  # in this process, whose start is quick
        again = intrabench.run(address, "point_interp:n=3", DATA, out="out")
    assert again.sort("target")["status"].to_list() == ["ok", "ok"]


def test_a_lease_that_ended_is_claimed_again() -> None:
    turns, now = turns_of(points([INSIDE]), points([(6, 15, 20)])), [0.0]
    with ExitStack() as stack:
        address = stack.enter_context(served(sessions=1, sweep=0.02, clock=lambda: now[0]))
        image = stack.enter_context(remote(address).open(Volume.from_canonical(ball())))
        (first,) = image.segment([Request("a", turns[:1])])
        assert isinstance(first, Answer)
        now[0] = 1000
        until_free(address)
        (second,) = image.segment([Request("a", turns, first.update)])
        assert isinstance(second, Answer), second
    with served() as address, remote(address).open(Volume.from_canonical(ball())) as image:
        assert same(played(image, turns), [first.update, second.update])


def test_a_full_server_is_waited_for(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    from intrabench.progress import listen

    heard, waited = list[str](), list[float]()
    monkeypatch.setattr(nninteractive_server, "FULL_SECONDS", 0.01)
    with served(sessions=1) as address, ExitStack() as busy:
        busy.enter_context(client(address))
        real = nninteractive_server.time.sleep

        def sleep(seconds: float) -> None:
            waited.append(seconds)
            if len(waited) == 3:
                busy.close()
            real(0)

        monkeypatch.setattr(nninteractive_server.time, "sleep", sleep)
        with listen(lambda phase, what, about: heard.append(what)), remote(address).open(VOLUME) as image:
            monkeypatch.setattr(nninteractive_server.time, "sleep", real)
            assert image
    assert len(waited) == 3
    assert heard == wording


def test_a_server_that_stays_full_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nninteractive_server, "FULL_SECONDS", 0.01)
    monkeypatch.setattr(nninteractive_server, "PATIENCE_SECONDS", 0.0)
    with served(sessions=1) as address, client(address):
        opening = remote(address).open(VOLUME)
        with pytest.raises(IntraBenchError, match="fewer --workers"):
            opening.__enter__()


def test_another_model_at_the_same_address_is_another_version() -> None:
    with served() as address:
        assert registry.make("models", address).spec == f"nninteractive_server:url={address}"
        first = remote(address).version
        assert remote(address).version == first
    with served("random_walker:beta=50") as other:
        assert remote(other).version != first
    assert first.startswith("1/")


def test_info_describes_a_model_for_programs(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    about = json.loads(say("info", "random_walker:beta=50", "--json").out)
    assert about["spec"].startswith("random_walker:beta=50,")
    assert (about["version"], about["dims"], about["weights"], about["problem"]) == ("2", 3, None, None)
    assert about["accepts"] == ["box2d", "box3d", "point", "scribble"]
    assert about["parameters"]["beta"] == {"takes": wording, "default": "200", "value": "50"}
    assert about["units"]["spacing"] == "mm"
    weights = json.loads(say("info", "litemedsam", "--json").out)["weights"]
    assert (weights["id"], bool(weights["sha256"])) == ("lite_medsam", True)
    off = json.loads(say("info", "nninteractive_server:url=http://127.0.0.1:9", "--json").out)
    assert (off["version"], off["accepts"]) == (None, None)
    assert without_reasons(off["problem"]) == wording
    with served() as address:
        on = json.loads(say("info", f"nninteractive_server:url={address}", "--json").out)
    assert on["accepts"] == ["box2d", "box3d", "point", "scribble"]
    said = say("info", "dize", "--json")
    assert (said.code, said.err) == (2, wording)
