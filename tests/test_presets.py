"""The models of the IntRaBench paper: `paper:sam`, and what a run of its protocol takes without --model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.cases import store
from intrabench.engine.make_job import make_job, make_run
from intrabench.engine.options import Options
from intrabench.errors import IntraBenchError
from intrabench.models.box_fill import BoxFill
from intrabench.models.weights import registry as weights
from intrabench.protocols import PROTOCOLS
from intrabench.protocols.presets import PRESETS
from intrabench.registry import registry
from intrabench.registry.objects import made_spec
from intrabench.reporting.reference import reference
from tests.conftest import Said

SMALL = "phantom:shape=16x32x32,instances=1"
RESOLVED = {  # preset: what rows call it, its file of weights, whether that saw HaN-Seg (D2)
    "paper:sam": ("sam:policy=radioactive,size=h", "sam_vit_h_4b8939.pth", False),
    "paper:sam2": ("sam2:policy=radioactive,size=l,release=2.0", "sam2_hiera_large.pt", False),
    "paper:medsam": ("medsam:policy=radioactive", "medsam_vit_b.pth", False),
    "paper:sammed2d": ("sammed2d:policy=radioactive", "sam-med2d_b.pth", False),
    "paper:sammed3d": ("sammed3d:policy=radioactive", "sam_med3d.pth", False),
    "paper:sammed3d_turbo": ("sammed3d_turbo:policy=radioactive", "sam_med3d_turbo.pth", False),
    "paper:segvol": ("segvol:policy=radioactive", "SegVol_v1.pth", True),
}


@pytest.mark.parametrize("preset", RESOLVED)
def test_a_preset_is_the_published_configuration(preset: str) -> None:
    model = intrabench.model(preset)
    entry = weights.get(str(model.weights))
    assert (model.short_spec, entry.file, "hanseg" in entry.trained_on) == RESOLVED[preset]
    assert model.spec == intrabench.model(PRESETS[preset]).spec == intrabench.model(RESOLVED[preset][0]).spec
    assert made_spec(preset) == model.short_spec == PRESETS[preset]


def test_there_are_seven() -> None:
    assert list(PRESETS) == list(RESOLVED)


@pytest.mark.parametrize(
    "spec",
    [
        "paper:",
        "paper",
        "paper:foo",
        "paper:sma",
        "paper:sam,size=b",
        "paper:size=b",
    ],
)
def test_what_is_no_preset_is_refused(spec: str, wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as error:
        intrabench.model(spec)
    assert str(error.value) == wording


def test_a_model_of_ones_own_may_be_called_paper(monkeypatch: pytest.MonkeyPatch) -> None:
    paper = type("Paper", (BoxFill,), {"name": "paper", "__module__": __name__})
    registry.introduce("models", paper)
    assert intrabench.model("paper").name == "paper"


def test_the_protocol_without_a_model_plans_the_seven_on_their_published_rows(data: object) -> None:
    """A model is planned for exactly the rows in which the paper has numbers for it, but for one of SegVol's.

    The paper never refined with SegVol. With all earlier prompts that is possible.
    """
    job = make_run(Options(dataset=[SMALL], protocol="intrabench@1", weights="random"))  # type: ignore[arg-type]
    planned = {
        runner.model.short_spec: {job.rows[prompter.spec].name for prompter in job.prompters_for(runner.model)}
        for runner in job.runners
    }
    printed = reference().drop_nulls("published").group_by("model").agg("row")
    published = {intrabench.model(model).short_spec: set(rows) for model, rows in printed.iter_rows()}
    assert list(planned) == [spec for spec, _, _ in RESOLVED.values()]
    published["segvol:policy=radioactive"].add("1 center PPV + 1 PPV Refine + prev point")
    assert planned == published


def test_models_that_no_chosen_row_suits_are_left_out() -> None:
    def chosen(**options: object) -> list[str]:
        job = make_run(Options(dataset=[SMALL], protocol="intrabench@1", weights="random", **options))  # type: ignore[arg-type]
        return [runner.model.name for runner in job.runners]

    assert chosen(only=["3D Box"]) == ["segvol"]
    assert chosen(only=["Box PS"]) == ["sam", "sam2", "medsam", "sammed2d"]
    assert chosen(only=["Box PS", "1PPV"]) == [name.removeprefix("paper:") for name in PRESETS]
    assert len(chosen(prompter=["box_volume"])) == 7


def test_both_names_are_the_same_sessions(data: object) -> None:
    def keys(*models: str) -> list[str]:
        job = make_job(
            Options(model=models, dataset=[SMALL], only=["3B Inter"], protocol="intrabench@1", weights="random")  # type: ignore[arg-type]
        )
        index = store.prepare(job.datasets[0], "case-1")
        return [spec.key for runner in job.runners for spec in job.specs(job.datasets[0], "case-1", runner, index)]

    assert (
        keys("paper:medsam") == keys("medsam:policy=radioactive") == keys("paper:medsam", "medsam:policy=radioactive")
    )
    assert len(keys("paper:medsam")) == 1
    assert keys("paper:medsam") != keys("medsam")


def test_a_run_without_a_model_plays_those_of_the_protocol(data: object, monkeypatch: pytest.MonkeyPatch) -> None:
    """With small models in the place of the networks."""
    own = replace(PROTOCOLS["intrabench@1"], models=("box_fill", "random_walker"))
    monkeypatch.setitem(PROTOCOLS, "intrabench@1", own)
    rows = intrabench.run(dataset=SMALL, protocol="intrabench@1", only=["3B Inter", "3D Box"])
    assert rows.select("model", "prompter", "status").rows() == [
        ("box_fill", "box_interp:n=3", "ok"),
        ("random_walker", "box_volume", "ok"),
    ]
    rows = intrabench.run(model="box_fill", dataset=SMALL, protocol="intrabench@1", only=["3B Inter"])
    assert rows["model"].to_list() == ["box_fill"]


def test_other_protocols_need_a_model(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for name in ("basic@1", "rclicks@1"):
        said = say("run", "--protocol", name, "--prompter", "box_slice", "--dataset", SMALL, "--dry-run")
        assert said.err == wording
        with pytest.raises(IntraBenchError) as caught:
            intrabench.run(protocol=name, prompter="box_slice")
        assert caught == wording


def test_the_command_line(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    asked = ("run", "--protocol", "intrabench@1", "--dataset", SMALL, "--dry-run")
    said = say(*asked, "--weights", "random")
    assert [line.partition(" (random weights)")[0] for line in said.out.splitlines()[:7]] == [
        spec for spec, _, _ in RESOLVED.values()
    ]
    dry = say(*asked)
    assert dry.code == 0
    assert [line.split()[1] for line in dry.out.splitlines() if " is left out: the weights " in line] == [
        spec for spec, _, _ in RESOLVED.values()
    ]
    assert say(*asked[:-1]).err == wording
    assert say(*asked, "--weights", "one.pth").err == wording
    said = say(*asked, "--model", "paper:segvol", "--only", "3D Box", "--weights", "random")
    assert said.out.startswith("segvol:policy=radioactive (random weights): ")


def test_only_files_that_one_command_can_get_are_asked_for_at_once(wording: SnapshotAssertion) -> None:
    """LiteMedSAM's come with its package, and what brings weights of its own lacks none."""
    huge, medsam, lite = map(intrabench.model, ("paper:sam", "medsam", "litemedsam"))
    weights.check_present([huge, lite])
    with pytest.raises(IntraBenchError) as caught:
        weights.check_present([huge, lite, medsam])
    assert caught == wording
    usual = medsam.runtime
    for own in ({"random": True}, {"weights": Path("mine.pth")}):
        medsam.runtime = replace(usual, **own)
        weights.check_present([huge, medsam])


