"""Tables to search, links that keep the view, the error map, and axe, in a real browser."""

from __future__ import annotations

import csv
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest

import intrabench
from intrabench.datasets.cases import store as cases
from intrabench.reporting.page.page import write_report
from intrabench.results.masks import read_masks
from intrabench.results.parts import read_rows
from tests.people.browsing import serious
from tests.reporting.page.browsing import until, wait_for_viewer
from tests.reporting.page.conftest import PHANTOM
from tests.results.made import rows as made

SLOW = pytest.mark.slow  # each width and each scheme is looked at once all the same


@pytest.fixture(scope="module")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Of 83 labels in 1000 cases a few, on 13 models: more lines than are shown at once."""
    folder = tmp_path_factory.mktemp("crowded")
    given = made(
        *(
            {"case": f"case-{n}", "label": f"label {n % 83}", "model": f"model{m}", "dice": (n * 7 + m) % 100 / 100}
            for n in range(130)
            for m in range(13 if n < 2 else 4)
        )
    )
    (folder / "rows").mkdir()
    given.write_parquet(folder / "rows" / "run-0001.parquet")
    write_report(folder, folder / "report.html", views=0)
    return (folder / "report.html").as_uri()


def first(page: Any) -> list[str]:
    return [text.replace("\n", "") for text in page.locator("#explored tbody tr > :first-child").all_inner_texts()]


def saved(page: Any, button: Any, folder: Path) -> list[list[str]]:
    """The rows of the file that a button saves."""
    with page.expect_download() as download:
        button.click()
    download.value.save_as(folder / download.value.suggested_filename)
    with (folder / download.value.suggested_filename).open(newline="") as file:
        return list(csv.reader(file))


def test_what_is_searched_filtered_and_sorted_is_shown_and_saved(opened: Any, crowded: str, tmp_path: Path) -> None:
    page = opened(crowded)
    section, status = page.locator("#explore"), page.locator("#explore [role=status]")
    assert status.inner_text() == "Rows 1 to 50 of 83"
    assert len(first(page)) == 50
    page.get_by_role("button", name="Next").press("Enter")
    assert (status.inner_text(), len(first(page))) == ("Rows 51 to 83 of 83", 33)
    section.get_by_label("case", exact=True).check()
    assert status.inner_text() == "Rows 1 to 50 of 130"  # from the first page again
    section.get_by_label("Columns").select_option(label="model3")
    section.get_by_label("Search").fill("case-12")
    assert first(page) == [f"case-{n}" for n in (12, 120, 121, 122, 123, 124, 125, 126, 127, 128, 129)]
    dice = {n: (n * 7 + 3) % 100 / 100 for n in (12, *range(120, 130))}
    section.get_by_label("Dice at most").fill("0.6")
    section.locator("thead th").last.get_by_role("button").press("Enter")
    low = sorted((n for n in dice if dice[n] <= 0.6), key=dice.__getitem__)
    assert first(page) == [f"case-{n}" for n in low]
    assert section.locator("thead th").last.get_attribute("aria-sort") == "ascending"
    assert page.evaluate("document.activeElement.closest('th')?.cellIndex") == 2  # the key can be pressed again
    page.keyboard.press("Enter")
    lines = saved(page, section.get_by_role("button", name="Download as CSV"), tmp_path)
    assert lines[0] == ["Case", "Targets", "p"]
    assert [(line[0], float(line[2])) for line in lines[1:]] == [(f"case-{n}", dice[n]) for n in reversed(low)]
    section.get_by_label("Search").fill("nobody")
    assert (status.inner_text(), first(page)) == ("No row passes.", [])


def test_a_csv_has_all_pages(opened: Any, crowded: str, tmp_path: Path) -> None:
    page = opened(f"{crowded}#explore?rows=target&label=%3Dlabel+3")
    assert first(page) == ["case-3", "case-86"]
    page = opened(f"{crowded}#explore?rows=target")
    lines = saved(page, page.locator("#explore").get_by_role("button", name="Download as CSV"), tmp_path)
    assert len(lines) == 131
    assert lines[0][:3] == ["Case", "Target", "Label"]
    lines = saved(page, page.get_by_role("button", name="Download as CSV: effort"), tmp_path)
    assert (len(lines), lines[0][:2]) == (14, ["Prompter", "Model"])


def test_a_link_keeps_the_view_and_back_goes_back(opened: Any, address: str) -> None:
    page = opened(address)
    wait_for_viewer(page)
    page.locator("#explore").get_by_label("target", exact=True).check()
    start, told = page.locator("[name=target]").input_value(), page.locator("#state").text_content()
    cell = page.locator("#explored tbody tr").nth(3).locator("td a").first
    cell.press("Enter")
    until(page, "document.getElementById('state').textContent !== given", told)  # unpacked, and its answers listed
    key = page.locator("[name=target] option:checked").get_attribute("data-key")
    assert key.split("/")[1:] == page.locator("#explored tbody tr").nth(3).locator("th").all_inner_texts()
    assert page.evaluate("location.hash").startswith("#viewer?")
    until(page, "document.getElementById('viewer').getBoundingClientRect().top < 400")
    answer = page.locator("[name=session]").input_value()
    other = next(n for n, text in enumerate(page.locator("[name=session] option").all_inner_texts()) if "scrib" in text)
    assert str(other) != answer
    page.get_by_label("Answer of").select_option(index=other)
    page.locator("[name=round]").press("Home")
    page.get_by_label("axial slice").press("ArrowRight")
    page.get_by_role("radio", name="seconds of the user").last.check()
    other = opened(page.evaluate("location.href"))
    until(other, "document.getElementById('state').textContent === given", page.locator("#state").text_content())
    for control in (
        "[name=target]",
        "[name=session]",
        "[name=round]",
        ".planes input >> nth=0",
        "[name=level]:checked",
    ):
        assert other.locator(control).input_value() == page.locator(control).input_value(), control
    assert other.get_by_role("radio", name="seconds of the user").last.is_checked()
    assert "after the first prompts" in page.locator("#state").inner_text()
    page.go_back()
    until(page, "document.querySelector('[name=effort]').checked")  # as at first
    page.go_back()
    until(page, "document.querySelector('[name=session]').value === given", answer)
    assert page.locator("[name=target] option:checked").get_attribute("data-key") == key
    page.go_back()
    until(page, "document.querySelector('[name=target]').value === given", start)
    page.go_forward()
    until(page, "document.querySelector('[name=target]').selectedOptions[0].dataset.key === given", key)


def test_links_of_another_report_and_to_sections_do_no_harm(opened: Any, address: str) -> None:
    page = opened(
        f"{address}#viewer?target=gone%2Fgone&answer=nobody&round=99&at=a,b&columns=none&sort=none&page=-3&rows=x"
    )
    wait_for_viewer(page)
    assert page.locator("[name=target]").evaluate("box => box.selectedIndex") == 0
    page.evaluate("location.hash = '#%E0%A4%A'")
    page.get_by_role("link", name="Failures").click()
    assert page.evaluate("location.hash") == "#failures-section"


def test_errors_are_where_answer_and_target_differ(opened: Any, address: str, played: Path) -> None:
    """Orange where the answer has too much, blue where it misses something, in every voxel and nowhere else."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(played / "data"))
        played_by = read_rows(played / "results").filter(prompter="box_interp:n=3", model="random_walker")
        row = played_by.sort("fp_voxels").row(-1, named=True)
        scene = cases.open_case(intrabench.dataset(PHANTOM), row["case"])
        truth, voxel_ml = scene.targets([row["target"]])[0].mask, np.prod(scene.volume.spacing_mm) / 1000
    answer = read_masks(played / "results", row["session"])[-1]
    whole = (0, 0, 0, 24, 48, 48)
    differ = answer.crop(whole).astype(int) - truth.crop(whole).astype(int)
    z = int(np.argmax(((differ > 0).any((1, 2))) & (differ < 0).any((1, 2))))  # a slice with both
    target = quote(f"{row['dataset']}/{row['case']}/{row['target']}", safe="")
    page = opened(f"{address}#viewer?target={target}&answer={quote('box_interp:n=3, random_walker')}&at={z},20,20")
    wait_for_viewer(page)
    for name in ("target", "answer", "prompts", "cross-hair"):
        page.locator("#viewer").get_by_label(name, exact=True).uncheck()
    script = """() => {
      const option = document.querySelector('[name=target]').selectedOptions[0];
      const view = JSON.parse(document.getElementById(option.value).textContent), [, rows, columns] = view.shape;
      const canvas = document.querySelector('.planes canvas'), { width, height } = canvas, found = [];
      const copy = new OffscreenCanvas(width, height).getContext('2d', { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, width, height);
      for (let y = 0; y < rows; y++)
        for (let x = 0; x < columns; x++) { // the middle of a voxel; all axes run backwards
          const [right, down] = [width * (1 - (x + 0.5) / columns), height * (1 - (y + 0.5) / rows)].map(Math.floor);
          const [red, , blue] = data.subarray(4 * (down * width + right));
          if (red !== blue) found.push([y + view.origin[1], x + view.origin[2], red > blue ? 1 : -1]);
        }
      return [Number(document.querySelector('.planes output').textContent), view.origin, view.shape, found];
    }"""
    shown, (_, y0, x0), (_, rows, columns), found = page.evaluate(script)
    assert shown == z
    expected = [
        [int(y), int(x), int(differ[z, y, x])]
        for y, x in np.argwhere(differ[z])
        if 0 <= y - y0 < rows and 0 <= x - x0 < columns
    ]
    assert found == expected
    assert {kind for *_, kind in expected} == {1, -1}
    page.locator("#viewer").get_by_label("errors", exact=True).uncheck()
    assert page.evaluate(script)[-1] == []
    amounts = [f"{float(f'{row[name] * voxel_ml:.3g}'):g}" for name in ("fp_voxels", "fn_voxels")]
    told = re.search(r"Too much: ([\d.]+) ml; missed: ([\d.]+) ml", page.locator("#state").inner_text())
    assert told is not None
    assert [f"{float(amount):g}" for amount in told.groups()] == amounts


