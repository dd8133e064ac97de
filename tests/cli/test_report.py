"""`intrabench report` as it is typed."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.reporting.page.page_of import store
from tests.results.made import rows


@pytest.fixture(autouse=True)
def results() -> None:
    store(Path("out"), rows({"dice": 0.5, "hd95_mm": 4.0}, {"dice": 0.9, "protocol": "overlap@1"}))


def test_its_options(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("report", "a.html", "--out", "out", "--protocol", "basic@1", "--metric", "hd95", "--title", "Ours <1>")
    assert said.code == 0
    text = Path("a.html").read_text(encoding="utf-8")
    assert "<h1>Ours &lt;1&gt;</h1>" in text
    assert "HD95 4.0" in text
    assert re.findall(r"reaches HD95 .*? budget\.", text)[0] == wording
    assert "overlap@1" not in text


@pytest.mark.parametrize("opens", [True, False])
def test_it_opens_in_a_browser(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, opens: bool) -> None:
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: (asked.append(address), opens)[1])
    said = say("report", "a.html", "--out", "out", "--open")
    assert said.code == 0
    assert asked == [Path("a.html").absolute().as_uri()]
    assert said.out.endswith(f": {asked[0]}\n")
    assert ("; open a.html yourself" in said.err) != opens


def test_it_opens_nothing_unasked(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail(f"opened {address}"))
    assert say("report", "a.html", "--out", "out").code == 0


@pytest.mark.parametrize(
    "words",
    [
        ("a.htlm", "--out", "out"),
        ("--out", "a.html"),
        ("a.html", "--out", "out", "--metric", "dise"),
        ("a.html", "--out", "out", "--protocol", "basic"),
        ("a.html", "--out", "out", "--metric", "boundary_iou"),
    ],
    ids=" ".join,
)
def test_what_cannot_be_written_is_refused(
    say: Callable[..., Said], words: tuple[str, ...], wording: SnapshotAssertion
) -> None:
    said = say("report", *words)
    assert said.code == 2
    assert said.err == wording
    assert not list(Path().glob("*.ht*"))
