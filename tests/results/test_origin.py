"""The data sets of rows, found from any folder."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.registry import registry
from intrabench.results.origin import datasets_of
from intrabench.results.parts import read_rows
from tests.datasets.folder.made import pair


@pytest.mark.usefixtures("data")
def test_a_relative_folder_is_found_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    out, here, elsewhere = tmp_path / "out", tmp_path / "here", tmp_path / "elsewhere"
    pair(here / "clinic")
    elsewhere.mkdir()
    monkeypatch.chdir(here)
    intrabench.run("box_fill", "box_volume", "clinic", perturb=["none", "noise:sigma=0.2"], out=out)
    rows = read_rows(out)

    monkeypatch.chdir(elsewhere)
    found = {name: one if isinstance(one, str) else one.argument for name, one in datasets_of(out, rows).items()}
    plain = str(here / "clinic")
    assert found == {"clinic": plain, "clinic+noise:sigma=0.2": f"{plain}+noise:sigma=0.2"}
    assert registry.make("datasets", plain).short_spec == "clinic"

    (record,) = (out / "runs").iterdir()
    older = json.loads(record.read_text())
    assert older["options"]["dataset"] == ["clinic"]  # as it was typed
    del older["arguments"]
    record.write_text(json.dumps(older))
    assert str(datasets_of(out, rows)["clinic"]) == wording
    monkeypatch.chdir(here)
    assert {name: getattr(one, "short_spec", one) for name, one in datasets_of(out, rows).items()} == {
        name: name for name in found
    }
