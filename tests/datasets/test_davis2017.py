"""DAVIS 2017 from miniatures of its archives, and its first turn by people."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.base import NotFetched
from intrabench.datasets.cases import store
from intrabench.datasets.davis2017 import SCRIBBLES, VIDEOS
from intrabench.errors import IntraBenchError
from intrabench.prompters.davis import DavisRobot
from intrabench.prompters.joint import joint_dialogue
from intrabench.prompters.user import User, Users
from intrabench.registry import registry
from intrabench.target import Target
from intrabench.turns import DrawScribble
from tests.datasets.folder.made import NO_FILES
from tests.datasets.folder.test_videos import LABELS, videos
from tests.versions import guard_case

Lines = dict[int, list[tuple[int, list[list[float]]]]]
PEOPLE: list[Lines] = [
    {1: [(1, [[0.2, 0.2], [0.4, 0.2]]), (2, [[0.6, 0.7], [0.6, 0.8]]), (0, [[0.0, 0.95], [0.9, 0.95]])]},
    {0: [(1, [[0.2, 0.3], [0.2, 0.4]])]},
    {2: [(2, [[0.6, 0.6], [0.8, 0.6]])]},
]
"""What three people drew in each frame: object and path."""


def told(lines: Lines, frames: int = 3) -> bytes:
    """A file of scribbles."""
    each: list[list[dict[str, Any]]] = [[] for _ in range(frames)]
    for frame, strokes in lines.items():
        each[frame] = [{"path": path, "object_id": one, "start_time": 0, "end_time": 900} for one, path in strokes]
    return json.dumps({"sequence": "cars", "annotated_frame": min(lines), "scribbles": each}).encode()


def picture(array: np.ndarray, suffix: str) -> bytes:
    content = io.BytesIO()
    Image.fromarray(array).save(content, suffix)
    return content.getvalue()


def packed(path: Path, members: Mapping[str, bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


@pytest.fixture
def downloads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Both archives as published, with two videos of three frames."""
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path))
    members = {f"DAVIS/ImageSets/2017/{part}.txt": name.encode() for part, name in (("train", "boat"), ("val", "cars"))}
    for name in ("boat", "cars"):
        for number, labels in enumerate(LABELS):
            members[f"DAVIS/JPEGImages/480p/{name}/{number:05}.jpg"] = picture(np.stack([labels] * 3, axis=-1), "JPEG")
            members[f"DAVIS/Annotations/480p/{name}/{number:05}.png"] = picture(labels, "PNG")
    folder = tmp_path / "downloads"
    packed(VIDEOS.place(folder), members)
    drawn = {f"DAVIS/Scribbles/cars/{who:03}.json": told(lines) for who, lines in enumerate(PEOPLE, 1)}
    packed(SCRIBBLES.place(folder), drawn)
    return folder


def cars() -> list[Target]:
    dataset = registry.make("datasets", "davis2017")
    store.prepare(dataset, "cars")
    return store.open_case(dataset, "cars").targets()


def drawn(target: Target) -> list[list[Any]]:
    return [[stroke.points.tolist() for stroke in person] for person in target.scribbles]


def test_videos_objects_and_what_people_drew(downloads: Path) -> None:
    dataset = registry.make("datasets", "davis2017")
    assert dataset.cases() == ("boat", "cars")
    assert dataset.subsets() == {"smoke": ("boat", "cars"), "train": ("boat",), "val": ("cars",)}
    one, two = cars()
    stored = store.open_case(dataset, "cars")
    assert stored.problems() == []
    assert stored.volume.array.shape == (3, 16, 20, 3)
    assert [one.id, two.id] == ["object.1", "object.2"]
    assert np.array_equal(two.mask.to_array(LABELS.shape), LABELS == 2)
    edge = [[1, 15, x] for x in range(19)]
    assert drawn(one) == [[[[1, 3, x] for x in range(4, 9)], edge], [[[0, y, 4] for y in range(4, 7)]], []]
    assert [[stroke.label for stroke in person] for person in one.scribbles] == [[1, 0], [1], []]
    assert [len(person) for person in two.scribbles] == [2, 0, 1]
    guard_case(stored, dataset, pixels=False)


def test_the_seed_is_the_person_who_begins(downloads: Path) -> None:
    targets = cars()

    def begun(seed: int, **options: Any) -> list[list[tuple[int, int]]]:
        users = Users(tuple(User(target, seed=seed, component="davis", given=[]) for target in targets))
        turns = next(joint_dialogue(DavisRobot(**options), users))
        lines = [turn.prompts.scribbles if turn else () for turn in turns]
        return [[(line.label, int(line.points[0, 0])) for line in of] for of in lines]

    assert begun(0) == begun(3) == [[(1, 1), (0, 1)], [(1, 1), (0, 1)]]
    assert begun(1) == [[(1, 0)], []]
    assert begun(2) == [[], [(1, 2)]]
    assert begun(1, start="robot") != begun(1)
    users = Users(tuple(User(target, component="davis", given=[]) for target in targets))
    turns = next(joint_dialogue(DavisRobot(robot="published"), users))
    assert [turn.actions for turn in turns if turn] == [(DrawScribble(),) * 2, (DrawScribble(),)]  # the background once


@pytest.mark.parametrize(("seed", "interactions"), [(0, [6.0, 3.0]), (1, [3.0, 0.0]), (2, [0.0, 3.0])])
def test_a_run_begins_with_people(downloads: Path, tmp_path: Path, seed: int, interactions: list[float]) -> None:
    pytest.importorskip("skimage")
    options = {"cases": ["cars"], "model": "random_walker", "protocol": "davis@1", "rounds": 2, "seed": seed}
    rows = intrabench.run(dataset="davis2017", out=tmp_path / "out", progress=False, **options)  # type: ignore[arg-type]
    first = rows.filter(round=0).sort("instance")
    assert first["interactions"].to_list() == interactions  # 3 for a scribble
    assert rows["status"].is_in(["ok", "empty"]).all()  # empty: nobody has drawn into it so far


def test_not_fetched_or_damaged(
    downloads: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    dataset = registry.make("datasets", "davis2017")
    with pytest.raises(IntraBenchError, match="has no folder Scribbles/boat"):
        store.prepare(dataset, "boat")
    for file in downloads.glob(f"{SCRIBBLES.filename}*"):
        file.unlink()
    packed(SCRIBBLES.place(downloads), {"DAVIS/Scribbles/boat/001.json": told({0: [(3, [[0.1, 0.1], [0.2, 0.1]])]})})
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(dataset, "boat")
    assert caught == wording
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path / "empty"))
    with pytest.raises(NotFetched, match="intrabench data get davis2017"):
        dataset.cases()


def test_a_folder_in_the_layout_of_davis_has_scribbles_too(tmp_path: Path, wording: SnapshotAssertion) -> None:
    root = videos(tmp_path / "set")
    (root / "Scribbles" / "cars").mkdir(parents=True)
    file = root / "Scribbles" / "cars" / "001.json"
    file.write_bytes(told(PEOPLE[1]))
    dataset = intrabench.dataset(str(root))
    assert file in dataset.local_files("cars")
    _, (one, two) = dataset.load("cars", NO_FILES)
    assert drawn(one) == [[[[0, 4, 4], [0, 5, 4], [0, 6, 4]]]]
    assert drawn(two) == [[]]
    file.write_bytes(told(PEOPLE[1], frames=4))
    with pytest.raises(IntraBenchError) as caught:
        dataset.load("cars", NO_FILES)
    assert caught == wording
