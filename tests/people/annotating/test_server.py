"""The server of `intrabench annotate`: a whole session over HTTP, its rows, a kill in between, and what is refused."""

from __future__ import annotations

import base64
import gzip
import json
import signal
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.mask import Mask
from intrabench.registry import registry
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows, read_turns
from tests.conftest import Said
from tests.people.served import Client, Running, running

PHANTOM = "phantom:shape=12x40x44,instances=2"
WORDS = ("annotate", "--model", "random_walker", "-d", PHANTOM, "--cases", "first:1", "--out", "out")
SERVE = (*WORDS, "--rater", "r1", "--rater", "r2")


def served(port: int = 0, *more: str) -> Any:
    return running([*SERVE, *more], ["r1", "r2"], port)


def mask_of(found: dict[str, Any]) -> Mask:
    box = found["box"]
    bits = np.frombuffer(zlib.decompress(base64.b64decode(found["bits"])), np.uint8)
    return Mask.unpack(box[:3], [box[axis + 3] - box[axis] for axis in range(3)], bits)


def click(z: int, y: int, x: int, label: int = 1) -> dict[str, Any]:
    return {"kind": "click", "place": [z, y, x], "label": label, "seconds": 1.5, "at": 1.7e9}


def turn(client: Client, code: str, number: int, *gestures: dict[str, Any]) -> tuple[int, Any]:
    return client.ask("api/turn", {"code": code, "id": f"turn-{number:06d}", "gestures": list(gestures)})


@pytest.fixture
def inside(data: Path) -> dict[str, tuple[int, int, int]]:
    """A voxel in the middle of each target, as a person would find it."""
    dataset = registry.make("datasets", PHANTOM)
    store.prepare(dataset, dataset.cases()[0])
    found = {}
    for target in store.open_case(dataset, dataset.cases()[0]).targets():
        at = target.mask.coordinates()
        z, y, x = at[np.abs(at - at.mean(axis=0)).sum(axis=1).argmin()].tolist()
        found[target.id] = z, y, x
    return found


def test_a_session_over_http_is_stored_as_any_other(
    inside: dict[str, tuple[int, int, int]], say: Callable[..., Said]
) -> None:
    with served() as server:
        client = server.client("r1")
        status, about = client.ask("api/annotation")
        assert (status, about["rater"], about["title"]) == (200, "r1", "Annotation")
        assert "point" in about["takes"]
        tasks = {task["label"]: task for task in about["tasks"]}
        assert set(tasks) == set(inside)
        task = tasks["blob.1"]
        assert (task["state"], task["turns"]) == ("new", 0)
        status, case = client.ask(f"api/case/{task['case']}")
        assert (status, case["shape"]) == (200, [12, 40, 44])
        slab = gzip.decompress(client.ask(f"api/image/{task['case']}/0", **{"Accept-Encoding": "gzip"})[1])
        dataset = registry.make("datasets", PHANTOM)
        volume = store.open_case(dataset, dataset.cases()[0]).volume
        image = np.frombuffer(slab, case["dtype"]).reshape(case["shape"]) * case["slope"] + case["intercept"]
        assert np.allclose(image, volume.array, atol=case["slope"])
        status, view = turn(client, task["code"], 1, click(*inside["blob.1"]))
        assert status == 200, view
        first = mask_of(view["mask"])
        assert (view["turns"], view["finished"], view["outline"]) == (1, False, None)
        assert view["marks"]["points"] == [[*inside["blob.1"], 1, True]]
        assert first.any()
        assert turn(client, task["code"], 1, click(*inside["blob.1"])) == (200, view)  # sent again
        status, view = turn(client, task["code"], 2, click(0, 0, 0, 0), click(11, 39, 43, 0))
        second = mask_of(view["mask"])
        undo = {"code": task["code"], "id": "undo-000001"}
        status, back = client.ask("api/undo", undo)
        assert (status, back["turns"]) == (200, 1)
        assert np.array_equal(mask_of(back["mask"]).to_array(volume.shape), first.to_array(volume.shape))
        assert turn(client, task["code"], 3, click(0, 0, 0, 0), click(11, 39, 43, 0))[1]["turns"] == 2
        status, view = client.ask("api/finish", {"code": task["code"], "id": "finish-0001"})
        assert (status, view["finished"]) == (200, True)
        status, said = turn(client, task["code"], 4, click(0, 0, 0, 0))
        assert (status, "this target is finished" in said["error"]) == (422, True)
        states = {one["label"]: one["state"] for one in client.ask("api/annotation")[1]["tasks"]}
        assert states == {"blob.1": "finished", "blob.2": "new"}
        others = server.client("r2").ask("api/annotation")[1]["tasks"]
        assert {one["state"] for one in others} == {"new"}
        server.process.send_signal(signal.SIGINT)
        assert server.process.wait(120) == 0
    rows = read_rows(Path("out")).filter(pl.col("prompter") == "human:rater=r1").sort("round")
    assert rows.select("round", "status", "interactions", "target").rows() == [
        (0, "ok", 1.0, "blob.1"),
        (1, "ok", 3.0, "blob.1"),
    ]
    kept = read_masks(Path("out"), rows["session"][0])
    for mask, answered in zip(kept, (first, second), strict=True):
        assert np.array_equal(mask.to_array(volume.shape), answered.to_array(volume.shape))
    assert len(read_turns(Path("out"), [rows["session"][0]])) == 2
    (file,) = Path("out/people").glob("actions-*.parquet")
    actions = pl.read_parquet(file)
    assert actions.filter(pl.col("kind") == "click")["seconds"].to_list() == [1.5] * len(
        actions.filter(pl.col("kind") == "click")
    )
    verified = say("verify", "out")
    assert verified.code == 0, verified.out + verified.err
    table = say("table", "--out", "out")
    assert "human:rater=r1" in table.out


