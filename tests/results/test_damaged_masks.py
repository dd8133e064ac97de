"""Masks that are empty, cut or no masks at all: they are named, left out, and played again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.errors import IntraBenchError, PartialResults
from intrabench.results.export import export
from intrabench.results.masks import damaged_masks, read_masks
from intrabench.results.merge import merge
from intrabench.results.parts import read_rows
from intrabench.results.store import Store
from tests.conftest import Said
from tests.wording import line_with

Say = Callable[..., Said]
WORDS = ("run", "-m", "box_fill", "-p", "box_slice", "-d", "phantom:shape=16x32x32,instances=3", "--save-masks")
OUT = Path("intrabench-results")


def as_numpy(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.zeros(9))


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[60:70] = bytes(10)
    path.write_bytes(content)


CUT: dict[str, Callable[[Path], object]] = {
    "empty": lambda path: path.write_bytes(b""),
    "cut": lambda path: path.write_bytes(path.read_bytes()[:-1]),
    "half": lambda path: path.write_bytes(path.read_bytes()[:200]),
    "no zip": lambda path: path.write_text("masks " * 50),
    "zeros": lambda path: path.write_bytes(bytes(path.stat().st_size)),
    "front missing": lambda path: path.write_bytes(path.read_bytes()[9:]),
    "an array": as_numpy,
}
DAMAGED = CUT | {"changed inside": flipped, "a folder": lambda path: (path.unlink(), path.mkdir())}


def broken(say: Say, harm: str) -> Path:
    """A run of three targets; the masks of one are damaged."""
    assert say(*WORDS).code == 0
    path = min(OUT.absolute().glob("masks/*.npz"))
    DAMAGED[harm](path)
    return path


def left_out(path: Path) -> str:
    return f"{path} cannot be read and is left out; delete it, and the command of its run plays its session again\n"


@pytest.mark.parametrize("harm", DAMAGED)
def test_export_names_a_bad_mask_and_writes_the_others(say: Say, harm: str, wording: SnapshotAssertion) -> None:
    bad = broken(say, harm)
    said = say("export", "masks", "nii")
    assert (said.code, said.out, said.err) == (1, wording, left_out(bad))
    assert len(list(Path("nii").rglob("*.nii.gz"))) == 2


@pytest.mark.parametrize("harm", CUT)
def test_the_same_run_plays_only_that_session_again(say: Say, harm: str, wording: SnapshotAssertion) -> None:
    bad = broken(say, harm)
    before = read_rows(OUT).sort("session")
    said = say(*WORDS)
    assert said.code == 0
    assert line_with(said.err, "played again") == wording
    after = read_rows(OUT).sort("session")
    again = before["session"].filter(before["written_at"] != after["written_at"]).to_list()
    assert again == [bad.stem]
    assert [len(read_masks(OUT, session)) for session in after["session"]] == [1, 1, 1]
    assert export(OUT, Path("nii")) == (3, [], [], [])
    assert "played again" not in say(*WORDS).err


def test_what_the_sentence_on_masks_that_changed_inside_says_is_right(say: Say) -> None:
    """A run believes the end of a file; reading all masks of all sessions would slow it down."""
    bad = broken(say, "changed inside")
    assert say(*WORDS).code == 0
    assert say("export", "masks", "nii").err == left_out(bad)
    bad.unlink()
    assert say(*WORDS).code == 0
    assert export(OUT, Path("nii")) == (3, [], [], [])


@pytest.mark.parametrize("harm", ["empty", "changed inside"])
def test_the_report_names_a_bad_mask_and_shows_the_rest(say: Say, harm: str) -> None:
    bad = broken(say, harm)
    said = say("report", "page.html")
    assert (said.code, said.err) == (1, left_out(bad))
    page = Path("page.html").read_text()
    assert page.count("cannot be read and is left out") == 1
    assert page.count("<option value=") >= 3
    with pytest.warns(PartialResults, match=f"{bad.name} cannot be read"):
        intrabench.report("again.html")


def test_verify_names_a_bad_mask(say: Say) -> None:
    bad = broken(say, "empty")
    said = say("verify", "--sample", "1")
    assert "1 ok" in said.out
    assert (said.code, said.err) == (1, left_out(bad))


def test_a_table_of_matched_masks_says_which_is_missing(say: Say) -> None:
    bad = broken(say, "half")
    said = say("table", "--aggregation", "matched")
    assert (said.code, said.err) == (2, f"error: {left_out(bad)}")


def test_a_merge_leaves_a_bad_mask_behind_and_takes_a_whole_one(say: Say) -> None:
    bad = broken(say, "cut")
    merged = merge([OUT], Path("all"))
    assert merged.damaged == [left_out(bad.relative_to(Path.cwd())).strip()]
    assert len(list(Path("all/masks").iterdir())) == 2
    assert say(*WORDS).code == 0
    assert merge([OUT], Path("all")).damaged == []
    assert len(read_masks(Path("all"), bad.stem)) == 1


def test_every_way_to_cut_a_mask_short_is_noticed() -> None:
    store = Store(OUT, "run")
    store.write_masks({"a": [intrabench.mask.Mask.of(np.ones((2, 3, 4)))] * 3})
    path = OUT / "masks" / "a.npz"
    whole = path.read_bytes()
    assert damaged_masks(OUT) == []
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        assert not store.has_masks("a")
        assert len(damaged_masks(OUT)) == 1
        with pytest.raises(IntraBenchError, match="cannot be read"):
            read_masks(OUT, "a")
