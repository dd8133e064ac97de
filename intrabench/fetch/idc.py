"""Series of the NCI Imaging Data Commons, which holds the collections of The Cancer Imaging Archive in public buckets.

A series is pinned by the identifier of its version, under which its bytes never change; ``docs/make_cohorts.py`` takes
them from the commons' own index. No account, no library of theirs is needed to fetch one.
"""

from __future__ import annotations

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, get_type_hints
from urllib.parse import urlencode

from intrabench.fetch import places
from intrabench.fetch.checksum import checksum_of
from intrabench.fetch.download import DownloadError, ask_for_space, at_most, download, user_agent
from intrabench.fetch.mirrors import NoSource, first_that_works
from intrabench.fetch.source import Source
from intrabench.fetch.transfer import Progress, Refused, Transfer
from intrabench.files.atomic import put
from intrabench.files.documents import Unreadable, read_json_list

if TYPE_CHECKING:
    import httpx2

CONNECTIONS = 8  # at once
INDEX = "objects.json"
PAGE = 16 * 10**6
"""Bytes of a page of a bucket's list, which has up to 1000 entries."""


@dataclass(frozen=True)
class Object:
    """One file in a bucket; md5 is empty if the bucket does not state it."""

    key: str
    size: int
    md5: str

    @property
    def name(self) -> str:
        """The name of the file, without its folder."""
        return self.key.rpartition("/")[2]


@dataclass(frozen=True)
class IdcSeries(Source):
    """One version of one DICOM series.

    uid: SeriesInstanceUID. uuid: of this version in the commons. kind: CT, SEG, ... files, mb: how many, how much.
    about: the series' own description.
    """

    uid: str
    uuid: str
    kind: str
    files: int
    mb: float
    about: str = ""

    @property
    def title(self) -> str:
        """Kind and end of the identifier."""
        return f"{self.kind} series ...{self.uid[-12:]}"

    @property
    def megabytes(self) -> float:
        """The size of all files."""
        return self.mb

    def place(self, folder: Path) -> Path:
        """The folder of the series."""
        return folder / "idc" / self.uuid

    def urls(self) -> tuple[str, ...]:
        """The address of the bucket's list of files."""
        return tuple(f"{bucket}/?list-type=2&prefix={self.uuid}/" for bucket in _buckets())

    def _download(self, path: Path, progress: Progress | None) -> None:
        """The folder with all files of the series; it is created when the last file is complete."""
        part = path.with_name(f".{path.name}.part")
        part.mkdir(exist_ok=True)
        self._fill(part, progress)
        put(part, path)

    def _verify(self, path: Path) -> None:
        """A folder is there only if it is complete."""

    def paths(self, folder: Path) -> list[Path]:
        """The DICOM files of a downloaded series."""
        return sorted(self.place(folder).glob("*.dcm"))

    def problems(self, folder: Path) -> list[str]:
        """Problems: missing or changed files in the folder."""
        whole = self.place(folder)
        if not whole.exists():
            return []
        remedy = f"delete the folder {whole} and download it again"
        try:
            objects = [Object(**entry) for entry in read_json_list(whole / INDEX, get_type_hints(Object))]
        except (OSError, Unreadable, TypeError):
            return [f"{whole / INDEX} is damaged; {remedy}"]
        return [
            f"{whole / one.name} is missing or differs from the published file; {remedy}"
            for one in objects
            if not _is_right(whole / one.name, one)
        ]

    def _fill(self, part: Path, progress: Progress | None) -> None:
        """Download what is not in `part` yet, from each bucket in turn until one has it."""
        import httpx2

        with httpx2.Client(timeout=30, headers={"User-Agent": user_agent()}, follow_redirects=True) as client:
            try:
                first_that_works(_buckets(), lambda bucket: self._fill_from(client, bucket, part, progress))
            except NoSource as error:
                reasons = "; ".join(error.reasons)
                raise DownloadError(f"{self.title} could not be downloaded, {reasons}: try again later.") from None

    def _fill_from(self, client: httpx2.Client, bucket: str, part: Path, progress: Progress | None) -> None:
        listed = list(islice(_listing(client, bucket, f"{self.uuid}/", part), self.files + 1))
        objects = list({one.key: one for one in listed}.values())
        if not len(listed) == len(objects) == self.files:
            more = "or more " if len(listed) > self.files else ""
            raise DownloadError(f"the bucket lists {len(objects)} {more}files, but {self.files} were published")
        total, done, lock = sum(one.size for one in objects), 0, Lock()
        if total > at_most(self.mb):
            raise DownloadError(f"the bucket lists {total / 1e6:.0f} MB, but {self.mb:.0f} MB were published")
        ask_for_space(part, total - sum(path.stat().st_size for path in part.iterdir()))

        def one(found: Object) -> None:
            nonlocal done
            path = part / found.name
            if not _is_right(path, found):
                path.unlink(missing_ok=True)
                md5 = f"md5:{found.md5}" if found.md5 else ""
                download(f"{bucket}/{found.key}", path, checksum=md5, size=found.size, client=client)
            with lock:
                done += found.size
                if progress:
                    progress(done, total)

        with ThreadPoolExecutor(CONNECTIONS) as pool:
            list(pool.map(one, objects))
        kept = {found.name for found in objects}
        for path in part.iterdir():
            if path.name not in kept:
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        (part / INDEX).write_text(json.dumps([vars(found) for found in objects], indent=1), encoding="utf-8")


def _buckets() -> list[str]:
    return [places.HOSTS[name] for name in ("idc", "idc_mirror") if name in places.HOSTS]


def _is_right(path: Path, entry: Object) -> bool:
    if not path.is_file() or path.stat().st_size != entry.size:
        return False
    return not entry.md5 or checksum_of(path, "md5") == f"md5:{entry.md5}"


def _listing(client: httpx2.Client, bucket: str, prefix: str, part: Path) -> Iterator[Object]:
    """The objects under a prefix, page by page; `part`: a folder for what arrives."""
    token = ""
    while True:
        parameters = {"list-type": "2", "prefix": prefix} | ({"continuation-token": token} if token else {})
        page = _page(client, f"{bucket}/?{urlencode(parameters)}", part / "listing.xml")
        space = page.tag.partition("}")[0] + "}" if page.tag.startswith("{") else ""
        for entry in page.iter(f"{space}Contents"):
            key, size, etag = (entry.findtext(f"{space}{name}", "") for name in ("Key", "Size", "ETag"))
            if not re.fullmatch(re.escape(prefix) + r"[\w-]+\.dcm", key) or not size.isdigit():
                raise DownloadError(f"the bucket lists {key!r}, which is not a DICOM file of the series")
            # the tag is an MD5 only if the object was uploaded in one piece
            tag = etag.strip('"')
            yield Object(key, int(size), tag if re.fullmatch("[0-9a-f]{32}", tag) else "")
        token = page.findtext(f"{space}NextContinuationToken", "")
        if page.findtext(f"{space}IsTruncated") != "true" or not token or page.find(f"{space}Contents") is None:
            return


def _page(client: httpx2.Client, address: str, path: Path) -> ElementTree.Element:
    """One page of a bucket's list, by way of `path`, with the patience of any download."""
    path.unlink(missing_ok=True)  # a part of an older list is useless
    try:
        Transfer(address, path, most=PAGE).run(client)
        return ElementTree.fromstring(path.read_bytes())
    except Refused as refused:
        raise DownloadError(f"{refused} for the list of files") from None
    except ElementTree.ParseError:
        raise DownloadError("the bucket sent no list of files") from None
    finally:
        path.unlink(missing_ok=True)
