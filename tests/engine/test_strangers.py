"""A results folder of somebody else: no command contacts an address, opens a path or shows a token that it names."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases.trusted_folders import is_given, note_given
from intrabench.datasets.folder.folder import Folder
from intrabench.engine import verify as module
from intrabench.engine.options import Options
from intrabench.engine.verify import Trust, verify
from intrabench.models.weights.registry import BY_HAND
from intrabench.protocols import PROTOCOLS
from intrabench.publishing.board.files import Submitter
from intrabench.publishing.board.submit import submit
from intrabench.registry import registry
from tests.conftest import Said

pytestmark = pytest.mark.usefixtures("data")
Say = Callable[..., Said]
TOKEN = "a-secret-token"
SMALL = "phantom:shape=16x32x32,instances=1"
OUT = Path("theirs")


class Listener:
    """Accepts whoever connects, and keeps what arrives. Answers as a server of nnInteractive that does not exist."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.socket.getsockname()[1]}"
        self.got: list[bytes] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                caller, _ = self.socket.accept()
                with caller, suppress(OSError):
                    caller.settimeout(60)
                    self.got.append(caller.recv(1 << 20))
                    caller.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")


@pytest.fixture
def listener(monkeypatch: pytest.MonkeyPatch) -> Iterator[Listener]:
    monkeypatch.setenv("NN_INTERACTIVE_API_KEY", TOKEN)
    made = Listener()
    yield made
    made.socket.close()


def theirs(record: dict[str, Any] | None = None, **columns: str) -> Path:
    """A results folder whose rows and record somebody wrote."""
    if not OUT.exists():
        intrabench.run(model="box_fill", prompter="box_slice", dataset=SMALL, out=OUT)
    for part in OUT.glob("rows/*.parquet"):
        pl.read_parquet(part).with_columns(**{name: pl.lit(text) for name, text in columns.items()}).write_parquet(part)
    for file in OUT.glob("runs/*.json"):
        content = json.loads(file.read_text())
        content["options"] |= record or {}
        file.write_text(json.dumps({**content, "arguments": (record or {}).get("dataset", [SMALL])}))
    return OUT


def model_at(url: str, form: str) -> str:
    return form.replace("URL", url)


SERVERS = ("nninteractive_server:url=URL", "URL", "box_fill+nninteractive_server:url=URL")


@pytest.mark.parametrize("form", SERVERS)
def test_no_command_contacts_an_address_that_only_rows_name(
    say: Say, listener: Listener, form: str, wording: SnapshotAssertion
) -> None:
    folder = theirs(model=model_at(listener.url, form))
    said = say("verify", str(folder))
    assert said.out == wording
    assert said.code == 1
    submit(folder, Path("lab"), Submitter("Lab", "a@lab.example", "CC-BY-4.0"))
    said = say("board", "check", "lab", "--replay", "3")
    assert f"it would contact {listener.url}" in said.out
    for words in (
        ("table", "--out", "theirs"),
        ("report", "report.html", "--out", "theirs"),
        ("compare", "theirs", "theirs"),
        ("figures", "drawn", "--out", "theirs"),
        ("methods", "--out", "theirs"),
        ("failures", "--out", "theirs"),
        ("export", "rows", "rows.csv", "--out", "theirs"),
        ("export", "eee", "eee", "--out", "theirs"),
        ("export", "hf", "hf", "--out", "theirs"),
        ("export", "ro-crate", "crate", "--out", "theirs"),
        ("board", "build", ".", "site"),
        ("merge", "theirs", "--out", "merged"),
        ("run", "--dry-run", "-m", "box_fill", "-p", "box_slice", "-d", SMALL, "--out", "theirs"),
    ):
        assert "Traceback" not in (said := say(*words)).err, words
        assert said.code != 2 or words[0] in ("compare", "failures", "export"), (words, said.err)
    assert listener.got == []


