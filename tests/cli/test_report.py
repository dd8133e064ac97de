"""`intrabench report` as it is typed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Said
from tests.reporting.page.page_of import store
from tests.results.made import rows


@pytest.fixture(autouse=True)
def results() -> None:
    store(Path("out"), rows({"dice": 0.5, "hd95_mm": 4.0}, {"dice": 0.9, "protocol": "overlap@1"}))


def test_its_options(say: Callable[..., Said]) -> None:
    said = say("report", "a.html", "--out", "out", "--protocol", "basic@1", "--metric", "hd95", "--title", "Ours <1>")
    assert said.code == 0
    text = Path("a.html").read_text(encoding="utf-8")
    assert "<h1>Ours &lt;1&gt;</h1>" in text
    assert "reaches HD95 4.0\u00a0mm (no interval; 1 target in 1 case); no other line is within this budget." in text
    assert "overlap@1" not in text


@pytest.mark.parametrize("opens", [True, False])
def test_it_opens_in_a_browser(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, opens: bool) -> None:
    asked: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: (asked.append(address), opens)[1])
    said = say("report", "a.html", "--out", "out", "--open")
    assert said.code == 0
    assert asked == [Path("a.html").absolute().as_uri()]
    assert ("no browser could be opened; open a.html yourself" in said.err) != opens


def test_it_opens_nothing_unasked(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("webbrowser.open", lambda address: pytest.fail(f"opened {address}"))
    assert say("report", "a.html", "--out", "out").code == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("a.htlm", "--out", "out"), "a.htlm is not the name of an HTML file; give one that ends in .html"),
        (
            ("--out", "a.html"),
            "--out a.html: that is the results folder; name the file without an option: report a.html",
        ),
        (("a.html", "--out", "out", "--metric", "dise"), "there is no metric 'dise', did you mean 'dice'?"),
        (("a.html", "--out", "out", "--protocol", "basic"), "out has no results of protocol 'basic'"),
        (
            ("a.html", "--out", "out", "--metric", "boundary_iou"),
            "no session was scored by boundary_iou; run again with",
        ),
    ],
)
def test_what_cannot_be_written_is_refused(say: Callable[..., Said], words: tuple[str, ...], sentence: str) -> None:
    said = say("report", *words)
    assert said.code == 2
    assert sentence in said.err
    assert not list(Path().glob("*.ht*"))
