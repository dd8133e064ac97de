"""A package index on this machine that wants credentials, and archives for it."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from intrabench.fetch.package import PackageSource

USER, PASSWORD = "someuser", "s3cr3tword"
WHEEL = "some_data-1.0-cp27-cp27m-win32.whl"  # for no machine that runs these tests
SDIST = "some-data-1.0.tar.gz"


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


def assert_private(text: str, index: Index) -> None:
    for secret in (USER, PASSWORD, index.host, "127.0.0.1"):
        assert secret not in text


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
