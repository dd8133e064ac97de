"""Protocols with rows: what each row of the paper's tables means, which models it is for, and how rows are chosen."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli.main import main
from intrabench.datasets.cases import store
from intrabench.effort import cost
from intrabench.engine.dry_run import describe as dry_run
from intrabench.engine.make_job import make_job
from intrabench.engine.options import Options
from intrabench.engine.session_spec import ModelRunner
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.segvol import SegVol
from intrabench.prompters.combined import make_prompter
from intrabench.prompters.user import User
from intrabench.prompts import Abilities
from intrabench.protocols import PROTOCOLS, chosen_rows, protocol, row_names, stopping
from intrabench.registry import registry
from intrabench.target import Target
from intrabench.turns import Turn
from tests.wording import line_with

PAPER = protocol("intrabench@1")
SMALL = "phantom:shape=16x32x32,instances=1"

PRINTED = {  # table: {row: interactions as printed, of the first prompts and of a correction; X: slices}
    2: {
        "1PPS": "1X",
        "2PPS": "2X",
        "3PPS": "3X",
        "5PPS": "5X",
        "10PPS": "10X",
        "2±PPS": "2X",
        "3±PPS": "3X",
        "5±PPS": "5X",
        "10±PPS": "10X",
        "Box PS": "2X",
    },
    3: {
        "3P Inter": "3",
        "5P Inter": "5",
        "10P Inter": "10",
        "3B Inter": "6",
        "5B Inter": "10",
        "10B Inter": "20",
        "5P Prop": "7",
        "B Prop": "4",
    },
    4: {
        "1PPV": "1",
        "1 center PPV": "1",
        "2 center PPV": "2",
        "3 center PPV": "3",
        "5 center PPV": "5",
        "10 center PPV": "10",
        "3D Box": "3",
    },
    5: {
        "1PPS + 1PPS Refine": "1X/1X",
        "1PPS + Scribble Refine": "1/3",
        "3P Inter + Scribble Refine": "5/3",
        "3B Inter + Scribble Refine": "6/3",
    },
    6: {
        "1 center PPV + 1 PPV Refine": "1/1",
        "1 center PPV + 1 PPV Refine + prev point": "1/1",
        "1 center PPV + Scribble Refine": "1/3",
    },
}
MEDSAM = {"Box PS", "3B Inter", "5B Inter", "10B Inter", "B Prop"}


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Target:
    """A phantom that has pixels enough on each of its slices for ten points."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("INTRABENCH_DATA", str(tmp_path_factory.mktemp("data")))
        dataset = intrabench.dataset("phantom:shape=40x96x96,instances=1")
        (case,) = dataset.cases()
        store.prepare(dataset, case)
        (found,) = store.open_case(dataset, case).targets()
    return found


def interactions(text: str, target: Target) -> int:
    return int(text.removesuffix("X")) * (len(target.mask.occupied_slices) if text.endswith("X") else 1)


def names(models: str | list[str], *only: str) -> dict[str, set[str]]:
    """The rows that each model is to be run on."""
    models = [models] if isinstance(models, str) else models
    job = make_job(Options(model=models, dataset=[SMALL], protocol="intrabench@1", only=only))
    return {
        runner.label: {job.rows[prompter.spec].name for prompter in job.prompters_for(runner.model)}
        for runner in job.runners
    }


def told(**options: object) -> str:
    with pytest.raises(IntraBenchError) as error:
        intrabench.run("box_fill", dataset=SMALL, **options)  # type: ignore[arg-type]
    return str(error.value)


def test_the_rows_are_those_of_the_paper() -> None:
    assert [(row.table, row.name) for row in PAPER.rows] == [(t, name) for t, rows in PRINTED.items() for name in rows]
    assert len({row.name for row in PAPER.rows}) == len({row.prompter for row in PAPER.rows}) == 32
    assert {row.name for row in PAPER.rows if row.dims == 3} == {*PRINTED[4], *PRINTED[6]}
    assert (PAPER.rounds, PAPER.metrics) == (5, ("dice@1", "iou@1", "nsd_2mm@1"))
    assert row_names("intrabench@1")["box_interp:n=3"] == "3B Inter"
    assert row_names("basic@1") == row_names("mine@7") == {}


