"""The site in a real browser, opened from disk: filters, sorting, budgets, addresses that stay, names of anybody."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.publishing.board.files import Submitter
from intrabench.publishing.board.site import build
from tests.publishing.board.conftest import BY, remade
from tests.tabs import Tabs

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(2)>"\'</script>{{7*7}}'
SEEN = pl.when(pl.col("model") == "box_fill").then(pl.lit("yes")).otherwise("seen_in_training")


@pytest.fixture(scope="module")
def site(played: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four submissions: one withheld in part, one on another version of the data, one with names that would be code."""
    folder = tmp_path_factory.mktemp("site")
    submissions = folder / "submissions"
    shutil.copytree(played / "lab-a", submissions / "lab-a")
    hostile = Submitter(HOSTILE, "https://lab.example/?a=1&b=2", HOSTILE, HOSTILE)
    names = {"label": pl.lit(HOSTILE), "model": pl.lit(f"mine{HOSTILE}"), "model_version": pl.lit("1.3f9a0c2e")}
    some: list[tuple[str, Submitter, dict[str, pl.Expr]]] = [
        ("lab-b", BY, {"seen_in_training": SEEN, "model_version": pl.lit("2")}),
        ("lab-c", BY, {"dataset_version": pl.lit("2")}),
        ("lab-d", hostile, {**names, "dataset": pl.lit(f"clinic{HOSTILE}"), "case": pl.lit(HOSTILE)}),
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(played / "data"))
        for name, by, columns in some:
            shutil.move(remade(played / "results", folder, name, by, **columns).folder, submissions / name)
        refused, _ = build(submissions, folder / "site", f"Board of {HOSTILE}")
    assert refused == []
    return folder / "site"


def table_of(site: Path, version: str = "1") -> Path:
    (path,) = (site / "tables").glob(f"phantom*-version-{version}-*.html")
    return path


LOOKS = [("light", 1280), ("dark", 360)]
in_all_looks = pytest.mark.parametrize("opened", LOOKS, indirect=True, ids=str)


@pytest.fixture(params=[LOOKS[0], pytest.param(LOOKS[1], marks=pytest.mark.slow)], ids=str)
def opened(request: pytest.FixtureRequest, tabs: Tabs) -> Iterator[Any]:
    """An empty page; whatever the browser complains of, or asks for besides files of the site, fails the test."""
    scheme, width = request.param
    yield tabs.open("about:blank", width, scheme, home="file:")
    assert tabs.reset() == []


@pytest.fixture
def page(opened: Any, site: Path) -> Any:
    """The table with withheld lines."""
    opened.goto(table_of(site).as_uri())
    return opened


def shown(page: Any, column: int) -> list[str]:
    """The texts of a column of the lines, without what stands below them, as far as they are shown."""
    rows = f"[...document.querySelectorAll('#lines tbody tr:not([hidden])')].map(row => row.cells[{column}])"
    parts = "[...cell.childNodes].filter(part => part === cell.firstChild || !/^(SPAN|SMALL|DIV)$/.test(part.nodeName))"
    texts: list[str] = page.evaluate(f"{rows}.map(cell => {parts}.map(part => part.textContent).join(''))")
    return texts


def chooser(page: Any, name: str) -> Any:
    return page.locator(f"#ranks select[name={name}]")


RANK, SCORE, MODEL, PROMPTER, STATUS = range(5)


@in_all_looks
def test_no_name_is_code(opened: Any, site: Path) -> None:
    for path in sorted(site.rglob("*.html")):
        opened.goto(path.as_uri())
        text = opened.evaluate("document.documentElement.textContent")
        assert "{{7*7}}" in text or "lab-d" not in path.name
        assert opened.evaluate("[...document.querySelectorAll('img')].length") == 0
        scripts = opened.evaluate("[...document.querySelectorAll('script:not([type])')].length")
        assert scripts == 1
        assert opened.evaluate("document.documentElement.scrollWidth <= innerWidth"), path


@in_all_looks
def test_people_of_all_kinds_can_use_it(opened: Any, site: Path, axe: Any) -> None:
    for path in (site / "index.html", table_of(site), site / "submissions" / "lab-d.html", *_first(site / "models")):
        found = axe(_unguarded(opened, path))
        assert found.violations_count == 0, found.generate_report()


