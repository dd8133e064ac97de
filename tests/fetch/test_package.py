"""Package sources against a local package index that wants credentials, with archives made here."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import logging
import os
import re
import subprocess
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from intrabench.errors import IntraBenchError
from intrabench.fetch import floor, pages, pip_config
from intrabench.fetch.archive import open_members
from intrabench.fetch.download import DownloadError
from intrabench.fetch.package import PackageSource
from intrabench.fetch.pip_config import PipSettings, pip_settings
from tests.server import dripping, serving

USER, PASSWORD = "someuser", "s3cr3tword"
WHEEL = "some_data-1.0-cp27-cp27m-win32.whl"  # for no machine that runs these tests
SDIST = "some-data-1.0.tar.gz"
ask_pip = pip_config._from_pip


class Index:
    """A package index on this machine; ``pages`` maps a path to what is served there."""

    def __init__(self) -> None:
        self.pages: dict[str, bytes] = {}
        self.asked: list[str] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.asked.append(self.path)
                token = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
                allowed = self.headers.get("Authorization") == f"Basic {token}"
                body = outer.pages.get(self.path, b"")
                self.send_response(401 if not allowed else 200 if self.path in outer.pages else 404)
                self.send_header("Content-Type", "text/html" if self.path.endswith("/") else "application/octet-stream")
                self.send_header("Content-Length", str(len(body) if allowed else 0))
                self.end_headers()
                if allowed:
                    self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.http.server_address[1]}"
        self.url = f"http://{USER}:{PASSWORD}@{self.host}/simple"

    def offer(self, *files: tuple[str, bytes]) -> None:
        """List ``files`` as the package ``some-data``."""
        links = (f'<a href="../../files/{name}" data-requires-python="&lt;3">{name}</a>' for name, _ in files)
        self.pages["/simple/some-data/"] = "".join(links).encode()
        self.pages.update({f"/files/{name}": body for name, body in files})


@pytest.fixture
def index() -> Iterator[Index]:
    index = Index()
    thread = threading.Thread(target=index.http.serve_forever, args=(0.01,))
    thread.start()
    yield index
    index.http.shutdown()
    thread.join()
    index.http.server_close()


@pytest.fixture(autouse=True)
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


@pytest.fixture(autouse=True)
def nothing_private_in_logs(caplog: pytest.LogCaptureFixture, index: Index) -> Iterator[None]:
    """Even with every logger at its most talkative, no log may name the index."""
    for name in ("unearth", "unearth.auth", "httpx2", "httpcore2", "httpcore2.http11"):
        caplog.set_level(logging.DEBUG, logger=name)
    caplog.set_level(logging.DEBUG)
    yield
    # not caplog.text: in a fixture's last part that holds the records of this part only
    assert_private("\n".join(record.getMessage() for record in caplog.get_records("call")), index)


def assert_private(text: str, index: Index) -> None:
    for secret in (USER, PASSWORD, index.host, "127.0.0.1"):
        assert secret not in text


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
def test_a_time_limit_that_is_no_number_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UV_HTTP_TIMEOUT", "soon")
    with pytest.raises(IntraBenchError, match="'soon'; correct PIP_TIMEOUT, PIP_DEFAULT_TIMEOUT or UV_HTTP_TIMEOUT"):
        pip_settings()


def wheel(**members: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in (members or {"some_data/brain.txt": "brain"}).items():
            archive.writestr(zipfile.ZipInfo(name), text)  # dated 1980: the same bytes each time
    return buffer.getvalue()


def sdist(**members: str) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as archive:
        for name, text in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def source(filename: str, body: bytes) -> PackageSource:
    return PackageSource("some-data", "1.0", filename, hashlib.sha256(body).hexdigest(), len(body))


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


def test_a_damaged_file_in_place_is_named(index: Index, tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_bytes(b"damaged")
    found, expected = hashlib.sha256(b"damaged").hexdigest(), hashlib.sha256(wheel()).hexdigest()
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == (
        f"{tmp_path / WHEEL} has sha256 {found} but {expected} was expected: "
        "delete it and run again to download it again."
    )
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
    assert os.listdir(tmp_path / "data") == [f"{WHEEL}.lock"]


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


def test_a_certificate_that_is_not_there(index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_CERT", str(tmp_path / "absent.pem"))
    with pytest.raises(DownloadError) as caught:
        source(WHEEL, wheel()).fetch(tmp_path)
    assert str(caught.value) == (
        f"{WHEEL} cannot be requested because pip's configured certificate or proxy does not work "
        f"(FileNotFoundError): correct it, or put {WHEEL} into {tmp_path}."
    )


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "occupied").write_text("a file")
    folder = tmp_path / "occupied" / "data"
    with pytest.raises(IntraBenchError) as caught:
        source(WHEEL, wheel()).fetch(folder)
    assert str(caught.value) == (f"{folder / WHEEL} cannot be written (Not a directory): choose a writable folder.")


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


@pytest.mark.parametrize(("filename", "pack"), [(WHEEL, wheel), (SDIST, sdist)])
def test_only_the_named_members_are_taken(tmp_path: Path, filename: str, pack: object) -> None:
    archive = tmp_path / filename
    archive.write_bytes(pack(**{"a/brain.txt": "brain", "b/brain.txt": "other", "a/code.py": "1 / 0"}))  # type: ignore[operator]
    out = tmp_path / "out"
    assert open_members(archive, ["b/brain.txt", "a/brain.txt"], out) == {
        "b/brain.txt": out / "b" / "brain.txt",
        "a/brain.txt": out / "a" / "brain.txt",
    }
    files = {str(path.relative_to(out)): path.read_text() for path in out.rglob("*") if path.is_file()}
    assert files == {"a/brain.txt": "brain", "b/brain.txt": "other"}


@pytest.mark.parametrize("name", ["../escaped.txt", "a/../../escaped.txt", "/escaped.txt", "..\\escaped.txt", ""])
def test_no_member_leaves_its_folder(tmp_path: Path, name: str) -> None:
    archive = tmp_path / SDIST
    archive.write_bytes(sdist(**{name: "escaped"}))
    with pytest.raises(DownloadError, match=r"would be written outside .*: name a member inside the archive\.$"):
        open_members(archive, [name], tmp_path / "out")
    assert not (tmp_path / "out").exists()
    assert list(tmp_path.rglob("*escaped.txt")) == []
    assert not Path("/escaped.txt").exists()


def test_links_in_an_archive_are_not_followed(tmp_path: Path) -> None:
    (tmp_path / "private.txt").write_text("private")
    archive = tmp_path / SDIST
    with tarfile.open(archive, "w:gz") as tar:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo(f"data/{kind.decode()}.txt")
            info.type, info.linkname = kind, str(tmp_path / "private.txt")
            tar.addfile(info)
    with pytest.raises(DownloadError, match=r"has no data/1\.txt, data/2\.txt: "):
        open_members(archive, ["data/2.txt", "data/1.txt"], tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_a_missing_member_is_named(tmp_path: Path) -> None:
    archive = tmp_path / WHEEL
    archive.write_bytes(wheel())
    with pytest.raises(DownloadError) as caught:
        open_members(archive, ["some_data/liver.txt"], tmp_path / "out")
    assert str(caught.value) == (
        f"{archive} has no some_data/liver.txt: it is not the expected file; delete it and run again."
    )


def test_a_missing_archive_is_named(tmp_path: Path) -> None:
    with pytest.raises(DownloadError) as caught:
        open_members(tmp_path / WHEEL, ["a.txt"], tmp_path / "out")
    assert str(caught.value) == f"{tmp_path / WHEEL} does not exist: download it, or put {WHEEL} into {tmp_path}."


@pytest.mark.parametrize("filename", [WHEEL, SDIST])
@pytest.mark.parametrize(
    "body",
    [b"no archive", sdist(**{"a.txt": "text " * 999})[:60], wheel()[:-9]],
    ids=["no archive", "half a source archive", "half a wheel"],  # their bytes hold the time
)
def test_a_damaged_archive_leaves_no_half_member(tmp_path: Path, filename: str, body: bytes) -> None:
    archive = tmp_path / filename
    archive.write_bytes(body)
    with pytest.raises(DownloadError) as caught:
        open_members(archive, ["a.txt"], tmp_path / "out")
    assert str(caught.value) == f"{archive} is damaged: delete it and run again to download it again."
    assert [path for path in (tmp_path / "out").rglob("*") if path.is_file()] == []


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
    index: Index, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = wheel()
    index.offer((WHEEL, body))
    monkeypatch.setattr(pages, "LONGEST", len(index.pages["/simple/some-data/"]))
    assert source(WHEEL, body).fetch(tmp_path / "one").read_bytes() == body  # longer than a page may be
    index.pages["/simple/some-data/"] += b" "
    with pytest.raises(DownloadError, match=rf"has {re.escape(WHEEL)} \(a source could not be read\): put "):
        source(WHEEL, body).fetch(tmp_path / "two")


@pytest.mark.parametrize("begin", [b"HTTP/1.1 200 OK\r\nX: ", b"HTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\n"])
def test_a_page_of_an_index_that_drips_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, begin: bytes
) -> None:
    monkeypatch.setattr(floor, "PATIENCE", 0.2)
    sent: list[bytes] = []
    told = r"\((the connection failed|a source could not be read)\)"
    with serving() as server:
        server.answers = [dripping(begin, threading.Event(), sent)]
        monkeypatch.setenv("PIP_INDEX_URL", server.root)
        with pytest.raises(DownloadError, match=rf"has {re.escape(WHEEL)} {told}: put "):
            source(WHEEL, wheel()).fetch(tmp_path / "one")
    assert len(sent) < 2000
