"""Tests of packages: pip knows a local index alone, and no log may name it."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator

import pytest

from intrabench.fetch import pip_config
from tests.fetch.packages import Index, assert_private

ask_pip = pip_config._from_pip


@pytest.fixture
def index() -> Iterator[Index]:
    index = Index()
    thread = threading.Thread(target=index.http.serve_forever, args=(0.01,))
    thread.start()
    yield index
    index.http.shutdown()
    thread.join()
    index.http.server_close()


@pytest.fixture
def configured(monkeypatch: pytest.MonkeyPatch, index: Index) -> None:
    """Only the local index is configured, whatever this machine has; loggers tell all they would."""
    for name in [*os.environ]:
        if name.startswith(("PIP_", "UV_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_INDEX_URL", index.url)
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.delenv("REQUESTS_CA_BUNDLE", raising=False)
    monkeypatch.setattr("time.sleep", lambda _: None)
    monkeypatch.setattr(pip_config, "_from_pip", lambda: None)  # a second each; those who mean pip use with_pip


@pytest.fixture
def with_pip(configured: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """pip is asked for real."""
    monkeypatch.setattr(pip_config, "_from_pip", ask_pip)


@pytest.fixture
def nothing_private_in_logs(caplog: pytest.LogCaptureFixture, index: Index) -> Iterator[None]:
    """Even with every logger at its most talkative, no log may name the index."""
    for name in ("unearth", "unearth.auth", "httpx2", "httpcore2", "httpcore2.http11"):
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.set_level(logging.DEBUG)
    yield
    # not caplog.text: in a fixture's last part that holds the records of this part only
    assert_private("\n".join(record.getMessage() for record in caplog.get_records("call")), index)
