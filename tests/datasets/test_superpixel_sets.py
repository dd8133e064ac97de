"""The other data sets of the superpixel benchmark, from miniatures of their archives; and averages over all five."""

from __future__ import annotations

import io
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.cases import store
from intrabench.datasets.families.segmented_photos import SegmentedPhotos
from intrabench.datasets.superpixel_sets import TRAIN
from intrabench.errors import IntraBenchError
from intrabench.registry import registry
from tests.conftest import Said
from tests.datasets.test_bsds500 import ONE, TWO, archive, picture
from tests.versions import guard_case
from tests.wording import without_reasons

__all__ = ["archive"]
CASES = {
    "sbd": (("0000051", "9005011"), ("0000047",)),  # the first and the last of the benchmark's training list
    "nyuv2": (("00000003",), ("00000001", "00000002")),
    "sunrgbd": (("00000038",), ("00000022",)),
    "fash": (("003",), ("001", "002")),
}
"""Photographs of train and of test."""
SUFFIX = {"sbd": "jpg", "nyuv2": "png", "sunrgbd": "png", "fash": "jpg"}


def table(labels: np.ndarray, between: str) -> bytes:
    text = io.StringIO()
    np.savetxt(text, labels.astype(int), "%d", between)
    return text.getvalue().encode()


def members(name: str) -> dict[str, bytes]:
    """What an archive holds: SBD's original one, the folders of the benchmark for the others."""
    kind = {"jpg": "JPEG"}.get(SUFFIX[name], SUFFIX[name])
    found = {}
    for part, cases in zip(("train", "test"), CASES[name], strict=True):
        for case in cases:
            if name == "sbd":
                found[f"iccv09Data/images/{case}.jpg"] = picture(kind)
                found[f"iccv09Data/labels/{case}.layers.txt"] = table(TWO.astype(int) - 1, " ")
                found[f"iccv09Data/labels/{case}.regions.txt"] = table(ONE, " ")
            else:
                folder = {"nyuv2": "NYUV2", "sunrgbd": "SUNRGBD", "fash": "Fash"}[name]
                found[f"{folder}/images/{part}/{case}.{SUFFIX[name]}"] = picture(kind)
                found[f"{folder}/csv_groundTruth/{part}/{case}.csv"] = table(TWO, ",")
    return found


def pack(data: Path, name: str, files: dict[str, bytes]) -> SegmentedPhotos:
    dataset: Any = registry.make("datasets", name)
    path = dataset.source.place(data / "downloads")
    path.parent.mkdir(parents=True, exist_ok=True)
    if name == "sbd":
        with tarfile.open(path, "w:gz") as taped:
            for member, content in files.items():
                info = tarfile.TarInfo(member)
                info.size = len(content)
                taped.addfile(info, io.BytesIO(content))
    else:
        with zipfile.ZipFile(path, "w") as zipped:
            for member, content in files.items():
                zipped.writestr(member, content)
    return dataset


@pytest.mark.parametrize("name", CASES)
def test_a_photograph_and_its_segments(data: Path, name: str) -> None:
    dataset = pack(data, name, members(name))
    train, test = CASES[name]
    assert dataset.cases() == tuple(sorted((*train, *test)))
    assert [dataset.subsets()[part] for part in ("train", "test")] == [train, test]
    store.prepare(dataset, test[0])
    stored = store.open_case(dataset, test[0])
    assert stored.volume.shape == (1, 20, 30)
    targets = stored.targets()
    assert [(one.person, one.mask.voxels) for one in targets] == [("person1", n) for n in (280, 240, 80)]
    segments = np.zeros((20, 30), int)
    for value, one in zip((1, 2, 5), targets, strict=True):
        segments += value * one.mask.to_array((1, 20, 30))[0]
    assert np.array_equal(segments, TWO)
    guard_case(stored, dataset, pixels=False)


def test_the_benchmark_trained_on_a_third_of_sbd() -> None:
    train = TRAIN.split()
    sbd: Any = registry.make("datasets", "sbd")
    assert len(set(train)) == len(train) == 238 == sbd.card.cases - 477


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("sbd", {"iccv09Data/labels/0000047.layers.txt": b"1 2\n3\n"}),
        ("sbd", {"iccv09Data/labels/0000047.layers.txt": b"1 2\n3 4\n"}),
        ("nyuv2", {"NYUV2/csv_groundTruth/test/00000001.csv": None}),
        ("fash", {name: None for name in members("fash") if "images/test" in name}),
    ],
    ids=["rows", "shape", "no annotation", "no photographs"],
)
def test_an_archive_that_is_another(
    data: Path, name: str, broken: dict[str, bytes | None], wording: SnapshotAssertion
) -> None:
    files = {member: content for member, content in {**members(name), **broken}.items() if content is not None}
    dataset = pack(data, name, files)
    with pytest.raises(IntraBenchError) as caught:
        store.prepare(dataset, CASES[name][1][0])
    assert without_reasons(str(caught.value)) == wording


def test_what_is_packed_by_hand_is_told(say: Callable[..., Said], data: Path, wording: SnapshotAssertion) -> None:
    assert say("data", "get", "nyuv2").err.replace(str(data), "DATA") == wording


def test_averages_over_five_data_sets(
    data: Path, archive: Path, say: Callable[..., Said], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in CASES:
        pack(data, name, members(name))
    sets = [word for name in ("bsds500", *CASES) for word in ("-d", name)]
    said = say("superpixels", "run", "-m", "grid", "-m", "random", "--segments", "6,24", *sets, "--cases",
               "subset:test", "--workers", "0", "--out", "out")  # fmt: skip
    assert said.code == 0, said.err
    lines = pl.read_csv(say("superpixels", "table", "--csv", "--out", "out").out.encode())
    grid = {line["dataset"]: line for line in lines.filter(pl.col("method") == "grid").iter_rows(named=True)}
    (average,) = grid.keys() - {"bsds500", *CASES}
    for number in ("AMR", "AUE", "rank"):
        assert grid[average][number] == pytest.approx(np.mean([grid[name][number] for name in ("bsds500", *CASES)]))
    assert [grid[name]["images"] for name in ("bsds500", *CASES)] == [2, 1, 2, 1, 2]
