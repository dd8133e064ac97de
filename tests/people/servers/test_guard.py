"""What all our servers refuse before an app sees it: bodies, headers, connections; asked through bare sockets."""

from __future__ import annotations

import resource
import socket
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import httpx2
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.engine.progress.reporter import Quiet
from intrabench.errors import IntraBenchError
from intrabench.people.annotating import server as annotating
from intrabench.people.annotating.annotation import Annotation
from intrabench.people.recording import proxy
from intrabench.people.servers import connections, guard
from intrabench.people.servers.arrays import pack
from intrabench.people.servers.client_gestures import gesture
from intrabench.people.servers.run_server import serve
from intrabench.play.validate import Refused
from tests.people.servers.serving import HOSTS, running, served
from tests.processes import Process, command
from tests.wording import without_reasons

PIECE = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
PATHS = {
    "serve": ("healthz", "capabilities", "lease_status", "claim", "set_image", "predict", "nothing"),
    "record": ("healthz", "capabilities", "lease_status", "claim", "set_image", "undo", "nothing"),
    "annotate": (
        "",
        "api/annotation",
        "api/case/x",
        "api/image/x/0",
        "api/task/x",
        "api/turn",
        "api/undo",
        "api/finish",
        "api/reopen",
        "nothing",
    ),
    "rate": ("", "api/study", "api/job/x", "api/image/x/0", "api/answers", "api/undo", "api/trained", "nothing"),
}


@contextmanager
def connected(address: str, source: str = "127.0.0.1") -> Iterator[socket.socket]:
    host, port = address.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), 60, (source, 0)) as found:
        yield found


def head(path: str, method: str = "GET", **headers: str) -> bytes:
    lines = {"Host": "127.0.0.1", **{name.replace("_", "-"): value for name, value in headers.items()}}
    return "\r\n".join([f"{method} /{path} HTTP/1.1", *map(": ".join, lines.items()), "", ""]).encode("latin-1")


