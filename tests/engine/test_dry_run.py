"""A dry run estimates what a run takes: by rows, by embeddings that are kept, or by a trial that leaves no rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.engine.estimate import Estimates, Workload
from intrabench.engine.make_job import make_run
from intrabench.engine.options import chosen
from intrabench.errors import IntraBenchError
from intrabench.models.base import Runtime
from intrabench.models.parts.embedding_cache import cache_for, each_mb
from tests.conftest import Said

PHANTOM = "phantom:shape=16x32x32,instances=2,scans=3"
SLOW = """
import time
from intrabench.models.box_fill import BoxFill

class Slow(BoxFill):
    name = "slow"
    version = "1"

    def segment_one(self, volume, request):
        {does}
        return super().segment_one(volume, request)
"""


def model_line(out: str, model: str) -> str:
    """What a dry run says about a model."""
    (line,) = (line for line in out.splitlines() if line.startswith(model))
    return line


def test_encoding_counts_by_image_and_answers_by_session(data: Path) -> None:
    intrabench.run("box_fill", "box_slice", PHANTOM, cases="case-1", out="out", workers=0)
    (part,) = Path("out/rows").iterdir()
    pl.read_parquet(part).with_columns(encode_s=50.0, segment_s=3.0).write_parquet(part)  # two sessions on one image
    (runner,) = make_run(chosen({"model": "box_fill", "prompter": "box_slice", "dataset": PHANTOM})).runners
    found = Estimates(Path("out"), 0).of(runner, Workload(sessions=20, images=4))
    assert (found.seconds, found.played) == (4 * 100 + 20 * 3, 2)


def test_a_trial_tells_how_long_and_leaves_no_rows(say: Callable[..., Said], wording: SnapshotAssertion) -> None:
    """The first prompter does not apply to the model, so the session is one of the second."""
    Path("slow.py").write_text(SLOW.format(does="time.sleep(2)"))
    words = ["run", "-m", "slow", "-p", "point_interp:n=3", "-p", "box_volume", "-d", PHANTOM, "--plugin", "slow.py"]
    hint = "how long slow will take is not known; --trial plays one session of each to tell"
    assert hint in say(*words, "--dry-run").out
    found = model_line(say(*words, "--dry-run", "--trial", "--save-masks").out, "slow")
    assert "4 sessions on cpu, 0 finished, and 2 for each selected target of 2 further cases; about 8 s as a" in found
    assert "MiB of memory in each worker; masks 1 MB" in found
    assert "embeddings" not in found
    assert hint in say(*words, "--dry-run").out
    assert hint not in say(*words, "--dry-run", "--trial").out
    assert not Path("intrabench-results").exists()
    alone = say(*words, "--trial")
    assert alone.code == 2
    assert alone.err == wording


def test_a_trial_that_fails_says_why(say: Callable[..., Said]) -> None:
    Path("slow.py").write_text(SLOW.format(does="raise ValueError('no GPU')"))
    words = ["-m", "slow", "-m", "box_fill", "-p", "box_volume", "-d", PHANTOM, "--plugin", "slow.py"]
    said = say("run", *words, "--dry-run", "--trial")
    assert said.code == 0
    assert "; a trial failed: error: ValueError: no GPU" in model_line(said.out, "slow")
    assert model_line(said.out, "box_fill").endswith("as a trial of one session took")  # the peak is of both models


def test_a_case_that_cannot_be_converted_is_no_end(say: Callable[..., Said], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise IntraBenchError("case-1 has no image")

    monkeypatch.setattr("intrabench.datasets.cases.store.prepare", refuse)
    said = say("run", "-m", "box_fill", "-p", "box_volume", "-d", PHANTOM, "--dry-run", "--trial")
    assert said.code == 0
    assert said.out.startswith("no trial can be played: case-1 has no image\nbox_fill: 0 sessions on cpu")


def test_kept_embeddings_tell_what_others_will_take(say: Callable[..., Said], data: Path) -> None:
    pytest.importorskip("torch")
    words = ["run", "-m", "litemedsam", "--weights", "random", "-p", "box_slice", "-d", PHANTOM, "--dry-run"]
    assert say("data", "get", PHANTOM).code == 0
    assert model_line(say(*words).out, "litemedsam").endswith("; embeddings -")
    model, other = intrabench.model("litemedsam"), intrabench.model("litemedsam:multimask=best")
    for one in (model, other):
        one.runtime = Runtime(embeddings=data / "embeddings", random=True)
    cache = cache_for(model, intrabench.dataset(PHANTOM).load("case-1", None)[0])  # type: ignore[arg-type]
    assert cache is not None
    cache.folder.mkdir(parents=True)
    for key, size in enumerate((3_000_000, 4_000_000)):
        (cache.folder / f"{key}.npy").write_bytes(bytes(size))
    assert (each_mb(model), each_mb(other)) == (3.5, 0.0)
    assert each_mb(intrabench.model("litemedsam")) == 0.0, "without a folder for them"
    assert model_line(say(*words).out, "litemedsam").endswith("; embeddings up to 168 MB")  # 3 x 16 slices
    model.runtime = replace(model.runtime, dtype="bfloat16")
    assert each_mb(model) == 0.0
    assert "embeddings -" not in say(*words, "--no-cache-embeddings").out
