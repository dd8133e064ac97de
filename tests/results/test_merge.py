"""Merging results folders: what is copied, what is skipped, what contradicts each other, and what a failure leaves."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
import typer
from syrupy.assertion import SnapshotAssertion
from typer.testing import CliRunner

import intrabench
from intrabench.cli.results import add_results
from intrabench.errors import IntraBenchError
from intrabench.files.locks import locked
from intrabench.mask import Mask
from intrabench.results.masks import read_masks
from intrabench.results.merge import merge
from intrabench.results.merged_clicks import lock_of
from intrabench.results.parts import finished_sessions, read_rows, read_turns
from intrabench.results.store import Store
from tests.engine.test_run import lasting
from tests.results.made import curve, rows

A, B, OUT = Path("a"), Path("b"), Path("out")
NETWORK = {"weights_sha256": "abc", "model": "net"}


def stored(root: Path, run: str, frame: pl.DataFrame, masks: int = 0, **record: Any) -> None:
    """One part of a run in a results folder, with so many rounds of masks for each session."""
    store = Store(root, run, lambda: record)
    frame = frame.with_columns(pl.col("session").str.replace_all("/", "-"), run_id=pl.lit(run))
    given = frame.to_dicts()
    turns = [{"session": row["session"], "round": row["round"], "turn": row["round"], "given": "{}"} for row in given]
    store.write_part(given, turns)
    for session in frame["session"].unique():
        if masks:
            store.write_masks({session: [Mask.of(np.ones((1, 1, number + 1))) for number in range(masks)]})


def content(root: Path) -> dict[str, bytes]:
    """All files of a folder; nobody asks for empty folders and locks."""
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def test_links_out_of_a_folder_are_not_copied(wording: SnapshotAssertion) -> None:
    stored(A, "run-a", rows({"case": "1", "dice": 0.5}), state="finished")
    Path("private.json").write_text('{"secret": 1}')
    (A / "runs" / "theirs.json").symlink_to("../../private.json")
    (A / "runs" / "again.json").symlink_to("run-a.json")
    merged = merge([A], OUT)
    assert merged.damaged == wording
    assert sorted(path.name for path in (OUT / "runs").iterdir()) == ["again.json", "run-a.json"]


def test_a_record_that_is_no_file_is_named_and_left_out(wording: SnapshotAssertion) -> None:
    stored(A, "run-a", rows({"case": "1", "dice": 0.5}), state="finished")
    os.mkfifo(A / "runs" / "pipe.json")
    (A / "runs" / "gone.json").symlink_to("nothing")
    (A / "runs" / "folder.json").mkdir()
    merged = merge([A], OUT)
    assert merged.damaged == wording
    assert sorted(path.name for path in (OUT / "runs").iterdir()) == ["run-a.json"]


def test_parts_turns_masks_and_records_arrive_as_they_are() -> None:
    stored(A, "run-a", rows({"case": "1", "dice": 0.5}), masks=2, state="finished")
    stored(B, "run-b", rows({"case": "2", "dice": 0.7}), masks=1, state="finished")
    before = content(A), content(B)
    merged = merge([A, B], OUT)
    assert (merged.copied, merged.skipped) == (8, 0)
    assert merged.conflicts == merged.rounding == merged.damaged == merged.versions == []
    assert content(OUT) == {**before[0], **before[1]}
    assert (content(A), content(B)) == before
    assert read_rows(OUT).sort("case").equals(pl.concat([read_rows(A), read_rows(B)]))
    assert len(read_turns(OUT)) == 2


def test_merging_again_and_again_changes_nothing() -> None:
    stored(A, "run-a", rows({"case": "1"}), masks=1, state="finished")
    stored(B, "run-b", rows({"case": "2"}), state="finished")
    shutil.copytree(A, "copy of a")
    first = merge([A, Path("copy of a"), B], OUT)
    assert (first.copied, first.skipped) == (7, 4)
    at_once = content(OUT)
    assert merge([A, B], OUT).copied == 0
    assert content(OUT) == at_once
    merge([B], Path("step by step"))
    merge([A], Path("step by step"))
    assert content(Path("step by step")) == at_once


def test_what_a_run_adds_later_is_added_and_its_record_completed() -> None:
    store = Store(A, "run-a", lambda: {"state": "running"})
    store.write_part(rows({"case": "1"}).to_dicts(), [])
    merge([A], OUT)
    store.write_part(rows({"case": "2"}).to_dicts(), [])
    store.write_record({"state": "finished"})
    shutil.copytree(OUT, "earlier")
    assert merge([A], OUT).copied == 3
    assert content(OUT) == content(A)
    assert merge([Path("earlier")], OUT).copied == 0
    assert json.loads((OUT / "runs" / "run-a.json").read_text())["state"] == "finished"


def test_the_same_results_of_two_machines_are_no_contradiction() -> None:
    times = {"encode_s": 9.0, "segment_s": 8.0, "prompt_s": 1.0, "peak_memory_mb": 7.0, "device": "cuda", "batch": 3}
    stored(A, "run-a", curve([0.5, 0.6]))
    stored(B, "run-b", curve([0.5, 0.6, 0.7], package_versions_hash="other", **times))
    merged = merge([A, B], OUT)
    assert merged.conflicts == merged.rounding == []
    assert read_rows(OUT)["dice"].sort().to_list() == [0.5, 0.6, 0.7]


def test_a_patient_that_became_known_is_no_contradiction() -> None:
    stored(A, "run-a", rows({"case": "scan1", "patient": "scan1"}))
    stored(B, "run-b", rows({"case": "scan1", "patient": "P1", "written_at": 2}))
    assert merge([A, B], OUT).conflicts == []
    assert set(read_rows(OUT)["patient"]) == {"P1"}


def test_a_session_that_went_on_elsewhere_and_one_that_failed_are_no_contradiction() -> None:
    stored(A, "run-a", rows({"case": "1", "status": "stopped", "dice": 0.9, "pred_voxels": 5}, {"case": "2"}))
    one = {"case": "1", "status": "ok", "ended": False, "dice": 0.9, "pred_voxels": 5}
    stored(B, "run-b", rows(one, {"case": "2", "status": "oom", "dice": 0.0}))
    assert merge([A, B], OUT).conflicts == []


def test_contradictions_are_named_with_both_values_and_nothing_is_copied(wording: SnapshotAssertion) -> None:
    shared = {"session": "s", "dataset": "liver", "case": "7", "target": "tumour.2", "written_at": 1}
    stored(A, "run-a", curve([0.5, 0.625], **shared, fp_voxels=3))
    stored(B, "run-b", curve([0.5, 0.5], **{**shared, "written_at": 2}, fp_voxels=3))
    merged = merge([A, B], OUT)
    assert merged.conflicts == wording
    assert merged.copied == 0
    assert not OUT.exists()
    assert merge([A, B], OUT, newest=True).copied == 6
    assert read_rows(OUT).sort("round")["dice"].to_list() == [0.5, 0.5]
    merge([A], Path("first"))
    assert len(merge([B], Path("first")).conflicts) == 1
    assert content(Path("first")) == content(A)


@pytest.mark.parametrize("column", ["prompts_hash", "adapted", "seen_in_training", "interactions", "status", "label"])
def test_other_things_than_scores_contradict_each_other_too(column: str) -> None:
    other = {"interactions": 9.0, "status": "not_applicable", "seen_in_training": "yes"}.get(column, "other")
    before = {"prompts_hash": "1", "adapted": "", **NETWORK}
    stored(A, "run-a", rows({**before, "session": "s", "dice": 0.5}))
    stored(B, "run-b", rows({**before, "session": "s", "dice": 0.5, "target": "x.1", column: other}))
    (told,) = merge([A, B], OUT).conflicts
    assert f"{column} " in told


def test_rounding_of_networks_is_told_apart(wording: SnapshotAssertion) -> None:
    """One differs a little, one too much, one went apart after a little, one is no network."""

    def both(case: str, ours: list[float], theirs: list[float], prompts: str = "h", **shared: Any) -> None:
        stored(A, f"a-{case}", curve(ours, case=case, **shared).with_columns(prompts_hash=pl.lit("h")))
        other = pl.when(pl.col("round") > 0).then(pl.lit(prompts)).otherwise(pl.lit("h"))
        stored(B, f"b-{case}", curve(theirs, case=case, **shared).with_columns(prompts_hash=other))

    both("little", [0.5], [0.5005], **NETWORK)
    both("much", [0.5], [0.502], **NETWORK)
    both("apart", [0.5, 0.6, 0.7], [0.5001, 0.4, 0.8], "other", **NETWORK)
    both("for no reason", [0.5, 0.6], [0.5, 0.7], "other", **NETWORK)
    both("no network", [0.5], [0.5005])
    merged = merge([A, B], OUT)
    told = [text.partition(",")[2].partition(",")[0].strip() for text in merged.conflicts]
    assert told == ["case for no reason", "case much", "case no network"]
    assert merged.rounding == wording


def test_one_voxel_of_a_small_target_is_rounding() -> None:
    stored(A, "run-a", rows({"dice": 0.9, "fp_voxels": 1, "fn_voxels": 0, "pred_voxels": 9, **NETWORK}))
    stored(B, "run-b", rows({"dice": 0.8, "fp_voxels": 1, "fn_voxels": 1, "pred_voxels": 8, **NETWORK}))
    assert merge([A, B], OUT).conflicts == []


def test_of_two_masks_the_one_with_more_rounds_is_kept(wording: SnapshotAssertion) -> None:
    stored(A, "run-a", curve([0.5], session="s"), masks=1)
    stored(B, "run-b", curve([0.5, 0.6, 0.7], session="s"), masks=3)
    merge([A], OUT)
    assert merge([B], OUT).rounding == []
    assert [mask.voxels for mask in read_masks(OUT, "s")] == [1, 2, 3]
    merge([A], OUT)
    assert len(read_masks(OUT, "s")) == 3
    Store(A, "later").write_masks({"s": [Mask.of(np.ones((2, 2, 2)))] * 3})
    assert merge([A], OUT).rounding == wording
    assert [mask.voxels for mask in read_masks(OUT, "s")] == [1, 2, 3]


def test_recordings_are_copied_also_of_a_folder_without_rows_and_the_longer_of_one_counts(
    wording: SnapshotAssertion,
) -> None:
    for folder, lines in ((A, "first\n"), (B, "first\nsecond\n")):
        (folder / "people/recordings").mkdir(parents=True)
        (folder / "people/recordings/one.jsonl").write_text(lines)
    stored(A, "run-a", curve([0.5], session="s"))
    assert (merge([A], OUT).copied, merge([B], OUT).copied, merge([A], OUT).copied) == (4, 1, 0)
    assert (OUT / "people/recordings/one.jsonl").read_text() == "first\nsecond\n"
    assert len(read_rows(OUT)) == 1
    (A / "people/recordings/one.jsonl").write_text("other\nsecond\n")
    with pytest.raises(IntraBenchError) as caught:
        merge([A], OUT)
    assert caught == wording


def test_masks_that_were_packed_differently_are_equal() -> None:
    stored(A, "run-a", curve([0.5], session="s"), masks=1)
    shutil.copytree(A, B)
    with np.load(B / "masks" / "s.npz") as arrays:
        np.savez(B / "masks" / "s.npz", **dict(arrays))
    assert merge([A, B], OUT).rounding == []


def test_a_part_that_was_changed_is_refused(wording: SnapshotAssertion) -> None:
    stored(A, "run-a", rows({"dice": 0.5}))
    shutil.copytree(A, B)
    pl.read_parquet(B / "rows" / "run-a-0001.parquet").with_columns(dice=pl.lit(0.9)).write_parquet(
        B / "rows" / "run-a-0001.parquet"
    )
    with pytest.raises(IntraBenchError) as caught:
        merge([A, B], OUT)
    assert caught == wording
    assert not OUT.exists()


def test_a_damaged_part_is_named_and_left_out() -> None:
    stored(A, "run-a", rows({"case": "1"}))
    stored(B, "run-b", rows({"case": "2"}))
    (B / "rows" / "run-b-0001.parquet").write_bytes(b"PAR1")
    merged = merge([A, B], OUT)
    assert [text.split()[0] for text in merged.damaged] == ["b/rows/run-b-0001.parquet"]
    assert read_rows(OUT)["case"].to_list() == ["1"]
    assert not (OUT / "rows" / "run-b-0001.parquet").exists()


def test_package_versions_that_differ_are_listed() -> None:
    stored(A, "run-a", rows({"case": "1"}), versions={"numpy": "2.1", "torch": "2.6", "python": "3.11"})
    stored(B, "run-b", rows({"case": "2"}), versions={"numpy": "2.0", "torch": "2.6"})
    assert merge([A, B], OUT).versions == ["numpy 2.0 and 2.1"]


def test_a_merge_on_another_machine_has_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two processes with one number, of which one ends first; it deletes nothing of the other's."""
    stored(A, "run-a", rows({"case": "1"}))
    stored(B, "run-b", rows({"case": "2"}))
    real, begun = os.replace, list[Path]()

    def meanwhile(source: Any, place: Any) -> None:
        if not begun and ".merge" in str(source):
            begun.append(Path(source))
            merge([B], OUT)
        real(source, place)

    monkeypatch.setattr(os, "replace", meanwhile)
    merge([A], OUT)
    assert begun[0].parts[1].startswith(f".merge-{os.getpid()}-")
    assert sorted(read_rows(OUT)["case"]) == ["1", "2"]


