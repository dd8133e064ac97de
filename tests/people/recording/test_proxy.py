"""Recording: the official client, our proxy, a server; and what was recorded, given to other models."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx2
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.mask import Mask
from intrabench.people.recording.proxy import Upstream, make_app
from intrabench.people.recording.recordings import folder_of, read_recordings
from intrabench.prompters.recorded import aims
from intrabench.prompts import Lasso, Prompts, Scribble, box3d, boxes, points
from intrabench.registry import registry
from tests.conftest import Said, make_target
from tests.models.nninteractive_folder import write_folder
from tests.people.servers.serving import HOSTS, INSIDE, ball, client, official, running, served
from tests.wording import without_reasons

DATA = "phantom:shape=16x40x44,spacing=3x1x1,instances=2"


@contextmanager
def recording(upstream: str, folder: Path, token: str | None = None, wanted: str | None = None) -> Iterator[str]:
    """token: that clients give. wanted: that the server behind wants."""
    with running(make_app(Upstream(upstream, folder, "ab", wanted), token, HOSTS)) as address:
        yield address


@pytest.fixture
def case(data: Path) -> Any:
    """An opened case of the data set: its scan and its targets."""
    dataset = registry.make("datasets", DATA)
    store.prepare(dataset, dataset.cases()[0])
    return store.open_case(dataset, dataset.cases()[0])


def middle(mask: Mask) -> tuple[int, int, int]:
    at = mask.coordinates()
    z, y, x = at[np.abs(at - at.mean(axis=0)).sum(axis=1).argmin()].tolist()
    return z, y, x


def test_client_proxy_server_and_what_was_given_is_given_again(case: Any) -> None:
    """The client's program turned the axes: its array is x, y, z, with y to the other side, in double precision."""
    ours, depth = case.volume.array, case.volume.shape
    theirs = np.ascontiguousarray(ours.transpose(2, 1, 0)[:, ::-1].astype(np.float64))

    def at(voxel: tuple[int, int, int]) -> tuple[int, int, int]:
        z, y, x = voxel
        return x, depth[1] - 1 - y, z

    out, masks = Path("out"), []
    with ExitStack() as stack:
        behind = stack.enter_context(served(spacing_mm=(1, 1, 3)))
        proxy = stack.enter_context(recording(behind, out))
        session, direct = (stack.enter_context(client(address, theirs)) for address in (proxy, behind))
        for target in case.targets():
            first, second = middle(target.mask), target.mask.coordinates()[0].tolist()
            for one in (session, direct):
                one.reset_interactions()
                one.add_point_interaction(at(first), True)
                one.add_point_interaction((0, 0, 0), False)
                one.undo()
                one.add_point_interaction(at(tuple(second)), True)
            assert np.array_equal(session.target_buffer, direct.target_buffer)  # everything is passed on
            masks.append(session.target_buffer.transpose(2, 1, 0)[:, ::-1] > 0)
    found = read_recordings(out)
    assert [(one.rater, one.upstream, len(one.turns)) for one in found] == [("ab", behind, 2)] * 2

    dataset = intrabench.run("box_fill", "box_volume", DATA, cases=["first:1"], out="other")["target"].to_list()
    rows = intrabench.run(
        "random_walker", "recorded:out", DATA, cases=["first:1"], out="again", rounds=5, save_masks=True
    )
    assert sorted(set(rows["target"])) == sorted(set(dataset))
    assert set(rows["status"]) <= {"ok", "empty"}
    from intrabench.results.masks import read_masks
    from intrabench.results.parts import read_turns

    for target, mask in zip(case.targets(), masks, strict=True):
        session = rows.filter(target=target.id)["session"][0]
        first = json.loads(read_turns(Path("again"), [session]).sort("turn")["given"][0])
        assert first["prompts"]["points"] == [[*middle(target.mask), 1]]
        assert first["actions"] == [{"kind": "click"}]
        last = read_masks(Path("again"), session)[-1]
        assert np.array_equal(last.to_array(case.volume.shape), mask)  # the same model answers the same


