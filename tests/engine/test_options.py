"""Options: what of them is work, and what a record says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench.datasets.phantom import Phantom
from intrabench.engine.make_job import check_idle
from intrabench.engine.options import Options, chosen
from intrabench.errors import IntraBenchError
from intrabench.models.box_fill import BoxFill


def test_a_record_has_objects_by_their_specs() -> None:
    options = chosen({"model": [BoxFill(), BoxFill, "sam"], "dataset": Phantom(instances=2), "plugin": Path("a.py")})
    assert options.words["model"] == ["box_fill", "box_fill", "sam"]
    assert options.words["dataset"] == [Phantom(instances=2).short_spec]
    assert options.words["plugin"] == ["a.py"]
    json.dumps(options.words)


def test_where_and_how_a_run_computes_is_not_its_work() -> None:
    work = {name: Options().work[name] for name in Options().work}
    others = {"device": "cpu", "batch": 3, "memory": 1, "compile": True, "cache_embeddings": True, "plugin": "a.py"}
    assert chosen(others).work == work
    for name, value in {"rounds": 0, "seed": 3, "targets": "a", "metric": "iou", "dtype": "bfloat16"}.items():
        assert chosen({name: value}).work != work, name


def test_the_record_of_a_run_in_python_has_its_call(data: Path) -> None:
    dataset = Phantom(shape=(16, 32, 32), instances=1)
    intrabench.run(BoxFill(), "box_slice", dataset, rounds=0, save_masks=True)
    (path,) = Path("intrabench-results/runs").glob("*.json")
    given = f"model=['box_fill'], prompter=['box_slice'], dataset=[{dataset.short_spec!r}], rounds=0, save_masks=True"
    assert json.loads(path.read_text())["command"] == f"intrabench.run({given})"


@pytest.mark.parametrize("seed", [2**63, -(2**63), 10**25])
def test_a_seed_that_no_row_holds_is_refused_before_anything_is_computed(seed: int, wording: SnapshotAssertion) -> None:
    assert chosen({"seed": [2**63 - 1]}).seed == (2**63 - 1,)
    with pytest.raises(IntraBenchError) as caught:
        chosen({"seed": [0, seed]})
    assert f"to {2**63 - 1}" in str(caught.value)
    assert str(caught.value) == wording


@pytest.mark.parametrize("given", ["random", "w.pth", Path("w.pth")])
def test_weights_are_a_path_or_random(given: str | Path) -> None:
    options = chosen({"weights": given})
    assert (options.weights, options.random) == (Path(given), given == "random")


def test_a_file_called_random_is_a_path() -> None:
    options = chosen({"weights": "./random"})
    assert (options.random, options.weights) == (False, Path("random").absolute())


def test_prompts_one_by_one_need_a_round_for_each(data: Path) -> None:
    dataset, prompter = Phantom(shape=(16, 32, 32), instances=1), "points_volume:n=3,together=false"
    with pytest.raises(IntraBenchError, match="--rounds 1 leaves out"):
        intrabench.run("random_walker", prompter, dataset, rounds=1)
    for rounds in (2, None):
        assert intrabench.run("random_walker", prompter, dataset, rounds=rounds)["round"].to_list() == [0, 1, 2]


def test_rounds_without_corrections_are_refused() -> None:
    told = "--rounds 3 does nothing, because box_slice.* gives no corrections; add some, such as --refine"
    with pytest.raises(IntraBenchError, match=told):
        check_idle(chosen({"prompter": ["box_slice", "box_interp"], "rounds": 3}))
    for given in (
        {"prompter": ["box_slice", "box_slice+scribble"], "rounds": 1},
        {"prompter": "box_slice", "rounds": 0},
        {"prompter": "box_slice"},
        {"prompter": "box_slice", "refine": "scribble", "rounds": 1},
        {"prompter": "clickability", "rounds": 2},
        {"protocol": "intrabench@1", "rounds": 2},
    ):
        check_idle(chosen(given))
