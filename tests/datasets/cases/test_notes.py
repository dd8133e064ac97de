"""Sentences of many cases as few lines, and a screen that names everything that is wrong with a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases.notes import once
from tests.conftest import Said
from tests.datasets.convert.dicom_files import write_ct, write_rtstruct
from tests.datasets.folder.made import AFFINE, image, labels, pair, save

SQUARE = np.pad(np.full((11, 13), 255, np.uint8), [(3, 6), (4, 7)])
"""A mask of a photograph of 20 x 24 pixels."""


def test_sentences_that_differ_in_names_and_numbers_are_one_line(wording: SnapshotAssertion) -> None:
    notes = [(case, f"/data/{case}.nii.gz has {number} holes") for number, case in enumerate(("anna", "berta", "c d"))]
    assert once(notes) == wording
    assert once(notes, every=True) == [f"{case}: {sentence}" for case, sentence in notes]
    many = [(f"p{number}", "it is dark") for number in range(200)]
    assert once(many) == wording
    told = [
        ("p1", f"{label}.1: 2 of {number} components are small") for number, label in enumerate(("liver", "spleen"))
    ]
    assert once(told, ["spleen", "liver"]) == [f"p1: {sentence}" for _, sentence in told]  # two of one case, both
    told += [("p2", "liver_left.1: 2 of 9 components are small")]
    assert once(told, ["liver", "spleen", "liver_left"]) == wording
    assert len(once(told, ["liver", "spleen"])) == 3  # nobody says that it is a name
    quoted = [("p1", f'"{name}" of {name}_seg.nii.gz is left out') for name in ("BODY", "Couch", "PTV-60")]
    assert once(quoted) == wording
    colours = [("p1", "#ff0000 is left out"), ("p2", "#00ff00, #0000ff is left out")]
    assert once(colours) == wording
    assert once([("", "a 1 is b"), ("", "a 2 is b")]) == ["a 1 is b", "a 2 is b"]
    assert once([("a", "it is cut"), ("b", "it is dark")]) == ["a: it is cut", "b: it is dark"]


def worst(root: Path) -> list[str]:
    """46 cases, of which a third is sound, and files that are of none; the names of those that cannot be used."""
    random, wrong = np.random.default_rng(0), []

    def case(kind: str, number: int, drawn: np.ndarray | None = None) -> tuple[Path, Path]:
        wrong.append(name := f"{kind}{number}")
        pair(root, name, number, drawn)
        return root / "images" / f"{name}.nii.gz", root / "labels" / f"{name}.nii.gz"

    for number in range(14):
        pair(root, f"fine{number}", number)
    for number in range(3):
        save(case("grid", number)[1], labels(), AFFINE + (number + 1) * np.eye(4, k=3))
        case("soft", number, (labels() == 1) * 0.5 + (labels() == 2))
        case("near", number, labels() + 1e-6 * (number + 1))
        case("lonely", number)[1].unlink()
        save(case("twice", number)[1].with_name(f"twice{number}_seg.nii.gz"), labels())
        cut = case("cut", number)[0]
        cut.write_bytes(cut.read_bytes()[:-100])
    for number in range(2):
        save(root / "images" / f"four{number}.nii.gz", np.stack([image(90 + number)] * 3, axis=-1))
        save(root / "labels" / f"four{number}.nii.gz", labels())
        for folder in (root / "images", root / "labels"):
            pages = [Image.fromarray(page) for page in random.integers(0, 255, (5, 20, 24), dtype=np.uint8)]
            pages[0].save(folder / f"stack{number}.tif", save_all=True, append_images=pages[1:])
            Image.fromarray(random.integers(0, 255, (20, 24, 3), dtype=np.uint8)).save(folder / f"photo{number}.png")
            (folder / f"packed{number}.npz").write_bytes(b"PK\3\4 cut")
        wrong += [f"stack{number}", f"photo{number}", f"packed{number}"]
        case("empty", number)[0].write_bytes(b"")
        for kind, mask in (("jpeg", f"jpeg{number}.jpg"), ("turned", f"turned{number}.png")):
            wrong.append(f"{kind}{number}")
            Image.fromarray(random.integers(0, 255, (20, 24), dtype=np.uint8)).save(root / f"images/{kind}{number}.png")
            Image.fromarray(SQUARE if kind == "jpeg" else SQUARE.T).save(root / "labels" / mask)
    series = write_ct(root / "dicom" / "ct", image().T.clip(0).astype(np.uint16))
    square = np.array([[2, 2, 4], [8, 2, 4], [8, 8, 4], [2, 8, 4]])
    write_rtstruct(root / "dicom" / "rtstruct", series, {"GTV": [square]})
    save(root / "stray.nii.gz", image())
    save(root / "stray_seg.nii.gz", labels())
    (root / "dataset.toml").write_text('layout = "two_folders"')
    return wrong


def test_the_worst_folder_fits_one_screen(tmp_path: Path, say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    wrong = worst(tmp_path / "lab")
    said = say("data", "check", str(tmp_path / "lab"))
    lines = said.out.splitlines()
    assert (said.code, said.err) == (1, "")
    assert len(lines) <= 50
    assert sum(-(-len(line.replace(str(tmp_path), "")) // 120) for line in lines) <= 60  # as a terminal breaks them
    kinds = {name.rstrip("0123456789") for name in wrong}
    about = [line for line in lines if "CANNOT BE USED: " in line]
    assert len(kinds) == len(about) == 12
    assert all(any(line.startswith(f"{kind}0, {kind}1") for line in about) for kind in kinds)
    assert lines[lines.index(next(line for line in lines if line.startswith("and "))) :] == wording
    found = json.loads(say("data", "check", str(tmp_path / "lab"), "--json").out)["cases"]
    assert sorted(one["case"] for one in found if one["problem"]) == sorted(wrong)
    assert len(found) == 46
    every = say("data", "check", str(tmp_path / "lab"), "--all").out.splitlines()
    assert sum("CANNOT BE USED: " in line for line in every) == len(wrong)
    assert sum("(z, y, x)" in line for line in every) == 16