def test_a_client_that_goes_from_target_to_target_and_back(case: Any) -> None:
    """It gives again what it gave before; the turns of a target are one record all the same."""
    run = {"prompter": "box_interp:n=3+click_center", "dataset": DATA, "cases": ["first:1"], "rounds": 2}
    with served(spacing_mm=(1, 1, 3)) as behind, recording(behind, Path("out")) as proxy:
        theirs = intrabench.run(proxy, out="theirs", workers=0, **run)
    assert len(theirs) == 6
    found = read_recordings(Path("out"))
    assert sorted([len(gestures) for gestures, _ in one.turns] for one in found) == [[2, 1, 1], [3, 1, 1]]
    again = intrabench.run("random_walker", "recorded:out", DATA, cases=["first:1"], out="again", rounds=5, workers=0)
    columns = ("target", "round", "dice", "interactions")
    assert again.select(columns).sort("target", "round").rows() == theirs.select(columns).sort("target", "round").rows()


def test_seconds_are_those_between_answers_and_what_is_drawn(case: Any) -> None:
    began = time.monotonic()
    with served() as behind, recording(behind, Path("out")) as proxy, client(proxy, case.volume.array) as session:
        time.sleep(0.3)
        session.add_point_interaction((3, 4, 5), True, run_prediction=False)
        time.sleep(0.2)
        session.add_point_interaction((3, 4, 6), False, run_prediction=False)
        session._predict()
        time.sleep(0.1)
        session.undo()
        session.add_scribble_interaction(np.ones((1, 1, 4), np.uint8), True, interaction_bbox=[[3, 4], [5, 6], [7, 11]])
    most = time.monotonic() - began
    (path,) = folder_of(Path("out")).glob("*.jsonl")
    about, turn, undo, again = map(json.loads, path.read_text().splitlines())
    assert about["server"]["intrabench"]["name"] == "random_walker"
    assert [len(profile) for profile in about["image"]] == list(case.volume.shape)
    first, second = turn["gestures"]
    assert 0.3 <= first["seconds"] < most
    assert 0.2 <= second["seconds"] < most
    assert abs(first["at"] - time.time()) < most + 60
    assert turn["model_s"] > 0
    assert undo["kind"] == "undo"
    assert 0.1 <= undo["seconds"] < most
    assert [one["kind"] for one in again["gestures"]] == ["scribble"]
    (found,) = read_recordings(Path("out"))
    assert len(found.turns) == 1  # what was taken back is not given again


def test_the_official_server_behind_the_proxy(tmp_path: Path) -> None:
    pytest.importorskip("nnInteractive.inference.inference_session")
    folder = write_folder(tmp_path / "model", patch=32, bias=-0.8)
    with official(folder) as behind, recording(behind, Path("out")) as proxy, client(proxy) as session:
        session.add_bbox_interaction(((6, 7), (10, 21), (11, 22)), True)
        session.add_lasso_interaction(np.ones((1, 5, 6), np.uint8), False, interaction_bbox=[[2, 3], [0, 5], [0, 6]])
        expected = Mask.of(session.target_buffer)
    (found,) = read_recordings(Path("out"))
    assert [[one.kind for one in gestures] for gestures, _ in found.turns] == [["box2d"], ["lasso"]]
    assert found.turns[1][0][0].label == 0
    assert expected.any()
    last = found.turns[-1][1]
    assert last.start == expected.start
    assert np.array_equal(last.array, expected.array)


def test_targets_of_one_image_and_masks_to_begin_with() -> None:
    with served() as behind, recording(behind, Path("out")) as proxy, client(proxy) as session:
        session.add_point_interaction(INSIDE, True)
        session.reset_interactions()
        session.reset_interactions()
        session.add_initial_seg_interaction(np.ones(ball().shape, np.uint8))
        session.add_point_interaction(INSIDE, False)
        session.set_image(-ball()[None])
        session.add_point_interaction((2, 3, 4), True)
    assert len(list(folder_of(Path("out")).iterdir())) == 3
    first, last = read_recordings(Path("out"))  # nobody can give a correction of a mask that others do not have
    assert first.image[0][0] == pytest.approx(-last.image[0][0])
    assert last.turns[0][0][0].place == [2, 3, 4]


