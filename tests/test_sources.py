"""docs/sources.md: what reads results is run on a miniature; `test_docs` tries all commands on the command line."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import Said
from tests.documented import ROOT

READERS = ("table", "superpixels table", "superpixels compare", "figures", "info", "list", "preview")
"""The commands that read what is there."""
PUBLISHED = ("--reference", "--users")
"""What needs the data of a paper."""
SUPERVOXELS = [f"--model=supervoxels:method={method}" for method in ("grid,segments=50", "grid,segments=200", "slic")]
PHANTOM = "--dataset=phantom:shape=4x32x32"
RUNS = (
    ["run", "--protocol=rclicks@1", "--prompter=click_deepest", "--rounds=1", *SUPERVOXELS, PHANTOM]
    + [f"--prompter=clickability:model=distance,group={group}" for group in (1, 10)],
    ["run", "--protocol=toothfairy3@1", SUPERVOXELS[0], f"{PHANTOM},instances=2"],
    ["run", "--protocol=davis@1", SUPERVOXELS[0], PHANTOM, "--rounds=1"],
    ["run", "--protocol=intrabench@1", SUPERVOXELS[0], PHANTOM]
    + ["--prompter=box_interp:n=3+scribble:previous=drop,one_slice=published"],
    ["superpixels", "run", "--method=slic", "--method=sitk_slic", "--segments=20,400"]
    + ["--workers=0", "--dataset=phantom:shape=1x48x48,scans=3"],
)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script of the page."""
    monkeypatch.syspath_prepend(ROOT / "docs")
    return import_module("make_sources")


def test_the_page_is_what_make_docs_writes_now(made: ModuleType) -> None:
    assert (ROOT / "docs" / made.PAGE).read_text(encoding="utf-8") == made.index(), "run: make docs"


@pytest.mark.parametrize(
    ("here", "why"),
    [("equal", "it is not"), ("different", None), ("impossible", None), ("absent", None), ("other", "of its own")],
)
def test_an_item_says_whether_it_is_equal_or_why_not(
    made: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, here: str, why: str | None
) -> None:
    path = tmp_path / "sources.toml"
    reason = f', why = "{why}"' if why else ""
    path.write_text(f'[[source]]\nitems = [{{where = "Table 1", what = "clicks", here = "{here}"{reason}}}]\n')
    monkeypatch.setattr(made, "DATA", path)
    with pytest.raises(ValueError, match="clicks"):
        made.index()


def test_what_reads_results_gives_them_of_a_miniature(made: ModuleType, data: Path, say: Callable[..., Said]) -> None:
    for words in RUNS:
        said = say(*words, "--out=results")
        assert said.code == 0, f"{shlex.join(words)}\n{said.out}{said.err}"
    commands = {item["command"] for source in made.sources() for item in source["items"] if "command" in item}
    ran = 0
    for command in sorted(one for one in commands if one.startswith(READERS)):
        if any(word in command for word in PUBLISHED):
            continue
        words = shlex.split(command.replace("spine_ct", "phantom:shape=4x32x32"))
        if words[0] not in ("info", "list", "preview"):
            words += ["--out=results"]
        said = say(*words)
        assert said.code == 0, f"{shlex.join(words)}\n{said.out}{said.err}"
        assert said.out, command
        ran += 1
    assert ran > 15
