"""Functions and networks as models."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import IntraBenchError, Model, wrap
from intrabench.models.card import card_of
from intrabench.models.parts.wrapped import TAKES
from tests.conftest import Said

Bools = NDArray[np.bool_]
PHANTOM = "phantom:shape=8x24x24,instances=1"
pytestmark = pytest.mark.usefixtures("data")


def balls(image: Any, points: Any, boxes: Any, previous: Bools) -> Bools:
    """The last answer, with boxes filled, and with the neighbours of positive points; negative points are left out."""
    found = previous.copy()
    for box in boxes.tolist():
        found[tuple(map(slice, box[: len(box) // 2], box[len(box) // 2 :]))] = True
    for *place, label in points.tolist():
        found[tuple(slice(max(at - 1, 0), at + 2) for at in place)] = label
    return found


def adding(wide: float, dims: int) -> Any:
    """A network that does what `balls` does, by filters; `wide` is its weight."""
    import torch

    class Sum(torch.nn.Module):
        """Adds the channels of points, boxes and the last answer."""

        def __init__(self) -> None:
            super().__init__()
            self.wide = torch.nn.Parameter(torch.tensor(wide))

        def forward(self, given: torch.Tensor) -> torch.Tensor:
            """Image, positive points, negative points, boxes, last answer."""
            pool = torch.nn.functional.max_pool2d if dims == 2 else torch.nn.functional.max_pool3d
            positive, negative = (pool(given[:, place : place + 1] * self.wide, 3, 1, 1) for place in (1, 2))
            return 2 * positive - 4 * negative + given[:, 3:4] + given[:, 4:5] - 0.5

    return Sum()


def halving() -> Any:
    """A network whose answer is smaller than its image."""
    import torch

    return torch.nn.AvgPool2d(2)


@pytest.mark.parametrize("dims", [2, 3])
def test_a_function_and_a_network_play_what_they_compute(dims: int) -> None:
    accepts = TAKES[dims]
    models = [wrap(balls, accepts, dims), wrap(adding(1.0, dims), accepts, dims)]
    prompters = ["point_interp:n=3", "box_volume+click_center", "box_slice"]
    rows = intrabench.run(models, prompters, PHANTOM, rounds=2, out="out")
    assert set(rows["status"]) == {"ok"}
    told = {name: rows.filter(model=name).drop("model").sort("prompter", "round")["dice"] for name in ("balls", "Sum")}
    assert told["balls"].to_list() == pytest.approx(told["Sum"].to_list())
    assert told["balls"].n_unique() > 3
    assert {verdict.found for verdict in intrabench.verify("out", sample=3)} == {"equal"}


def test_what_a_function_is_given() -> None:
    seen: list[tuple[Any, ...]] = []

    def spy(*given: Any) -> Bools:
        seen.append(given)
        return balls(*given)

    intrabench.run(wrap(spy, ["point", "box3d"], name="spy"), "box_volume+click_center", PHANTOM, rounds=1, out="out")
    (image, points, boxes, previous), (_, more, again, last) = seen
    assert (image.shape, image.dtype, points.shape, boxes.shape) == ((8, 24, 24), np.float32, (0, 4), (1, 6))
    assert not previous.any()
    assert np.array_equal(last, balls(image, points, boxes, previous))
    assert (more.shape, np.array_equal(boxes, again)) == ((1, 4), True)


def test_weights_of_a_network_and_code_of_a_function_are_versions() -> None:
    versions = [wrap(adding(wide, 2), ["point"], 2).version for wide in (1.0, 1.0, 2.0)]
    assert versions[0] == versions[1] != versions[2]
    out, given = Path("out"), ("point_interp:n=3", PHANTOM)
    for wide in (1.0, 2.0):
        intrabench.run(wrap(adding(wide, 2), ["point"], 2), *given, out=out)
    with pytest.warns(intrabench.PartialResults):
        assert intrabench.table(out, per_round=True)["sessions"].sum() == 1
    (version,) = intrabench.run(wrap(balls, ["point"], 2), *given, out=out)["model_version"]
    assert re.fullmatch(r"1\.[0-9a-f]{8}", version)


def test_a_network_may_be_trained_on() -> None:
    import torch

    network = adding(1.0, 2).train()
    model, given = wrap(network, ["point"], 2), ("point_interp:n=3", PHANTOM)
    before = intrabench.run(model, *given, out="before")["dice"].to_list()
    with torch.no_grad():
        network.wide.zero_()
    assert network.training
    assert intrabench.run(model, *given, out="after")["dice"].to_list() == before != [0.0]


def test_people_call_it_by_its_title(say: Callable[..., Said]) -> None:
    intrabench.run(wrap(balls, ["point"], name="balls", title="Balls of 2026"), "point_interp:n=3", PHANTOM, out="out")
    assert "Balls of 2026" in say("table", "--out", "out").out
    assert card_of(wrap(balls, ["point"])).title == ""


@pytest.mark.parametrize(
    "make",
    [
        lambda: wrap(5, ["point"]),  # type: ignore[arg-type]
        lambda: wrap(balls, ["point"], dims=4),
        lambda: wrap(balls, ["scribble"], dims=3),
        lambda: wrap(balls, ["box3d"], dims=2),
        lambda: wrap(balls, ["point"], title="two\nlines"),
        lambda: intrabench.run(wrap(balls, ["point"], name="my net"), "box_slice", PHANTOM),
        lambda: intrabench.run(balls, "box_slice", PHANTOM),  # type: ignore[arg-type]
        lambda: intrabench.run(adding(1.0, 2), "box_slice", PHANTOM),  # type: ignore[arg-type]
        lambda: intrabench.run(np.zeros(3), "box_slice", PHANTOM),
        lambda: intrabench.check(adding(1.0, 2)),  # type: ignore[arg-type]
    ],
)
def test_what_does_not_fit_is_refused(make: Callable[[], object], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        make()
    assert caught == wording


@pytest.mark.parametrize(
    "make",
    [
        lambda: wrap(lambda image, *_: image, ["point"], 2, "grey"),
        lambda: wrap(lambda *_: None, ["point"], 3, "none"),
        lambda: wrap(halving(), ["point"], 2),
    ],
)
def test_answers_that_do_not_fit_are_failed_sessions(make: Callable[[], Model], wording: SnapshotAssertion) -> None:
    with pytest.warns(intrabench.FailedSessions):
        rows = intrabench.run(make(), "point_interp:n=3", PHANTOM, out="out")
    assert rows["status"].to_list() == ["error"]
    assert rows["error"].item() == wording


def test_a_star_import_shadows_nothing() -> None:
    names: dict[str, Any] = {}
    exec("from intrabench import *", names)
    assert not {"run", "check", "table", "compare", "report"} & names.keys()
    assert {"Prompter", "wrap", "Comparison", "FailedSessions"} <= names.keys()
    assert all(hasattr(intrabench, name) for name in dir(intrabench))
