"""What pip is configured to, and pages of an index that are not what they should be."""

from __future__ import annotations

import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.fetch import pages, stall
from intrabench.fetch.download import DownloadError
from intrabench.fetch.pip_config import PipSettings, pip_settings
from tests.fetch.packages import WHEEL, Index, assert_private, source, wheel
from tests.server import dripping, serving

pytestmark = pytest.mark.usefixtures("configured", "nothing_private_in_logs")


@pytest.mark.parametrize(
    "odd", [None, {"timeout": "soon"}, {"find_links": "here"}, {"index_url": 7}, {"no_index": "x"}, {"cert": []}]
)
def test_options_of_another_pip_are_not_used(
    with_pip: None, monkeypatch: pytest.MonkeyPatch, odd: dict[str, object] | None
) -> None:
    pip: dict[str, object] = {key: [] for key in ("extra_index_urls", "find_links", "trusted_hosts")}
    pip |= {"index_url": "https://pips/simple", "no_index": False, "timeout": 15}
    pip |= dict.fromkeys(("cert", "client_cert", "proxy"))

    def first_index(given: object) -> tuple[str, ...]:
        done = subprocess.CompletedProcess([], 0, json.dumps(given) + "\n")
        monkeypatch.setattr(subprocess, "run", lambda *_, **__: done)
        return pip_settings().index_urls[:1]

    monkeypatch.setenv("PIP_INDEX_URL", "https://mine/simple")
    assert first_index(pip) == ("https://pips/simple",)
    assert first_index([1] if odd is None else pip | odd) == ("https://mine/simple",)


@pytest.mark.usefixtures("configured")
def test_a_time_limit_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "soon")
    with pytest.raises(IntraBenchError) as caught:
        pip_settings()
    assert caught == wording


@pytest.mark.usefixtures("with_pip")
def test_pip_is_asked_for_its_settings(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "pip.conf").write_text(
        "[global]\nindex-url = https://a.example/simple\ntimeout = 7\nproxy = p.example:8080\n"
        "[download]\nextra-index-url =\n  https://b.example/simple\n  https://c.example/simple\n"
        "[install]\ntimeout = 8\n"
    )
    monkeypatch.setenv("PIP_CONFIG_FILE", str(tmp_path / "pip.conf"))
    monkeypatch.setenv("PIP_TRUSTED_HOST", "a.example b.example:8443")
    settings = pip_settings()
    assert settings.index_urls == (index.url, "https://b.example/simple", "https://c.example/simple")
    assert settings.trusted_hosts == ("a.example", "b.example:8443")
    assert (settings.timeout, settings.proxy) == (7.0, "http://p.example:8080")
    assert_private(repr(settings), index)


@pytest.mark.usefixtures("with_pip")
def test_without_pip_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "no python"))
    monkeypatch.delenv("PIP_INDEX_URL")
    monkeypatch.setenv("UV_DEFAULT_INDEX", "mine=https://a.example/simple?x=1")
    monkeypatch.setenv("UV_EXTRA_INDEX_URL", "https://b.example/simple")
    monkeypatch.setenv("PIP_FIND_LINKS", "~/wheels")
    monkeypatch.setenv("PIP_CERT", "company.pem")
    assert pip_settings() == PipSettings(
        index_urls=("https://a.example/simple?x=1", "https://b.example/simple"),
        find_links=(os.path.expanduser("~/wheels"),),
        cert="company.pem",
    )
    monkeypatch.setenv("PIP_NO_INDEX", "yes")
    assert pip_settings().index_urls == ()


def test_a_page_of_an_index_that_never_ends_is_not_read(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    body = wheel()
    index.offer((WHEEL, body))
    monkeypatch.setattr(pages, "LONGEST", len(index.pages["/simple/some-data/"]))
    assert source(WHEEL, body).fetch(tmp_path / "one").read_bytes() == body  # longer than a page may be
    index.pages["/simple/some-data/"] += b" "
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, body).fetch(tmp_path / "two")
    assert caught == wording


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"])
def test_a_page_of_an_index_that_drips_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(stall, "PATIENCE", 0.2)
    sent: list[bytes] = []
    told = r"\((the connection failed|a source could not be read)\)"
    with serving() as server:
        server.answers = [dripping(begin, threading.Event(), sent)]
        monkeypatch.setenv("PIP_INDEX_URL", server.root)
        with pytest.raises(DownloadError, match=rf"has {re.escape(WHEEL)} {told}: put "):
            source(WHEEL, wheel()).fetch(tmp_path / "one")
    assert len(sent) < 2000
