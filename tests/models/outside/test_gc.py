"""The model gc: images and points on the file's own grid, whatever its orientation, and one image as the answer."""

from __future__ import annotations

import itertools
import json
import os
import re
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.models.base import Answer, Failure, JointAnswer, JointRequest, Request, open_image
from intrabench.models.grand_challenge import GrandChallenge
from intrabench.prompts import Prompts, Scribble
from intrabench.registry import registry
from intrabench.turns import Turn
from intrabench.volume import Volume, read_grid_array
from tests.models.outside.made import GC_PREDICTOR, clicked, predictor, shell, stand_in

FILE_SHAPE = (5, 6, 7)


def volume(axes: tuple[int, ...] = (0, 1, 2), flips: tuple[int, ...] = (-1, -1, 1), channels: int = 0) -> Volume:
    """A scan whose file has its axes in some order and direction; canonical voxels all differ."""
    affine = np.eye(4)
    affine[:3, :3] = 0
    for column, (axis, flip, step) in enumerate(zip(axes, flips, (1.0, 1.5, 3.0), strict=True)):
        affine[axis, column] = flip * step
        affine[axis, 3] = 10 * axis - 3
    shape = (*FILE_SHAPE, channels) if channels else FILE_SHAPE
    return Volume.from_file_order(np.arange(np.prod(shape), dtype=np.int16).reshape(shape), affine)


def asked(*turns: Turn) -> Request:
    return Request("s", turns)


def strokes() -> Turn:
    return Turn(Prompts(scribbles=(Scribble(np.array([[1, 1, 1], [1, 1, 2]])), Scribble(np.array([[0, 0, 3]]), 0))))


@pytest.mark.parametrize(
    ("axes", "flips"), [((0, 1, 2), (-1, -1, 1)), ((2, 0, 1), (1, -1, 1)), ((1, 2, 0), (-1, 1, -1))]
)
def test_points_reach_the_voxels_they_mean(tmp_path: Path, axes: tuple[int, ...], flips: tuple[int, ...]) -> None:
    scan = volume(axes, flips)
    model = GrandChallenge(command=predictor(tmp_path, GC_PREDICTOR))
    with open_image(model, scan) as image:
        first, second = image.segment([asked(clicked((2, 3, 4, 1))), asked(clicked((0, 0, 0, 1)), strokes())])
    assert isinstance(first, Answer)
    assert isinstance(second, Answer)
    assert first.update.coordinates().tolist() == [[2, 3, 4]]
    assert second.update.coordinates().tolist() == [[0, 0, 0], [1, 1, 1], [1, 1, 2]]
    assert first.batch == 1


def test_what_the_program_finds(tmp_path: Path) -> None:
    """The scan is bit by bit that of the source, the points are voxels x, y, z of it, and both channels are there."""
    scan = volume((0, 1, 2), (-1, -1, 1), channels=2)
    keep = shell(tmp_path, f'cp -r "$INPUTS" {tmp_path}/kept')
    model = GrandChallenge(command=keep, image="ct,pet", foreground="lesion")
    with open_image(model, scan) as image:
        image.segment([asked(clicked((6, 5, 4, 1), (0, 0, 0, 0)), strokes())])
    for channel, place in enumerate(("ct", "pet")):
        array, affine = read_grid_array(tmp_path / "kept" / "images" / place / "case.mha")
        np.testing.assert_array_equal(array, scan.grid.from_canonical(scan.array)[..., channel])
        np.testing.assert_allclose(affine, scan.grid.affine)
    found = json.loads((tmp_path / "kept" / "lesion-clicks.json").read_text())
    assert (found["type"], found["version"]) == ("Multiple points", {"major": 1, "minor": 0})
    # the file grows towards Left, Posterior and Superior, our x towards Right and y towards Anterior
    assert found["points"] == [
        {"point": [0, 0, 6], "name": "lesion"},
        {"point": [4, 5, 0], "name": "background"},
        {"point": [3, 4, 1], "name": "lesion"},
        {"point": [2, 4, 1], "name": "lesion"},
        {"point": [1, 5, 0], "name": "background"},
    ]


def test_docker_runs_what_the_image_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = stand_in(tmp_path / "bin", "docker", predictor(tmp_path, GC_PREDICTOR).split())
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    for stay in (False, True):
        with open_image(GrandChallenge(docker="mine", stay=stay), volume()) as image:
            found = image.segment([asked(clicked((2, 3, 4, 1)))] * 2)
        assert [one.update.voxels for one in found if isinstance(one, Answer)] == [1, 1]
    calls = [json.loads(line) for line in log.read_text().splitlines()]
    runs = [call for call in calls if call[0] == "run"]
    assert [call[-1] for call in runs] == ["mine", "mine", "2147483647"]
    for call in runs:
        volumes = [call[at + 1].partition(":")[2] for at, word in enumerate(call) if word == "--volume"]
        assert volumes == ["/input:ro", "/output"]


def test_apptainer_runs_what_the_image_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(tmp_path, "singularity", [])  # its older name
    monkeypatch.setenv("PATH", str(tmp_path))
    words = GrandChallenge(apptainer="mine.sif").launcher.once("name", tmp_path, tmp_path)
    assert Path(words[0]).name == "singularity"
    assert words[words.index("mine.sif") + 1 :][-2:] == ["/output/.begun", "/.singularity.d/runscript"]
    assert f"{tmp_path}:/input:ro" in words
    assert "--pwd" not in words


