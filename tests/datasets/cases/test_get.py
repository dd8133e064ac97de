"""`intrabench data get|urls|verify|remove` of a data set whose files are on a server."""

from __future__ import annotations

import hashlib
import io
import shutil
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.conftest import Said
from tests.server import Server, answer
from tests.wording import line_with

PLUGIN = '''
from dataclasses import dataclass
import numpy as np
from intrabench.datasets.base import Dataset, DatasetCard
from intrabench.fetch.remote import RemoteFile
from intrabench.target import targets_of
from intrabench.volume import Volume

SHARED = RemoteFile("shared.zip", ("{root}/shared.zip",), "md5:{md5}", {size}, page="https://home")


@dataclass(frozen=True)
class Remote(Dataset):
    """Scans from a server, labels in an archive."""

    name = "remote"
    version = "1"
    card = DatasetCard("Remote", "CT", licence="CC0", cases=3, targets={targets})

    def cases(self):
        return ("a", "b", "c")

    def sources(self):
        return (SHARED,)

    def case_sources(self, case):
        return (RemoteFile(case + ".npy", ("{root}/" + case + ".npy",)),)

    def load(self, case, files):
        image = np.load(files.fetch(self.case_sources(case)[0]))
        (labels,) = files.find(SHARED, case + ".npy")
        volume = Volume.from_canonical(image)
        return volume, targets_of(np.load(labels), {{1: ("ball", 1)}}, case, volume.spacing_mm)
'''
LABELS = np.zeros((4, 8, 8), dtype=np.uint8)
LABELS[1:3, 2:5, 2:5] = 1
IMAGE = np.arange(256, dtype=np.int16).reshape(4, 8, 8)


def npy(array: np.ndarray) -> bytes:
    body = io.BytesIO()
    np.save(body, array)
    return body.getvalue()


@pytest.fixture
def get(say: Callable[..., Said], server: Server, tmp_path: Path, pauses: list[float]) -> Callable[..., Said]:
    """Type `intrabench data ... --plugin ...` while a server offers all files."""
    body = io.BytesIO()
    with zipfile.ZipFile(body, "w") as archive:
        for case in "abc":
            archive.writestr(f"set/{case}.npy", npy(LABELS))
            server.pages[f"/{case}.npy"] = answer(body=npy(IMAGE))
    server.pages["/shared.zip"] = answer(body=body.getvalue())
    server.answers = [answer(404)]
    md5 = hashlib.md5(body.getvalue()).hexdigest()
    plugin = tmp_path / "remote.py"
    plugin.write_text(PLUGIN.format(root=server.root, md5=md5, size=len(body.getvalue()), targets=3))
    return lambda *words: say("data", *words, "--plugin", str(plugin))