@pytest.mark.parametrize("name", ["copyfile", "replace"])
@pytest.mark.parametrize("out", [OUT, Path("old")])
def test_a_failure_leaves_everything_as_it_was(
    monkeypatch: pytest.MonkeyPatch, name: str, out: Path, wording: SnapshotAssertion
) -> None:
    """The first copy fails, then the second, and so on; every other time it is Ctrl-C."""
    stored(A, "run-a", rows({"case": "1", "session": "s"}), masks=1, state="running")
    merge([A], Path("old"))
    Store(A, "run-a").write_record({"state": "finished"})
    stored(A, "run-a2", rows({"case": "1", "session": "s"}), masks=2)
    stored(B, "run-b", rows({"case": "2"}), masks=1)
    before = content(out)
    module: Any = {"copyfile": shutil, "replace": os}[name]
    real, left = getattr(module, name), [0]

    def failing(source: Any, place: Any) -> None:
        if ".merge" in f"{source}{place}":
            left[0] -= 1
            if left[0] == 0:
                Path(place).write_text("half") if name == "copyfile" else None
                raise OSError(28, "No space left on device") if number % 2 else KeyboardInterrupt
        real(source, place)

    monkeypatch.setattr(module, name, failing)
    for number in range(1, 100):
        left[0] = number
        with suppress(KeyboardInterrupt, IntraBenchError):
            merge([A, B], out)
            break
        assert content(out) == before
        assert out.exists() == (out != OUT)
    assert number > 8  # so often something could fail
    left[0] = number = 1
    with pytest.raises(IntraBenchError) as caught:
        merge([A, B], Path("new"))
    assert caught == wording
    assert sorted(read_rows(out)["case"]) == ["1", "2"]


