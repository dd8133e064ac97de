"""Broken pelvic bones: two archives of scans, one of labels, whose values are the instances."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets import pengwin
from intrabench.mask import Array
from tests.conftest import Said
from tests.datasets.paper.conftest import Publish
from tests.datasets.paper.miniatures import box, check, check_file, itk, laid_out, made, noise, packed
from tests.server import Server
from tests.wording import line_with, sentence_with

SHAPE = (6, 14, 16)
SPACING = (0.8, 0.7, 0.75)
FIRST, SECOND = noise(SHAPE) - np.int16(1000), noise(SHAPE, 1) - np.int16(1000)
PIECES = {
    1: box(SHAPE, (1, 3), (2, 6), (6, 10)),
    2: box(SHAPE, (3, 5), (2, 6), (6, 10)),
    11: box(SHAPE, (1, 5), (7, 12), (1, 5)),
    21: box(SHAPE, (1, 5), (7, 12), (11, 15)),
    30: box(SHAPE, (5, 6), (13, 14), (15, 16)),
}
Say = Callable[..., Said]


def labels(*values: int) -> Array:
    return sum((np.int8(value) * PIECES[value] for value in values), np.zeros(SHAPE, np.int8))


def mha(canonical: Array, codes: str) -> bytes:
    return itk(".mha", *laid_out(canonical, codes, SPACING))


@pytest.fixture
def archives() -> dict[str, dict[str, bytes]]:
    """Case 050 is the last of part 1, 051 the first of part 2."""
    return {
        "part1": {"050.mha": mha(FIRST, "LPS"), "001.mha": mha(noise(SHAPE, 2), "LPS")},
        "part2": {"051.mha": mha(SECOND, "RPI"), "100.mha": mha(noise(SHAPE, 3), "LPS")},
        "labels": {"050.mha": mha(labels(1, 2, 11, 21), "LPS"), "051.mha": mha(labels(1, 11, 30), "RPI")},
    }


def offer(publish: Publish, archives: Mapping[str, Mapping[str, bytes]], folders: bool = False) -> None:
    def body(name: str) -> bytes:
        folder = f"PENGWIN_CT_train_{'' if name == 'labels' else 'images_'}{name}/" if folders else ""
        files = archives[name]
        hidden = {f"__MACOSX/{folder}{member}": b"no scan" for member in files} if folders else {}
        return packed({**{folder + member: content for member, content in files.items()}, **hidden})

    publish(pengwin, "IMAGES", body("part1"), body("part2"))
    publish(pengwin, "LABELS", body("labels"))


@pytest.mark.parametrize("folders", [False, True])
def test_fragments_keep_their_numbers(
    say: Say,
    publish: Publish,
    server: Server,
    archives: Mapping[str, Mapping[str, bytes]],
    folders: bool,
    wording: SnapshotAssertion,
) -> None:
    offer(publish, archives, folders)
    said = say("data", "get", "pengwin", "--cases", "050", "--cases", "051")
    assert said.code == 0
    assert "case 050: 4 targets" in said.out
    assert "case 051: 3 targets" in said.out
    assert sorted(said.out.splitlines()) == wording
    found = {f"fragment.{value}": PIECES[value] for value in (1, 2, 11, 21)}
    check("pengwin", "050", FIRST, found, SPACING)
    check("pengwin", "051", SECOND, {f"fragment.{value}": PIECES[value] for value in (1, 11, 30)}, SPACING)
    assert {value: np.count_nonzero(mask) for value, mask in PIECES.items()} == {1: 32, 2: 32, 11: 80, 21: 80, 30: 1}
    check_file(
        "pengwin",
        "051",
        SECOND[::-1, ::-1].transpose(2, 1, 0),
        np.array([[0.75, 0, 0, 7], [0, -0.7, 0, -11], [0, 0, -0.8, 13], [0, 0, 0, 1]]),
    )
    server.paths.clear()
    assert say("data", "get", "pengwin", "--cases", "050").code == 0
    assert server.paths == []
    assert say("data", "verify", "pengwin").code == 0


def test_a_broken_scan_does_not_stop_the_others(
    say: Say, publish: Publish, archives: Mapping[str, dict[str, bytes]], wording: SnapshotAssertion
) -> None:
    archives["part1"]["050.mha"] = archives["part1"]["050.mha"][:1200]
    archives["labels"]["001.mha"] = itk(".mha", *laid_out(labels(1)[1:], "LPS", SPACING))
    offer(publish, archives)
    said = say("data", "get", "pengwin", "--cases", "001", "--cases", "05[01]", "--cases", "100")
    assert "case 051: 3 targets" in said.out
    assert (said.code, said.out) == (1, wording)
    assert "its 0.00269" in said.err
    assert line_with(said.err, "are truncated") == wording
    assert sentence_with(said.err, "different grid") == wording
    assert line_with(said.err, "expected one") == wording


def test_there_are_a_hundred_cases() -> None:
    cases = made("pengwin").cases()
    assert (len(cases), cases[0], cases[-1]) == (100, "001", "100")