def test_the_model_stays_in_sight_on_a_phone(opened: Any, address: str, crowded: str) -> None:
    for where in (address, crowded):
        page = opened(where, 360)
        page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
        until(page, "Number.parseInt(document.getElementById('metrics').style.getPropertyValue('--first')) > 0")
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        for table in ("effort", "metrics", "ranking", "progress"):
            frame = page.locator(f".wide:has(#{table})")
            frame.evaluate("node => (node.scrollLeft = node.scrollWidth)")
            left, right, edge = frame.evaluate(
                """node => {
                  const place = (one) => one.getBoundingClientRect(), frame = place(node);
                  const [first, second] = [".stay0", ".stay1"].map((one) => place(node.querySelector(`tbody ${one}`)));
                  return [second.left - frame.left, frame.right - second.right, first.right - frame.left];
                }"""
            )
            assert 0 <= left <= 180, table
            assert right > 60, table  # numbers have room beside it
            assert left == pytest.approx(edge, abs=1), table


@pytest.mark.parametrize(
    ("width", "scheme"),
    [(360, "dark"), (1280, "light"), *(pytest.param(*one, marks=SLOW) for one in ((360, "light"), (1280, "dark")))],
)
def test_nothing_serious_keeps_people_from_using_it(
    opened: Any, axe: Any, address: str, width: int, scheme: str
) -> None:
    page = opened(f"{address}#explore?rows=target", width, scheme)
    page.evaluate("document.querySelectorAll('details').forEach(part => part.open = true)")
    assert serious(axe, page) == []


def test_numbers_in_the_middle_are_written_as_in_the_other_tables(address: str, opened: Any) -> None:
    given = [
        (18.25, 1),
        (18.75, 1),
        (0.0625, 3),
        (0.1875, 3),
        (-18.25, 1),
        (2.675, 2),
        (1.005, 2),
        (0.1235, 3),
        (2.5, 0),
    ]
    assert opened(address).evaluate("given => given.map(([value, digits]) => fixed(value, digits))", given) == [
        f"{value:.{digits}f}" for value, digits in given
    ]