def test_what_is_no_results_folder_is_refused(wording: SnapshotAssertion) -> None:
    A.mkdir()
    with pytest.raises(IntraBenchError) as caught:
        merge([A], OUT)
    assert caught == wording
    stored(B, "run-b", rows({}))
    with pytest.raises(IntraBenchError, match="merged into itself"):
        merge([B], Path("./b"))


def test_two_shards_are_one_run(data: Path) -> None:
    given = {"model": ["box_fill", "random_walker"], "prompter": "box_slice+scribble", "rounds": 2, "save_masks": True}
    dataset = "phantom:shape=16x32x32,instances=2,scans=3"
    whole = intrabench.run(dataset=dataset, out="whole", **given)
    intrabench.run(dataset=dataset, out=A, cases="first:2", **given)
    intrabench.run(dataset=dataset, out=B, cases=["*2", "*3"], **given)
    assert merge([A, B], OUT).conflicts == []
    assert lasting(read_rows(OUT)).equals(lasting(whole))
    assert finished_sessions(OUT, 2) == set(whole["session"])
    assert len(list((OUT / "masks").iterdir())) == whole["session"].n_unique()
    before = content(OUT)
    intrabench.run(dataset=dataset, out=OUT, **given)
    assert {name for name in content(OUT) if not name.startswith("locks")} == set(before)