def test_presets_are_listed_described_and_completed(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    from intrabench.cli.options import completes

    listed = say("list", "models").out.partition("\nPresets:\n")[2].splitlines()
    assert [line.split()[0] for line in listed[:7]] == list(RESOLVED)
    lines = say("info", "paper:sam2").out.splitlines()
    assert lines[0] == wording
    assert "weights id: sam2_l" in lines
    lines = say("info", "intrabench@1").out.splitlines()
    assert lines[2:5] == wording
    first = lines.index("models (run without --model):") + 1
    assert [tuple(line.split()) for line in lines[first : first + 7]] == list(PRESETS.items())
    assert [name for name, _ in completes("models")("paper:sam2")] == ["paper:sam2"]
    assert completes("prompters")("paper") == []


def test_weights_are_found_by_the_model_that_takes_them(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    for name in ("paper:sam2", "sam2:size=l,release=2.0"):
        assert say("weights", "path", name).err == wording
    for name in ("sam", "sam:size=b"):
        assert say("weights", "path", name).err == wording
    assert say("weights", "path", "sma").err == wording
    assert say("weights", "get", "paper:sma").err == wording
    assert say("weights", "get", "box_fill:").err == wording
    assert say("weights", "get", "random_walker:derived=all").err.startswith("error: model random_walker:derived=all h")
    assert say("weights", "verify", "paper:medsam").err == wording
