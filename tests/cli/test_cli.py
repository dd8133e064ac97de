"""The command line as a user types it: output, exit codes, errors in one sentence."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import nibabel as nib
import numpy as np
import polars as pl
import pytest
from PIL import Image
from syrupy.assertion import SnapshotAssertion
from typer.main import get_command

import intrabench
from intrabench.cli.main import app, named
from intrabench.datasets.cases import store
from intrabench.engine.cost import Cost, remember
from intrabench.registry import registry
from intrabench.results.masks import masks_file
from tests.conftest import Said
from tests.wording import line_with

PHANTOM = "phantom:shape=16x32x32,instances=2,orientation=LPI"
SICK = (
    "from dataclasses import dataclass\nfrom intrabench.models.base import VolumeModel\n\n"
    "@dataclass(eq=False)\nclass Sick(VolumeModel):\n    name = 'sick'\n    accepts = frozenset({'box2d'})\n"
    "    def segment_one(self, volume, request):\n        raise MemoryError('all gone')\n"
)
AT = "in line 11 of sick.py"
LAST = "4 sessions: oom: MemoryError, in line 11 of sick.py"
MORE = "2 more kinds of failures are in the column error of the results"


def test_list_names_everything_and_json_is_the_same(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for room in registry.ROOMS:
        plain, machine = say("list", room), json.loads(say("list", room, "--json").out)
        lines = [line.split()[0] for line in plain.out.splitlines() if line and not line.endswith(":")]
        assert sorted(lines) == sorted(["name"] * (room == "datasets") + [row["name"] for row in machine])
        assert all(row["licence" if room == "datasets" else "summary"] for row in machine)
    assert {"litemedsam", "random_walker", "box_fill"} <= {
        row["name"] for row in json.loads(say("list", "models", "--json").out)
    }
    assert "basic@1" in say("list", "protocols").out
    wrong = say("list", "modles")
    assert (wrong.code, wrong.err) == (2, wording)


@pytest.mark.parametrize("name", ["box_interp", "box_fill", "sam2", "litemedsam", "spine_ct", "phantom", "basic@1"])
def test_info(say: Callable[..., Said], name: str) -> None:
    said = say("info", name)
    assert said.code == 0
    words = {
        "box_interp": "  n: a whole number from 1 to 1000000; default 3\n",
        "box_fill": "accepts: box2d, box3d",
        "sam2": "  policy: official or radioactive; default official\n",
        "litemedsam": "pip install 'intrabench[litemedsam]'",
        "spine_ct": "licence: ",
        "phantom": "  spacing: three numbers above 0 and up to 1000, for example 3x2x1; default 2.0x1.0x1.0\n",
        "basic@1": "aggregation: ",
    }
    assert words[name] in said.out
    assert say("info", "box_intrep").code == 2


def test_info_knows_columns(say: Callable[..., Said]) -> None:
    metric = say("info", "nsd")
    assert say("info", "nsd_2mm").out == f"nsd_2mm is the column of nsd:tolerance_mm=2\n\n{metric.out}"
    assert json.loads(say("info", "nsd_2mm", "--json").out) == json.loads(say("info", "nsd", "--json").out)
    assert say("info", "nsd_km", "--json").code == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("sammed3d", ["answers for: a crop of 192 mm around the first prompts", "takes its own last answer: yes"]),
        ("segvol", ["answers for: the foreground of the scan", "takes its own last answer: no"]),
        ("segvol", ["interpolated and other derived prompts (none or all): none"]),
        ("segvol:derived=all", ["interpolated and other derived prompts (none or all): all"]),
        ("nninteractive", ["answers for: a patch around the newest prompt, enlarged up to 4 times"]),
        ("nninteractive:autozoom=false", ["answers for: a patch around the newest prompt"]),
        ("sam2_video", ["answers for: the whole volume", "takes its own last answer: yes"]),
        ("sam:feedback=none", ["answers for: slices with a prompt", "takes its own last answer: no"]),
    ],
)
def test_info_says_where_a_model_answers(say: Callable[..., Said], name: str, told: list[str]) -> None:
    assert set(told) <= set(say("info", name).out.splitlines())


def test_run_table_export_and_the_second_run(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ["run", "-m", "box_fill", "-p", "box_slice", "-p", "point_interp:n=3", "-d", PHANTOM, "--save-masks"]
    first = say(*words)
    assert first.code == 0
    assert "4 sessions" in first.err
    assert "results in" in first.out
    again = say(*words)
    assert again.err == wording
    assert again.out == first.out
    lines = say("table", "--csv").out.splitlines()
    assert lines[0].startswith(
        "protocol,stop,joint_rules,effort,prompter,model,weights,weights_sha256,dtype,strict,sessions,failed,"
    )
    rows = intrabench.run("box_fill", "box_slice", PHANTOM)
    assert (
        f'basic@2,"",,seconds@1,box_slice,box_fill,"","",float32,false,2,0,0,"","",{rows["interactions"].mean()}'
        in lines[1]
    )
    assert str(rows["dice"].mean())[:12] in lines[1]
    refused = '"an initial point has no counterpart for a model that takes only boxes, in all sessions"'
    assert f'basic@2,"",,seconds@1,point_interp:n=3,box_fill,"","",float32,false,2,0,2,"",{refused},,,,,' in lines[2]
    assert say("export", "masks", "nii").out == wording  # of those that apply
    written = nib.load(next(Path("nii").rglob("blob.1__box_fill__box_slice*.nii.gz")))
    scene = store.open_case(intrabench.dataset(PHANTOM), rows["case"][0])
    assert np.allclose(written.affine, scene.volume.grid.affine)
    assert nib.aff2axcodes(written.affine) == ("L", "P", "I")
    (target,) = scene.targets(["blob.1"])
    answer = scene.volume.grid.to_canonical(np.asarray(written.dataobj)) > 0
    dice = 2 * (answer & target.mask.to_array(target.shape)).sum() / (answer.sum() + target.mask.voxels)
    assert dice == rows.filter(rows["target"] == "blob.1")["dice"][0]


def test_a_dry_run_says_how_long(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ["run", "-m", "box_fill", "-p", "box_slice", "-d", PHANTOM, "--out", "out"]
    more = [*words, "--seed", "0..9"]
    assert "sessions, about" not in say(*words).err  # nothing is known of the first
    (part,) = Path("out/rows").iterdir()
    measured = {"encode_s": 100.0, "segment_s": 20.0, "peak_memory_mb": 410.0}
    played = pl.read_parquet(part).with_columns(**{name: pl.lit(one) for name, one in measured.items()})
    never = played.head(1).with_columns(session=pl.lit("never"), status=pl.lit("not_applicable"), segment_s=0.0)
    pl.concat([played, never]).write_parquet(part)  # a session that was not played says nothing
    assert say(*more, "--dry-run").out.splitlines()[0] == wording
    assert say(*more, "--dry-run", "--save-masks").out.splitlines()[0] == wording  # none of which is kept
    Path("out/masks").mkdir()
    for session in pl.read_parquet(part)["session"].unique():
        masks_file(Path("out"), session).write_bytes(bytes(2_000_000))
    assert say(*more, "--dry-run", "--save-masks").out.splitlines()[0].endswith("; masks 36 MB")
    remember(intrabench.model("grabcut"), Cost(None, None, None, 100.0, 5000.0, 4000.0, "cpu, float32"))
    assert say("run", "-m", "grabcut", *more[3:], "--dry-run").out.splitlines()[0] == wording
    remember(intrabench.model("grabcut"), Cost(None, None, None, 100.0, 5000.0, 4000.0, "cuda, float32"))
    assert "check" not in say("run", "-m", "grabcut", *more[3:], "--dry-run").out  # which is of another machine's
    lines = say(*more).err.splitlines()
    (long,) = (line for line in lines if "18 sessions" in line)
    assert long == wording
    assert lines.index(long) < next(n for n, line in enumerate(lines) if line.startswith("20 sessions"))
    assert long not in say(*more).err  # all are finished


def test_a_dry_run_says_how_much_disk_embeddings_take(say: Callable[..., Said]) -> None:
    words = ["run", "-p", "box_slice", "-d", PHANTOM, "--dry-run", "--cache-gb", "3"]
    line = " 0.0 of 3 GB"
    assert line not in say(*words, "-m", "box_fill").out  # which encodes nothing
    assert line in say(*words, "-m", "litemedsam", "--weights", "random").out
    assert line not in say(*words[:-2], "-m", "litemedsam", "--weights", "random", "--no-cache-embeddings").out


def test_a_dry_run_does_not_name_many_data_sets_that_are_not_converted(
    say: Callable[..., Said], wording: SnapshotAssertion
) -> None:
    words = [word for number in range(1, 5) for word in ("-d", f"phantom:shape=16x32x32,scans={number}")]
    out = say("run", "--dry-run", "-m", "box_fill", "-p", "box_volume", *words).out
    assert line_with(out, "not converted") == wording


def test_dry_run_counts_and_computes_nothing(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    words = ["run", "-m", "box_fill", "-p", "box_slice", "-d", PHANTOM, "--seed", "0", "--seed", "1", "--dry-run"]
    assert say(*words).out.splitlines() == wording
    assert say("data", "get", PHANTOM).code == 0
    assert say(*words).out == wording
    assert not Path("intrabench-results").exists()
    say(*words[:-1])
    assert say(*words).out == wording
    download = say("run", "-m", "box_fill", "-p", "box_slice", "--dry-run")
    assert "tptbox-1.1.0-py3-none-any.whl, 9 MB" in download.out
    assert download.out == wording
    assert "using spine_ct" in download.err


def test_data_commands(say: Callable[..., Said], data: Path, wording: SnapshotAssertion) -> None:
    assert say("data", "list", PHANTOM).out == wording
    assert say("data", "verify", PHANTOM).code == 1
    assert "2 targets" in say("data", "get", PHANTOM).out
    rows = json.loads(say("data", "list", PHANTOM, "--json").out)
    assert [row["target"] for row in rows] == ["blob.1", "blob.2"]
    assert "all files are intact" in say("data", "verify", PHANTOM).out
    (targets,) = data.glob("cases/*/*/targets.npz")
    targets.write_bytes(bytes(targets.stat().st_size))
    broken = say("data", "verify", PHANTOM)
    assert broken.code == 1
    assert "targets.npz" in broken.err
    assert "phantom" in say("data", "list").out


def test_weights_list(say: Callable[..., Said]) -> None:
    assert "lite_medsam" in say("weights", "list").out
    assert say("weights", "get", "lite_medsan").code == 2


def test_preview_draws_the_prompts_where_they_are(say: Callable[..., Said]) -> None:
    words = ("preview", "-p", "box_interp:n=2", "-d", PHANTOM, "--target", "blob.2", "--file", "p/q.png")
    assert say(*words).out == "wrote p/q.png\n"
    picture = np.asarray(Image.open("p/q.png").convert("RGB")).astype(int)
    for colour in ((90, 200, 90), (255, 200, 0), (90, 170, 255)):  # target, drawn, derived
        assert (np.abs(picture - colour).sum(axis=2) == 0).sum() > 20
    wrong = say("preview", "-p", "box_slice", "-d", PHANTOM, "--target", "liver")
    assert (wrong.code, "--target liver matches nothing" in wrong.err, "blob.1, blob.2" in wrong.err) == (2, True, True)


def test_preview_with_a_model_writes_a_picture_per_round(say: Callable[..., Said]) -> None:
    words = ("preview", "-p", "box_interp:n=2", "--refine", "click_center", "--hand", "jitter_mm=1", "-m", "box_fill")
    said = say(*words, "-d", PHANTOM, "--rounds", "1", "--file", "p/q.png")
    assert said.out == "wrote p/q_round0.png\nwrote p/q_round1.png\n"
    picture = np.asarray(Image.open("p/q_round1.png").convert("RGB"))
    assert (picture == (235, 80, 235)).all(axis=2).sum() > 20  # the answer


@pytest.mark.parametrize(
    "words",
    [
        ["-p", "box_slice", "--rounds", "2"],
        ["-p", "box_slice", "--rounds", "-1", "-m", "box_fill"],
        ["-p", "box_slice", "-m", "box_fil"],
        ["-p", "box_slice", "--target", "blb.1"],
        ["-p", "box_slice", "--refine", "scrible", "-m", "box_fill"],
        ["-p", "box_slice", "--hand", "jitter=2", "-m", "box_fill"],
        ["-p", "point_interp", "-m", "box_fill"],
        ["-p", "box_slice", "-m", "sick", "--plugin", "sick.py"],
        ["-p", "box_slice", "-m", "far", "--plugin", "sick.py"],
    ],
    ids=str,
)
def test_previews_that_cannot_be_played(say: Callable[..., Said], words: list[str], wording: SnapshotAssertion) -> None:
    Path("sick.py").write_text(SICK + "\n\nclass Far(Sick):\n    name = 'far'\n    requires = ('no_such_module',)\n")
    said = say("preview", "-d", PHANTOM, *words)
    assert (said.code, said.out, said.err) == (2, "", wording)
    assert said.err.startswith("error: ")
    assert said.err.count("\n") == 1


@pytest.mark.parametrize(
    "path",
    [
        "picture.xyz",
        "file/picture.png",
    ],
)
def test_a_preview_that_cannot_be_written(say: Callable[..., Said], path: str, wording: SnapshotAssertion) -> None:
    Path("file").touch()
    said = say("preview", "-p", "box_slice", "-d", PHANTOM, "--file", path)
    assert (said.code, said.err) == (2, wording)
    assert "Traceback" not in said.err


def test_init_makes_a_workspace_once(say: Callable[..., Said]) -> None:
    assert say("init", "bench").code == 0
    assert Path("bench/intrabench.toml").is_file()
    again = say("init", "bench")
    assert (again.code, "not empty" in again.err) == (2, True)


@pytest.mark.parametrize(
    "words",
    [
        ["run", "-m", "box_fil", "-p", "box_slice"],
        ["run", "-m", "box_fill", "-p", "box_interp:n=x"],
        ["run", "-m", "box_fill", "-p", "box_interp:n"],
        ["run", "-m", "box_fill", "-p", "box_slice", "-d", PHANTOM, "--cases", "q*"],
        ["run", "-m", "box_fill", "-p", "box_slice", "--plugin", "no.py"],
        ["table"],
        ["table", "--out", "nowhere", "--metric", "dise"],
    ],
    ids=" ".join,
)
def test_usage_errors_are_one_sentence_and_exit_with_2(
    say: Callable[..., Said], words: list[str], wording: SnapshotAssertion
) -> None:
    said = say(*words)
    assert said.code == 2
    assert said.err == wording
    assert said.err.splitlines()[-1].startswith("error: ")
    assert "Traceback" not in said.err


def test_missing_options_exit_with_2(say: Callable[..., Said]) -> None:
    assert say("run", "-m", "box_fill").code == 2


def test_failed_units_exit_with_1(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    Path("sick.py").write_text(SICK)
    said = say("run", "-m", "sick", "-p", "box_slice", "-d", PHANTOM, "--plugin", "sick.py")
    assert said.code == 1
    assert "2 of 2 sessions" in said.err
    assert said.err == wording
    rows = intrabench.run("sick", "box_slice", PHANTOM)
    assert set(rows["status"]) == {"oom"}


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (
            "KeyError('layer') if Sick.calls % 3 else MemoryError()",
            [f"8 sessions: error: KeyError: 'layer', {AT}", LAST],
        ),
        (
            "KeyError('abcdefghijklmnop'[Sick.calls - 1])",
            [*(f"1 session: error: KeyError: '{letter}', {AT}" for letter in "abcdefghij"), MORE],
        ),
        (
            "KeyError(Sick.calls)",
            [f"12 sessions: error: KeyError: N, {AT}", f"  for example: error: KeyError: 1, {AT}"],
        ),
    ],
)
def test_each_distinct_failure_is_printed_once_with_its_count(
    say: Callable[..., Said], error: str, expected: list[str]
) -> None:
    text = SICK.replace("MemoryError('all gone')", error).replace(
        "        raise", "        Sick.calls += 1\n        raise"
    )
    Path("sick.py").write_text(text.replace("frozenset({'box2d'})", "frozenset({'box2d'})\n    calls = 0"))
    said = say("run", "-m", "sick", "-p", "box_slice", "-d", "phantom:instances=12", "--plugin", "sick.py")
    assert said.err.splitlines()[-1 - len(expected) : -1] == expected


def test_data_that_cannot_be_had_exits_with_1(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_INDEX_URL", "http://user:secret@127.0.0.1:9/simple")
    for name in ("PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS"):
        monkeypatch.setenv(name, "")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    said = say("run", "-m", "box_fill", "-p", "box_slice")
    assert said.code == 1
    assert "tptbox-1.1.0-py3-none-any.whl" in said.err
    assert "put " in said.err
    assert "secret" not in said.err + said.out


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (["run", "--help"], {"run"}),
        (["data", "list"], {"data", "list"}),
        (["job", "--nodes", "2", "--", "run"], {"job", "run"}),
    ],
)
def test_only_the_commands_that_are_named_are_made(words: list[str], names: set[str]) -> None:
    assert set(get_command(named(app, words)).commands) == names  # type: ignore[attr-defined]


@pytest.mark.parametrize("words", [[], ["--help"], ["rum"], ["rum", "run"], ["-q", "run"]])
def test_without_a_name_all_commands_are_made(words: list[str]) -> None:
    assert named(app, words) is app
