"""Fetching weights from a local server: sources in turn, resumed, checked, and never half a file."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.fetch import places
from intrabench.models.weights.fetch import fetch
from intrabench.models.weights.registry import locate, pin
from tests.conftest import Said
from tests.models.conftest import Own
from tests.server import Server, answer, the_rest_of

BODY = b"PK\x03\x04" + bytes(range(256)) * 5000
SHA256 = hashlib.sha256(BODY).hexdigest()
PAGE = b"<!DOCTYPE html><title>Quota exceeded</title>"
pytestmark = pytest.mark.usefixtures("pauses")


@pytest.fixture(autouse=True)
def hosts(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """The hosts of hf and gdrive, on this machine."""
    here = {"hf": "/{repository}/resolve/{revision}/{path}", "gdrive": "/download?id={id}"}
    monkeypatch.setattr(places, "HOSTS", {kind: server.root + place for kind, place in here.items()})


def files(folder: Path) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def refusal(id: str) -> str:
    with pytest.raises(IntraBenchError) as caught:
        fetch(id)
    return str(caught.value)


def test_sources_are_tried_in_turn_and_the_one_that_worked_is_recorded(own: Own, folder: Path, server: Server) -> None:
    own(sources=(f"{server.root}/own.pth", "gdrive:0a1b", "hf:own/net@c0de/own.pth", f"{server.root}/never.pth"))
    server.answers = [answer(404), answer(body=PAGE), answer(body=BODY)]
    seen: list[tuple[int, int | None]] = []
    assert fetch("own", lambda done, total: seen.append((done, total))) == folder / "own.pth"
    assert server.paths == ["/own.pth", "/download?id=0a1b", "/own/net/resolve/c0de/own.pth"]
    assert (folder / "own.pth").read_bytes() == BODY
    recorded = json.loads((folder / "own.pth.json").read_text())
    assert recorded["checksum"] == f"sha256:{SHA256}"
    assert recorded["source"] == f"{server.root}/own/net/resolve/c0de/own.pth"
    assert files(folder) == ["own.pth", "own.pth.json"]
    assert seen[-1] == (len(BODY), len(BODY))


def test_a_package_that_is_not_installed_is_passed_over(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    package = "package:thing==1.2/no_such_module/own.pth"
    own(sources=(package, f"{server.root}/own.pth"), extra="thing", sha256=SHA256)
    server.answers = [answer(body=BODY)]
    assert fetch("own") == folder / "own.pth"
    assert server.paths == ["/own.pth"]
    own("packaged", file="packaged.pth", sources=(package,), extra="thing")
    assert refusal("packaged") == wording


def test_a_broken_transfer_is_resumed(own: Own, folder: Path, server: Server, pauses: list[float]) -> None:
    own(sources=(f"{server.root}/own.pth",), sha256=SHA256)
    server.answers = [answer(body=BODY[:1000], claimed=len(BODY)), the_rest_of(BODY)]
    assert fetch("own").read_bytes() == BODY
    assert server.requests[1]["Range"] == "bytes=1000-"
    assert pauses == [1.0]


def test_what_one_run_could_not_finish_the_next_goes_on_with(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    own(sources=(f"{server.root}/own.pth",), sha256=SHA256)
    server.answers = [answer(body=BODY[:1000], claimed=len(BODY)), answer(503)]
    assert refusal("own") == wording
    assert files(folder) == ["own.pth.part"]
    server.answers = [the_rest_of(BODY)]
    assert fetch("own").read_bytes() == BODY
    assert server.requests[-1]["Range"] == "bytes=1000-"


def test_pieces_of_two_sources_are_never_joined(own: Own, folder: Path, server: Server) -> None:
    own(sources=(f"{server.root}/own.pth", f"{server.root}/mirror.pth"))
    other = BODY[:4] + BODY[4:][::-1]

    def mirror(handler: object) -> None:
        whole = "Range" not in handler.headers  # type: ignore[attr-defined]
        (answer(body=other) if whole else the_rest_of(other))(handler)  # type: ignore[arg-type]

    server.answers = [answer(body=BODY[:1000], claimed=len(BODY)), *[answer(503)] * 4, mirror]
    assert fetch("own").read_bytes() == other


def test_another_file_than_the_published_is_refused_and_thrown_away(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    own(sources=(f"{server.root}/own.pth",), sha256=SHA256)
    server.answers = [answer(body=BODY + b"more")]
    hashlib.sha256(BODY + b"more").hexdigest()
    assert refusal("own") == wording
    assert files(folder) == []


@pytest.mark.parametrize("published", [True, False])
def test_a_web_page_is_no_checkpoint(own: Own, folder: Path, server: Server, published: bool) -> None:
    own(sources=("gdrive:0a1b",), sha256=SHA256 if published else "")
    server.answers = [answer(body=PAGE)]
    said = refusal("own")
    reason = f"expected {SHA256}" if published else "is a web page or another file that is not a checkpoint"
    assert reason in said
    assert files(folder) == []


@pytest.mark.parametrize("begin", [b"PK\x03\x04zip", b"\x80\x02pickle", b'{"a": 1}', bytes(8) + b'{"safetensors"'])
def test_whatever_begins_like_weights_is_taken(own: Own, folder: Path, server: Server, begin: bytes) -> None:
    own(sources=(f"{server.root}/own.pth",))
    server.answers = [answer(body=begin)]
    assert fetch("own").read_bytes() == begin


def test_when_nothing_can_be_reached_one_message_says_all(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    own(sources=("https://127.0.0.1:9/own.pth", "gdrive:0a1b"), pages=("https://a.org", "https://b.org"))
    server.answers = [answer(404)]
    assert refusal("own") == wording
    assert files(folder) == []


def test_a_file_that_is_here_is_checked_and_not_asked_for(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    own(sources=(f"{server.root}/own.pth",), sha256=SHA256)
    (folder / "own.pth").write_bytes(BODY)
    assert fetch("own") == folder / "own.pth"
    (folder / "own.pth").write_bytes(b"other")
    assert refusal("own") == wording
    assert server.requests == []


def test_where_nothing_is_published_the_first_download_counts(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    own(sources=(f"{server.root}/own.pth",))
    other = b"PK\x03\x04another file"
    server.answers = [answer(body=BODY), answer(body=other), answer(body=BODY), answer(body=other)]
    assert pin("own") == wording
    fetch("own")
    assert f"sha256 {SHA256}, in {folder / 'own.pth.json'}" in pin("own")
    (folder / "own.pth").unlink()
    said = refusal("own")
    assert f"the first download had {SHA256}" in said
    assert said == wording
    assert files(folder) == ["own.pth.json"]
    fetch("own")  # the first one again
    (folder / "own.pth").unlink()
    (folder / "own.pth.json").unlink()
    assert fetch("own").read_bytes() == other


def test_members_that_nobody_publishes_must_stay_as_they_first_were(
    own: Own, folder: Path, server: Server, wording: SnapshotAssertion
) -> None:
    own(file="net", sources=("hf:own/net@c0de/v1",), members={"plans.json": MEMBERS["plans.json"], "net.pth": ""})
    server.answers = [answer(body=PLANS), answer(body=BODY), answer(body=b"PK\x03\x04another file")]
    fetch("own")
    assert files(folder) == ["net.json", "net/net.pth", "net/plans.json"]  # the record is no member of the folder
    (folder / "net" / "net.pth").unlink()
    assert "the first download had" in refusal("own")
    assert files(folder) == ["net.json", "net/plans.json"]
    (folder / "net" / "net.pth").write_bytes(b"PK\x03\x04by hand")
    with pytest.raises(IntraBenchError) as caught:
        locate("own")
    assert caught == wording


PLANS = b'{"plans": 1}'
MEMBERS = {"plans.json": hashlib.sha256(PLANS).hexdigest(), "fold_0/net.pth": SHA256}


def test_a_folder_is_fetched_member_by_member(own: Own, folder: Path, server: Server) -> None:
    own(file="net", sources=("hf:own/net@c0de/v1",), members=MEMBERS)
    server.answers = [answer(body=PLANS), answer(body=BODY)]
    assert fetch("own") == folder / "net"
    assert server.paths == ["/own/net/resolve/c0de/v1/plans.json", "/own/net/resolve/c0de/v1/fold_0/net.pth"]
    assert (folder / "net" / "fold_0" / "net.pth").read_bytes() == BODY
    assert files(folder) == ["net/fold_0/net.pth", "net/plans.json"]
    assert fetch("own") == folder / "net"
    assert len(server.requests) == 2


def test_a_member_of_another_sha256_is_refused(own: Own, folder: Path, server: Server) -> None:
    own(file="net", sources=("hf:own/net@c0de/v1",), members=MEMBERS)
    server.answers = [answer(body=PLANS), answer(body=PLANS)]
    assert f"net.pth arrived with sha256 {MEMBERS['plans.json']}, expected {SHA256}" in refusal("own")
    assert files(folder) == ["net/plans.json"]


def test_a_folder_that_broke_off_is_completed_by_the_next_run(own: Own, folder: Path, server: Server) -> None:
    own(file="net", sources=("hf:own/net@c0de/v1",), members=MEMBERS)
    server.answers = [answer(body=PLANS), answer(404)]
    refusal("own")
    server.answers = [answer(body=BODY)]
    fetch("own")
    assert server.paths[-1] == "/own/net/resolve/c0de/v1/fold_0/net.pth"
    assert (folder / "net" / "fold_0" / "net.pth").read_bytes() == BODY


def test_the_command_says_the_licence_and_where_the_file_is(
    own: Own, folder: Path, server: Server, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    own(sources=(f"{server.root}/own.pth",), licence="CC-BY-NC-4.0 (not for sale)")
    server.answers = [answer(body=BODY)]
    said = say("weights", "get", "own")
    assert (said.code, said.out) == (0, f"own: {folder / 'own.pth'}\n")
    assert "1.3 of 1.3 MB" in said.err
    assert said.err == wording


def test_the_command_goes_on_after_a_failure_and_ends_with_1(
    own: Own, folder: Path, server: Server, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    own("gone", file="gone.pth", sources=(f"{server.root}/gone.pth",), licence="one")
    own(sources=(f"{server.root}/own.pth",), licence="two")
    server.answers = [answer(404), answer(body=BODY)]
    said = say("weights", "get", "gone", "own")
    assert (said.code, said.out) == (1, f"own: {folder / 'own.pth'}\n")
    assert said.err == wording
    assert "\nown: licence two\n" in said.err
    unknown = say("weights", "get", "own", "owm")
    assert (unknown.code, unknown.out) == (2, "")
    assert unknown.err == wording


def test_the_other_commands(own: Own, folder: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    own(sha256=SHA256)
    listed = next(line for line in json.loads(say("weights", "list", "--json").out) if line["id"] == "own")
    assert listed["here"] == wording
    absent = say("weights", "path", "own")
    assert (absent.code, absent.out) == (2, "")
    assert absent.err == wording
    (folder / "own.pth").write_bytes(BODY)
    assert say("weights", "path", "own").out == f"{folder / 'own.pth'}\n"
    line = f"own: {folder / 'own.pth'}: sha256 {SHA256}, as published\n"
    assert (say("weights", "verify", "own").out, line in say("weights", "verify").out) == (line, True)
    (folder / "own.pth").write_bytes(b"changed")
    changed = say("weights", "verify")
    assert (changed.code, changed.err) == (1, wording)
    assert [line.split() for line in say("weights", "list").out.splitlines() if line.startswith("own ")] == [
        ["own", "7", "MB", "here", "own.pth", "MIT"]
    ]