@pytest.fixture
def typed() -> Callable[..., Any]:
    """Types a command of those that `add_results` makes."""
    app = typer.Typer()
    add_results(app)
    return lambda *words: CliRunner().invoke(app, words)


def test_the_command(typed: Callable[..., Any], wording: SnapshotAssertion) -> None:
    stored(A, "run-a", curve([0.5], session="s"))
    stored(B, "run-b", curve([0.75], session="s"))
    refused = typed("merge", "a", "b", "--out", "out")
    assert refused.exit_code == 1
    assert "dice 0.5" in refused.stderr
    assert "0.75 in b, 0.25" in refused.stderr
    assert refused.stderr == wording
    forced = typed("merge", "a", "b", "--out", "out", "--newest")
    assert (forced.exit_code, forced.stdout) == (0, wording)
    (A / "rows" / "x.parquet").touch()
    assert typed("merge", "a", "--out", "new").exit_code == 1
    assert len(read_rows(Path("new"))) == 1


def test_export_takes_rows_and_masks(typed: Callable[..., Any], data: Path, wording: SnapshotAssertion) -> None:
    intrabench.run("box_fill", "box_slice", "phantom:shape=16x32x32,instances=2", save_masks=True)
    for words in (["masks", "nii"], ["masks", "nii", "--out", "intrabench-results"]):
        assert typed("export", *words).stdout == wording
    said = typed("export", "rows", "all.csv", "--turns")
    assert said.stdout == wording
    Path("intrabench-results/rows/z.parquet").touch()
    said = typed("export", "rows", "all.csv")
    assert said.exit_code == 1
    assert "z.parquet cannot be read" in said.stderr


