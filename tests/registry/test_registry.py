"""Names to classes: built in, workspace, plug-in, entry point."""

from __future__ import annotations

import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import workspace
from intrabench.errors import IntraBenchError
from intrabench.prompters.box_slice import BoxSlice
from intrabench.registry import registry
from tests.conftest import Said
from tests.wording import line_with, without_reasons

MINE = '''
from dataclasses import dataclass
from intrabench.prompters.box_slice import BoxSlice

@dataclass(frozen=True)
class Mine(BoxSlice):
    """My own boxes."""
    name = "{name}"
'''


def make_workspace(name: str = "mine") -> None:
    Path("intrabench.toml").write_text('results = "out"\n')
    Path("prompters").mkdir()
    Path("prompters/mine.py").write_text(MINE.format(name=name))


def test_classes_of_a_workspace_are_known_by_name_and_results_go_there() -> None:
    make_workspace()
    entry = registry.entries("prompters")["mine"]
    assert entry.summary == "My own boxes."
    assert intrabench.prompter("mine").spec == "mine"
    assert workspace.results_folder() == Path.cwd() / "out"
    assert workspace.results_folder(Path("there")) == Path("there")


def test_without_the_file_nothing_of_the_folder_is_known(wording: SnapshotAssertion) -> None:
    make_workspace()
    Path("intrabench.toml").unlink()
    assert "mine" not in registry.entries("prompters")
    assert workspace.results_folder() == Path.cwd() / "intrabench-results"
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("mine")
    assert caught == wording


def test_listing_does_not_run_the_files() -> None:
    make_workspace()
    Path("prompters/loud.py").write_text(
        "class Loud:\n    'Loud.'\n    name: str = 'loud'\nraise SystemExit('imported')\n"
    )
    assert registry.entries("prompters")["loud"].summary == "Loud."


def test_a_plugin_that_the_workspace_has_already_is_no_second_one() -> None:
    make_workspace()
    registry.add_plugin(Path("prompters/mine.py"))
    assert intrabench.prompter("mine").spec == "mine"


def test_two_of_one_name_are_refused(wording: SnapshotAssertion) -> None:
    make_workspace("box_slice")
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("box_slice")
    assert caught == wording
    assert intrabench.prompter("box_volume").spec == "box_volume"
    (problem,) = registry.problems("prompters")
    assert problem == wording


def test_broken_files_and_settings_are_named(wording: SnapshotAssertion) -> None:
    make_workspace()
    Path("prompters/bad.py").write_text("def (:\n")
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("bad")
    assert caught == wording
    Path("prompters/bad.py").write_text("class Bad:\n    name = 'bad'\nimport nothing_like_this\n")
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("bad")
    assert caught == wording
    Path("intrabench.toml").write_text("resluts = 'x'\n")
    with pytest.raises(IntraBenchError) as caught:
        workspace.current()
    assert caught == wording
    Path("intrabench.toml").write_text("results = \n")
    with pytest.raises(IntraBenchError, match="not valid TOML"):
        workspace.current()