def test_a_trusted_address_gets_no_token_that_was_not_meant_for_it(
    say: Say, listener: Listener, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = theirs(model=f"nninteractive_server:url={listener.url}")
    say("verify", str(folder), "--trust")
    assert len(listener.got) > 0
    assert not any(TOKEN.encode() in one for one in listener.got)
    listener.got.clear()
    monkeypatch.setenv("NN_INTERACTIVE_URL", "http://127.0.0.1:9")
    say("run", "-m", listener.url, "-p", "box_slice", "-d", SMALL, "--out", "mine")
    assert len(listener.got) > 0
    assert not any(TOKEN.encode() in one for one in listener.got)
    listener.got.clear()
    monkeypatch.setenv("NN_INTERACTIVE_URL", f"{listener.url}/")
    say("verify", str(folder), "--trust")
    assert any(f"Bearer {TOKEN}".encode() in one for one in listener.got)
    listener.got.clear()
    monkeypatch.delenv("NN_INTERACTIVE_URL")
    say("run", "-m", listener.url, "-p", "box_slice", "-d", SMALL, "--out", "mine")  # typed
    assert any(f"Bearer {TOKEN}".encode() in one for one in listener.got)


def scans(folder: Path) -> str:
    array = np.zeros((8, 9, 10), np.int16)
    array[2:5, 3:6, 4:7] = 1
    for name in ("images", "labels"):
        (folder / name).mkdir(parents=True)
        nib.save(nib.Nifti1Image(array, np.eye(4)), folder / name / "one.nii.gz")
    return str(folder)


@pytest.mark.parametrize("path", ["/private/scans", "private", "./private"])
def test_no_path_is_opened_that_only_a_record_names(
    say: Say, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    opened = list[Path]()
    layout = Folder.layout.func  # type: ignore[attr-defined]
    monkeypatch.setattr(Folder, "layout", property(lambda self: (opened.append(self.path), layout(self))[1]))
    path = path.replace("/private", f"{tmp_path}/private") if path.startswith("/") else path
    scans(Path(path))
    theirs({"dataset": [path]}, dataset=Path(path).name)
    (verdict,) = verify(OUT)
    assert verdict.reason == wording
    for words in (("report", "report.html"), ("methods",), ("figures", "drawn"), ("export", "masks", "masks")):
        assert "Traceback" not in say(*words, "--out", "theirs").err
    assert opened == []
    (verdict,) = verify(OUT, trust=Trust(folder=True))
    assert opened != []
    opened.clear()
    (verdict,) = verify(OUT)  # trust was for that call
    assert f"it would read {path}" in verdict.reason
    assert opened == []


def test_no_path_is_looked_at_that_only_a_folder_names(say: Say, monkeypatch: pytest.MonkeyPatch) -> None:
    """A path may lead to another machine, which is contacted already to find out whether there is something."""
    theirs({"dataset": ["/elsewhere/scans", "/elsewhere/more+whole"]}, dataset="/elsewhere/scans+noise")
    looked, stat = list[str](), os.stat
    monkeypatch.setattr(
        os, "stat", lambda path, *rest, **more: (looked.append(str(path)), stat(path, *rest, **more))[1]
    )
    for words in (("verify", "theirs"), ("report", "report.html"), ("methods",), ("export", "eee", "eee")):
        assert "Traceback" not in say(*words, *(("--out", "theirs") if words[0] != "verify" else ())).err
    assert any("theirs" in one for one in looked)
    assert [one for one in looked if "elsewhere" in one] == []


def test_a_folder_that_was_given_here_may_be_opened_again(say: Say, tmp_path: Path) -> None:
    path = scans(tmp_path / "scans")
    intrabench.run(model="box_fill", prompter="box_slice", dataset=path, out=OUT)
    assert [one.found for one in verify(OUT)] == ["equal"]
    other = scans(tmp_path / "others")
    theirs({"dataset": [other]}, dataset="others")
    assert [one.found for one in verify(OUT)] == ["unknown"]
    assert say("data", "get", other).code == 0
    assert "which only" not in next(verify(OUT)).reason


def test_a_given_folder_may_be_called_like_a_change_of_another(tmp_path: Path) -> None:
    given, sibling = (scans(tmp_path / name) for name in ("a+noise", "b"))
    intrabench.run(model="box_fill", prompter="box_slice", dataset=f"{given}+blur", out=OUT)
    assert [one.found for one in verify(OUT)] == ["equal"]
    assert is_given(given)
    assert is_given(f"{given}+blur")
    note_given([registry.make("datasets", sibling)])
    assert is_given(f"{sibling}+noise")
    Path(f"{sibling}+noise").mkdir()
    assert not is_given(f"{sibling}+noise")  # but another one now
    assert not is_given(str(tmp_path / "a"))


@pytest.mark.parametrize(
    ("columns", "reached"),
    [
        ({"model": "masks:folder=/etc"}, "read /etc"),
        ({"model": "hf:repo=ORG/NAME"}, "open the repository ORG/NAME"),
        ({"model": "npz:command='touch executed'"}, "run touch executed"),
        ({"prompter": "recorded:folder=/etc"}, "read /etc"),
        ({"prompter": "box_slice+clickability:model=/etc/passwd"}, "read /etc/passwd"),
        ({"weights": "by hand", "model": "litemedsam"}, "read weights.pth"),
        ({"prompter": "human:rater=a+recorded:folder=/etc", "status": "not_applicable"}, "read /etc"),
        ({"model": "hf:repo=None"}, "open the repository None"),
    ],
)
def test_all_that_only_rows_name_is_listed(columns: dict[str, str], reached: str, wording: SnapshotAssertion) -> None:
    columns = {name: BY_HAND if name == "weights" else text for name, text in columns.items()}
    theirs({"weights": "weights.pth", "python": "/some/python"}, **columns)
    (verdict,) = verify(OUT)
    assert verdict.found == "unknown"
    assert reached in verdict.reason
    assert verdict.reason == wording


@pytest.mark.parametrize(
    ("record", "columns"),
    [
        ({"batch": "1000000000"}, {}),
        ({"batch": "9" * 5000}, {}),
        ({"dataset": ["phantom:shape=4000x4000x4000"]}, {"dataset": "phantom:shape=4000x4000x4000"}),
        ({"dataset": ["phantom:scans=1000000"]}, {"dataset": "phantom:scans=1000000"}),
    ],
)
def test_sizes_that_somebody_wrote_are_no_work_order(record: dict[str, Any], columns: dict[str, str]) -> None:
    theirs(record, **columns)
    (verdict,) = verify(OUT)
    assert verdict.found == "unknown"
    assert "more than" in verdict.reason


def test_a_tower_of_changes_is_refused(wording: SnapshotAssertion) -> None:
    theirs(dataset=SMALL + "+noise" * 5000)
    (verdict,) = verify(OUT)
    assert verdict.reason == wording


def test_rows_of_no_run_can_be_played() -> None:
    theirs()
    for part in OUT.glob("rows/*.parquet"):
        pl.read_parquet(part).with_columns(run_id=pl.lit(None, pl.String)).write_parquet(part)
    assert [one.found for one in verify(OUT)] == ["equal"]


def test_rounds_that_a_record_wants_are_not_played(monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion) -> None:
    intrabench.run(model="box_fill", prompter="box_slice+click_slice", dataset=SMALL, rounds=1, out=OUT)
    assert [one.found for one in verify(OUT)] == ["equal"]
    (record,) = OUT.glob("runs/*.json")
    record.write_text(json.dumps({**json.loads(record.read_text()), "rounds": 3000}))
    played = list[int | None]()
    execute = module.execute

    def noting(options: Options, *rest: Any, **more: Any) -> Any:
        played.append(options.rounds)
        return execute(options, *rest, **more)

    monkeypatch.setattr(module, "execute", noting)
    (verdict,) = verify(OUT)
    assert played == [2]
    assert verdict.message == wording


def test_metrics_without_a_column_are_not_computed(monkeypatch: pytest.MonkeyPatch) -> None:
    usual = PROTOCOLS["basic@1"].metrics
    theirs(metrics=" ".join(usual) + " " + " ".join(f"nsd:tolerance_mm={number}@1" for number in range(1, 3000)))
    played = list[Sequence[Any]]()
    execute = module.execute

    def noting(options: Options, *rest: Any, **more: Any) -> Any:
        played.append(options.metric)
        return execute(options, *rest, **more)

    monkeypatch.setattr(module, "execute", noting)
    assert [one.found for one in verify(OUT)] == ["differs"]  # it does not have what it names
    assert played == [[id.partition("@")[0] for id in usual]]


def test_a_check_has_a_time_limit_as_a_whole(
    say: Say, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    intrabench.run(model="box_fill", prompter="box_slice", dataset="phantom:shape=16x32x32,instances=3", out=OUT)
    found = [one.message for one in verify(OUT, timeout_s=1e-9)]
    assert len(found) == 3
    assert all(one.endswith("it was not played within 1e-09 s (--timeout)") for one in found)
    monkeypatch.setenv("INTRABENCH_WORKERS", "1")
    found = [one.message for one in verify(OUT, timeout_s=0.05)]  # a worker takes longer to start, or to answer
    assert all(one.endswith("it was not played within 0.05 s (--timeout)") for one in found)
    for words in (("verify", "theirs"), ("board", "check", "theirs")):
        said = say(*words, "--timeout", "nan")
        assert (said.code, said.err) == (2, wording)