def told(address: str, *parts: bytes, most: int = 200) -> tuple[int, int, bytes]:
    """The status, how many of the parts could be sent, and all that was answered; the last part is sent on and on."""
    sent, answer = 0, b""
    with connected(address) as connection:
        with suppress(OSError):
            for part in parts:
                connection.sendall(part)
            while len(parts) > 1 and sent < most:
                connection.sendall(parts[-1])
                sent += 1
        with suppress(OSError):
            while found := connection.recv(2**16):
                answer += found
                if len(parts) == 1:
                    break
    return int(answer[9:12] or 0), sent, answer


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The address of each of our servers, with tokens; that of ratings is asked in `tests/people/rating`."""
    folder = tmp_path_factory.mktemp("guarded")
    given = {"model": ["box_fill"], "dataset": ["phantom:shape=8x16x16,instances=1"], "protocol": "basic@1"}
    with pytest.MonkeyPatch.context() as patch, ExitStack() as stack:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        annotation = stack.enter_context(Annotation(given, folder / "out", Quiet()))
        behind = stack.enter_context(served("box_fill"))
        yield {
            "serve": stack.enter_context(served("box_fill", token="secret")),
            "record": stack.enter_context(
                running(proxy.make_app(proxy.Upstream(behind, folder / "out", "r1"), "secret", HOSTS))
            ),
            "annotate": stack.enter_context(
                running(annotating.make_app(annotation, {"r1": "secret"}, HOSTS, "Annotation"))
            ),
        }


@pytest.fixture(scope="module")
def opened() -> Iterator[httpx2.Client]:
    """Who has a lease and an image of 8 x 8 x 8 voxels."""
    with served("box_fill") as address:
        lease = {"X-Lease-Token": httpx2.post(f"{address}/claim").json()["lease_token"]}
        with httpx2.Client(base_url=address, headers=lease) as found:
            assert found.post("set_image", content=pack(np.zeros((1, 8, 8, 8), np.uint8))).status_code == 200
            yield found


@pytest.mark.parametrize("name", ["serve", "record", "annotate"])
def test_bodies_are_cut_on_every_path_without_a_token(servers: dict[str, str], name: str) -> None:
    """13 MB are offered in pieces; what fits into the buffers of the system may be sent, and no more."""
    check_bodies(servers[name], PATHS[name])


def check_bodies(address: str, paths: Iterable[str]) -> None:
    """No path takes a body with a method that has none, or without a token."""
    for path in paths:
        for method in ("GET", "HEAD", "OPTIONS", "DELETE"):
            status, sent, _ = told(address, head(path, method, Transfer_Encoding="chunked"), PIECE)
            assert (status, sent < 200) == (413, True), (path, method)
        assert told(address, head(path, Content_Length="5") + b"12345")[0] == 413
        assert told(address, head(path, Content_Length="0"))[0] in (200, 401, 404)
        status, sent, _ = told(address, head(path, "POST", Transfer_Encoding="chunked"), PIECE)
        assert (status, sent < 200) == (401, True), path


@pytest.mark.parametrize("path", ["claim", "predict"])
def test_bytes_are_counted_as_they_arrive(servers: dict[str, str], path: str) -> None:
    headers = {"Transfer_Encoding": "chunked", "Authorization": "Bearer secret"}
    status, sent, _ = told(servers["serve"], head(path, "POST", **headers), PIECE)
    assert (status, sent < 200) == (413, True)
    small = head("claim", "POST", **headers) + b"1\r\n{\r\n"
    with connected(servers["serve"]) as connection:
        for part in (small, b"1\r\n}\r\n", b"0\r\n\r\n"):
            connection.sendall(part)
            time.sleep(0.05)
        assert connection.recv(2**16).startswith(b"HTTP/1.1 200")


def test_arrays_in_pieces_are_counted_too() -> None:
    """A body that is read while it comes: its app is told that the client is gone, the client why."""
    with served("box_fill", most=10_000) as address:
        lease = httpx2.post(f"{address}/claim").json()["lease_token"]
        image = pack(np.zeros((1, 4, 8, 8), np.uint8))
        found = httpx2.post(f"{address}/set_image", content=iter([image]), headers={"X-Lease-Token": lease})
        assert found.json() == {"original_image_shape": [1, 4, 8, 8]}
        headers = {"Transfer_Encoding": "chunked", "X_Lease_Token": lease}
        first = b"%x\r\n%s\r\n" % (len(image), image)
        status, sent, answer = told(address, head("set_image", "POST", **headers), first, PIECE)
        assert (status, sent < 200, b"at most" in answer) == (413, True, True)


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Host": "[::1"}, 421),
        ({"Host": "[x]y"}, 421),
        ({"Host": "\xff"}, 421),
        ({"Host": ""}, 421),
        ({"Host": "127.0.0.1@evil"}, 421),
        ({"Origin": "http://[bad"}, 403),
        ({"Origin": "//[x]y"}, 403),
        ({"Origin": "\xff"}, 403),
        ({"Authorization": "Bearer \xff"}, 401),
        ({"Authorization": ""}, 401),
        ({"Content_Length": "9" * 5000}, 400),
        ({"Content_Length": "-1"}, 400),
        ({"Cookie": "\xff=[", "Range": "bytes=9-1,x", "Content_Type": ";;\xff", "Authorization": "Bearer secret"}, 200),
        ({"X": "y" * 400_000}, 400),
        ({"Connection": "Upgrade", "Upgrade": "websocket", "Authorization": "Bearer secret"}, 200),
    ],
)
def test_headers_that_are_none_are_refused(servers: dict[str, str], headers: dict[str, str], status: int) -> None:
    for name, path in (("serve", "capabilities"), ("record", "capabilities"), ("annotate", "api/annotation")):
        found, _, answer = told(servers[name], head(path, **headers))
        assert found == status, (name, answer)


def test_paths_that_are_none_are_not_found(servers: dict[str, str]) -> None:
    for path in ("%ff", "%00", "api/image/%00/%ff", "api/task/%ed%a0%80", "api/image/x/" + "9" * 5000):
        for name in servers:
            assert told(servers[name], head(path, Authorization="Bearer secret"))[0] in (404, 422), (name, path)


NESTED = b"[" * 30_000


@pytest.mark.parametrize(
    "sent",
    [
        NESTED,
        b'{"a":' * 10_000,
        b"\xff\xfe",
        b"nothing",
        b"[]",
        b'{"coordinates": [1e400, 0, 0], "include_interaction": true}',
        b'{"coordinates": [' + b"9" * 4000 + b', 0, 0], "include_interaction": true}',
        b'{"coordinates": {"a": 1}, "include_interaction": true}',
        b'{"coordinates": [true, null, "x"], "include_interaction": true}',
        b'{"coordinates": [1, 1, 1], "include_interaction": "\\ud800"}',
        b'{"shape": [8, 8, 8], "dtype": []}',
        b'{"shape": "\\ud800", "dtype": {}}',
        b'{"bbox_coords": [[0, 1], [0], {}], "include_interaction": true}',
    ],
)
def test_json_that_is_none_is_refused(opened: httpx2.Client, sent: bytes) -> None:
    for path in ("add_point_interaction", "add_bbox_interaction", "set_target_buffer"):
        found = opened.post(path, content=sent)
        assert (found.status_code, "\n" in found.json()["detail"]) == (400, False), (path, found.text)


def test_a_mask_may_be_no_larger_than_its_image(opened: httpx2.Client) -> None:
    """It is refused by its header: a few bytes could become as much memory as an image may take."""
    large = pack(np.zeros((100, 100, 100), np.uint8))
    for path in ("add_scribble_interaction", "add_lasso_interaction", "add_initial_seg_interaction"):
        found = opened.post(path, content=large)
        assert (found.status_code, "1000000 bytes was sent" in found.json()["detail"]) == (413, True), found.text


def test_slow_headers_and_bodies_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    monkeypatch.setattr(connections, "LOOK", 0.02)
    monkeypatch.setattr(guard, "PATIENCE", 0.3)
    with served("box_fill") as address, connected(address) as half, connected(address) as slow:
        slow.sendall(head("claim", "POST", Content_Length="1000") + b"x")
        with suppress(OSError):
            for _ in range(200):  # a byte now and then does not help
                half.sendall(b"G")
                time.sleep(0.01)
        with suppress(ConnectionError):
            assert half.recv(100) == b""
        assert slow.recv(2**16).startswith(b"HTTP/1.1 408")
        with connected(address) as unread:
            unread.sendall(head("nothing", "POST", Content_Length="1000", Host="elsewhere"))
            sent = 0
            with suppress(OSError):
                while sent < 200:  # nor where the body is not read, but thrown away
                    unread.sendall(b"x")
                    sent += 1
                    time.sleep(0.01)
            assert sent < 200
        with httpx2.Client() as kept:  # of a connection that is used again and again nothing is counted together
            for _ in range(40):
                assert kept.get(f"{address}/healthz").status_code == 200
                time.sleep(0.01)


def test_who_does_not_read_on_is_let_go(monkeypatch: pytest.MonkeyPatch) -> None:
    from starlette.responses import Response

    monkeypatch.setattr(connections, "PATIENCE", 0.3)
    monkeypatch.setattr(connections, "LOOK", 0.02)
    with running(Response(b"x" * 2**25)) as address:
        for pause in (0.8, 8, 80):  # a slow machine comes to it later
            with connected(address) as lazy:
                lazy.sendall(head(""))
                time.sleep(pause)
                found = 0
                with suppress(ConnectionError):
                    while piece := lazy.recv(2**20):
                        found += len(piece)
            if found < 2**25:
                return
    raise AssertionError("all of it was sent")


def limited(*words: str) -> None:
    """`intrabench` with few descriptors."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))
    command(*words)


