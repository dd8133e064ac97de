"""What a run writes down about itself, and what it must not."""

from __future__ import annotations

import getpass
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

import intrabench
from intrabench.datasets.cases import store as cases
from intrabench.engine import hardware
from intrabench.fetch.checksum import checksum_of, note
from intrabench.models.weights import registry as weights
from intrabench.results.runs import at_home, read_record, read_records, without_home
from tests.conftest import Said

NETWORK = Path(__file__).parents[1] / "models" / "tiny_network.py"
SMALL = "phantom:shape=16x32x32,instances=3,scans=2"
OUT = Path("out")


def record_of_run(**options: Any) -> dict[str, Any]:
    """The only record of a run into a new folder."""
    shutil.rmtree(OUT, ignore_errors=True)
    intrabench.run(**{"model": "box_fill", "prompter": "box_slice", "dataset": SMALL, "out": OUT, **options})
    (record,) = read_records(OUT)
    return record


def test_it_says_what_was_run_on_what(data: Path) -> None:
    record = record_of_run(prompter="box_slice+scribble", targets="blob.1", stop="dice=0.99")
    assert record["run_id"] == next((OUT / "runs").iterdir()).stem
    assert record["state"] == "finished"
    assert record["rounds"] == 5  # asked for nothing, so as many as the paper had
    assert record["options"]["rounds"] is None
    assert record["options"]["stop"] == "dice=0.99"
    assert record["sessions"] == {"total": 2, "already": 0, "computed": 2, "failed": 0}
    assert record["weights"] == []
    assert record["hardware"].keys() == {"os", "cpu", "cores", "memory_gb", "gpus"}
    assert record["hardware"]["cores"] == os.cpu_count()
    assert record["hardware"]["memory_gb"] > 0.1
    assert record["hardware"]["cpu"] != ""
    assert re.fullmatch(r"[0-9a-f]{16}", record["hardware_hash"])
    assert record["versions"]["intrabench"] == intrabench.__version__
    assert record["versions"]["python"] == platform.python_version()
    started, ended = (datetime.fromisoformat(record[name]) for name in ("started", "ended"))
    assert 0 <= (ended - started).total_seconds() < 600
    assert started.utcoffset() is not None


def test_it_pins_the_data(data: Path) -> None:
    dataset = intrabench.dataset(SMALL)
    (told,) = record_of_run()["datasets"]
    indexes = [cases.index(dataset, case) for case in dataset.cases()]
    content = [[i.case, i.image_hash, [target.content_hash for target in i.targets]] for i in indexes if i]
    assert told == {
        "spec": dataset.short_spec,
        "version": dataset.version,
        "licence": dataset.card.licence,
        "cases": 2,
        "targets": 6,
        "images_hash": hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16],
    }
    assert record_of_run(model="random_walker")["datasets"] == [told]
    (other,) = record_of_run(dataset=f"{SMALL},seed=1")["datasets"]
    assert other["images_hash"] != told["images_hash"]


