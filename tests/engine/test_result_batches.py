"""What the rows of a run say on the terminal, besides its failures."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from inspect import cleandoc
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.cli.options import ROUNDS_HELP
from intrabench.errors import FailedSessions
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.models.parts import embedding_cache
from intrabench.protocols import ROUNDS
from intrabench.registry import registry
from tests.conftest import Said
from tests.engine.test_slice_runs import PLUGIN
from tests.wording import sentence_with

SMALL = "phantom:shape=16x32x32,instances=3"
MODELS = ("box_fill", "boxes", "boxes")
METRIC = """
from dataclasses import dataclass
from intrabench import Metric, Prompter

@dataclass(frozen=True)
class Mine(Metric):
    name = "mine"

    def measure(self, pair):
        return {}

@dataclass(frozen=True)
class Silent(Prompter):
    name = "silent"

    def interact(self, user):
        yield from ()
"""


def run(say: Callable[..., Said], measured: str, prompter: str = "box_volume") -> Said:
    Path("mine.py").write_text(METRIC.format(measured))
    words = ("-m", "box_fill", "-p", prompter, "-d", SMALL, "--plugin", "mine.py", "--metric", "mine")
    return say("run", *words, "--out", measured[:4])


def test_a_metric_without_values_is_told_once(say: Callable[..., Said], data: Path) -> None:
    sentence = "metric mine has no value in 3 sessions: "
    broken = run(say, "1 / (pair.target.label != 'blob')")
    assert sentence + "ZeroDivisionError: division by zero, in line 10 of mine.py" in broken.err
    assert sentence + "measure returned None" in run(say, "None").err
    assert "no value" not in run(say, "1.0").err
    assert "no value" not in run(say, "pair.overlap.dice if pair.target.id.endswith('1') else None").err


def test_a_metric_that_ships_says_in_plain_words_where_it_means_nothing(
    say: Callable[..., Said], data: Path, wording: SnapshotAssertion, recwarn: pytest.WarningsRecorder
) -> None:
    words = ("-m", "box_fill", "-d", SMALL, "--metric", "dice_away", "--metric", "dice_prompted")
    said = say("run", *words, "-p", "box_volume", "--out", "volume")
    assert said.code == 0
    assert [line for line in said.err.splitlines() if "dice_" in line] == wording
    sliced = say("run", *words[:-2], "-p", "box_slice", "--out", "slice").err
    assert "dice_away means nothing in 3 sessions" in sliced
    assert "dice_" not in say("run", *words[:-2], "-p", "box_interp:n=1", "--out", "one").err
    intrabench.run("box_fill", "box_volume", SMALL, metric="dice_away", out="python", progress=False)
    assert [one for one in recwarn if issubclass(one.category, FailedSessions)] == []


def test_every_metric_that_may_have_no_value_says_when() -> None:
    metrics = [entry.load() for entry in registry.entries("metrics").values() if entry.origin == "intrabench"]
    scores = [cls for cls in metrics if not issubclass(cls, PartitionMetric)]
    may = [cls for cls in scores if "None" in str(inspect.signature(cls.measure).return_annotation)]
    assert len(may) > 5
    assert [cls.name for cls in may if "no value" not in cleandoc(cls.__doc__ or "").lower()] == []


def test_a_prompter_without_prompts_is_told_once(
    say: Callable[..., Said], data: Path, wording: SnapshotAssertion
) -> None:
    said = run(say, "1.0", "silent")
    assert said.err.count("3 sessions not applicable: ") == 1
    assert said.code == 0
    shown = say("preview", "-p", "silent", "-d", SMALL, "--plugin", "mine.py")
    assert shown.err == wording


def test_the_table_of_a_run_says_what_its_numbers_are(
    say: Callable[..., Said], data: Path, wording: SnapshotAssertion
) -> None:
    assert sentence_with(" ".join(run(say, "1.0").out.split()), "the instances") == wording


def test_the_help_says_how_many_rounds_there_are(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    assert f"{ROUNDS} with" in ROUNDS_HELP
    assert wording == ROUNDS_HELP


def test_kept_embeddings_are_told_by_runs_that_encode(
    say: Callable[..., Said], data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not by a model without an encoder, nor by a run in which all was done already."""
    monkeypatch.setattr(embedding_cache, "REPORTED", 0)
    (data / "embeddings").mkdir(parents=True)
    Path("boxes.py").write_text(PLUGIN)
    words = ("-p", "box_volume", "-d", SMALL, "--plugin", "boxes.py")
    told = ["embeddings for later runs" in say("run", "-m", model, *words).out for model in MODELS]
    assert told == [False, True, False]