def test_a_killed_server_goes_on_where_it_was(inside: dict[str, tuple[int, int, int]]) -> None:
    with served() as server:
        client, port = server.client("r2"), server.port
        code = next(task["code"] for task in client.ask("api/annotation")[1]["tasks"] if task["label"] == "blob.2")
        view = turn(client, code, 1, click(*inside["blob.2"]))[1]
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with served(port) as server:  # the link is the same
        assert server.client("r2").token == client.token
        status, again = client.ask(f"api/task/{code}")
        assert (status, again["turns"], again["mask"]) == (200, 1, view["mask"])
        assert client.ask("api/finish", {"code": code, "id": "finish-0001"})[1]["finished"]
        assert client.ask("api/finish", {"code": code, "id": "finish-0001"})[1]["finished"]
    assert len(read_rows(Path("out"))) == 1


def test_a_full_disk_loses_and_doubles_nothing(inside: dict[str, tuple[int, int, int]]) -> None:
    """Really full: no write of the server succeeds. The page sends again what was not confirmed."""
    with served() as server:
        client = server.client("r1")
        code = next(task["code"] for task in client.ask("api/annotation")[1]["tasks"] if task["label"] == "blob.1")
        view = turn(client, code, 1, click(*inside["blob.1"]))[1]
        server.fill_disk(True)
        for _ in range(2):
            status, said = turn(client, code, 2, click(0, 0, 0, 0))
            assert (status, "annotating.sqlite" in said["error"]) == (503, True)
        assert client.ask(f"api/task/{code}")[1] == view
        server.fill_disk(False)
        assert turn(client, code, 2, click(0, 0, 0, 0))[1]["turns"] == 2
        server.fill_disk(True)
        finish = {"code": code, "id": "finish-0001"}
        assert client.ask("api/finish", finish)[0] == 503
        server.fill_disk(False)
        assert client.ask("api/finish", finish)[1]["finished"]
    assert read_rows(Path("out"))["interactions"].to_list() == [1, 2]


def test_the_reference_is_shown_only_where_it_was_asked_for(inside: dict[str, tuple[int, int, int]]) -> None:
    with served(0, "--outline") as server:
        client = server.client("r1")
        task = client.ask("api/annotation")[1]["tasks"][0]
        outline = mask_of(client.ask(f"api/task/{task['code']}")[1]["outline"])
        assert outline.to_array((12, 40, 44))[inside[task["label"]]]


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("annotated")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(folder / "data"))
        with running([*SERVE[:-5], str(folder / "out"), *SERVE[-4:]], ["r1", "r2"]) as server:
            yield server