def test_a_case_that_is_broken_in_any_way_does_not_count(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = cases._index

    def broken(dataset: Any, case: str, folder: Path) -> Any:
        if case == "case-1":
            raise ZeroDivisionError
        return real(dataset, case, folder)

    monkeypatch.setattr(cases, "_index", broken)
    record = record_of_run()
    assert [told["cases"] for told in record["datasets"]] == [1]
    assert record["sessions"]["failed"] == 1


def test_each_case_index_is_read_once_by_a_run_with_nothing_to_play(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = record_of_run()["datasets"]
    (path,) = (OUT / "runs").iterdir()
    path.write_text(json.dumps({**json.loads(path.read_text()), "state": "interrupted"}))
    read, real = list[Path](), cases.read_index
    monkeypatch.setattr(cases, "read_index", lambda folder, remedy: read.append(folder) or real(folder, remedy))
    intrabench.run("box_fill", "box_slice", SMALL, out=OUT)
    assert sorted(folder.name for folder in read) == ["case-1", "case-2"]
    assert [record["datasets"] for record in read_records(OUT)] == [told, told]


def test_it_says_which_weights(data: Path) -> None:
    options = {"model": "tiny", "prompter": "points_slice:n=2", "plugin": [NETWORK]}
    expected = {"id": "sam_vit_b", "sha256": "random", "source": "random, untrained"}
    told = record_of_run(weights="random", **options)["weights"]
    assert told == [{"model": "tiny", "weights": "random", **expected}]
    sha256 = by_hand(Path("mine.pth"))
    expected = {"id": "sam_vit_b", "sha256": sha256, "source": "--weights"}
    record = record_of_run(weights=Path("mine.pth"), **options)
    assert record["weights"] == [{"model": "tiny", "weights": "file", **expected}]
    assert record["options"]["weights"] == "mine.pth"


def test_it_says_where_registered_weights_came_from(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = replace(weights.get("sam_vit_b"), sha256="", sources=("https://example.org/sam.pth",))
    monkeypatch.setattr(weights, "get", lambda id: entry)
    options = {"model": "tiny", "prompter": "points_slice:n=2", "plugin": [NETWORK], "targets": "blob.1"}
    path = weights.folder() / entry.file
    path.parent.mkdir(parents=True)
    by_hand(path)
    assert record_of_run(**options)["weights"][0]["source"] == "put there by hand"
    note(path, checksum_of(path), "https://mirror.org/sam.pth")
    assert record_of_run(**options)["weights"][0]["source"] == "https://mirror.org/sam.pth"


def by_hand(path: Path) -> str:
    """Make a checkpoint of the tiny network; returns its sha256."""
    import torch

    from tests.models.tiny_network import Net

    torch.save(Net().state_dict(), path)
    return hashlib.sha256(path.read_bytes()).hexdigest()


LOOKING = """
import shutil
from dataclasses import dataclass
from pathlib import Path

from intrabench.models.box_fill import BoxFill


@dataclass(eq=False)
class Looking(BoxFill):
    name = "looking"

    def segment_one(self, volume, request):
        for path in Path("out/runs").glob("*.json"):
            shutil.copy(path, "seen.json")
        return super().segment_one(volume, request)
"""


def test_it_is_there_while_the_run_goes_on_and_says_how_it_ended(data: Path) -> None:
    Path("looking.py").write_text(LOOKING)
    record = record_of_run(model="looking", plugin=[Path("looking.py")])
    seen = json.loads(Path("seen.json").read_text())
    assert (seen["state"], seen["ended"]) == ("running", None)
    constant = [name for name in seen if name not in ("state", "ended", "stamps", "sessions")]
    assert seen["stamps"][0] == record["stamps"][0] <= seen["stamps"][1] < record["stamps"][1]
    assert {name: seen[name] for name in constant} == {name: record[name] for name in constant}
    assert seen["sessions"] == {**record["sessions"], "computed": 0, "open_cases": 0}
    assert record.keys() - seen.keys() == {"datasets"}


def test_a_run_that_cannot_go_on_says_so(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from intrabench.results.store import Store

    real = Store.write_part

    def second_fails(self: Store, *given: Any) -> None:
        if self.parts == 1:
            raise MemoryError("in the middle")
        real(self, *given)

    monkeypatch.setattr(Store, "write_part", second_fails)
    with pytest.raises(MemoryError):
        record_of_run()
    (record,) = read_records(OUT)
    assert record["state"] == "failed (MemoryError)"
    assert record["sessions"]["computed"] < record["sessions"]["total"] == 6


def test_it_is_of_this_checkout_or_of_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "checkout" / "intrabench" / "engine" / "hardware.py"
    package.parent.mkdir(parents=True)
    package.touch()
    monkeypatch.setattr(hardware, "__file__", str(package))
    hardware.commit.cache_clear()
    assert hardware.commit() == ""
    git = ["git", "-C", str(tmp_path / "checkout"), "-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"], ["tag", "v1"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    hardware.commit.cache_clear()
    assert hardware.commit() == head
    package.write_text("# changed")
    hardware.commit.cache_clear()
    assert hardware.commit() == f"{head}-dirty"
    monkeypatch.setenv("PATH", "")
    hardware.commit.cache_clear()
    assert hardware.commit() == ""
    hardware.commit.cache_clear()


def test_it_holds_nothing_private(tmp_path: Path, say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "home" / "agatha"
    home.mkdir(parents=True)
    shutil.copy(NETWORK, home / "mine.py")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("INTRABENCH_DATA", str(home / "data"))
    monkeypatch.setenv("MY_TOKEN", "hidden-token-value")
    words = ["run", "-m", "tiny", "-p", "points_slice:n=2", "-d", SMALL, "--weights", "random", "--out", str(OUT)]
    assert say(*words, "--plugin", str(home / "mine.py")).code == 0
    (path,) = (OUT / "runs").iterdir()
    text = path.read_text()
    hidden = [str(home), "agatha", platform.node(), "hidden-token-value", "INTRABENCH_DATA", str(Path.cwd())]
    assert [word for word in hidden if word in text] == []
    assert re.search(rf"\b{re.escape(getpass.getuser())}\b", text) is None
    record = read_record(OUT, path.stem)
    assert record["options"]["plugin"] == ["~/mine.py"]
    assert record["command"].endswith("--out out --plugin ~/mine.py")


def test_the_home_folder_is_left_out_only_where_it_begins_a_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/root")
    text = "-d /root/a --plugin=/root/b /data/root/c /root '/root/d e' /rooted /root.old"
    hidden = "-d ~/a --plugin=~/b /data/root/c ~ '~/d e' /rooted /root.old"
    assert without_home(text) == hidden
    for words in ("/root/a", "/root", "/root:channel=1", "/root/a:label=/root/b,channel=1", "phantom:seed=1", "x~/y"):
        assert at_home(without_home(words)) == words
    monkeypatch.setenv("HOME", "/")
    assert without_home("https://host/a") == "https://host/a"


def test_graphics_cards_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    assert isinstance(hardware._gpus(), list)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda number: f"Card {number}")
    assert hardware._gpus() == ["Card 0"]
    monkeypatch.delitem(sys.modules, "torch")
    assert isinstance(hardware._gpus(), list)


def test_a_record_that_cannot_be_read_is_passed_over() -> None:
    (OUT / "runs").mkdir(parents=True)
    (OUT / "runs" / "a.json").write_text("{")
    (OUT / "runs" / "b.json").write_text("[]")
    (OUT / "runs" / "c.json").write_text('{"run_id": "c"}')
    assert read_records(OUT) == [{"run_id": "c"}]
    assert read_record(OUT, "a") == read_record(OUT, "absent") == {}
