"""The viewer's data: what the page decodes is what was computed."""

from __future__ import annotations

import base64
import io
import re
import shlex
import shutil
import zlib
from collections.abc import Callable
from dataclasses import replace
from itertools import cycle
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store as cases
from intrabench.errors import PartialResults
from intrabench.mask import Mask, box_slices
from intrabench.prompts import Lasso, Prompts, Scribble, boxes
from intrabench.reporting.page.viewer import SIDE, _Given, _round, samples
from intrabench.reporting.page.views import Window, marks, mask_text, view
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows
from intrabench.statistics.scores import scores
from intrabench.target import Target
from intrabench.turns import Turn, TypeText
from intrabench.volume import Volume
from tests.conftest import make_target
from tests.reporting.page.conftest import PHANTOM
from tests.reporting.page.page_of import Page, read, report
from tests.results.made import rows
from tests.wording import line_with


@pytest.fixture
def results(played: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the run that may be spoilt."""
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path / "data"))
    shutil.copytree(played / "data", tmp_path / "data")
    return Path(shutil.copytree(played / "results", tmp_path / "results"))


@pytest.fixture(scope="module")
def written(address: str) -> tuple[Page, str]:
    """The report of the run."""
    return read(Path(address.removeprefix("file://")))


def shown(page: Page) -> list[dict[str, Any]]:
    return [page.data(id) for id in page.scripts if id.startswith("view")]


def inflated(text: str) -> np.ndarray:
    return np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8)


def bits(text: str, shape: tuple[int, ...]) -> np.ndarray:
    return np.unpackbits(inflated(text), count=prod(shape)).reshape(shape).astype(bool)


def codes(data: dict[str, Any]) -> np.ndarray:
    return np.cumsum(inflated(data["scan"]).reshape(data["shape"]), axis=2, dtype=np.uint8)


def test_scan_and_masks_come_back(played: Path, written: tuple[Page, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    dataset = intrabench.dataset(PHANTOM)
    keys = {(row["case"], row["target"]): row for row in read_rows(played / "results").iter_rows(named=True)}
    views = shown(written[0])
    second, *fourth_on = (f"{n} of 6 from the worst" for n in (2, 4, 5))
    assert [one["place"] for one in views] == ["worst", second, "median", *fourth_on, "best"]
    for one in views:
        assert (one["case"], one["target"]) in keys
        scene = cases.open_case(dataset, one["case"])
        target = scene.targets([one["target"]])[0]
        low, shape = one["origin"], one["shape"]
        box = (*low, *(start + size for start, size in zip(low, shape, strict=True)))
        assert one["factor"] == [1, 1, 1]
        assert np.array_equal(bits(one["truth"], shape), target.mask.crop(box))
        levels = np.array(one["levels"])
        cut = scene.volume.array[box_slices(box)].clip(levels[0], levels[-1])
        assert np.abs(levels[codes(one)] - cut).max() <= np.diff(levels).max() / 2 + 0.01
        assert target.mask.voxels == bits(one["truth"], shape).sum()


def test_sessions_come_back_round_by_round(played: Path, written: tuple[Page, str]) -> None:
    every = read_rows(played / "results")
    lines = written[0].data("curve-data")["lines"]
    for one in shown(written[0]):
        box = (*one["origin"], *np.add(one["origin"], one["shape"]).tolist())
        assert one["played"] == len(one["sessions"]) == 5  # box_fill takes no points
        final = [session["rounds"][-1]["dice"] for session in one["sessions"]]
        assert final == sorted(final, reverse=True)
        assert one["dice"] == pytest.approx(np.mean(final))
        for session in one["sessions"]:
            who = lines[session["line"]]
            mine = every.filter(
                case=one["case"], target=one["target"], model=who["model"], prompter=who["prompter"]
            ).sort("round")
            masks = read_masks(played / "results", mine["session"][0])
            assert len(session["rounds"]) == mine.height == (3 if "scribble" in who["prompter"] else 1)
            for told, row, mask in zip(session["rounds"], mine.iter_rows(named=True), masks, strict=True):
                assert told["dice"] == row["dice"]
                assert told["interactions"] == row["interactions"]
                assert np.array_equal(bits(told["answer"], one["shape"]), mask.crop(box))
                assert told["given"]


def test_each_target_has_a_picture_the_worst_first(written: tuple[Page, str]) -> None:
    page, text = written
    views = {one["id"]: one for one in shown(page)}
    entries = [given for tag, given in page.tags if tag == "li" and "data-dice" in given]
    links = [given["data-id"] for tag, given in page.tags if tag == "a" and "data-id" in given]
    assert sorted(map(str, links)) == sorted(views)
    values = [float(str(given["data-dice"])) for given in entries]
    assert values == sorted(values) == [views[str(link)]["dice"] for link in links]
    assert {(given["data-dataset"], given["data-label"]) for given in entries} == {
        (f"={one['dataset']}", "=blob") for one in views.values()
    }
    for link, picture in re.findall(r'data-id="(\w+)"><img src="data:image/jpeg;base64,([^"]+)"', text):
        with Image.open(io.BytesIO(base64.b64decode(picture))) as image:
            colours = np.asarray(image.convert("RGB"), int)
        assert max(image.size) == SIDE
        red, green, blue = colours[..., 0], colours[..., 1], colours[..., 2]
        assert ((red > 150) & (blue > 150) & (green < 140)).any(), f"{link} has no answer"
    assert len(re.findall(r"<strong>0\.\d{3}</strong> <span class=muted>best 0\.\d{3}</span>", text)) == len(views)


def test_without_masks_pictures_have_no_answer(results: Path) -> None:
    shutil.rmtree(results / "masks")
    page, text = report(results)
    assert len(re.findall(r"<strong>0\.\d{3}</strong><br>", text)) == len(shown(page))
    assert "in magenta" not in text.partition("<ul class=thumbnails>")[0].rpartition("<section id=viewer>")[2]


def test_prompts_are_where_the_user_put_them() -> None:
    stroke = np.array([[1, 2, 3], [1, 3, 3]])
    given = Prompts(
        points=[[1, 2, 3, 1], [4, 5, 6, 0]],
        clicked=[True, False],
        boxes2d=boxes({7: (1, 2, 3, 4)}).boxes2d,
        box3d=[0, 0, 0, 9, 8, 7],
        scribbles=(Scribble(stroke, 0),),
        lassos=(Lasso(stroke),),
    )
    assert marks(given) == {
        "points": [[1, 2, 3, 1, True], [4, 5, 6, 0, False]],
        "boxes": [[7, 1, 2, 8, 3, 4, True], [0, 0, 0, 9, 8, 7, True]],
        "strokes": [
            {"points": stroke.tolist(), "label": 0, "closed": False},
            {"points": stroke.tolist(), "label": 1, "closed": True},
        ],
    }


def made(array: np.ndarray, spacing_mm: tuple[float, float, float], modality: str = "") -> tuple[Volume, Target]:
    """A volume and a target in its middle, a third as large."""
    volume = replace(Volume.from_canonical(array, spacing_mm), modality=modality)
    mask = np.zeros(volume.shape, bool)
    mask[tuple(slice(size // 3, size - size // 3) for size in volume.shape)] = True
    return volume, Target("case", "thing", 1, Mask.of(mask), volume.shape, volume.spacing_mm)


def test_texts_are_told_beside_the_prompts_that_have_a_place() -> None:
    given = [Turn(Prompts(text="left kidney"), (TypeText(2),)), Turn(Prompts(points=[[1, 2, 3, 1]], text="kidney"))]
    row = {"round": 0, "status": "ok", "error": "", "dice": 0.5, "interactions": 2.0, "seconds_human": 3.0}
    row |= {"fp_voxels": 4, "fn_voxels": 5}
    target = make_target(np.ones((2, 4, 4), dtype=bool))
    volume = Volume.from_canonical(np.zeros((2, 4, 4), dtype=np.int16))
    shown = [_Given.of(turn) for turn in given]
    window = Window.around(target, [], [one.drawn for one in shown], volume)
    told = _round(row, [], shown, window)
    assert told["typed"] == ["left kidney", "kidney"]
    assert (told["too_much"], told["missed"]) == (4, 5)
    assert [len(one["points"]) for one in told["given"]] == [0, 1]
    assert marks(given[0].prompts) == {"points": [], "boxes": [], "strokes": []}


def test_large_windows_get_larger_voxels_nearer_to_cubes() -> None:
    volume, target = made(np.random.default_rng(0).normal(size=(20, 90, 90)).astype(np.float32), (4.0, 1.0, 1.0))
    window = Window.around(target, [], [], volume, budget=5_000)
    assert window.factor == (1, 3, 3)
    assert prod(window.shape) <= 5_000
    box = window.box
    padded = np.pad(
        volume.array[box_slices(box)],
        [(0, -s % f) for s, f in zip(np.subtract(box[3:], box[:3]), window.factor, strict=True)],
        mode="edge",
    )
    assert window.scan(volume)[2, 1, 1] == pytest.approx(padded[2, 3:6, 3:6].mean(), rel=1e-5)
    filled = window.mask(target.mask)
    assert filled.sum() * 9 == pytest.approx(target.mask.voxels, rel=0.1)
    data = view(volume, target, window)
    assert data["spacing"] == [4.0, 3.0, 3.0]
    assert np.array_equal(bits(data["truth"], window.shape), filled)


def test_what_is_far_away_does_not_enlarge_the_window() -> None:
    volume, target = made(np.random.default_rng(0).normal(size=(30, 300, 300)).astype(np.float32), (3.0, 1.0, 1.0))
    leak = Mask.of(np.ones(volume.shape, bool))
    far = Prompts(points=[[0, 0, 0, 0]])
    near = Prompts(points=[[15, 195, 210, 0]])
    assert Window.around(target, [], [marks(far)], volume).box == Window.around(target, [], [], volume).box
    wide = Window.around(target, [leak], [marks(near)], volume).box
    assert wide == (0, 62, 62, 30, 238, 238)  # 30 mm for the leak, 8 mm for the margin
    assert Window.around(target, [], [marks(near)], volume).box[5] == 211 + 8


def test_hounsfield_units_keep_their_windows() -> None:
    array = np.linspace(-1100, 3100, 24 * 24 * 24).reshape(24, 24, 24).astype(np.int16)
    volume, target = made(array, (1.0, 1.0, 1.0), "CT")
    window = Window.around(target, [], [], volume)
    data = view(volume, target, window)
    assert [one["name"] for one in data["presets"]] == ["soft tissue", "lung", "bone"]
    seen, true = np.array(data["levels"])[codes(data)], window.scan(volume)
    soft = (true > -160) & (true < 240)
    assert np.abs(seen - true)[soft].max() <= 1.5
    assert np.abs(seen - true)[(true > -1024) & (true < 1300)].max() <= 16
    assert view(replace(volume, array=np.full_like(array, -900)), target, window)["preset"] == 1
    bright = np.where(target.mask.to_array(array.shape), 700, 40).astype(np.int16)
    assert view(replace(volume, array=bright), target, window)["preset"] == 2


def test_percentiles_of_other_scans() -> None:
    volume, target = made(
        np.random.default_rng(0).gamma(2, 100, size=(24, 24, 24)).astype(np.float32), (1.0, 1.0, 1.0), "MR"
    )
    window = Window.around(target, [], [], volume)
    first = view(volume, target, window)["presets"][0]
    assert [first["low"], first["high"]] == pytest.approx(np.percentile(window.scan(volume), (1, 99)), rel=1e-3)


def test_photos_are_one_slice_in_colour() -> None:
    array = np.random.default_rng(0).integers(0, 256, size=(1, 40, 60, 3)).astype(np.uint8)
    volume, target = made(array, (1.0, 1.0, 1.0), "natural image")
    data = view(volume, target, Window.around(target, [], [], volume))
    assert data["photo"]
    assert data["colour"]
    z, y, x = data["origin"]
    depth, height, width = data["shape"]
    cut = array[z : z + depth, y : y + height, x : x + width]
    assert np.array_equal(inflated(data["scan"]).reshape(cut.shape), cut)


def test_a_target_of_one_voxel_and_an_empty_answer() -> None:
    volume, target = made(np.random.default_rng(0).normal(size=(3, 3, 3)).astype(np.float32), (1.0, 1.0, 1.0))
    window = Window.around(target, [Mask.empty()], [], volume)
    assert not bits(mask_text(window.mask(Mask.empty())), window.shape).any()


def test_targets_are_spread_from_the_worst_to_the_best() -> None:
    scored = scores(rows(*({"dice": n / 10, "case": f"{n}"} for n in range(7)))).with_columns(line=0)
    assert [(one.case, one.place) for one in samples(scored, 3)] == [("0", "worst"), ("3", "median"), ("6", "best")]
    assert [one.case for one in samples(scored, 5)] == ["0", "2", "3", "4", "6"]
    assert [one.place for one in samples(scored, 1)] == ["worst"]
    assert samples(scored, 0) == []
    assert [one.place for one in samples(scored.filter(case="3"), 3)] == ["only target"]
    assert len(samples(scored, 20)) == 7


def test_of_many_sessions_some_are_shown() -> None:
    scored = scores(rows(*({"dice": n / 40, "prompter": f"p{n}"} for n in range(30))))
    (one,) = samples(scored, 3)
    assert one.played == 30
    assert len(one.sessions) == 12
    assert [one.sessions[0]["prompter"], one.sessions[-1]["prompter"]] == ["p29", "p0"]


def test_without_masks_it_says_how_to_keep_them(results: Path) -> None:
    shutil.rmtree(results / "masks")
    page, _ = report(results)
    first = page.data("view0")
    assert all(told["answer"] is None for session in first["sessions"] for told in session["rounds"])
    assert "--save-masks" in page.scripts["code"]


def test_data_that_is_gone(
    results: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path / "elsewhere"))
    page, _ = report(results)
    assert "view0" not in page.scripts
    assert [one for one in page.text.splitlines() if "not in the store" in one] == wording


def test_data_that_has_changed(results: Path, wording: SnapshotAssertion) -> None:
    for path in (results / "rows").glob("*.parquet"):
        pl.read_parquet(path).with_columns(dataset_version=pl.lit("0")).write_parquet(path)
    assert line_with(report(results)[0].text, "since changed") == wording


def test_a_data_set_that_nobody_knows(results: Path, wording: SnapshotAssertion) -> None:
    for path in (results / "rows").glob("*.parquet"):
        pl.read_parquet(path).with_columns(dataset=pl.lit("nowhere")).write_parquet(path)
    assert [one for one in report(results)[0].text.splitlines() if "no dataset 'nowhere'" in one] == wording


def test_damaged_turns_are_passed_over(results: Path) -> None:
    for path in (results / "turns").glob("*.parquet"):
        path.write_bytes(b"broken")
    first = report(results)[0].data("view0")
    assert not any(told["given"] for session in first["sessions"] for told in session["rounds"])


def test_the_viewer_is_light(written: tuple[Page, str]) -> None:
    assert len(written[1]) < 440_000


def test_the_commands_of_the_page_compute_nothing_new(
    played: Path, say: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    page, _ = report(played / "results", views=0)
    assert shown(page) == []
    assert len(page.commands) == 6
    for line in page.commands:
        said = say(*shlex.split(line)[1:], "--out", str(played / "results"))
        assert said.code == 0
        assert said.err == wording


UNREADABLE = (
    "{",
    "[]",
    None,
    "{}",
    "[" * 100_000,
    '{"prompts": {"points": [[NaN, 1, 1, 1]]}, "actions": []}',
    '{"prompts": {"points": "abc"}, "actions": []}',
    '{"prompts": {"points": [[1e999, 1, 1, 1]]}, "actions": []}',
    '{"prompts": {}, "actions": [{"kind": "fly"}]}',
    '{"prompts": {}, "actions": [{"kind": "click", "x": 1}]}',
)


def test_turns_that_cannot_be_read_are_named_and_the_rest_is_shown(results: Path) -> None:
    sessions = sorted(read_rows(results).filter(pl.col("status") != "not_applicable")["session"].unique())
    assert len(sessions) == 3 * len(UNREADABLE)
    given = dict(zip(sessions, cycle(UNREADABLE), strict=False))
    for part in (results / "turns").iterdir():
        turns = pl.read_parquet(part)
        spoilt = pl.Series([given.get(session, "{") for session in turns["session"]], dtype=pl.String)
        turns.with_columns(given=spoilt).write_parquet(part)
    page = results / "report.html"
    with pytest.warns(PartialResults) as told:
        intrabench.report(page, results)
    text = "".join(str(one.message) for one in told)
    assert sorted(re.findall(r"the turns of session (\w+) in round 0 cannot be read \(", text)) == sessions
    assert "view0" in page.read_text()


def test_prompts_beyond_the_scan_are_named_and_not_drawn(results: Path) -> None:
    given = '{"prompts": {"points": [[999, 1, 1, 1]]}, "actions": []}'
    for part in (results / "turns").iterdir():
        pl.read_parquet(part).with_columns(given=pl.lit(given)).write_parquet(part)
    page = results / "report.html"
    with pytest.warns(PartialResults, match=r"the turns of session \w+ do not fit its scan \(a point \(999, 1, 1\)"):
        intrabench.report(page, results)
    assert "view0" in page.read_text()


def test_a_joint_session_shows_what_the_others_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path / "data"))
    options = {"joint": "others=negative,overlap=first", "save_masks": True, "rounds": 1, "out": tmp_path / "out"}
    rows = intrabench.run("box_fill", "box_interp:n=3", PHANTOM, **options)  # type: ignore[arg-type]
    alone = 0
    for one in shown(report(tmp_path / "out")[0]):
        (session,) = one["sessions"]
        mine = rows.filter(case=one["case"], target=one["target"])["session"][0]
        others = set(rows.filter(case=one["case"])["session"]) - {mine}
        assert session["others"] == len(others)
        alone += not others
        low, shape = one["origin"], one["shape"]
        box = (*low, *(start + size for start, size in zip(low, shape, strict=True)))
        for entry in session["rounds"]:
            answers = [read_masks(tmp_path / "out", other) for other in sorted(others)]
            expected = Mask.union([masks[min(entry["round"], len(masks) - 1)] for masks in answers]).crop(box)
            assert ("others" in entry) == bool(others)
            if others:
                assert one["factor"] == [1, 1, 1]
                assert np.array_equal(bits(entry["others"], shape), expected)
    assert alone < 3
    for other in sorted((tmp_path / "out" / "masks").glob("*.npz")):
        other.unlink()
    views = shown(report(tmp_path / "out")[0])
    assert {entry["others"] for one in views for s in one["sessions"] for entry in s["rounds"]} == {None}
