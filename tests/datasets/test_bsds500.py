"""BSDS500 from a miniature of its archive, and photographs of one's own that several people annotated."""

from __future__ import annotations

import io
import tarfile
from collections import Counter
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from PIL import Image
from scipy.io import savemat
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.base import NotFetched
from intrabench.datasets.bsds500 import ARCHIVE
from intrabench.datasets.cases import store
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.versions import guard_case

ONE, TWO = np.zeros((20, 30), np.uint16), np.ones((20, 30), np.uint16)
ONE[:, 12:], TWO[:8], TWO[12:, 20:] = 1, 2, 5
"""What two people drew; both fill the picture, one has gaps in the numbers."""


def picture(suffix: str = "JPEG") -> bytes:
    array = np.random.default_rng(0).integers(0, 255, (20, 30, 3)).astype(np.uint8)
    content = io.BytesIO()
    Image.fromarray(array).save(content, suffix)
    return content.getvalue()


def drawn(*maps: np.ndarray) -> bytes:
    """A file as that of the archive: a cell with a structure for each person."""
    people = np.empty((1, len(maps)), object)
    for number, labels in enumerate(maps):
        people[0, number] = {"Segmentation": labels, "Boundaries": np.zeros_like(labels)}
    content = io.BytesIO()
    savemat(content, {"groundTruth": people})
    return content.getvalue()


@pytest.fixture
def archive(data: Path) -> Path:
    members = {}
    for part, case in (("train", "100"), ("val", "200"), ("test", "300"), ("test", "301")):
        members[f"BSR/BSDS500/data/images/{part}/{case}.jpg"] = picture()
        members[f"BSR/BSDS500/data/groundTruth/{part}/{case}.mat"] = drawn(ONE, TWO)
    path = ARCHIVE.place(data / "downloads")
    path.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(path, "w:gz") as taped:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            taped.addfile(info, io.BytesIO(content))
    return path


def test_photographs_and_what_people_drew(archive: Path) -> None:
    bsds = registry.make("datasets", "bsds500")
    assert bsds.cases() == ("100", "200", "300", "301")
    assert bsds.subsets()["test"] == ("300", "301")
    store.prepare(bsds, "300")
    stored = store.open_case(bsds, "300")
    assert stored.volume.shape == (1, 20, 30)
    assert stored.volume.case == "300"
    targets = stored.targets()
    assert [(one.id, one.person, one.mask.voxels) for one in targets] == [
        ("person1.1", "person1", 240),
        ("person1.2", "person1", 360),
        ("person2.1", "person2", 280),
        ("person2.2", "person2", 240),
        ("person2.3", "person2", 80),
    ]
    guard_case(stored, bsds, pixels=False)


def test_without_the_archive_the_cases_are_unknown(data: Path) -> None:
    with pytest.raises(NotFetched, match=r"intrabench data get bsds500$"):
        registry.make("datasets", "bsds500").cases()


def photographs(folder: Path) -> Path:
    (folder / "images").mkdir(parents=True)
    (folder / "annotations").mkdir()
    for name in ("a", "b", "c", "c-2"):
        (folder / "images" / f"{name}.png").write_bytes(picture("PNG"))
    Image.fromarray(ONE.astype(np.uint8)).save(folder / "annotations" / "a-0.png")
    np.savetxt(folder / "annotations" / "a-1.csv", TWO, "%d", ",")
    np.savez(folder / "annotations" / "b.npz", np.stack([ONE, TWO, TWO]))
    (folder / "annotations" / "c.mat").write_bytes(drawn(TWO))
    np.save(folder / "annotations" / "c-2.npy", ONE)
    return folder


def test_photographs_of_ones_own(tmp_path: Path, data: Path) -> None:
    folder = registry.make("datasets", str(photographs(tmp_path / "mine")))
    assert folder.cases() == ("a", "b", "c", "c-2")
    people = {}
    for case in folder.cases():
        store.prepare(folder, case)
        targets = store.open_case(folder, case).targets()
        people[case] = sorted({one.person for one in targets}), len(targets)
    both = ["person1", "person2"]
    assert people == {
        "a": (both, 5),
        "b": ([*both, "person3"], 8),
        "c": (["person1"], 3),
        "c-2": (["person1"], 2),
    }


def test_people_keep_their_numbers_when_others_come_and_go(tmp_path: Path, data: Path) -> None:
    """They are those of their own files; each person has drawn another number of segments."""
    (tmp_path / "mine" / "images").mkdir(parents=True)
    places = tmp_path / "mine" / "annotations"
    places.mkdir()
    (tmp_path / "mine" / "images" / "a.png").write_bytes(picture("PNG"))

    def people() -> dict[str, int]:
        mine = registry.make("datasets", str(tmp_path / "mine"))
        store.prepare(mine, "a")
        return dict(Counter(target.person for target in store.open_case(mine, "a").targets()))

    bands = {number: np.arange(30)[None].repeat(20, 0) * count // 30 for number, count in ((1, 2), (2, 3), (10, 5))}
    for number in (2, 1, 10):
        np.save(places / f"a-{number}.npy", bands[number])
    assert people() == {"person2": 2, "person3": 3, "person11": 5}
    np.save(places / "a.npy", ONE)
    (places / "a-1.npy").unlink()
    assert people() == {"person1": 2, "person3": 3, "person11": 5}
    np.save(places / "a.npy", np.stack([ONE, TWO, TWO]))
    with pytest.raises(IntraBenchError, match="both of person 3"):
        people()


def test_the_worst_annotation_counts(tmp_path: Path, data: Path) -> None:
    folder = photographs(tmp_path / "mine")
    models = [f"supervoxels:method=grid,segments={number}" for number in (6, 24)]
    rows = intrabench.run(
        models, None, str(folder), cases="a", protocol="superpixels@1", out=tmp_path / "out", workers=0
    )
    assert sorted(rows["target"].unique()) == ["person1.0", "person2.0"]
    assert rows["status"].unique().to_list() == ["ok"]
    assert rows["dice"].is_null().all()
    from intrabench.results.parts import read_rows
    from intrabench.statistics.superpixels import superpixel_scores

    images = superpixel_scores(read_rows(tmp_path / "out")).images
    for asked in (6, 24):
        here = rows.filter(pl.col("model").str.ends_with(f"={asked}"))
        (line,) = images.filter(pl.col("asked") == asked).iter_rows(named=True)
        assert line["rec"] == here["rec"].min() < here["rec"].max()
        assert line["ue_np"] == here["ue_np"].max()
        assert line["sp"] == asked


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a-0.npy", None),
        ("d.npy", np.zeros((3, 3), int)),
        ("d.npy", np.full((20, 30), 0.5)),
        ("d.mat", b"no matrix"),
    ],
)
def test_annotations_that_do_not_fit(
    tmp_path: Path, data: Path, name: str, content: np.ndarray | bytes | None, wording: SnapshotAssertion
) -> None:
    folder = photographs(tmp_path / "mine")
    (folder / "images" / "d.png").write_bytes(picture("PNG"))
    if isinstance(content, bytes):
        (folder / "annotations" / name).write_bytes(content)
    elif content is not None:
        np.save(folder / "annotations" / name, content)
    mine = registry.make("datasets", str(folder))
    with pytest.raises(IntraBenchError) as error:
        store.prepare(mine, "d")
    assert str(error.value) == wording