def test_what_the_server_refuses_is_passed_on_and_not_recorded() -> None:
    import httpx

    with served() as behind, recording(behind, Path("out")) as proxy, client(proxy) as session:
        with pytest.raises(httpx.HTTPStatusError) as refused:
            session.add_point_interaction((99, 0, 0), True)
        assert refused.value.response.status_code == 400
        assert "outside of the image" in refused.value.response.json()["detail"]
        assert "outside of the image" in str(refused.value)  # what napari and 3D Slicer show
    assert read_recordings(Path("out")) == []


def test_a_server_that_is_gone_and_places_that_are_taken() -> None:
    from nnInteractive.inference.remote import ServerAtCapacityError, nnInteractiveRemoteInferenceSession

    with ExitStack() as stack:
        behind = stack.enter_context(served(sessions=1))
        with recording(behind, Path("out")) as proxy:
            token = httpx2.post(f"{proxy}/claim").json()["lease_token"]
            with pytest.raises(ServerAtCapacityError):
                nnInteractiveRemoteInferenceSession(proxy)
            assert httpx2.post(f"{proxy}/claim").headers["Retry-After"] == "10"
            assert httpx2.post(f"{proxy}/release", headers={"X-Lease-Token": token}).json() == {"released": True}
            stack.close()
            gone = httpx2.get(f"{proxy}/capabilities")
            assert (gone.status_code, "does not answer" in gone.json()["detail"]) == (502, True)


def test_each_side_has_a_token_of_its_own() -> None:
    with served(token="behind") as behind, recording(behind, Path("out"), "own", wanted="behind") as proxy:
        assert httpx2.get(f"{proxy}/capabilities").status_code == 401
        wrong = {"Authorization": "Bearer behind"}
        assert httpx2.get(f"{proxy}/capabilities", headers=wrong).status_code == 401
        with client(proxy, token="own") as session:
            session.add_point_interaction(INSIDE, True)
    assert len(read_recordings(Path("out"))) == 1


def test_what_cannot_be_written_is_not_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    Path("out").write_text("a file, where the folder should be")
    with served() as behind, recording(behind, Path("out")) as proxy, client(proxy) as session:
        with pytest.raises(httpx.HTTPStatusError) as failed:
            session.add_point_interaction(INSIDE, True)
        assert "this was not recorded: " in failed.value.response.json()["detail"]


def test_a_last_line_that_was_cut_off_does_not_count_and_others_are_told(wording: SnapshotAssertion) -> None:
    with served() as behind, recording(behind, Path("out")) as proxy, client(proxy) as session:
        session.add_point_interaction(INSIDE, True)
        session.add_point_interaction((1, 1, 1), False)
    (path,) = folder_of(Path("out")).iterdir()
    whole = path.read_bytes()
    path.write_bytes(whole[:-9])
    assert len(read_recordings(Path("out"))[0].turns) == 1
    path.write_bytes(b"{}\n")
    with pytest.raises(intrabench.errors.IntraBenchError) as caught:
        read_recordings(Path("out"))
    assert caught == wording
    path.write_bytes(whole.replace(b'"format":1', b'"format":2'))
    with pytest.raises(intrabench.errors.IntraBenchError, match="newer version"):
        read_recordings(Path("out"))