def _first(folder: Path) -> list[Path]:
    return sorted(folder.glob("*.html"))[:1]


def _unguarded(page: Any, path: Path) -> Any:
    """The page without its policy, which forbids what axe does; its script runs as before."""
    policy = re.compile(r"<meta http-equiv=Content-Security-Policy[^>]*>")
    page.route(
        path.as_uri(), lambda route: route.fulfill(body=policy.sub("", path.read_text()), content_type="text/html")
    )
    page.goto(path.as_uri())
    return page


def test_the_start_page_filters_tables_and_remembers_it(opened: Any, site: Path) -> None:
    opened.goto((site / "index.html").as_uri())
    versions = "[...document.querySelectorAll('#tables tbody tr:not([hidden])')].map(row => row.cells[1].textContent)"
    assert sorted(opened.evaluate(versions)) == ["1", "1", "2"]
    opened.get_by_label("Modality").select_option("synthetic")
    assert opened.evaluate(versions) == ["1", "2"]
    assert opened.locator("#shown").inner_text() == "2 of 3 tables"
    opened.get_by_label("Data set").select_option(index=1)
    assert opened.locator("#shown").inner_text() == "0 of 3 tables"  # the data of the clinic have another modality
    kept = opened.url
    opened.goto("about:blank")
    opened.goto(kept)
    assert opened.locator("#shown").inner_text() == "0 of 3 tables"
    opened.locator("#tables thead button").nth(1).click()
    assert opened.locator("#tables thead th").nth(1).get_attribute("aria-sort") == "ascending"


def test_a_withheld_line_is_shown_explained_and_not_ranked(page: Any, wording: SnapshotAssertion) -> None:
    assert shown(page, RANK) == ["1", "1", "3", "3", "5", "5", "–", "–"]
    status = shown(page, STATUS)
    assert status == ["ranked"] * 6 + ["withheld"] * 2
    assert all(float(score) > 0.5 for score in shown(page, SCORE))
    row = page.locator("#lines tbody tr").last
    assert row.inner_text() == wording
    assert "Withheld" in page.locator("#words").inner_text()
    says = page.locator("#score-says")
    text = says.inner_text()
    assert "8 of 8 lines" in text
    assert text == wording
    chooser(page, "status").select_option("withheld")
    assert (shown(page, STATUS), shown(page, RANK)) == (["withheld"] * 2, ["–"] * 2)


def test_filters_rank_what_is_left(page: Any) -> None:
    chooser(page, "model").select_option("supervoxels:method=grid")
    assert set(shown(page, MODEL)) == {"supervoxels:method=grid"}
    ranks, scores = shown(page, RANK), [float(score) for score in shown(page, SCORE)]
    assert ranks[0] == "1"
    assert scores == sorted(scores, reverse=True)
    chooser(page, "prompter").select_option("box_slice")
    assert shown(page, PROMPTER) == ["box_slice"] * 2
    assert shown(page, RANK) == ["1", "1"]  # the same sessions, of two submissions


def test_a_budget_shows_what_it_reaches(page: Any, wording: SnapshotAssertion) -> None:
    final = shown(page, SCORE)
    chooser(page, "budget").select_option(index=1)
    assert page.locator("#score-says").inner_text() == wording
    within = shown(page, SCORE)
    assert max(map(float, within)) < min(map(float, final))
    chooser(page, "unit").select_option("seconds_human")
    assert page.locator("#curves input[name=effort]").nth(2).is_checked()
    chooser(page, "column").select_option("hd95_mm@1")
    scores = [float(score) for score in shown(page, SCORE)][:6]
    assert scores == sorted(scores)  # less is better
    assert chooser(page, "budget").is_disabled()


def test_scores_without_budgets_offer_none(played: Path, tmp_path: Path, opened: Any) -> None:
    """Surface distances do not grow from 0, and Dice is no score of this protocol."""
    (tmp_path / "submissions").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(played / "data"))
        made = remade(played / "results", tmp_path, "lab-e", protocol="cvpr25@1", **{"nsd:spacing=xyz": 0.5})
    shutil.move(made.folder, tmp_path / "submissions")
    refused, _ = build(tmp_path / "submissions", tmp_path / "site", "Board")
    assert refused == []
    opened.goto(table_of(tmp_path / "site").as_uri())
    assert not chooser(opened, "unit").is_visible()
    assert not chooser(opened, "budget").is_visible()
    assert chooser(opened, "model").is_visible()


