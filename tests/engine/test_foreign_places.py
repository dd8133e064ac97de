"""Whatever code of the user's raises, wherever it is called: a row or a sentence, and the rest goes on."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.registry import registry
from tests.conftest import Said

pytestmark = pytest.mark.usefixtures("data")
Say = Callable[..., Said]

HOWS = {
    "SystemExit(0)": "SystemExit(0) would have ended the program",
    "Stop('now')": "Stop('now') would have ended the program",
    "GeneratorExit()": "GeneratorExit() would have ended the program",
    "RecursionError('deep')": "RecursionError: deep",
    "MemoryError('full')": "MemoryError: full",
}

FAST = ("Stop('now')", "MemoryError('full')")
RAISED = [pytest.param(how, marks=() if how in FAST else pytest.mark.slow) for how in HOWS]

PLUGIN = """
from dataclasses import dataclass

import numpy as np

from intrabench.clickability.base import Clickability
from intrabench.datasets.phantom import Phantom
from intrabench.mask import Mask
from intrabench.models.base import Answer, Model
from intrabench.models.parts.crop_model import CropModel, OpenCrops
from intrabench.models.parts.embeddings import opened
from intrabench.models.parts.slice_model import SliceModel, SliceResult

class Stop(BaseException):
    pass

def end(where):
    if where == PLACE:
        raise HOW

@dataclass(eq=False)
class Crops(CropModel):
    name = "crops"
    accepts = frozenset({"box3d"})
    weights = None
    feeds_back = False

    def build(self):
        return None

    def load(self):
        pass

    def prepared(self, volume):
        end("crop prepared")

    def encode(self, crop):
        end("crop encode")
        return crop

    def segment_one(self, image, request):
        end("crop segment")
        image.embedding("all", lambda: np.ones((1, 2), np.float32))
        return Answer(Mask.of(np.ones((1, 2, 2), bool)))

@dataclass(eq=False)
class Slices(SliceModel):
    name = "slices"
    accepts = frozenset({"box2d"})

    def notes(self, volume):
        end("slice notes")
        return ()

    def slice_images(self, volume):
        end("slice images")
        return lambda z: volume.array[z]

    def encode(self, images):
        end("slice encode")
        return [np.ones((1, 1), np.float32) for _ in images]

    def decode(self, items):
        end("slice decode")
        return [SliceResult(np.ones(item.shape, bool)) for item in items]

    def alike(self, points, box, previous):
        end("slice alike")
        return points, box, previous

@dataclass(frozen=True)
class Whims(Clickability):
    name = "whims"

    def probability(self, image, target, error, spacing_mm=(1.0, 1.0)):
        end("clicks")
        return np.ones(error.shape)

@dataclass(frozen=True)
class Fading(Phantom):
    name = "fading"
    shape: tuple[int, int, int] = (8, 32, 32)
    instances: int = 1

    def patient(self, case):
        end("patient")
        return case

    def subsets(self):
        end("subsets")
        return super().subsets()

    def cases(self):
        end("cases")
        return super().cases()

    def megabytes(self):
        end("megabytes")
        return super().megabytes()
"""


def plugin(place: str, how: str) -> str:
    Path("mine.py").write_text(PLUGIN.replace("PLACE", repr(place)).replace("HOW", how))
    return "mine.py"


def run(say: Say, model: str, *more: str) -> Said:
    """A run of the plug-in's class and of a model that ships."""
    words = ("--model", model, "--model", "box_fill", "--prompter", "box_volume", "--dataset", "fading")
    return say("run", "--plugin", "mine.py", *words, "--protocol", "overlap@1", "--out", "out", *more)


def rows() -> pl.DataFrame:
    return pl.concat([pl.read_parquet(part) for part in Path("out/rows").iterdir()], how="diagonal")


PLACES = ("crop prepared", "crop encode", "crop segment", "slice images", "slice encode", "slice decode", "slice alike")


@pytest.mark.parametrize("how", RAISED)
@pytest.mark.parametrize("place", PLACES)
def test_a_model_of_crops_or_of_batches_of_slices_fails_alone(say: Say, place: str, how: str) -> None:
    plugin(place, how)
    assert run(say, place.split()[0] + "s").code == 1
    failed, other = rows().sort("model", descending=True).to_dicts()
    assert (other["model"], other["status"]) == ("box_fill", "ok")
    assert failed["status"] == ("oom" if "Memory" in how else "error")
    assert failed["dice"] == 0.0
    assert HOWS[how] in failed["error"]


@pytest.mark.parametrize("how", RAISED)
def test_assumptions_of_a_model_are_asked_for_in_a_strict_run(say: Say, how: str) -> None:
    plugin("slice notes", how)
    assert run(say, "slices", "--strict", "--prompter", "box_slice").code == 1
    failed = rows().filter(pl.col("model") == "slices")
    assert len(failed) == 2
    assert all(HOWS[how] in error for error in failed["error"])
    assert "ok" in set(rows().filter(pl.col("model") == "box_fill")["status"])


@pytest.mark.parametrize("how", RAISED)
def test_a_model_of_clicks_is_an_error_of_its_sessions(say: Say, how: str) -> None:
    plugin("clicks", how)
    assert run(say, "random_walker", "--prompter", "clickability:model=whims").code == 1
    failed = rows().filter(pl.col("status") == "error")
    assert set(failed["prompter"]) == {"clickability:model=whims,group=all"}
    assert all(error.startswith("prompter: ") and HOWS[how] in error for error in failed["error"])
    assert set(rows().filter(pl.col("prompter") == "box_volume")["status"]) == {"ok"}


@pytest.mark.parametrize("how", RAISED)
@pytest.mark.parametrize(
    "place",
    [
        "patient",
        "subsets",
        "cases",
    ],
)
def test_a_data_set_that_cannot_be_asked_is_one_sentence(
    say: Say, place: str, how: str, wording: SnapshotAssertion
) -> None:
    plugin(place, how)
    said = run(say, "random_walker", "--cases", "subset:smoke")
    assert said.code == 2
    (line,) = said.err.splitlines()
    assert line == wording


@pytest.mark.parametrize("how", RAISED)
@pytest.mark.parametrize("place", ["cases", "megabytes"])
def test_a_list_of_data_sets_is_whole_whatever_one_of_them_does(say: Say, place: str, how: str) -> None:
    said = say("data", "list", "--plugin", plugin(place, how))
    assert said.code == 0
    lines = {line.split()[0]: line for line in said.out.splitlines()}
    assert {"fading", "phantom", "spine_ct"} <= lines.keys()
    assert " ? " in lines["fading"]


@pytest.mark.parametrize("how", RAISED)
def test_an_entry_point_is_one_sentence_and_the_others_work(
    say: Say, monkeypatch: pytest.MonkeyPatch, how: str, wording: SnapshotAssertion
) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    module = f"elsewhere_{how.partition('(')[0].lower()}"
    Path(f"{module}.py").write_text(f"class Stop(BaseException): ...\nraise {how}\n")
    point = importlib.metadata.EntryPoint("elsewhere", f"{module}:Mine", "intrabench.models")
    monkeypatch.setattr(registry, "_entry_points", lambda: dict.fromkeys(registry.ROOMS, ()) | {"models": [point]})
    said = say("info", "elsewhere")
    assert (said.code, len(said.err.splitlines())) == (2, 1)
    assert said.err == wording
    assert "elsewhere" in say("list", "models").out
    assert say("info", "box_fill").code == 0
