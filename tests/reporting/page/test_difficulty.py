"""The report's panel of difficult targets."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image

from intrabench.mask import Mask
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows
from intrabench.statistics.difficulty import difficulties
from intrabench.statistics.scores import scores
from tests.reporting.page.page_of import Page, read, report, store
from tests.results.made import rows

GREEN, MAGENTA = (90, 200, 90), (235, 80, 235)
"""Of outlines of targets and of answers."""


def pictures(page: Page) -> list[np.ndarray]:
    pairs = zip(page.tags, page.tags[1:], strict=False)
    addresses = [given["src"] or "" for (before, _), (tag, given) in pairs if (before, tag) == ("figure", "img")]
    return [np.asarray(Image.open(io.BytesIO(base64.b64decode(one.partition(",")[2])))) for one in addresses]


def near(picture: np.ndarray, colour: tuple[int, int, int]) -> int:
    """How many pixels have about this colour."""
    return int((abs(picture.astype(int) - colour).max(axis=-1) < 60).sum())


def test_the_hardest_targets_are_listed_and_drawn(played: Path, address: str) -> None:
    page, _ = read(Path(address.removeprefix("file://")))
    each = difficulties(scores(read_rows(played / "results")), "dice", "high")
    head, *listed = page.tables["difficulty-targets"]
    assert head[:3] == ["Data set", "Case", "Target"]
    assert [row[1:3] for row in listed] == [list(one) for one in each.select("case", "target").iter_rows()]
    assert [float(row[3]) for row in listed] == pytest.approx(each["mean"].to_list(), abs=5e-4)
    (line,) = page.tables["difficulty-sets"][1:]
    assert float(line[5].split()[0]) == pytest.approx(each["nsr"].mean(), abs=0.05)
    drawn = pictures(page)
    assert len(drawn) == 4
    for picture in drawn:
        assert near(picture, GREEN) > 20
        assert near(picture, MAGENTA) > 20
    named = [given["alt"] for tag, given in page.tags if tag == "img"]
    assert named[0] == f"the largest slice of {each['target'][0]} of {each['case'][0]}"


def test_lines_by_thirds_of_the_targets(played: Path, address: str) -> None:
    page, _ = read(Path(address.removeprefix("file://")))
    scored = scores(read_rows(played / "results"))
    each = difficulties(scored, "dice", "high")
    (names, *lines) = page.tables["difficulty-thirds"]
    assert [name.split(",")[0] for name in names[2:]] == ["hard", "medium", "easy"]
    hard = each.filter(difficulty="hard")
    assert names[2].endswith(f"({len(hard)})")
    (line,) = (one for one in lines if one[:2] == ["box_slice", "random_walker"])
    mine = scored.filter(prompter="box_slice", model="random_walker").join(hard, on=["case", "target"], how="semi")
    assert float(line[2].split()[0]) == pytest.approx(mine["value"].mean(), abs=5e-4)


def test_without_views_no_scan_is_in_the_page(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))
    page, _ = report(played / "results", views=0)
    assert pictures(page) == []
    assert len(page.tables["difficulty-targets"]) == 7


def test_the_answer_is_the_best_one(played: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from intrabench.reporting.page import difficulty

    asked: list[str] = []
    monkeypatch.setenv("INTRABENCH_DATA", str(played / "data"))

    def noted(root: Path, session: str) -> list[Mask]:
        asked.append(session)
        return read_masks(root, session)

    monkeypatch.setattr(difficulty, "read_masks", noted)
    report(played / "results", views=1)
    scored = scores(read_rows(played / "results"))
    hardest = difficulties(scored, "dice", "high").row(0, named=True)
    mine = scored.filter(case=hardest["case"], target=hardest["target"])
    (session,) = asked
    values = mine["value"].drop_nulls().to_list()
    assert mine.filter(session=session)["value"].item() == max(values) > min(values)


def test_two_targets_have_no_thirds(tmp_path: Path) -> None:
    given = rows(*({"dice": 0.5, "case": str(case)} for case in range(3)))
    page, _ = report(store(tmp_path / "three", given))
    assert "difficulty-sets" in page.tables
    page, _ = report(store(tmp_path / "two", given.filter(pl.col("case") != "0")))
    assert not [name for name in page.tables if name.startswith("difficulty")]
    assert "#difficulty-section" not in [given.get("href") for _, given in page.tags]