@pytest.mark.parametrize("row", PAPER.rows, ids=lambda row: row.name)
def test_a_row_costs_what_the_paper_says(row, target: Target) -> None:  # type: ignore[no-untyped-def]
    prompter = make_prompter(row.prompter)
    assert prompter.spec == row.prompter  # so that rows in results can be named
    turn = next(prompter.interact(User(target)))
    assert turn.prompts.kinds == {row.kind}
    text = PRINTED[row.table][row.name].partition("/")[0]
    if row.name == "1PPS + Scribble Refine":
        text = "1X"  # the paper forgets the slices here
    assert cost(turn.actions, "interactions@1") == interactions(text, target)


@pytest.mark.parametrize("row", [row for row in PAPER.rows if row.table in (5, 6)], ids=lambda row: row.name)
def test_corrections(row, target: Target) -> None:  # type: ignore[no-untyped-def]
    given: list[Turn] = []
    dialogue = make_prompter(row.prompter).interact(User(target, given=given))
    given.append(next(dialogue))
    correction = dialogue.send(Mask.empty())  # which positive prompts correct
    text = PRINTED[row.table][row.name].partition("/")[2]
    assert cost(correction.actions, "interactions@1") == interactions(text, target)
    assert correction.afresh == (not row.name.endswith("+ prev point"))
    assert ("Scribble" in row.name) == (correction.prompts.kinds == {"scribble"})


def test_rows_are_for_the_models_that_take_their_prompts() -> None:
    assert names("box_fill") == {"box_fill": MEDSAM}
    assert names(["random_walker", "box_fill"]) == {
        "random_walker": {*PRINTED[4], *PRINTED[6]},
        "box_fill": MEDSAM,
    }
    both = Abilities(2, frozenset({"point", "box2d"}), feeds_back=True)
    assert {row.name for row in PAPER.rows if row.suits(both)} == {*PRINTED[2], *PRINTED[3], *PRINTED[5]}
    points = Abilities(3, frozenset({"point"}), feeds_back=True)
    assert {row.name for row in PAPER.rows if row.suits(points)} == {*PRINTED[4], *PRINTED[6]} - {"3D Box"}


def test_rows_that_drop_earlier_prompts_are_for_models_that_take_their_own_answer() -> None:
    """The paper leaves SegVol out of Table 6, because it cannot refine."""
    segvol, sam = (registry.make("models", spec).abilities for spec in ("segvol", "sam:feedback=none"))
    assert {row.name for row in PAPER.rows if row.suits(segvol)} == {
        *PRINTED[4],
        "1 center PPV + 1 PPV Refine + prev point",
    }
    assert {row.name for row in PAPER.rows if row.suits(sam)} == {*PRINTED[2], *PRINTED[3]}
    assert {row.name for row in PAPER.rows if row.drops} == {*PRINTED[5], *PRINTED[6]} - {
        "1 center PPV + 1 PPV Refine + prev point"
    }


def test_a_model_for_which_no_row_is_left_is_told_why(
    monkeypatch: pytest.MonkeyPatch, wording: SnapshotAssertion
) -> None:
    monkeypatch.setattr(SegVol, "requires", ())
    with pytest.raises(IntraBenchError) as caught:
        make_job(Options(model=["segvol"], dataset=[SMALL], protocol="intrabench@1", only=["*PPV + Scribble Refine"]))
    assert str(caught.value) == wording


def test_globs_choose_rows() -> None:
    def chosen(*only: str) -> list[str]:
        return [row.name for row in chosen_rows(PAPER, only)]

    assert chosen() == [row.name for row in PAPER.rows]
    assert chosen("3B Inter*") == ["3B Inter", "3B Inter + Scribble Refine"]
    assert chosen("3D Box", "?B Inter") == ["3B Inter", "5B Inter", "3D Box"]
    assert chosen("*+ Scribble Refine") == [name for t in (5, 6) for name in PRINTED[t] if "Scribble" in name]
    assert names("box_fill", "3B Inter*") == {"box_fill": {"3B Inter"}}


