"""Wrong arguments of functions are refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

import intrabench
from intrabench import IntraBenchError


@pytest.mark.parametrize(
    "call",
    [
        lambda: intrabench.table(metric=3),
        lambda: intrabench.table(by=3),
        lambda: intrabench.table(round="a"),
        lambda: intrabench.table(out=5),
        lambda: intrabench.table(groups=1),
        lambda: intrabench.verify(sample="x"),
        lambda: intrabench.merge([3], "out"),
        lambda: intrabench.table(metrik="iou"),
        lambda: intrabench.report(target=3),
        lambda: intrabench.run("box_fill", modle=3),
        lambda: intrabench.run(),
        lambda: intrabench.merge("a", "b", out="c"),
    ],
)
def test_wrong_arguments_are_one_sentence(call: Callable[[], Any], wording: SnapshotAssertion) -> None:
    with pytest.raises(IntraBenchError) as caught:
        call()
    assert str(caught.value) == wording
    assert not list(Path.cwd().iterdir())