def test_half_requests_lock_nobody_else_out() -> None:
    process = Process(limited, "serve", "box_fill", "--port", "0")
    try:
        address = process.stdout.readline().split(" at ")[1].strip().rstrip("/")
        with ExitStack() as stack:
            halves = [stack.enter_context(connected(address)) for _ in range(300)]
            for half in halves:
                with suppress(OSError):
                    half.sendall(b"GET /healthz HTTP/1.1\r\n")
            began = time.monotonic()
            with connected(address, "127.0.0.2") as other:
                other.sendall(head("healthz"))
                assert other.recv(2**16).startswith(b"HTTP/1.1 200")
            assert time.monotonic() - began < guard.PATIENCE
            refused = 0
            for half in halves:
                half.settimeout(0.001)
                with suppress(TimeoutError, ConnectionError):
                    refused += half.recv(100).startswith(b"HTTP/1.1 503")
            assert refused >= 300 - connections.EACH - 1
    finally:
        process.end()


@pytest.mark.parametrize("size", [(20, 60, 60), (1, 200, 200)])
def test_noise_is_no_stroke(size: tuple[int, int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*_: Any) -> Any:
        raise AssertionError("it was thinned")

    monkeypatch.setattr("intrabench.people.servers.client_gestures.thinned", never)
    noise = np.random.default_rng(0).random(size) < 0.5
    dots = np.zeros(size, bool)
    dots[:, ::2, ::2] = True  # which touch nothing and enclose nothing
    for painted in (noise, dots):
        with pytest.raises(Refused, match="holes and separate parts"):
            gesture("scribble", {"include_interaction": True}, painted, size)


def test_what_is_too_large_is_no_stroke_and_no_loop(wording: SnapshotAssertion) -> None:
    yes, solid = {"include_interaction": True}, np.ones((1, 400, 400), bool)
    with pytest.raises(Refused) as caught:
        gesture("scribble", yes, solid, solid.shape)
    assert caught == wording
    comb = np.zeros((1, 200, 400), bool)
    comb[0, :, ::2] = comb[0, 0] = True
    with pytest.raises(Refused) as caught:
        gesture("lasso", yes, comb, comb.shape)
    assert caught == wording


@pytest.mark.parametrize(
    ("host", "port"),
    [
        ("127.0.0.1", 99999),
        ("127.0.0.1", -1),
        ("", 0),
        ("a" * 70 + ".b", 0),
        ("192.0.2.1", 0),
    ],
)
def test_what_is_no_address_is_refused(host: str, port: int, wording: SnapshotAssertion) -> None:
    """In one place, for all commands that serve."""

    def never(_: Any) -> Any:
        raise AssertionError("it was made")

    with pytest.raises(IntraBenchError) as caught:
        serve(never, host, port, never)
    assert without_reasons(str(caught.value)) == wording


def test_a_reserve_of_descriptors_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (256, 256))
    assert connections.LEAST < connections.room() < 256 - connections.BACKLOG - connections.RESERVE
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    assert connections.room() == connections.LEAST
    monkeypatch.setattr(resource, "getrlimit", lambda _: (resource.RLIM_INFINITY,) * 2)
    assert connections.room() == connections.MOST
    assert [connections.Configuration(None, most).each for most in (40, 1000)] == [20, connections.EACH]