def mha(size: str = "5 6 7", data: str = "LOCAL", voxels: int = 210, grid: str = "") -> bytes:
    head = f"ObjectType = Image\nNDims = 3\nDimSize = {size}\n{grid}ElementType = MET_UCHAR\nElementDataFile = {data}\n"
    return head.encode() + bytes(voxels)


@pytest.mark.parametrize(
    "files",
    [
        {},
        {"a.mha": mha(), "b.mha": mha()},
        {"a.mha": mha("4 6 7")},
        {"a.mha": mha()},
        {"a.mha": mha(data="/etc/passwd")},
        {"a.mha": b"elementdatafile = LOCAL\n" + mha(data="../../x")},
        {"a.mha": mha(voxels=3, grid="ElementSpacing = 1 1.5 3\nOffset = 3 -7 17\n")},  # that of the scan
        {"a.mha": mha("50000 60000 70000")},
        {"a.nii.gz": b"nothing"},
    ],
)
def test_answers_that_cannot_be_right(tmp_path: Path, files: dict[str, bytes], wording: SnapshotAssertion) -> None:
    ready = tmp_path / "ready"
    ready.mkdir()
    for name, content in files.items():
        (ready / name).write_bytes(content)
    command = shell(tmp_path, f'cp {ready}/* "$OUTPUTS/images/tumor-lesion-segmentation/" 2>/dev/null; true')
    with open_image(GrandChallenge(command=command), volume()) as image:
        (found,) = image.segment([asked(clicked((0, 0, 0, 1)))])
    assert isinstance(found, Failure)
    assert re.sub(r" \(Reason: .*?\)", "", found.message) == wording
    assert "root:" not in found.message


@pytest.mark.parametrize("link", ["images", "images/tumor-lesion-segmentation"])
def test_a_folder_that_leads_elsewhere(tmp_path: Path, link: str, wording: SnapshotAssertion) -> None:
    (tmp_path / "elsewhere" / "tumor-lesion-segmentation").mkdir(parents=True)
    command = shell(tmp_path, f'rm -r "$OUTPUTS/{link}"; ln -s {tmp_path}/elsewhere "$OUTPUTS/{link}"')
    with open_image(GrandChallenge(command=command), volume()) as image:
        found, again = image.segment([asked(clicked((0, 0, 0, 1)))] * 2)
    assert isinstance(found, Failure)
    assert isinstance(again, Failure)
    assert found.message == wording
    assert (tmp_path / "elsewhere" / "tumor-lesion-segmentation").is_dir()  # not deleted through the link


def test_other_labels(tmp_path: Path, wording: SnapshotAssertion) -> None:
    command = predictor(tmp_path, GC_PREDICTOR.replace('int(point["name"] == "tumor")', "7"))
    with open_image(GrandChallenge(command=command), volume()) as image:
        (found,) = image.segment([asked(clicked((0, 0, 0, 1)))])
    assert isinstance(found, Failure)
    assert found.message == wording


def test_channels_must_be_named(wording: SnapshotAssertion) -> None:
    with (
        pytest.raises(IntraBenchError) as caught,
        open_image(GrandChallenge(command="true"), volume(channels=2)),
    ):
        pass
    assert caught == wording


@pytest.mark.parametrize("parameter", ["image", "prompts", "answer"])
def test_names_cannot_leave_their_folder(parameter: str, wording: SnapshotAssertion) -> None:
    for name in ("../x", "/x", ".x", "a/b"):
        with pytest.raises(IntraBenchError) as caught:
            registry.make("models", f"gc:command=true,{parameter}={name}")
        assert caught == wording


def test_all_orientations_of_a_file_mean_the_same() -> None:
    from intrabench.models.grand_challenge import indices_in_file

    for axes in itertools.permutations(range(3)):
        for flips in itertools.product((-1, 1), repeat=3):
            scan = volume(axes, flips)
            rows = np.argwhere(scan.array % 11 == 3)
            where = indices_in_file(scan, rows)
            values = scan.grid.from_canonical(scan.array)[tuple(where.T)]
            np.testing.assert_array_equal(values, scan.array[tuple(rows.T)])


CANALS = GC_PREDICTOR.replace('point["point"]]', 'point["point"][::-1]]').replace(
    'int(point["name"] == "tumor")', '{"Left_IAC": 1, "Right_IAC": 2}[point["name"]]'
)
"""Reads points as z, y, x, as the programs of ToothFairy3 do."""


def test_a_program_answers_for_all_targets_of_a_case(tmp_path: Path, wording: SnapshotAssertion) -> None:
    scan = volume((2, 0, 1), (1, -1, 1))
    model = GrandChallenge(command=predictor(tmp_path, CANALS), targets="Left_IAC, Right_IAC", order="zyx")
    assert model.joint
    assert not GrandChallenge(command="x").joint
    left, right = asked(clicked((2, 3, 4, 1))), asked(clicked((0, 1, 0, 1)), clicked((0, 0, 0, 1)))
    with open_image(model, scan) as image:
        found, lacking = image.segment_jointly(
            [JointRequest("j", (left, right), (True, True)), JointRequest("k", (left,), (True,))]
        )
    assert isinstance(found, JointAnswer)
    assert [np.argwhere(found.labels == number).tolist() for number in (1, 2)] == [[[2, 3, 4]], [[0, 0, 0], [0, 1, 0]]]
    assert isinstance(lacking, Failure)
    assert lacking.message == wording
