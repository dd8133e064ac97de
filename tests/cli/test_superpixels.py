"""The commands for superpixels: run, resume, table, report; failures are rows."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.results.parts import read_rows
from tests.conftest import Said
from tests.wording import line_with

SMALL = "phantom:shape=6x32x40"
RUN = ("superpixels", "run", "-d", SMALL, "--workers", "0", "--out", "out")

FAILING = '''
from dataclasses import dataclass

import numpy as np

from intrabench import Superpixels


@dataclass(frozen=True)
class Halves(Superpixels):
    """Two halves; fails where many are asked for."""

    name = "halves"

    def segment(self, picture, segments):
        if segments > 100:
            raise RuntimeError("too many")
        return (np.indices(picture.array.shape[:3])[2] > 5).astype(int)
'''


FEW = '''
from dataclasses import dataclass

import numpy as np

from intrabench import Superpixels


@dataclass(frozen=True)
class Few(Superpixels):
    """As many columns as its parameter says, whatever is asked for."""

    name = "few"
    many: int = 4

    def segment(self, picture, segments):
        place = np.indices(picture.array.shape[:3])[2]
        return place * self.many // picture.array.shape[2]
'''


@pytest.fixture(autouse=True)
def _in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_methods_are_measured_and_ranked(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say(*RUN, "-m", "grid", "-m", "slic", "--segments", "50,200", "--metric", "mde_chamfer")
    assert said.code == 0, said.err
    assert line_with(said.out, "worst annotation") == wording
    rows = read_rows(Path("out"))
    assert set(rows["model"]) == {
        "supervoxels:method=grid,segments=50",
        "supervoxels:method=grid,segments=200",
        "supervoxels:segments=50",
        "supervoxels:segments=200",
    }
    assert set(rows["target"]) == {"annotation.0"}
    assert (rows["asa"] + rows["ue_bergh"]).to_list() == pytest.approx([1] * len(rows))
    assert rows["mde_chamfer"].is_null().all()  # of pictures only
    again = say(*RUN, "-m", "grid", "--segments", "50", "--metric", "mde_chamfer")
    assert again.code == 0
    assert len(read_rows(Path("out"))) == len(rows)
    table = say("superpixels", "table", "--out", "out", "--csv")
    lines = pl.read_csv(table.out.encode())
    assert lines.columns == ["dataset", "method", "rank", "AMR", "AUE", "AUV", "numbers", "images", "failed"]
    best = lines.row(0, named=True)
    assert (best["rank"], best["numbers"]) == (1, 2)
    of_grid = rows.filter(pl.col("model").str.contains("grid")).sort("sp")
    few, many = of_grid.group_by("model").agg(pl.col("rec").mean(), pl.col("sp").mean()).sort("sp").iter_rows()
    expected = 100 * (1 - many[1])  # both curves end below 200 to 5200 superpixels, or just there
    (grid,) = lines.filter(pl.col("method") == "grid")["AMR"]
    assert grid == pytest.approx(expected, abs=100 * abs(few[1] - many[1]))
    assert table.err == wording
    numbers = say("superpixels", "table", "--out", "out", "--metric", "asa", "--csv")
    assert pl.read_csv(numbers.out.encode()).columns == ["dataset", "method", "asked", "images", "failed", "K", "ASA"]
    only = say("table", "--out", "out")
    assert (only.code, only.err) == (2, wording)
    assert "0." in say("table", "--out", "out", "--metric", "asa").out
    compared = say("compare", "supervoxels:segments=200", "supervoxels:segments=50", "--out", "out", "--metric", "asa")
    assert "asa" in compared.out.lower(), compared.err
    assert "[-]" in say("superpixels", "table", "--out", "out", "--interval").out
    assert "4.910" in say("superpixels", "table", "--out", "out", "--reference", "paper", "--format", "markdown").out


def test_results_are_verified_and_reported(say: Callable[..., Said]) -> None:
    assert say(*RUN, "-m", "watershed", "-m", "grid", "--segments", "60,120").code == 0
    verified = say("verify", "out")
    assert verified.code == 0, verified.out
    assert f"{len(read_rows(Path('out')))} ok" in verified.out
    said = say("superpixels", "report", "page.html", "--out", "out")
    assert said.code == 0, said.err
    page = Path("page.html").read_text()
    assert page.count("<svg") >= 2
    for text in ("watershed", "AMR", "averages between 200 and 5200 need 20", "CPU, s"):
        assert text in page
    assert "mathdefault" not in page


def test_images_stability_correlation_and_two_programs(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ("-m", "slic", "-m", "slic:compactness=2", "-m", "sitk_slic", "-m", "grid", "--metric", "rec:volume=true")
    said = say("superpixels", "run", "-d", "phantom:shape=4x24x30,scans=3", "--workers", "0", "--out", "out",
               "--segments", "20,60", *words)  # fmt: skip
    assert said.code == 0, said.err
    rows = read_rows(Path("out")).with_columns(pl.col("model").str.extract(r"segments=(\d+)").alias("asked"))
    rows = rows.filter(pl.col("model").str.contains("=grid"))

    def table(*words: str) -> pl.DataFrame:
        said = say("superpixels", "table", "--out", "out", "--csv", *words)
        assert (said.code, said.err) == (0, "")  # averages that say little are not in it
        return pl.read_csv(said.out.encode()).filter(pl.col("method") == "grid")

    for line in table("--spread").iter_rows(named=True):
        here = rows.filter(pl.col("asked") == str(line["asked"]))
        expected = [here["rec"].min(), here["ue_np"].max(), here["sp"].max(), here["ev"].std(ddof=0)]
        assert [line[name] for name in ("Rec min", "UE max", "K max", "EV SD")] == pytest.approx(expected)
    assert table("--stability")["metric"].to_list() == ["Rec", "UE", "EV"]
    assert (table("--spread", "--metric", "rec:volume=true")["Rec (volume=true)"] > 0).all()
    assert table("--correlation", "--metric", "ue_bergh", "--metric", "asa")["ASA"].to_list() == pytest.approx([-1, 1])
    assert table("--correlation", "--metric", "rec")["asked"].to_list() == [60]  # the nearest to 400, 1200 and 3600
    assert table("--correlation", "--metric", "rec", "--segments", "20,60")["asked"].to_list() == [20, 60]
    assert table("--by-number", "--segments", "20")["asked"].to_list() == [20]
    compared = say("superpixels", "compare", "slic", "sitk_slic", "--out", "out")
    assert (compared.out.splitlines()[0], compared.err) == (wording, "")
    lines = pl.read_csv(say("superpixels", "compare", "slic", "gr*", "--out", "out", "--csv").out.encode())
    assert lines["asked"].to_list() == [20, 60]
    one = say("superpixels", "compare", "slic", "slic", "--out", "out")
    assert (one.code, one.err) == (2, wording)
    both = say("superpixels", "table", "--spread", "--stability", "--out", "out")
    assert (both.code, both.err) == (2, wording)
    metric = say("superpixels", "table", "--interval", "--metric", "asa", "--out", "out")
    assert (metric.code, metric.err) == (2, wording)
    assert say("superpixels", "report", "page.html", "--out", "out").code == 0
    page = Path("page.html").read_text()
    for text in ("min Rec", "SD of K", "<h2>Stability</h2>", "slic, compactness"):
        assert text in page


def test_all_annotations_of_an_image_correlate(say: Callable[..., Said]) -> None:
    """As in Table C.5 of the paper; other tables have the worst one."""
    random = np.random.default_rng(0)
    for folder in ("images", "annotations"):
        Path("photos", folder).mkdir(parents=True)
    for name in ("a", "b"):
        photo = Image.fromarray(random.integers(0, 255, (24, 30, 3), np.uint8))
        photo.save(Path("photos", "images", f"{name}.png"))
        for person in (1, 2, 3):
            drawn = random.integers(0, 3, (6, 6)).repeat(4, axis=0).repeat(5, axis=1)
            np.save(Path("photos", "annotations", f"{name}-{person}.npy"), drawn)
    said = say("superpixels", "run", "-d", "photos", "--workers", "0", "--out", "out", "-m", "grid", "--segments", "40")
    assert said.code == 0, said.err
    rows = read_rows(Path("out"))
    said = say("superpixels", "table", "--out", "out", "--correlation", "--metric", "pre", "--metric", "asa", "--csv")
    line = pl.read_csv(said.out.encode()).row(0, named=True)
    assert (len(rows), line["annotations"]) == (6, 6)
    assert line["ASA"] == pytest.approx(np.corrcoef(rows["pre"], rows["asa"])[0, 1])


def test_parameters_are_tuned_and_used(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    data = ("-d", "phantom:shape=4x24x30,scans=2", "--workers", "0")
    words = ("superpixels", "tune", "-m", "slic", *data, "--segments", "20,60")
    said = say(*words, "--grid", "compactness=5/20", "--grid", "sigma=0/1")
    assert said.code == 0, said.err
    assert said.out.splitlines()[0] == wording
    rows = read_rows(Path("tuning"))
    assert (rows["model"].n_unique(), len(rows)) == (8, 16)
    loss = rows.with_columns(loss=1 - pl.col("rec") + pl.col("ue_np"))
    loss = loss.group_by("model").agg(pl.col("loss").mean(), pl.col("sp").mean()).sort("loss")
    chosen: dict[str, list[float]] = {"compactness": [], "sigma": []}
    for asked in (20, 60):
        here = loss.filter(
            pl.col("model").str.ends_with(f"segments={asked}"), pl.col("sp").is_between(asked / 2, 2 * asked)
        )
        for name, default in (("compactness", "10"), ("sigma", "0")):
            given = here.select(pl.col("model").str.extract(rf"{name}=([\d.]+)").fill_null(default)).item(0, 0)
            chosen[name].append(float(given))
    parts = (f"{name}={'/'.join(f'{one:g}' for one in each)}" for name, each in chosen.items())
    best = ";".join(["20/60", *parts])
    assert f'tuned = "{best}"' in Path("tuned.toml").read_text()
    said = say("superpixels", "run", "--tuned", "tuned.toml", *data, "--segments", "20,40", "--out", "out")
    assert said.code == 0, said.err
    models = {f"supervoxels:segments={asked},tuned={best}" for asked in (20, 40)}
    assert set(read_rows(Path("out"))["model"]) == models
    table = pl.read_csv(say("superpixels", "table", "--out", "out", "--csv").out.encode())
    assert table["method"].to_list() == [f"slic (tuned={best})"]
    assert "SLIC" in say("superpixels", "table", "--reference", "paper", "--out", "out", "--csv").out
    Path("few.py").write_text(FEW)
    few = ("tune", *data, "-m", "few", "--plugin", "few.py", "--grid", "many=3/4", "--segments", "5,60")
    partly = say("superpixels", *few, "--file", "part.toml")
    assert (partly.code, partly.err.splitlines()[-2:]) == (0, wording)
    assert 'tuned = "5;many=3"' in Path("part.toml").read_text()
    Path("other.toml").write_text('["labels:folder=/etc"]\ntuned = "400;sigma=1"\n')
    for refused in (
        ("run", *data),
        ("run", *data, "--tuned", "none.toml"),
        ("run", *data, "--tuned", "other.toml"),
        ("tune", *data, "-m", "slic", "-m", "watershed", "--grid", "sigma=1"),
        ("tune", *data, "-m", "slic", "--grid", "sigma=a"),
        ("tune", *data, "-m", "grid"),
        ("tune", *data, "-m", "few", "--grid", "many=1/2", "--segments", "60", "--plugin", "few.py"),
    ):
        said = say("superpixels", *refused)
        assert (said.code, said.err) == (2, wording)


def test_robustness_and_the_published_numbers_of_many(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = (*RUN, "-m", "grid", "-m", "watershed", "--cases", "first:1")
    strong = ("--perturb", "salt_pepper:p=0.2", "--perturb", "salt_pepper:p=0.4")
    assert say(*words, "--segments", "60", "--perturb", "none", *strong).code == 0
    assert say("superpixels", "report", "page.html", "--out", "out").code == 0
    refused = say("superpixels", "report", "page.pdf", "--out", "out")
    assert (refused.code, refused.err) == (2, wording)
    page = Path("page.html").read_text()
    assert "<h2>Robustness</h2>" in page
    assert "salt_pepper, p" in page
    few = say("superpixels", "table", "--reference", "paper-k20000", "--out", "out")
    assert (few.code, few.err) == (2, wording)
    assert say(*words, "--segments", "15000").code == 0
    table = say("superpixels", "table", "--reference", "paper-k20000", "--out", "out", "--csv")
    (line,) = pl.read_csv(table.out.encode()).rows(named=True)
    assert (line["method"], line["algorithm"], line["asked"], line["UE_paper"]) == ("watershed", "W", 15000, 0.0377)
    assert line["UE"] == pytest.approx(0, abs=0.01)  # one voxel each


def test_an_annotation_of_chosen_targets_is_verified_too(say: Callable[..., Said]) -> None:
    for targets in (("--targets", "blob.1"), ()):
        assert say(*RUN, "-m", "grid", "--segments", "60", "--cases", "first:1", *targets).code == 0
    rows = read_rows(Path("out"))
    assert rows["target_voxels"].n_unique() == len(rows) == 2
    verified = say("verify", "out")
    assert (verified.code, "2 ok" in verified.out) == (0, True), verified.out


def test_a_method_that_fails_is_a_row(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("mine.py").write_text(FAILING)
    said = say(*RUN, "-m", "halves", "-m", "grid", "--segments", "50,200", "--plugin", "mine.py")
    assert said.code == 1
    assert "too many" in said.err
    rows = read_rows(Path("out")).filter(pl.col("model").str.contains("halves")).sort("model")
    assert dict(rows.select("model", "status").iter_rows()) == {
        "supervoxels:method=halves,segments=200": "error",
        "supervoxels:method=halves,segments=50": "ok",
    }
    (told,) = rows.filter(pl.col("status") == "ok")["adapted"].unique()
    assert told == wording
    table = say("superpixels", "table", "--out", "out", "--by-number", "--csv", "--plugin", "mine.py")
    lines = pl.read_csv(table.out.encode()).filter(pl.col("method") == "halves").sort("asked")
    assert lines["failed"].to_list() == [0, lines["images"][0]]
    assert lines["Rec"][1] == 0
    assert lines["UE"][1] == 1
    assert lines["K"].to_list() == [2, 200]


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "grid", "--segments", "0"),
        ("-m", "grid", "--segments", "a,b"),
        ("-m", "gird", "--segments", "9"),
        ("-m", "grid", "--segments", "9", "--metric", "nsd"),
        ("-m", "grid", "--segments", "9", "--intensity", "x"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_is_said_before_anything_is_computed(
    say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion
) -> None:
    said = say(*RUN, *words)
    assert said.code == 2
    assert said.err == wording
    assert not list(Path("out").rglob("*.parquet"))


@pytest.mark.parametrize(
    "words",
    [
        ("--protocol", "superpixels@1", "--model", "box_fill"),
        ("--protocol", "superpixels@1", "--model", "supervoxels", "--joint", "others=negative"),
        ("--protocol", "superpixels@1", "--model", "supervoxels", "--prompter", "box_volume"),
        ("--model", "supervoxels", "--prompter", "box_volume", "--metric", "rec"),
    ],
    ids=" ".join,
)
def test_protocols_and_models_that_do_not_fit(
    say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion
) -> None:
    said = say("run", "-d", SMALL, "--workers", "0", "--out", "out", *words)
    assert said.code == 2
    assert said.err == wording


def test_tables_without_superpixels(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    prompted = ("--model", "supervoxels:method=grid,segments=50", "--prompter", "oracle:method=grid,segments=50")
    said = say("run", "-d", SMALL, "--workers", "0", "--out", "out", *prompted)
    assert said.code == 0, said.err
    rows = read_rows(Path("out"))
    assert (rows["status"] == "ok").all()
    assert all(0 < dice < 1 and math.isfinite(dice) for dice in rows["dice"])
    said = say("superpixels", "table", "--out", "out")
    assert said.code == 2
    assert said.err == wording
    said = say("superpixels", "table", "--out", "out", "--by-number", "--interval")
    assert said.err == wording


def test_the_prompter_partition_alone_gives_nothing(say: Callable[..., Said]) -> None:
    said = say("run", "-d", SMALL, "--workers", "0", "--out", "out", "--model", "box_fill", "--prompter", "partition")
    rows = read_rows(Path("out"))
    assert set(rows["status"]) == {"not_applicable"}, said.err
