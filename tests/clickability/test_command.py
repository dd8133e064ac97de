"""`intrabench clickability evaluate|train` on a folder of pictures, a file of clicks and a folder of masks."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.clickability.clicks_csv import read_clicks
from intrabench.clickability.distance import Distance
from intrabench.clickability.named import _click_model
from intrabench.clickability.rclicks import RClicks
from intrabench.statistics.click_evaluation import evaluate, means
from tests.clickability.simulated import examples
from tests.conftest import Said
from tests.models.networks.clickability import make_small

SIDE = 40
EXAMPLES = examples(6, SIDE, "command")  # every second one is of a first click


@pytest.fixture
def words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A folder of pictures, their clicks, and the masks that were corrected, as options."""
    make_small(monkeypatch)
    for folder in ("set/images", "set/masks", "previous"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "set/dataset.toml").write_text('name = "seen"\n[labels]\n"*" = "object"\n')
    with (tmp_path / "clicks.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["dataset", "full_stem", "click_type", "device", "display", "x", "y", "w", "h"])
        for number, one in enumerate(EXAMPLES):
            name = f"p{number}"
            Image.fromarray(one.image).save(tmp_path / f"set/images/{name}.png")
            Image.fromarray(one.target.astype(np.uint8)).save(tmp_path / f"set/masks/{name}.png")
            stem = name if number % 2 == 0 else f"{name}_ritm_fn"
            Image.fromarray(np.uint8(255) * (one.target & ~one.error)).save(tmp_path / f"previous/{stem}.png")
            for at, (y, x) in enumerate(one.clicks):
                device, display = ("mobile", "pc")[at % 2], ("text", "outline", "outline")[at % 3]
                rows.writerow(["seen", stem, "fn" if number % 2 else "first", device, display, x, y, SIDE, SIDE])
    return ["--clicks", str(tmp_path / "clicks.csv"), "--dataset", str(tmp_path / "set")]


def masks(tmp_path: Path) -> list[str]:
    return ["--masks", str(tmp_path / "previous")]


def test_evaluate(say: Callable[..., Said], words: list[str], tmp_path: Path) -> None:
    said = say(
        "clickability", "evaluate", *words, *masks(tmp_path), "-m", "distance", "-m", "uniform", "--format", "csv"
    )
    assert said.code == 0, said.err
    found = pl.read_csv(io.StringIO(said.out))
    assert found.height == 2 * 3 * 5  # models, click types and all of them, metrics
    given = {f"p{n}" if n % 2 == 0 else f"p{n}_ritm_fn": one for n, one in enumerate(EXAMPLES)}
    expected = means(
        evaluate(
            read_clicks(tmp_path / "clicks.csv"),
            lambda entry: (
                given[entry.full_stem].image,
                given[entry.full_stem].target,
                given[entry.full_stem].error,
            ),
            Distance(),
        )
    )
    both = found.filter(model="distance").join(expected, on=["dataset", "click_type", "metric"], suffix="_own")
    assert both.height == 15
    np.testing.assert_allclose(both["value"], both["value_own"])
    assert both.filter(click_type="fn")["stems"].to_list() == [3] * 5
    without = say("clickability", "evaluate", *words, "-m", "uniform", "--format", "csv")
    assert set(pl.read_csv(io.StringIO(without.out))["click_type"]) == {"first", "all"}


def test_of_one_device(say: Callable[..., Said], words: list[str], wording: SnapshotAssertion) -> None:
    every, pc = (
        say("clickability", "evaluate", *words, "-m", "distance", "--format", "csv", *more)
        for more in ([], ["--device", "pc"])
    )
    assert (every.code, pc.code) == (0, 0), pc.err
    assert every.out != pc.out
    assert say("clickability", "evaluate", *words, "-m", "distance", "--device", "tablet").err == wording


def test_compare(say: Callable[..., Said], words: list[str], tmp_path: Path, wording: SnapshotAssertion) -> None:
    path, options = words[1], words[2:]
    sets = [f"{path},device=pc", f"{path},device=mobile"]
    said = say("clickability", "compare", *sets, *options, *masks(tmp_path), "--least", "5", "--format", "csv")
    assert said.code == 0, said.err
    found = pl.read_csv(io.StringIO(said.out))
    assert found.height == 3 * 3 * 3  # the sets, chance and their difference; click types and all of them; metrics
    assert found.filter(click_type="fn")["stems"].unique().to_list() == [3]
    assert say("clickability", "compare", *sets, *options, "--least", "5").out == wording
    displays = [f"{path},display=text", f"{path},display=outline"]
    said = say("clickability", "compare", *displays, *options, "--least", "4")
    assert (said.code, "12 clicks; B:" in said.out) == (0, True), said.out + said.err
    for other in f"{path},devise=pc", f"{path},pc", f"{path},display=shadow", str(tmp_path / "none.csv"):
        said = say("clickability", "compare", path, other, *options)
        assert (said.code, said.err) == (2, wording)
    assert say("clickability", "compare", *sets, *options).err == wording  # six clicks of each


def test_train_resume_and_click(
    say: Callable[..., Said], words: list[str], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    folder = tmp_path / "trained"
    small = ["--folder", str(folder), "--size", "64", "--batch", "2", "--lr", "0.003", "--validation", "0.4"]
    said = say("clickability", "train", *words, *masks(tmp_path), *small, "--epochs", "2")
    assert said.code == 0, said.err
    assert said.err.count("epoch ") == 2
    again = say("clickability", "train", *words, *masks(tmp_path), *small, "--epochs", "2")
    assert (again.code, again.err.count("epoch ")) == (0, 0)
    path = folder / "clickability_model.pth"
    assert said.out == wording
    run = [
        "run",
        "-m",
        "grabcut",
        "-d",
        str(tmp_path / "set"),
        "--cases",
        "p0",
        "--rounds",
        "1",
        "--out",
        str(tmp_path / "r"),
    ]
    ran = say(*run, "-p", f"clickability:model={path}:size=64")
    assert ran.code == 2  # a path takes no parameters
    ran = say(*run, "-p", f"clickability:model={path},group=10")
    assert ran.code == 0, ran.err
    rows = pl.read_parquet(tmp_path / "r" / "rows" / "*.parquet")
    assert rows["status"].unique().to_list() == ["ok"]
    assert rows["prompter"][0].endswith(f",weights={RClicks(weights=str(path)).other_weights}")
    again = say(*run, "-p", rows["prompter"][0])
    assert again.err == wording
    path.write_bytes(path.read_bytes() + b" ")
    _click_model.cache_clear()
    assert "omit weights=" in say(*run, "-p", rows["prompter"][0]).err


def test_wrong_words(say: Callable[..., Said], words: list[str], tmp_path: Path, wording: SnapshotAssertion) -> None:
    for more, sentence in (
        (["-m", "distanc"], "no clickability model 'distanc', did you mean 'distance'?"),
        (["-m", "uniform", "--masks", str(tmp_path / "none")], "is not a folder; give the folder that holds STEM.png"),
        (["-m", "uniform", "--masks", str(tmp_path / "set")], "has no p1_ritm_fn.png, the mask that was corrected"),
    ):
        said = say("clickability", "evaluate", *words, *more)
        assert (said.code, sentence in said.err) == (2, True), said.err
    said = say("clickability", "evaluate", *words[:3], "phantom", "-m", "uniform")
    assert said.err.rstrip() == wording
    train = ["clickability", "train", *words, "--folder", str(tmp_path / "t")]
    text = say(*train, "--validation", "half").err
    assert "example 0.25" in text
    assert text == wording
    assert say(*train, "--validation", "0").err == wording
    (tmp_path / "set/images/p0.png").unlink()
    (tmp_path / "set/masks/p0.png").unlink()
    said = say("clickability", "evaluate", *words, "-m", "uniform")
    assert said.err == wording


def test_what_training_refuses(
    say: Callable[..., Said], words: list[str], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    (tmp_path / "file").write_text("")
    train = ["clickability", "train", *words, "--validation", "0.4", "--size", "64", "--epochs", "1"]
    for more, sentence in (
        (["--folder", str(tmp_path / "file")], "is a file; give a folder"),
        (["--folder", str(tmp_path / "t"), "--device", "foo"], "--device foo is unknown"),
    ):
        said = say(*train, *more)
        assert (said.code, sentence in said.err) == (2, True), said.err
    assert say(*train, "--folder", str(tmp_path / "t")).code == 0
    clicks = tmp_path / "clicks.csv"
    clicks.write_text(clicks.read_text().replace(",pc,", ",mobile,"))
    assert say(*train, "--folder", str(tmp_path / "t")).code == 0  # the same clicks
    rows = clicks.read_text().splitlines()
    clicks.write_text("\n".join([rows[0], *rows[2:]]) + "\n")  # one click less
    assert say(*train, "--folder", str(tmp_path / "t")).err == wording


def test_masks_of_zeros_and_ones_are_no_masks_of_probabilities(
    say: Callable[..., Said], words: list[str], tmp_path: Path, wording: SnapshotAssertion
) -> None:
    path = tmp_path / "previous" / "p1_ritm_fn.png"
    Image.fromarray(np.array(Image.open(path)) // 255).save(path)
    said = say("clickability", "evaluate", *words, *masks(tmp_path), "-m", "uniform")
    assert (said.code, said.err) == (2, wording)
