"""A model of ours behind the official client of nnInteractive: answers, turns, leases, and what is refused."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import httpx2
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.mask import Mask
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.people.servers.arrays import pack
from intrabench.prompts import box3d, boxes, points
from intrabench.registry import registry
from intrabench.turns import Click, Turn
from intrabench.volume import Volume
from tests.people.servers.serving import INSIDE, SHAPE, ball, client, served

BOX = ((6, 7), (10, 21), (11, 22))
SPACING = (2.5, 1.0, 1.0)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with served(spacing_mm=SPACING, sessions=4) as found:
        yield found


def answer(*turns: Any, mask: Mask | None = None, spacing: Sequence[float] = SPACING) -> np.ndarray:
    """What the model says to turns in a process of its own."""
    model, volume, given = registry.make("models", "random_walker"), Volume.from_canonical(ball(), spacing), []
    mask = mask or Mask.empty()
    for turn in turns:
        given.append(Turn(turn, (Click(),)))
        (found,) = model_answers(model, volume, Request("a", tuple(given), mask))
        mask = found.update
    return mask.to_array(SHAPE)


def model_answers(model: Any, volume: Volume, request: Request) -> list[Any]:
    with model.open(volume) as image:
        return image.segment([request])


def test_points_boxes_and_corrections_are_answered_as_in_a_run(address: str) -> None:
    with client(address) as session:
        changed = session.add_bbox_interaction(BOX, True)
        first = boxes({6: (10, 11, 21, 22)})
        assert np.array_equal(session.target_buffer, answer(first))
        assert changed == [[*map(int, bound)] for bound in bounds(session.target_buffer)]
        session.add_point_interaction(INSIDE, True)
        assert np.array_equal(session.target_buffer, answer(first, points([INSIDE])))
        session.add_point_interaction((1, 2, 2), False)
        assert np.array_equal(session.target_buffer, answer(first, points([INSIDE]), points([(1, 2, 2)], label=0)))
        session.reset_interactions()
        assert not session.target_buffer.any()
        session.add_bbox_interaction([[2, 11], [10, 21], [11, 22]], True)
        assert np.array_equal(session.target_buffer, answer(box3d((2, 10, 11, 11, 21, 22))))


def bounds(mask: np.ndarray) -> list[tuple[int, int]]:
    box = Mask.of(mask).box
    return [(box[axis], box[axis + 3]) for axis in range(3)]


def test_several_things_at_once_are_one_turn(address: str) -> None:
    with client(address) as session:
        assert session._predict() is None
        assert session.add_bbox_interaction(BOX, True, run_prediction=False) is None
        session.add_point_interaction((6, 2, 2), False, run_prediction=False)
        assert not session.target_buffer.any()
        assert session._predict() is not None
        both = boxes({6: (10, 11, 21, 22)})
        turn = type(both)(points=np.array([(6, 2, 2, 0)]), boxes2d=both.boxes2d)
        assert np.array_equal(session.target_buffer, answer(turn))


def test_undo_takes_one_thing_back(address: str) -> None:
    with client(address) as session:
        assert session.undo() is False
        session.add_point_interaction(INSIDE, True)
        before = session.target_buffer.copy()
        session.add_point_interaction((6, 15, 2), True)
        after = session.target_buffer.copy()
        assert not np.array_equal(before, after)
        assert session.undo() is True
        assert np.array_equal(session.target_buffer, before)
        assert session.undo() is False
        session.add_point_interaction((6, 15, 2), True)
        assert np.array_equal(session.target_buffer, after)


def test_a_target_may_begin_with_a_mask(address: str) -> None:
    mask = Mask.of(np.ones((5, 8, 8), bool), (4, 11, 12))
    with client(address) as session:
        session.add_initial_seg_interaction(mask.to_array(SHAPE).astype(np.uint8))
        session.add_point_interaction((6, 12, 13), False)
        found = session.target_buffer.copy()
    expected = answer(points([(6, 12, 13)], label=0), mask=mask)
    assert np.array_equal(found, expected)
    assert not np.array_equal(found, answer(points([(6, 12, 13)], label=0)))  # which does not know the mask


def test_the_client_may_know_the_spacing(address: str) -> None:
    thick, cube = answer(points([INSIDE]), spacing=(9.0, 9.0, 9.0)), answer(points([INSIDE]))
    assert not np.array_equal(thick, cube)
    with client(address) as session:
        session.set_image(ball()[None], {"spacing": np.array((9.0, 9.0, 9.0))})
        session.set_target_buffer(np.zeros(SHAPE, bool))
        session.add_point_interaction(INSIDE, True)
        assert np.array_equal(session.target_buffer, thick)
        assert session.target_buffer.dtype == bool
        session.set_image(ball()[None], {"spacing": ["wide", 1, 1]})
        session.set_target_buffer(np.zeros(SHAPE, np.int64))
        session.add_point_interaction(INSIDE, True)
        assert np.array_equal(session.target_buffer, cube)


def refused(call: Any, status: int = 400) -> str:
    import httpx

    with pytest.raises(httpx.HTTPStatusError) as found:
        call()
    assert found.value.response.status_code == status
    detail = str(found.value.response.json()["detail"])
    assert f"{status} {detail}" in str(found.value)  # what napari and 3D Slicer show
    return detail


def test_what_is_refused_changes_nothing(address: str, wording: SnapshotAssertion) -> None:
    with client(address) as session:
        session.add_point_interaction(INSIDE, True)
        before = session.target_buffer.copy()
        assert "outside of the image" in refused(lambda: session.add_point_interaction((99, 1, 1), True))
        assert "around background" in refused(lambda: session.add_bbox_interaction(BOX, False))
        painted = np.zeros((2, 2, 2), np.uint8)
        assert "was sent for" in refused(lambda: session.add_scribble_interaction(painted, True))
        wrong = np.zeros((3, 3, 3), np.uint8)
        assert "the image has" in refused(lambda: session._post_json("/set_target_buffer", {"shape": [3, 3, 3]}))
        assert refused(lambda: session._post_binary("/add_initial_seg_interaction", {}, pack(wrong))) == wording
        assert "no JSON object" in refused(lambda: session._post_json("/predict", []))  # type: ignore[arg-type]
        assert "NaN" in refused(lambda: session.set_image(np.full((1, 2, 3, 4), np.nan, np.float32)))
        assert session.undo() is True
        session.add_point_interaction(INSIDE, True)
        assert np.array_equal(session.target_buffer, before)


def test_boxes_across_the_slices_need_a_model_of_3d_boxes(wording: SnapshotAssertion) -> None:
    with served("grabcut") as address, client(address) as session:
        assert refused(lambda: session.add_bbox_interaction([[2, 11], [15, 16], [11, 22]], True)) == wording
        assert session.supported_interactions["scribble"]  # which is converted


def test_prompts_are_converted_as_in_a_run(wording: SnapshotAssertion) -> None:
    """box_fill takes boxes only: a first click is refused, a later one becomes the box around mask and click."""
    with served("box_fill") as address, client(address) as session:
        assert refused(lambda: session.add_point_interaction(INSIDE, True)) == wording
        session.add_bbox_interaction(BOX, True)
        assert session.target_buffer.sum() == 11 * 11
        session.add_point_interaction((6, 25, 16), True)
        assert bounds(session.target_buffer) == [(6, 7), (10, 26), (11, 22)]
        painted = np.ones((1, 1, 8), np.uint8)
        session.add_scribble_interaction(painted, True, interaction_bbox=[[6, 7], [26, 27], [20, 28]])
        assert bounds(session.target_buffer) == [(6, 7), (10, 27), (11, 28)]


def test_it_says_what_it_is(address: str) -> None:
    about = httpx2.get(f"{address}/capabilities").json()
    assert about["inference_session_version"].startswith("2.")
    assert about["intrabench"]["spec"].startswith("random_walker:")
    assert about["intrabench"]["accepts"] == ["box2d", "box3d", "point", "scribble"]
    assert about["supported_interactions"]["lasso"]
    assert httpx2.get(f"{address}/healthz").json() == {"ok": True}


def test_two_clients_at_once_do_not_meet(address: str) -> None:
    dark = -ball()
    with client(address) as one, client(address, dark) as other:
        found = dict[str, np.ndarray]()

        def prompt(name: str, session: Any, at: Any) -> None:
            for _ in range(3):
                session.reset_interactions()
                session.add_point_interaction(at, True)
            found[name] = session.target_buffer.copy()

        threads = [
            threading.Thread(target=prompt, args=("one", one, INSIDE)),
            threading.Thread(target=prompt, args=("other", other, (2, 4, 4))),
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert np.array_equal(found["one"], answer(points([INSIDE])))
        assert not np.array_equal(found["one"], found["other"])


@dataclass(eq=False)
class Slow(VolumeModel):
    """Notes whether two requests overlap; answers when it is over."""

    name = "slow"
    accepts = frozenset({"point"})

    def __post_init__(self) -> None:
        self.now, self.most, self.opened = 0, 0, 0
        self.begun, self.over = threading.Event(), threading.Event()

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        self.now += 1
        self.most = max(self.most, self.now)
        self.begun.set()
        assert self.over.wait(60)
        self.now -= 1
        if request.turns[-1].prompts.points[0, 3] == 0:
            raise RuntimeError("no background, please")
        return Answer(Mask.of(np.ones((2, 2, 2), bool), (1, 2, 3)))


def test_one_prediction_at_a_time_while_leases_are_kept(wording: SnapshotAssertion) -> None:
    model = Slow()
    with served(model) as address, client(address) as one, client(address) as other:
        threads = [
            threading.Thread(target=session.add_point_interaction, args=(INSIDE, True)) for session in (one, other)
        ]
        for thread in threads:
            thread.start()
        assert model.begun.wait(60)
        time.sleep(0.2)  # the other would be predicted meanwhile
        assert one.heartbeat() > 0  # it does not wait for predictions
        assert model.now == 1
        model.over.set()
        for thread in threads:
            thread.join()
        assert model.most == 1
        assert one.target_buffer.sum() == other.target_buffer.sum() == 8
        told = refused(lambda: one.add_point_interaction(INSIDE, False), 500)
        assert told == wording
        assert one.target_buffer.sum() == 8


def test_more_clients_than_places_are_told_to_wait(wording: SnapshotAssertion) -> None:
    from nnInteractive.inference.remote import ServerAtCapacityError, nnInteractiveRemoteInferenceSession

    with served(sessions=1) as address, client(address):
        with pytest.raises(ServerAtCapacityError) as caught:
            nnInteractiveRemoteInferenceSession(address)
        assert caught == wording
        assert httpx2.post(f"{address}/claim").headers["Retry-After"] == "10"


def test_a_lease_ends_in_silence_and_its_place_is_free() -> None:
    from nnInteractive.inference.remote import SessionExpiredError

    now = [0.0]
    with served(sessions=1, sweep=0.02, clock=lambda: now[0]) as address:
        with client(address) as session:
            now[0] = 59
            assert session.lease_status()["remaining_seconds"] == 541
            session.heartbeat()
            now[0] = 118
            session.add_point_interaction(INSIDE, True)
            now[0] = 179
            until_free(address)
            with pytest.raises(SessionExpiredError, match="has ended"):
                session.add_point_interaction(INSIDE, True)
        with client(address):
            pass


def until_free(address: str) -> None:
    """Wait until somebody else could have the place, and give it back."""
    until = time.monotonic() + 120
    while (found := httpx2.post(f"{address}/claim")).status_code != 200:
        assert time.monotonic() < until
        time.sleep(0.01)
    httpx2.post(f"{address}/release", headers={"X-Lease-Token": found.json()["lease_token"]})


def test_a_lease_can_be_given_back_and_asked_about(address: str) -> None:
    token = httpx2.post(f"{address}/claim").json()["lease_token"]
    headers = {"X-Lease-Token": token}
    assert httpx2.get(f"{address}/lease_status", headers=headers).json()["idle_timeout_seconds"] == 600
    assert httpx2.post(f"{address}/reset_interactions", headers=headers).status_code == 400  # no image yet
    assert httpx2.post(f"{address}/release", headers=headers).json() == {"released": True}
    assert httpx2.post(f"{address}/release", headers=headers).json() == {"released": True}
    assert httpx2.get(f"{address}/lease_status", headers=headers).status_code == 410
    assert httpx2.post(f"{address}/predict").status_code == 410


def test_a_token_is_wanted_where_there_is_one() -> None:
    with served(token="secret") as address:
        assert httpx2.get(f"{address}/healthz").status_code == 200
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": "secret"}):
            found = httpx2.get(f"{address}/capabilities", headers=headers)
            assert (found.status_code, "token" in found.json()["detail"]) == (401, True)
            assert httpx2.post(f"{address}/claim", headers=headers).status_code == 401
        with client(address, token="secret") as session:
            session.add_point_interaction(INSIDE, True)
            assert session.target_buffer.any()


def test_other_sites_and_other_names_may_not_ask(address: str) -> None:
    assert httpx2.get(f"{address}/capabilities", headers={"Origin": "http://evil.example"}).status_code == 403
    assert httpx2.get(f"{address}/capabilities", headers={"Host": "evil.example"}).status_code == 421


def test_sizes_are_checked_before_anything_is_read() -> None:
    import struct

    with served(most=10_000) as address:
        headers = {"X-Lease-Token": httpx2.post(f"{address}/claim").json()["lease_token"]}
        bomb = struct.pack("<4sBBBB", b"NNIA", 1, 1, 4, 5) + b"uint8" + struct.pack("<4q", 1, 10**4, 10**4, 10**4)
        found = httpx2.post(f"{address}/set_image", content=bomb, headers=headers)
        assert (found.status_code, "1000000000000 bytes was sent" in found.json()["detail"]) == (413, True)
        large = json.dumps({"coordinates": [1] * 50_000}).encode()
        assert httpx2.post(f"{address}/add_point_interaction", content=large, headers=headers).status_code == 413
        too_long = httpx2.post(f"{address}/set_image", content=b"x" * (2**20 + 10_001), headers=headers)
        assert too_long.status_code == 413
        assert httpx2.post(f"{address}/set_image", content=iter([b"NNIA"]), headers=headers).status_code == 400