@pytest.mark.parametrize(
    "content", [b"def (:", b'x = "\xff"', b"x = 1\0", None], ids=["syntax", "utf-8", "null", "link"]
)
def test_a_broken_file_stops_nothing_that_does_not_need_it(
    content: bytes | None, say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    make_workspace()
    bad = Path("prompters/bad.py")
    bad.write_bytes(content) if content else bad.symlink_to("nowhere")
    assert intrabench.prompter("mine").spec == "mine"
    listed = say("list", "prompters")
    assert (listed.code, "My own boxes." in listed.out) == (1, True)
    assert listed.err.startswith(f"left out: {bad.absolute()} ")
    assert without_reasons(line_with(listed.err, "repair it")) == wording
    assert f"left out: {bad.absolute()} " in say("info", "bad").err
    assert say("list", "models").code == 0


def test_files_that_editors_keep_beside_are_not_read() -> None:
    make_workspace()
    Path("prompters/.#mine.py").symlink_to("me@machine.123")
    Path("prompters/._mine.py").write_bytes(b"\0\5\x16\7")
    assert registry.problems("prompters") == []
    assert intrabench.prompter("mine").spec == "mine"


def test_a_broken_metric_does_not_stop_tables(say: Callable[..., Said]) -> None:
    Path("intrabench.toml").write_text("")
    Path("metrics").mkdir()
    Path("metrics/mistyped.py").write_text("def (:\n")
    assert say("run", "-m", "box_fill", "-p", "box_volume", "-d", "phantom:shape=8x24x24").code == 0
    assert say("table").code == 0
    unknown = "there is no metric 'mistyped'; `intrabench list metrics` shows all; also "
    assert unknown in (err := say("table", "--metric", "mistyped").err)
    assert "; left out: " in err


def test_a_plugin_file_is_known_in_its_room() -> None:
    Path("plug.py").write_text(MINE.format(name="plugged"))
    registry.add_plugin(Path("plug.py"))
    assert intrabench.prompter("plugged").spec == "plugged"
    assert "plugged" not in registry.entries("models")
    Path("empty.py").write_text("x = 1\n")
    with pytest.raises(IntraBenchError, match=r"empty\.py defines no model"):
        registry.add_plugin(Path("empty.py"))
    with pytest.raises(IntraBenchError, match=r"absent\.py does not exist"):
        registry.add_plugin(Path("absent.py"))


def test_two_plugin_files_of_one_call_cannot_share_a_name(wording: SnapshotAssertion) -> None:
    for folder in ("here", "there"):
        Path(folder).mkdir()
        Path(folder, "plug.py").write_text(MINE.format(name="plugged"))
    here, there = Path("here/plug.py"), Path("there/plug.py")
    registry.add_plugins([here, here])
    assert registry.find("prompters", "plugged").origin == str(here)
    registry.add_plugins([there])  # a later call replaces what an earlier one registered
    assert registry.find("prompters", "plugged").origin == str(there)
    with pytest.raises(IntraBenchError) as caught:
        registry.add_plugins([here, there])
    assert caught == wording


def point(name: str, value: str, room: str = "prompters", package: str = "theirs") -> importlib.metadata.EntryPoint:
    """An entry point of a package that is not installed."""
    found = importlib.metadata.EntryPoint(name, value, f"intrabench.{room}")
    vars(found)["dist"] = SimpleNamespace(name=package)
    return found


def test_entry_points_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    Path("somewhere_else.py").write_text(MINE.format(name="elsewhere"))
    lookups = []

    def lookup() -> importlib.metadata.EntryPoints:
        lookups.append(1)
        return importlib.metadata.EntryPoints([point("elsewhere", "somewhere_else:Mine")])

    registry._entry_points.cache_clear()
    monkeypatch.setattr(importlib.metadata, "entry_points", lookup)
    try:
        assert registry.find("prompters", "elsewhere").load().__module__ == "somewhere_else"
        assert not any("elsewhere" in registry.entries(room) for room in registry.ROOMS if room != "prompters")
        assert lookups == [1]  # once for all rooms
    finally:
        registry._entry_points.cache_clear()


def offer(monkeypatch: pytest.MonkeyPatch, *points: importlib.metadata.EntryPoint) -> None:
    """Let packages register prompters."""
    monkeypatch.setattr(registry, "_entry_points", lambda: dict.fromkeys(registry.ROOMS, ()) | {"prompters": points})


def test_an_entry_point_has_the_name_of_its_class(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    offer(monkeypatch, point("thr2", "intrabench.prompters.box_slice:BoxSlice"))
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("thr2")
    assert caught == wording
    said = say("run", "-m", "box_fill", "-p", "thr2", "-d", "phantom", "--out", "out")
    assert (said.code, said.err) == (2, wording)
    assert not Path("out").exists()


def test_a_package_disables_nothing_of_ours(
    say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    offer(monkeypatch, point("box_slice", "no_such_module:Mine"), point("box_volume", "no_such_module:Mine"))
    assert type(intrabench.prompter("box_slice")) is BoxSlice
    assert registry.entries("prompters")["box_slice"].origin == "intrabench"
    assert registry.problems("prompters") == wording
    said = say("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=8x16x16", "--out", "out")
    assert (said.code, "left out" in said.err) == (0, False)
    assert say("list", "prompters").err == wording


def test_two_packages_or_a_package_and_a_workspace_are_refused_both(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    make_workspace("twice")
    offer(monkeypatch, point("twice", "no_such_module:Mine"))
    with pytest.raises(IntraBenchError) as caught:
        intrabench.prompter("twice")
    assert str(caught.value).replace(str(Path.cwd()), "") == wording


HEAVY = {"torch", "polars", "skimage", "timm", "cv2", "highdicom", "itk", "SimpleITK", "scipy", "nibabel", "pydicom"}
"""Packages that take long to import, and that neither a list nor a description needs."""


def in_a_process(*lines: str) -> None:
    """Run code that knows ``heavy()``, which of `HEAVY` it has imported so far."""
    code = "\n".join(["import sys", f"heavy = lambda *more: {HEAVY!r}.union(more) & set(sys.modules)", *lines])
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_descriptions_of_all_that_ships_import_nothing_heavy() -> None:
    shipped = {
        (name, f"{name} ({registry.ROOMS[room]}, from intrabench)")
        for room in registry.ROOMS
        for name, entry in registry.entries(room).items()
        if entry.origin == "intrabench"
    }
    assert {room for room in registry.ROOMS if len(registry.entries(room)) < 3} == set()
    in_a_process(
        "from intrabench.cli.describe import describe",
        f"for name, head in {sorted(shipped)!r}:",
        "    assert head in describe(name), name",
        "    assert not heavy(), (name, heavy())",
    )


def test_listing_imports_neither_torch_nor_a_model() -> None:
    in_a_process(
        "from intrabench.cli.main import main",
        "for words in ('--help', 'table --help', 'list models', 'list prompters --json', 'list datasets'):",
        "    sys.argv = ['intrabench', *words.split()]",
        "    try:\n        main()\n    except SystemExit as end:\n        assert not end.code, (words, end.code)",
        "    assert not [name for name in sys.modules if name.startswith('intrabench.models.')], words",
        "    found = heavy() if words == 'list datasets' else heavy('numpy')",  # its sizes and counts need the classes
        "    assert not found, (words, found)",
    )


def test_what_is_no_plug_in_in_a_folder_is_named_or_passed_over_and_never_waited_for(
    wording: SnapshotAssertion,
) -> None:
    make_workspace()
    os.mkfifo("prompters/pipe.py")
    Path("prompters/folder.py").mkdir()
    Path("prompters/device.py").symlink_to("/dev/zero")
    Path("prompters/gone.py").symlink_to("user@host.1234")
    Path("prompters/loop.py").symlink_to("loop.py")
    Path("prompters/.#mine.py").symlink_to("user@host.1234")  # a lock of emacs
    for name in (".mine.py.swp", "mine.py~", "#mine.py#", "mine.pyc"):
        Path("prompters", name).write_bytes(b"\0")
    Path("prompters/__pycache__").mkdir()
    Path("prompters/deep.py").write_text("(" * 100_000)
    Path("prompters/chain.py").write_text(f"class A({'a.' * 100_000}b): ...")
    Path("prompters/zeros.py").write_bytes(b"\0" * 9)
    assert "mine" in registry.entries("prompters")
    wrong = {
        "chain.py": "is not valid Python (maximum recursion depth exceeded",
        "deep.py": "is not valid Python (too many nested parentheses",
        "device.py": "is a pipe, a socket or a device, expected a file; move it away",
        "folder.py": "is a folder, expected a file; move it away",
        "gone.py": "cannot be read (No such file or directory)",
        "loop.py": "cannot be read (Too many levels of symbolic links)",
        "pipe.py": "is a pipe, a socket or a device, expected a file; move it away",
        "zeros.py": "is not valid Python (source code string cannot contain null bytes",
    }
    assert len(registry.problems("prompters")) == len(wrong)
    for sentence, (name, about) in zip(registry.problems("prompters"), wrong.items(), strict=True):
        assert f"{name} {about}" in sentence
    with pytest.raises(IntraBenchError) as caught:
        registry.add_plugins([Path("prompters/pipe.py")])
    assert caught == wording


def test_a_plug_in_may_say_how_it_is_encoded() -> None:
    make_workspace()
    source = MINE.format(name="other").replace("My own", "Mes propres déplacées")
    Path("prompters/latin.py").write_bytes(b"# -*- coding: latin-1 -*-\n" + source.encode("latin-1"))
    Path("prompters/marked.py").write_text(MINE.format(name="marked"), encoding="utf-8-sig")
    assert registry.problems("prompters") == []
    assert registry.entries("prompters")["other"].summary == "Mes propres déplacées boxes."
    assert intrabench.prompter("other").spec == "other"
    assert intrabench.prompter("marked").spec == "marked"


def test_an_address_is_no_data_set(wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        registry.make("datasets", "https://example.org/scans.zip")
    assert str(caught.value) == wording


@pytest.mark.parametrize(
    "text",
    [
        "prompters box_interp=3",
        "prompters box_interp(n=3)",
        "prompters box_slice,box_interp",
        "prompters own.py",
        "superpixels slic, grid",
        "models box_fill=2",
        "models box_fill, random_walker",
        "models net.pt",
        "models my_net",
        "datasets 501",
        "datasets 27",
    ],
)
def test_other_ways_to_write_are_answered_with_the_right_one(text: str, wording: SnapshotAssertion) -> None:
    room, name = text.split(" ", 1)
    with pytest.raises(IntraBenchError) as caught:
        registry.find(cast(Any, room), name)
    assert caught == wording
