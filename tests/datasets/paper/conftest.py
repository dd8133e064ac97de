"""The places that the paper's data sets come from, on this machine: archives on a server, series in a bucket."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import quote
from uuid import NAMESPACE_OID, uuid5

import polars as pl
import pydicom
import pytest

from intrabench.datasets.families import idc_set as pinned
from intrabench.fetch import places
from intrabench.fetch.remote import RemoteFile
from tests.datasets.paper.miniatures import made
from tests.fetch.test_idc import listing
from tests.server import Server, answer

MAKER = Path(__file__).parents[3] / "docs" / "make_cohorts.py"
COLUMNS = {
    "collection_id": pl.String,
    "analysis_result_id": pl.String,
    "PatientID": pl.String,
    "SeriesInstanceUID": pl.String,
    "StudyInstanceUID": pl.String,
    "source_DOI": pl.String,
    "StudyDate": pl.String,
    "Modality": pl.String,
    "SeriesDescription": pl.String,
    "instanceCount": pl.Int64,
    "aws_bucket": pl.String,
    "crdc_series_uuid": pl.String,
    "series_size_MB": pl.Float64,
}
"""Columns of the commons' index (version 25)."""

Publish = Callable[..., None]
Count = Callable[..., None]


@pytest.fixture(autouse=True)
def _here(pauses: list[float], server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """No host but the server of the test."""
    server.answers = [answer(404)]
    monkeypatch.setattr(places, "HOSTS", {"idc": f"{server.root}/bucket"})


@pytest.fixture
def publish(server: Server, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """``publish(module, "ARCHIVE", body, ...)``: what a recipe's constant names (one archive or several) is these."""

    def offered(file: RemoteFile, body: bytes) -> RemoteFile:
        place = f"/{quote(file.filename)}"
        server.pages[place] = answer(body=body)
        checksum = f"sha256:{hashlib.sha256(body).hexdigest()}"
        return replace(file, places=(server.root + place,), checksum=checksum, size=None)

    def call(module: ModuleType, constant: str, *bodies: bytes) -> None:
        was = getattr(module, constant)
        files = (was,) if isinstance(was, RemoteFile) else was
        now = tuple(offered(file, body) for file, body in zip(files, bodies, strict=True))
        monkeypatch.setattr(module, constant, now[0] if isinstance(was, RemoteFile) else now)

    return call


@pytest.fixture
def count(monkeypatch: pytest.MonkeyPatch) -> Count:
    """``count(name, cases, targets)``: the card of a data set promises what its miniature has."""

    def call(name: str, cases: int, targets: int | None = None) -> None:
        cls = type(made(name))
        monkeypatch.setattr(cls, "card", replace(cls.card, cases=cases, targets=targets))

    return call


@cache
def make_cohorts() -> Any:
    """The program that pins cohorts."""
    spec = importlib.util.spec_from_file_location("make_cohorts", MAKER)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class Commons:
    """A bucket with DICOM series, and the index of what is in it."""

    def __init__(self, server: Server, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self._server, self._folder, self._monkeypatch = server, folder, monkeypatch
        self.rows: list[Mapping[str, Any]] = []
        self.uuids: dict[str, str] = {}

    def add(self, collection: str, paths: Sequence[Path], analysis: str | None = None) -> str:
        """Put the files of a series into the bucket and into the index; gives the series' UID."""
        header = pydicom.dcmread(paths[0], stop_before_pixels=True)
        uid = str(header.SeriesInstanceUID)
        uuid = self.row(
            collection,
            uid,
            analysis=analysis,
            patient=str(header.PatientID),
            study=str(header.StudyInstanceUID),
            kind=str(header.Modality),
            about=str(header.get("SeriesDescription", "")) or None,
            files=len(paths),
            mb=sum(path.stat().st_size for path in paths) / 1e6,
        )
        bodies = {f"{uuid5(NAMESPACE_OID, f'{uid}/{n}')}.dcm": path.read_bytes() for n, path in enumerate(paths)}
        self._server.pages[f"/bucket/?list-type=2&prefix={uuid}%2F"] = answer(body=listing(bodies, prefix=uuid))
        for name, body in bodies.items():
            self._server.pages[f"/bucket/{uuid}/{name}"] = answer(body=body)
        return uid

    def row(
        self,
        collection: str,
        uid: str,
        *,
        patient: str,
        study: str,
        kind: str,
        about: str | None = None,
        analysis: str | None = None,
        files: int = 1,
        mb: float = 1.0,
    ) -> str:
        """A series in the index; gives the identifier of its version."""
        self.uuids[uid] = uuid = str(uuid5(NAMESPACE_OID, uid))
        values = (collection, analysis, patient, uid, study, "", "", kind, about, files, "idc-open-data", uuid, mb)
        self.rows.append(dict(zip(COLUMNS, values, strict=True)))
        return uuid

    def index(self) -> pl.LazyFrame:
        """The index, as the commons' own package brings it."""
        path = self._folder / "idc_index.parquet"
        pl.DataFrame(self.rows, schema=COLUMNS).write_parquet(path)
        return pl.scan_parquet(path)

    def pin(self, name: str) -> pl.DataFrame:
        """Let the cohort of a data set be what ``docs/make_cohorts.py`` chooses of the index."""
        table: pl.DataFrame = make_cohorts().cohort(self.index(), name)
        table.write_csv(self._folder / f"{name}.csv")
        self._monkeypatch.setattr(pinned, "COHORTS", self._folder)
        pinned.cohort.cache_clear()
        return table

    def fetched(self) -> set[str]:
        """The UIDs of the series of which files were asked for."""
        asked = {path.split("/")[2] for path in self._server.paths if path.endswith(".dcm")}
        return {uid for uid, uuid in self.uuids.items() if uuid in asked}


@pytest.fixture
def commons(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Commons]:
    """An empty commons."""
    (tmp_path / "commons").mkdir()
    yield Commons(server, tmp_path / "commons", monkeypatch)
    pinned.cohort.cache_clear()