@pytest.mark.parametrize(
    "change",
    [
        {"gestures": []},
        {"gestures": [click(99, 0, 0)]},
        {"gestures": [click(1, 1, 1, 2)]},
        {"gestures": [{"kind": "wave", "place": [1, 2, 3]}]},
        {"gestures": [{"kind": "click"}]},
        {"gestures": [{"kind": "click", "place": ["a", 1, 2]}]},
        {"gestures": [{"kind": "click", "place": [1, 2]}]},
        {"gestures": [{"kind": "box2d", "place": [[[]]]}]},
        {"gestures": 3},
        {"code": "nothing"},
        {"id": "x"},
        {"more": 1},
        {"seconds": -1},
    ],
)
def test_what_is_no_turn_changes_nothing(shared: Running, change: dict[str, Any], wording: SnapshotAssertion) -> None:
    client = shared.client("r1")
    code = client.ask("api/annotation")[1]["tasks"][0]["code"]
    status, said = client.ask("api/turn", {"code": code, "id": "turn-bad-1", "gestures": [click(1, 1, 1)], **change})
    assert (status, said["error"]) == (422, wording)
    assert client.ask(f"api/task/{code}")[1]["turns"] == 0


def test_only_whoever_has_a_link_may_ask(shared: Running) -> None:
    client = shared.client("r1")
    assert Client(client.address, "x").ask("api/annotation")[0] == 401
    assert client.ask("api/annotation", Origin="http://evil.example")[0] == 403
    assert client.ask("api/annotation", Host="evil.example")[0] == 421
    assert client.ask("api/case/none")[0] == 422
    assert client.ask("api/image/none/0")[0] == 404
    text = json.dumps(client.ask("api/annotation")[1])
    assert "phantom" not in text
    assert "scan" not in text


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--rater", "Dr. Who"), "--rater Dr. Who"),
        (("--model", "box_fill"), "2 models were given; give one with --model"),
        (("--protocol", "superpixels@1"), "superpixels@1"),
        (("--rounds", "-3"), "--rounds -3"),
        (("--port", "99999"), "--port 99999 is no port"),
    ],
)
def test_what_is_wrong_is_said_at_once(say: Callable[..., Said], words: tuple[str, ...], sentence: str) -> None:
    said = say(*WORDS, *words)
    assert (said.code, sentence in said.err) == (2, True), said.err
    assert not Path("out").exists()  # nor are there tokens in it


def test_the_owner_closes_what_people_annotate(
    inside: dict[str, tuple[int, int, int]], say: Callable[..., Said]
) -> None:
    assert "nobody has annotated" in say("annotate", "--out", "out", "--close").err
    with served() as server:
        client = server.client("r1")
        about = client.ask("api/annotation")[1]
        assert (about["closed"], about["orientation"]) == (False, "radiological")
        code = about["tasks"][0]["code"]
        assert turn(client, code, 1, click(*inside[about["tasks"][0]["label"]]))[0] == 200
        assert client.ask("api/finish", {"code": code, "id": "finish-0001", "comment": " dim "})[0] == 200
        assert client.ask("api/reopen", {"code": code, "id": "reopen-0001"})[1]["finished"] is False
        assert client.ask("api/finish", {"code": code, "id": "finish-0002", "comment": "x" * 2001})[0] == 422
        assert client.ask("api/finish", {"code": code, "id": "finish-0003"})[1]["finished"] is True
        assert "end that first" in say("annotate", "--out", "out", "--close").err
    assert say("annotate", "--out", "out", "--close").code == 0
    with served() as server:
        client = server.client("r1")
        assert client.ask("api/annotation")[1]["closed"] is True
        status, said = client.ask("api/reopen", {"code": code, "id": "reopen-0002"})
        assert (status, "closed" in said["error"]) == (422, True)
    assert say("annotate", "--out", "out", "--reopen").code == 0
    with served() as server:
        assert server.client("r1").ask("api/reopen", {"code": code, "id": "reopen-0003"})[0] == 200
