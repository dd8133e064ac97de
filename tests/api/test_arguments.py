"""Wrong arguments of functions are refused in one sentence."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import intrabench
from intrabench import IntraBenchError


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (
            lambda: intrabench.table(metric=3),
            "metric=3 does not fit; metric takes a spec, or an object or a",
        ),
        (lambda: intrabench.table(by=3), "by=3 does not fit; by takes text or several of them"),
        (lambda: intrabench.table(round="a"), "round='a' does not fit; round takes a whole number"),
        (lambda: intrabench.table(out=5), "out=5 does not fit; out takes text or a path"),
        (lambda: intrabench.table(groups=1), "groups=1 does not fit; groups takes True or False"),
        (lambda: intrabench.verify(sample="x"), "sample='x' does not fit; sample takes a whole number"),
        (
            lambda: intrabench.merge([3], "out"),
            "sources=[3] does not fit; sources takes text or a path or several",
        ),
        (
            lambda: intrabench.table(metrik="iou"),
            "there is no option 'metrik', did you mean 'metric'?; options",
        ),
        (
            lambda: intrabench.report(target=3),
            "there is no option 'target', did you mean 'targets'?; options",
        ),
        (
            lambda: intrabench.run("box_fill", modle=3),
            "there is no option 'modle', did you mean 'model'?; options",
        ),
        (lambda: intrabench.run(), "protocol basic@1 has no models of its own; give --model, such as --model random_"),
        (
            lambda: intrabench.merge("a", "b", out="c"),
            "merge: multiple values for argument 'out'; options are sources, out, newest",
        ),
    ],
)
def test_wrong_arguments_are_one_sentence(call: Callable[[], Any], sentence: str) -> None:
    with pytest.raises(IntraBenchError) as caught:
        call()
    assert str(caught.value).startswith(sentence)
    assert not list(Path.cwd().iterdir())
