"""A user who takes back what made the answer worse."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import intrabench
from intrabench.api.running import run
from intrabench.engine.verify import verify
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Answer, Request
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompts import Abilities
from intrabench.protocols import protocol
from intrabench.publishing.board.consistency import turns
from intrabench.results.parts import read_turns
from tests.conftest import make_target
from tests.play.test_session import Stub

POINTS = Abilities(3, frozenset({"point"}))
LARGE, MIDDLE, SMALL = (np.zeros((9, 20, 20), dtype=bool) for _ in range(3))
LARGE[1:8, 1:9, 1:9], MIDDLE[3:6, 12:18, 2:8], SMALL[3:6, 2:5, 14:17] = True, True, True
TARGET = LARGE | MIDDLE | SMALL


def clumsy(request: Request) -> Answer:
    """The parts of the target that were clicked, or nothing at all once the middle one was."""
    clicks = np.vstack([turn.prompts.points[:, :3] for turn in request.turns])
    parts = [part for part in (LARGE, MIDDLE, SMALL) if part[tuple(clicks.T)].any()]
    found = np.zeros_like(TARGET)
    for part in () if any(part is MIDDLE for part in parts) else parts:
        found |= part
    return Answer(Mask.of(found))


def played(spec: str, rounds: int = 9, **more: Any) -> Session:
    """A session that begins with the large part."""
    found = Session(
        "s", make_target(TARGET), intrabench.prompter(spec), POINTS, protocol("overlap@1"), rounds=rounds, **more
    )
    play([found], Stub(clumsy))
    return found


def sizes(*parts: np.ndarray) -> list[int]:
    return [int(part.sum()) for part in parts]


def clicked(found: Session) -> Sequence[str]:
    """What the hand did in each round."""
    names = {"LARGE": LARGE, "MIDDLE": MIDDLE, "SMALL": SMALL}
    told = []
    for turn in found.history:
        places = turn.prompts.points[:, :3]
        told.append(
            "undo" if turn.undoes else next(name for name, part in names.items() if part[tuple(places.T)].all())
        )
    return told


def test_the_user_takes_back_what_ruined_the_answer_and_corrects_elsewhere() -> None:
    found = played("points_volume:n=1+click_center:undo=0.1", keep_masks=True)
    # the middle part is the largest error; once it was taken back, the small one is next, and then nothing else is left
    assert clicked(found) == ["LARGE", "MIDDLE", "undo", "SMALL", "MIDDLE", "undo"]
    masks = sizes(LARGE, LARGE & False, LARGE, LARGE | SMALL, LARGE & False, LARGE | SMALL)
    assert [mask.voxels for mask in found.masks] == masks
    assert [row["interactions"] for row in found.rows] == [1, 2, 3, 4, 5, 6]
    assert [row["ended"] for row in found.rows] == [False] * 5 + [True]


def test_rounds_can_end_before_it_is_taken_back() -> None:
    found = played("points_volume:n=1+click_center:undo=0.1", rounds=1)
    assert (clicked(found), found.rows[-1]["dice"]) == (["LARGE", "MIDDLE"], 0.0)


@pytest.mark.parametrize("spec", ["click_center", "click_center:undo=1"])
def test_without_a_loss_above_the_bound_nothing_is_taken_back(spec: str) -> None:
    assert "undo" not in clicked(played(f"points_volume:n=1+{spec}", rounds=4))


@pytest.mark.parametrize("name", ["scribble", "click_volume", "click_deepest", "clickability:model=uniform"])
def test_the_corrections_are_those_of_a_user_who_takes_nothing_back(name: str) -> None:
    colon = "," if ":" in name else ":"
    given = []
    for spec in (name, f"{name}{colon}undo=0.9"):
        found = Session(
            "s",
            make_target(TARGET),
            intrabench.prompter(f"points_volume:n=1+{spec}"),
            Abilities(3, frozenset({"point", "scribble"})),
            protocol("overlap@1"),
            rounds=3,
        )
        play([found], Stub(lambda request: Answer(Mask.of(MIDDLE))))
        given.append([turn["given"] for turn in found.turns])
    assert len(given[0]) == 4
    assert given[0] == given[1]


def test_joint_sessions_take_nothing_back() -> None:
    with pytest.raises(IntraBenchError, match="undo="):
        run(
            model=["random_walker"],
            prompter=["points_volume+scribble:undo=0"],
            dataset=["phantom:shape=12x40x48,instances=2"],
            joint="others=negative",
        )


def test_stored_sessions_are_verified_and_their_turns_cost_what_rows_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INTRABENCH_DATA", str(tmp_path / "data"))
    spec = "box_interp:n=3+scribble:undo=0+hand:jitter_mm=3"
    phantom = "phantom:shape=8x24x24,instances=1,noise=60"
    rows = run(
        model=["box_fill"], prompter=[spec], dataset=[phantom], rounds=6, seed=[*range(4)], out=tmp_path / "results"
    )
    assert "undo" in "".join(read_turns(tmp_path / "results", rows["session"].to_list())["given"])
    assert {verdict.found for verdict in verify(tmp_path / "results")} == {"equal"}
    assert list(turns(tmp_path / "results", rows, rows["session"].unique().to_list())) == []