def test_a_case_that_is_unknown_is_a_wrong_option(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    said = say("data", "get", "phantom", "--cases", "nonsuch")
    assert said.code == 2
    assert said.err == wording


def test_all_cases_are_fetched_once_and_verified(
    get: Callable[..., Said], server: Server, data: Path, wording: SnapshotAssertion
) -> None:
    said = get("get", "remote", "--jobs", "3")
    assert (said.code, sorted(said.out.splitlines())) == (0, [f"remote, case {case}: 1 target" for case in "abc"])
    assert said.err.startswith("remote: licence CC0\n")
    assert "0.0 of 0.0 MB" in said.err
    assert line_with(said.err, "shared.zip: 0.0") == wording
    assert sorted(server.paths) == ["/a.npy", "/b.npy", "/c.npy", "/shared.zip"]
    assert get("get", "remote").code == 0
    assert len(server.paths) == 4
    assert get("verify", "remote").out == wording
    assert [line.split() for line in get("list", "remote").out.splitlines()] == [
        [case, "ball.1", "18", "2"] for case in "abc"
    ]
    (row,) = [line for line in get("list").out.splitlines() if line.startswith("remote ")]
    assert row.split() == ["remote", "-", "CT", "3", "3", "1", "MB", "yes", "CC0"]


def test_a_case_that_is_not_to_be_had_does_not_stop_the_others(
    get: Callable[..., Said], server: Server, wording: SnapshotAssertion
) -> None:
    del server.pages["/b.npy"]
    server.pages["/c.npy"] = answer(body=b"<html>")
    said = get("get", "remote")
    assert "case a: 1 target" in said.out
    assert (said.code, said.out) == (1, wording)
    assert line_with(said.err, "downloaded, the") == wording
    assert "remote, case c: " in said.err
    server.pages["/b.npy"] = answer(body=npy(IMAGE))
    assert get("get", "remote", "--cases", "b").out == wording


def test_the_data_folder_of_the_option(get: Callable[..., Said], data: Path, tmp_path: Path) -> None:
    assert get("get", "remote", "--cases", "first:1", "--root", str(tmp_path / "elsewhere")).code == 0
    assert (tmp_path / "elsewhere" / "downloads" / "a.npy").is_file()
    assert not data.exists()


def test_addresses_are_printed(get: Callable[..., Said], server: Server) -> None:
    assert get("urls", "remote").out == f"shared.zip\t{server.root}/shared.zip\n"
    assert get("urls", "remote", "--cases", "c").out == (
        f"shared.zip\t{server.root}/shared.zip\nc.npy\t{server.root}/c.npy\n"
    )


def test_remove_frees_everything_of_the_data_set_only(get: Callable[..., Said], data: Path) -> None:
    get("get", "remote")
    (data / "downloads" / "other.zip").write_bytes(b"x")
    said = get("remove", "remote")
    assert said.out == "remote: 0.0 MB freed\n"
    assert [path.name for path in data.rglob("*") if path.is_file()] == ["other.zip"]
    assert get("remove", "remote").code == 0


def test_downloads_that_another_data_set_needs_stay(say: Callable[..., Said], data: Path) -> None:
    wheel = data / "downloads" / "tptbox-1.1.0-py3-none-any.whl"
    wheel.parent.mkdir(parents=True)
    wheel.write_bytes(b"x")
    say("data", "remove", "spine_ct")
    assert wheel.exists()
    say("data", "remove", "spine_ct", "spine_mr")
    assert not wheel.exists()


def test_the_disk_is_asked_for_all_of_it_beforehand(
    get: Callable[..., Said], server: Server, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(9, 9, 100))
    said = get("get", "remote")
    assert said.code == 1
    assert "has 0.0" in said.err
    assert said.err == wording
    assert server.paths == []


def test_another_number_of_targets_than_the_card_says_is_told(
    get: Callable[..., Said], tmp_path: Path, data: Path, wording: SnapshotAssertion
) -> None:
    plugin = tmp_path / "remote.py"
    plugin.write_text(plugin.read_text().replace("targets=3", "targets=5"))
    get("get", "remote")
    said = get("verify", "remote")
    assert (said.code, said.err) == (1, wording)
    (data / "downloads" / "a.npy").write_bytes(npy(IMAGE + 1))
    assert "a.npy has sha256" in get("verify", "remote").err


def test_a_run_fetches_the_archive_that_names_its_cases(
    get: Callable[..., Said], say: Callable[..., Said], server: Server, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    plugin = tmp_path / "remote.py"
    by_archive = "return tuple(name[4] for name in published_names(self, SHARED))"
    text = plugin.read_text().replace('return ("a", "b", "c")', by_archive)
    plugin.write_text(text.replace("DatasetCard\n", "DatasetCard, published_names\n"))
    words = ("-m", "box_fill", "-p", "box_slice", "-d", "remote", "--cases", "first:2", "--plugin", str(plugin))
    before = say("run", *words, "--dry-run")
    assert (before.code, before.err) == (0, "")
    assert before.out.splitlines()[:3] == wording
    said = say("run", *words)
    assert said.code == 0
    assert "0.0 of 0.0 MB" in said.err
    assert line_with(said.err, "shared.zip: 0.0") == wording
    assert "2 sessions" in said.err
    assert sorted(server.paths) == ["/a.npy", "/b.npy", "/shared.zip"]


def test_a_server_that_has_nothing_is_not_asked_for_every_case(
    get: Callable[..., Said], server: Server, tmp_path: Path, wording: SnapshotAssertion
) -> None:
    plugin = tmp_path / "remote.py"
    plugin.write_text(plugin.read_text().replace('("a", "b", "c")', "tuple('defghijklmn')"))
    said = get("get", "remote")
    assert said.code == 1
    assert said.err.count("HTTP 404") == 5
    *_, given_up, closing = said.err.splitlines()
    assert given_up == wording
    assert "5 of 5 cases" in closing
    assert closing == wording