def test_units_are_made_for_each_model(data: Path, wording: SnapshotAssertion) -> None:
    options = Options(model=["random_walker", "box_fill"], dataset=[SMALL], protocol="intrabench@1")
    job = make_job(options)
    (dataset,) = job.datasets
    index = store.prepare(dataset, "case-1")
    counts = [len(job.specs(dataset, "case-1", runner, index)) for runner in job.runners]
    assert counts == [10, 5]
    assert dry_run(options, Path("out"))[:2] == wording


def test_a_prompter_takes_the_place_of_rows() -> None:
    asked = Options(model=["box_fill"], dataset=[SMALL], prompter=["box_volume"], protocol="intrabench@1")
    job = make_job(asked)
    assert [prompter.spec for prompter in job.prompters] == ["box_volume"]
    assert job.prompters_for(job.runners[0].model) == list(job.prompters)  # though "3D Box" is for 3D models
    assert (job.rounds, job.protocol.metrics) == (5, PAPER.metrics)


def test_the_hand_and_the_stop_rule_go_with_rows() -> None:
    options = Options(
        model=["box_fill"],
        dataset=[SMALL],
        protocol="intrabench@1",
        only=["B Prop"],
        hand="jitter_mm=2",
        stop="interactions=9",
    )
    job = make_job(options)
    assert {spec: row.name for spec, row in job.rows.items()} == {"box_prop+hand:jitter_mm=2": "B Prop"}
    assert job.protocol == stopping(PAPER, "interactions=9")
    assert len(job.prompters_for(ModelRunner(registry.make("models", "box_fill")).model)) == 1


def test_what_is_wrong_is_said_in_one_sentence(wording: SnapshotAssertion) -> None:
    assert told() == wording
    assert told(only="3B*") == wording
    assert told(only=["3B*", "3BInter"], protocol="intrabench@1") == wording
    assert told(only="3D Box", protocol="intrabench@1") == wording
    assert told(refine="scribble", protocol="intrabench@1") == wording
    assert told(prompter="box_slice", only="3D Box", protocol="intrabench@1").startswith("--only selects rows of")


def test_the_command_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], data: Path, wording: SnapshotAssertion
) -> None:
    def call(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["intrabench", "run", "-m", "box_fill", "-d", SMALL, *words])
        with pytest.raises(SystemExit) as ended:
            main()
        return int(ended.value.code or 0), *capsys.readouterr()

    code, out, err = call("--protocol", "intrabench@1", "--only", "3B Inter*", "--only", "B Prop")
    assert (code, "2 sessions" in err, "│ 3B Inter" in out, "│ B Prop" in out) == (0, True, True, True)
    code, _, err = call()
    assert (code, err, err.count("\n")) == (2, wording, 1)
    code, _, err = call("--protocol", "intrabench@1", "--only", "4B Inter")
    assert (code, "did you mean '" in err, err.count("\n")) == (2, True, 1)


def test_info_lists_rows_and_notes(wording: SnapshotAssertion) -> None:
    from intrabench.cli.describe import describe

    lines = describe("intrabench@1").splitlines()
    assert line_with(lines, "3B Inter  ") == wording
    for row in PAPER.rows:
        assert f"Table {row.table}, {row.dims}D  {row.prompter}" in "\n".join(lines)
    assert lines[lines.index("3P Inter + Scribble Refine:") + 1].startswith(
        "  Five points, as in the published numbers"
    )
    assert max(len(line) for line in lines if ", 3D  " not in line) <= 120  # a spec is one word, however long
    assert (
        "  G10   Table 9  clickability:model=rclicks,group=10,mass=single,draws=published"
        in describe("rclicks@1").splitlines()
    )
    assert not any("Table" in describe(name) for name, preset in PROTOCOLS.items() if not preset.rows)


def test_a_real_run(data: Path) -> None:
    rows = intrabench.run("random_walker", dataset=SMALL, protocol="intrabench@1", only="3D Box")
    assert rows.select("protocol", "prompter", "round", "interactions", "status").rows() == [
        ("intrabench@1", "box_volume", 0, 3.0, "ok")
    ]
    assert rows["dice"][0] > 0.8
    assert rows["nsd_2mm"][0] > 0.8
    refined = intrabench.run("random_walker", dataset=SMALL, protocol="intrabench@1", only="*prev point")
    assert refined.select(pl.col("round"), pl.col("interactions")).rows() == [(n, 1.0 + n) for n in range(6)]