def test_a_record_of_another_scan_or_rater_does_not_apply(
    data: Path, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    with served() as behind, recording(behind, Path("out")) as proxy, client(proxy) as session:
        session.add_point_interaction(INSIDE, True)
    rows = intrabench.run("random_walker", "recorded:out", DATA, cases=["first:1"], out="o")
    assert set(rows["status"]) == {"not_applicable"}
    words = ("run", "-m", "random_walker", "-d", DATA, "-p")
    assert say(*words, "recorded:out,rater=cd").err == wording
    assert say(*words, "recorded:empty").err == wording


def test_which_target_is_meant() -> None:
    inside = np.zeros((6, 20, 20), bool)
    inside[2:4, 5:15, 6:12] = True
    target = make_target(inside)
    yes = [
        points([(2, 5, 6)]),
        Prompts(points=np.array([(2, 5, 6, 1), (0, 0, 0, 0)])),
        boxes({2: (5, 6, 15, 12), 3: (4, 5, 15, 12)}),
        box3d((1, 5, 6, 4, 15, 12)),
        Prompts(scribbles=(Scribble(np.array([(2, 5, x) for x in range(4, 12)])),)),
        Prompts(lassos=(Lasso(np.array([(2, 4, 5), (2, 15, 6), (2, 10, 12)])),)),
    ]
    no = [
        points([(2, 5, 6), (0, 0, 0)]),
        points([(2, 5, 6)], label=0),
        boxes({2: (5, 6, 8, 9)}),
        boxes({5: (5, 6, 15, 12)}),
        box3d((0, 0, 0, 6, 20, 20)),
        Prompts(scribbles=(Scribble(np.array([(2, 5, x) for x in range(0, 8)])),)),
        Prompts(),
    ]
    assert [aims(prompts, target) for prompts in yes] == [True] * len(yes)
    assert [aims(prompts, target) for prompts in no] == [False] * len(no)


def test_the_commands_in_processes_of_their_own(tmp_path: Path) -> None:
    """serve and record as people start them; and an end by Ctrl-C."""
    import signal

    def start(*words: str) -> tuple[subprocess.Popen[str], str]:
        line = [sys.executable, "-m", "intrabench", *words, "--port", "0"]
        process = stack.enter_context(subprocess.Popen(line, stdout=subprocess.PIPE, text=True))
        stack.callback(process.kill)
        assert process.stdout is not None
        found = re.search(r"http://\S+", process.stdout.readline())
        assert found is not None
        return process, found[0].rstrip("/")

    with ExitStack() as stack:
        server, behind = start("serve", "random_walker", "--spacing", "3,1,1")
        proxy, address = start("record", "--upstream", behind, "--rater", "ab", "--out", str(tmp_path / "out"))
        with client(address) as session:
            session.add_point_interaction(INSIDE, True)
            assert session.target_buffer.any()
        (found,) = read_recordings(tmp_path / "out")
        assert (found.rater, found.upstream) == ("ab", behind)
        for process in (proxy, server):
            process.send_signal(signal.SIGINT)
        assert [process.wait(120) for process in (proxy, server)] == [0, 0]


def test_sizes_are_checked_before_anything_is_passed_on() -> None:
    import struct

    bomb = struct.pack("<4sBBBB", b"NNIA", 1, 1, 4, 5) + b"uint8" + struct.pack("<4q", 1, 10**4, 10**4, 10**4)
    for content, path, status in (
        (bomb + b"x" * 300, "set_image", 413),
        (b"x" * 400, "add_scribble_interaction", 400),
        (b"x" * 70_000, "add_point_interaction", 413),
    ):
        with recording("http://127.0.0.1:9", Path("out")) as proxy:  # where nobody is
            assert httpx2.post(f"{proxy}/{path}", content=content).status_code == status


def test_wrong_options_are_told(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    assert say("serve", "box_fill", "--spacing", "1,2").err == wording
    assert say("serve", "box_fill", "--sessions", "0").err == wording
    lacking = say("serve", "sammed2d")
    assert (lacking.code, "weights" in lacking.err) == (2, True)
    assert say("record", "--upstream", "here").err == wording
    dead = say("record", "--upstream", "http://127.0.0.1:9", "--rater", "ab")
    assert (dead.code, without_reasons(dead.err)) == (2, wording)
    assert say("record", "--upstream", "http://a", "--rater", "a b").err == wording
