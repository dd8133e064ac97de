"""The files of the CVPR 2025 challenge: as its script writes them, and changed in place."""

from __future__ import annotations

import json
import pickle
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from intrabench.mask import Mask
from intrabench.models.base import Request
from intrabench.models.npz import RoundFiles, known_steps, prompts_of
from intrabench.prompts import Prompts, box3d
from intrabench.turns import Turn
from tests.conftest import GOLDEN
from tests.models.outside.made import SHAPE, boxed, clicked

RUNS = json.loads((GOLDEN / "cvpr25_files.json").read_text())["runs"]
AS_IS = (False, False, False)
ROWS_TURNED = (False, True, True)


def load(path: Path) -> dict[str, Any]:
    """As programs read such a file, which hold pickles of ours."""
    with np.load(path, allow_pickle=True) as found:
        return dict(found)


@pytest.mark.parametrize("run", RUNS, ids=lambda run: run["case"])
def test_as_the_challenge_writes_them(run: dict[str, Any], tmp_path: Path) -> None:
    shape = tuple(run["shape"])
    boxes = [box3d((z0, y0, x0, z1 + 1, y1 + 1, x1 + 1)) for z0, z1, _, x0, y0, x1, y1 in run["boxes"]]
    turns: list[list[Turn]] = [[Turn(box)] for box in boxes]
    files = RoundFiles(tmp_path / "image", np.zeros(shape, np.uint8), (1.0, 1.0, 1.0), AS_IS)
    steps: Any = ()
    (tmp_path / "inputs").mkdir()
    for clicks in run["clicks"]:
        for of_class, click in zip(turns, clicks or [], strict=False):
            if click is not None:
                of_class.append(clicked((*click["at"], int(click["kind"] == "fg"))))
        requests = [Request(str(n), tuple(of_class)) for n, of_class in enumerate(turns)]
        steps = known_steps(requests, steps) if clicks else (tuple(map(len, turns)),)
        files.write(tmp_path / "inputs", {"case.npz": (requests, steps)})
        if not clicks:
            assert set(load(tmp_path / "inputs" / "case.npz")) == {"imgs", "spacing", "boxes"}
    found = load(tmp_path / "inputs" / "case.npz")
    assert set(found) == {"imgs", "spacing", "boxes", "clicks", "clicks_order", "prev_pred"}
    assert found["clicks"].tolist() == run["clicks_file_at_end"]
    assert found["clicks_order"].tolist() == run["clicks_order_at_end"]
    assert str(found["clicks_order"].dtype).replace("object", "object") == run["clicks_order_dtype_at_end"]
    for box, (z0, z1, _, x0, y0, x1, y1) in zip(found["boxes"], run["boxes"], strict=True):
        assert box == {
            **{"z_min": z0, "z_max": z1, "z_mid": z0 + (z1 - z0 + 1) // 2, "z_mid_x_min": x0, "z_mid_y_min": y0},
            **{"z_mid_x_max": x1, "z_mid_y_max": y1},
        }


def test_rounds_change_only_what_lies_behind_the_image(tmp_path: Path) -> None:
    imgs = np.arange(np.prod(SHAPE), dtype=np.uint8).reshape(SHAPE)
    files, folder = RoundFiles(tmp_path / "image", imgs, (3.0, 2.0, 1.5), AS_IS), tmp_path / "inputs"
    folder.mkdir()
    mask = Mask.of(np.ones((2, 2, 2)), (1, 1, 1))
    plain = [boxed(0, 1, 2, 3, 4, 5)]
    longer = [boxed(0, 1, 2, 3, 4, 5, turns=(clicked((1, 2, 3, 1), (0, 0, 0, 0)),), mask=mask)]
    inodes = set()
    for requests in (plain, longer, plain, longer):
        files.write(folder, {"case.npz": (requests, ())})
        with zipfile.ZipFile(folder / "case.npz") as file:
            assert file.testzip() is None
            assert len(set(file.namelist())) == len(file.namelist())
        found = load(folder / "case.npz")
        np.testing.assert_array_equal(found["imgs"], imgs)
        assert found["spacing"].tolist() == [1.5, 2.0, 3.0]
        assert ("clicks" in found) == (requests is longer)
        if requests is longer:
            np.testing.assert_array_equal(found["prev_pred"], mask.to_array(SHAPE))
            assert found["clicks"].tolist() == [{"fg": [[1, 2, 3]], "bg": [[0, 0, 0]]}]
            assert found["clicks_order"].tolist() == [["fg", "bg"]]
        inodes.add((folder / "case.npz").stat().st_ino)
    assert len(inodes) == 1  # the image was copied once
    files.write(folder, {"other.npz": (plain, ())})
    assert [path.name for path in folder.iterdir()] == ["other.npz"]


def test_a_file_that_the_program_touched_is_written_anew(tmp_path: Path) -> None:
    imgs = np.full(SHAPE, 7, np.uint8)
    files, folder = RoundFiles(tmp_path / "image", imgs, (1.0, 1.0, 1.0), AS_IS), tmp_path / "inputs"
    folder.mkdir()
    files.write(folder, {"case.npz": ([boxed(0, 0, 0, 1, 1, 1)], ())})
    (folder / "case.npz").write_bytes(b"gone")
    (folder / "more").mkdir()
    files.write(folder, {"case.npz": ([boxed(0, 0, 0, 1, 1, 1)], ())})
    np.testing.assert_array_equal(load(folder / "case.npz")["imgs"], imgs)
    assert [path.name for path in folder.iterdir()] == ["case.npz"]


def test_turned_axes() -> None:
    """What lies at a place in our array lies at the turned place in the file."""
    mask = Mask.of(np.ones((1, 1, 1)), (4, 1, 2))
    requests = [boxed(0, 1, 2, 2, 4, 7, turns=(clicked((4, 1, 2, 1)),), mask=mask)]
    found = prompts_of(requests, SHAPE, ROWS_TURNED)
    (box,) = found["boxes"]
    assert (box["z_min"], box["z_max"]) == (0, 1)
    assert (box["z_mid_y_min"], box["z_mid_y_max"]) == (2, 4)  # y 1..3 of 6
    assert (box["z_mid_x_min"], box["z_mid_x_max"]) == (0, 4)  # x 2..6 of 7
    (z, y, x) = found["clicks"][0]["fg"][0]
    assert found["prev_pred"][z, y, x] == 1


def test_later_classes_win_and_earlier_prompts_are_dropped_if_the_user_begins_afresh() -> None:
    both = Mask.of(np.ones((1, 1, 2)), (0, 0, 0))
    first = Request("a", (Turn(box3d((0, 0, 0, 1, 1, 2))), clicked((0, 0, 1, 0))), both)
    afresh = Turn(Prompts(np.array([[2, 2, 2, 1]])), afresh=True)
    second = Request("b", (clicked((1, 1, 1, 1)), afresh), Mask.of(np.ones((1, 1, 1)), (0, 0, 1)))
    found = prompts_of([first, second], SHAPE, AS_IS)
    assert found["prev_pred"][0, 0, :3].tolist() == [1, 2, 0]
    assert found["clicks"].tolist() == [{"fg": [], "bg": [[0, 0, 1]]}, {"fg": [[2, 2, 2]], "bg": []}]
    assert found["boxes"].tolist()[1] is None


def test_pickles_name_no_module_that_numpy_1_lacks(tmp_path: Path) -> None:
    files = RoundFiles(tmp_path / "image", np.zeros(SHAPE, np.uint8), (1.0, 1.0, 1.0), AS_IS)
    (tmp_path / "inputs").mkdir()
    files.write(tmp_path / "inputs", {"case.npz": ([boxed(0, 0, 0, 1, 1, 1)], ())})
    with zipfile.ZipFile(tmp_path / "inputs" / "case.npz") as file:
        content = file.read("boxes.npy")
    assert b"numpy.core.multiarray" in content
    assert b"numpy._core" not in content
    assert pickle.loads(content[content.index(b"\x80\x02") :])[0]["z_max"] == 0
