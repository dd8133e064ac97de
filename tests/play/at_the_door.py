"""A session of given prompts and a given answer, for tests of what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from intrabench.mask import Mask
from intrabench.models.base import Answer
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter
from intrabench.prompts import points
from intrabench.protocols import protocol
from intrabench.turns import Click, Turn
from tests.conftest import make_target
from tests.play.test_session import ALL, Stub

SHAPE = (4, 8, 9)
VOLUME = "the volume of 4 x 8 x 9 voxels (z, y, x)"
TRUTH = np.zeros(SHAPE, bool)
TRUTH[1:3, 2:6, 3:7] = True
BLOCK = np.ones((1, 2, 2), bool)
GOOD = Turn(points([(1, 3, 4)]), (Click(),))


def played(prompter: Prompter, answer: Any = None, rounds: int = 0) -> list[dict[str, Any]]:
    session = Session("key", make_target(TRUTH), prompter, ALL, protocol("overlap@1"), rounds=rounds)
    play([session], Stub(lambda request: answer or Answer(Mask.of(TRUTH))))
    return session.rows