def test_metrics_of_one_machine_alone(wording: SnapshotAssertion) -> None:
    """Two sessions differ in a metric that nobody here knows; a third folder has rows without it."""
    shared = {"metrics": "dice@1 iou@1 nsd_2mm@1 hd95_mm@1 roughness@1", "dice": 0.5}
    for root, value in ((A, 0.25), (B, 0.75)):
        stored(root, f"run-{root}", rows({"case": "1", **shared}).with_columns(roughness=pl.lit(value)))
    (told,) = merge([A, B], OUT).conflicts
    assert "roughness 0.25" in told
    assert "0.75 in b, 0.5" in told
    assert told == wording
    assert not (OUT / "rows").exists()
    stored(Path("plain"), "run-c", rows({"case": "2", "dice": 0.5}))
    assert merge([A, Path("plain")], OUT).conflicts == []
    assert read_rows(OUT).sort("case").select("case", "roughness").rows() == [("1", 0.25), ("2", None)]
    assert merge([A, Path("plain")], OUT).copied == 0


CLICKS = ("id,rater,x", "1,r1,4", "2,r1,5")


def clicked(root: Path, *lines: str, slice: bytes = b"slice") -> Path:
    """First clicks in a results folder, and a slice that was clicked."""
    folder = root / "people" / "clicks"
    for kind in ("images", "masks"):
        (folder / "slices" / kind).mkdir(parents=True, exist_ok=True)
        (folder / "slices" / kind / f"{root}.png").write_bytes(slice)
    (folder / "clicks.csv").write_text("".join(f"{line}\n" for line in lines))
    return folder / "clicks.csv"


def test_first_clicks_are_put_together() -> None:
    """Those of machines that collected apart, and again after more were made; a half-written line is left."""
    clicked(A, *CLICKS)
    theirs = clicked(B, CLICKS[0], CLICKS[2], '3,"r, 2",6')
    theirs.write_text(theirs.read_text() + "4,r2")
    assert merge([A, B], OUT).copied == 5
    place = OUT / "people" / "clicks" / "clicks.csv"
    assert place.read_text().splitlines() == [*CLICKS, '3,"r, 2",6']
    slices = {path.name for path in (OUT / "people" / "clicks" / "slices").rglob("*.png")}
    assert slices == {"a.png", "b.png"}
    before = content(OUT)
    assert merge([A, B], OUT).copied == 0
    assert content(OUT) == before
    theirs.write_text(theirs.read_text() + ",7\n")
    assert merge([B], OUT).copied == 1
    assert place.read_text().splitlines() == [*CLICKS, '3,"r, 2",6', "4,r2,7"]


def test_first_clicks_that_cannot_be_put_together(wording: SnapshotAssertion) -> None:
    clicked(OUT, *CLICKS)
    before = content(OUT)
    for lines in (("id,rater,x", "1,r1,5"), ("id,rater,x", "1,r1"), ("rater,x", "r1,5")):
        clicked(A, *lines)
        with pytest.raises(IntraBenchError) as caught:
            merge([A], OUT)
        assert str(caught.value) == wording
    clicked(A, *CLICKS, "3,r1,6")
    with locked(lock_of(OUT / "people" / "clicks")), pytest.raises(IntraBenchError, match="clicks are collected into"):
        merge([A], OUT)
    assert content(OUT) == before