def test_heads_sort_by_pointer_and_by_key(page: Any) -> None:
    head = page.locator("#lines thead th").nth(SCORE)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    falling = [float(score) for score in shown(page, SCORE)]
    assert falling == sorted(falling, reverse=True)
    head.get_by_role("button").click()
    assert [float(score) for score in shown(page, SCORE)] == falling[::-1]
    page.locator("#lines thead th button").nth(MODEL).press("Space")
    assert shown(page, MODEL) == sorted(shown(page, MODEL))


def test_choices_and_lines_have_addresses(page: Any) -> None:
    chooser(page, "column").select_option("iou@1")
    chooser(page, "budget").select_option(index=1)
    chooser(page, "prompter").select_option("box_slice")
    kept, scores = page.url, shown(page, SCORE)
    assert "column=iou%401" in kept
    page.goto("about:blank")
    page.goto(kept)
    assert shown(page, SCORE) == scores
    assert set(shown(page, PROMPTER)) == {"box_slice"}
    line = page.locator("#lines tbody tr:not([hidden])").first
    line.locator(".rank a").click()
    id = line.get_attribute("id")
    assert page.url.endswith(f"#{id}")
    page.goto("about:blank")
    page.goto(f"{page_of(kept)}#{id}")
    assert page.evaluate("document.querySelector('tr:target').id") == id
    assert len(shown(page, SCORE)) == 8


def page_of(url: str) -> str:
    return url.partition("#")[0]


def test_curves_draw_every_line(page: Any) -> None:
    page.locator("#curves .panels figure").nth(1).wait_for(state="attached")  # drawn after the page is loaded
    assert page.locator("#curves .panels figure").count() == 2  # of two models
    assert page.locator("#curves .series").count() >= 8
    assert page.locator("#curves").get_by_text("box_slice (lab-b, withheld)").count() >= 1


def test_two_versions_of_data_have_tables_of_their_own(opened: Any, site: Path) -> None:
    opened.goto(table_of(site, "2").as_uri())
    assert shown(opened, RANK)[0] == "1"
    labs = "[...document.querySelectorAll('#lines tbody tr')].map(row => row.lastElementChild.textContent)"
    assert set(opened.evaluate(labs)) == {"lab-c"}
    (model,) = (site / "models").glob("box-fill-*.html")
    opened.goto(model.as_uri())
    heads = opened.locator("main h2").all_inner_texts()
    assert [head.split(", version ")[1] for head in heads] == ["1, basic@2", "2, basic@2"]
    assert opened.locator("main table").count() == 2


class _Links(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.hrefs: list[str] = []
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.ids |= {str(given["id"])} if "id" in given else set()
        self.hrefs += [str(given["href"])] if tag == "a" else []


def test_no_link_is_dead(site: Path) -> None:
    known = {path: _Links(path.read_text()) for path in site.rglob("*.html")}
    assert len(known) == 1 + 3 + 3 + 4
    for path, page in known.items():
        for href in page.hrefs:
            if href.startswith(("https://", "mailto:")):
                continue
            file, _, id = href.partition("#")
            target = (path.parent / unquote(file)).resolve() if file else path
            assert target.is_file(), (path, href)
            assert not id or id in known[target].ids, (path, href)


def test_a_rebuilt_site_has_the_same_addresses(site: Path) -> None:
    before = sorted(path.relative_to(site) for path in site.rglob("*"))
    refused, _ = build(site.parent / "submissions", site, "again")
    assert refused == []
    assert sorted(path.relative_to(site) for path in site.rglob("*")) == before
    assert not list(site.parent.glob(".site*"))


def test_the_table_can_be_saved(page: Any) -> None:
    with page.expect_download() as waiting:
        page.get_by_role("button", name="Download as CSV: lines").click()
    head, first, *_ = Path(waiting.value.path()).read_text().splitlines()
    assert head.startswith("Rank,Score,Model,Prompter,Status,Interactions,")
    assert first.startswith("1,0.")
    assert "box_slice" in first
