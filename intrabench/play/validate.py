"""What comes into a session is checked here, once: the turns of the prompter and the answers of the model.

Nothing here looks at more voxels than the prompts name, so a check costs nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

import numpy as np

from intrabench.effort import COUNTED
from intrabench.errors import IntraBenchError, kind
from intrabench.mask import THRESHOLD, Array, Index, Mask
from intrabench.models.base import Answer, Failure, FailureStatus
from intrabench.prompts import Prompts
from intrabench.specs.values import is_a
from intrabench.turns import Action, Turn


class Refused(IntraBenchError):
    """A turn or an answer that cannot be right; the message says what is wrong with it."""


FREE = 20
"""With two per slice, the turns without actions that a round may have: a propagation takes one per slice at most."""


def check_free(number: int, depth: int) -> None:
    """Refuse the next turn without actions if the round has had `number` of them in a volume of `depth` slices."""
    if number > 2 * depth + FREE:
        raise Refused(f"it gave {number} turns without actions in one round and would go on; end it or give actions")


LARGEST = 10**9
"""No number of seconds, of sessions in a batch or of control points is larger; a billion seconds are 30 years."""


def _check_actions(actions: Sequence[Action]) -> None:
    """Refuse actions whose cost would be absurd."""
    for action in {id(one): one for one in actions}.values():  # a box on each slice is one object
        for what in COUNTED:
            number = getattr(action, f"{what}s", 0)
            if not is_a(int, number) or not 0 <= number <= LARGEST:
                amount = f"{_short(number)} {what.replace('_', ' ')}s"
                raise Refused(f"a {action.kind} has {amount}, expected a whole number")


def check_turn(turn: Turn, shape: Index, corrected: bool) -> None:
    """Refuse what no hand can give or take back in a volume of `shape`; corrected: the last round can be taken back.

    Raises:
        Refused: what is wrong with it.
    """
    check_prompts(turn.prompts, shape)
    _check_actions(turn.actions)
    if not turn.undoes:
        return
    if len(turn.actions) > 1 or turn.prompts.kinds:
        raise Refused("it takes a correction back and gives prompts at once; give these in the next turn")
    if not corrected:
        raise Refused("it takes a correction back, but the round before had none; correct the answer first")


def check_prompts(prompts: Prompts, shape: Index) -> None:
    """Refuse prompts that no hand can give in a volume of `shape` ``(z, y, x)``.

    All must lie inside, labels are 0 or 1, and boxes have voxels; but a derived 2D box may have none, for interpolation
    can close it.

    Raises:
        Refused: the first prompt that is wrong, and how.
    """
    _voxels("point", prompts.points[:, :3], shape)
    _labels("point", prompts.points[:, 3])
    z, low, high = prompts.boxes2d[:, :1], prompts.boxes2d[:, 1:3], prompts.boxes2d[:, 3:]
    least = np.where(np.asarray(prompts.drawn), 1, 0)[:, None]
    _boxes("2D box", prompts.boxes2d, np.hstack([z, low]), np.hstack([z + 1, high]), shape, np.hstack([least] * 3))
    if prompts.box3d is not None:
        box = prompts.box3d[None]
        _boxes("3D box", box, box[:, :3], box[:, 3:], shape, np.ones((1, 3)))
    for stroke in prompts.strokes:
        if len(stroke.points) == 0:
            raise Refused(f"a {stroke.kind} has no points; leave it out")
        _voxels(f"{stroke.kind} with the point", stroke.points, shape)
        if not isinstance(stroke.label, int):
            what = f"a {stroke.kind} has the label {_short(stroke.label)}"
            raise Refused(f"{what}, expected 1 (target) or 0 (background)")
        _labels(stroke.kind, np.array([stroke.label]))
        slices = np.unique(stroke.points[:, 0])
        if stroke.closed and len(slices) > 1:
            raise Refused(f"a {stroke.kind} has corners on the slices {_listed(slices)}, expected one")


def checked_update(answer: Answer, shape: Index) -> Mask:
    """The update of an answer; refused if it is no boolean mask in a volume of `shape` ``(z, y, x)``, or valid outside.

    Raises:
        Refused: what is wrong with it, and what to write.
    """
    start, array, valid = answer.update.start, answer.update.array, answer.valid
    if not isinstance(array, np.ndarray) or array.ndim != 3:
        got = f"an array of the shape {array.shape}" if isinstance(array, np.ndarray) else kind(array)
        raise Refused(f"its mask is {got}, expected an array with three axes (z, y, x)")
    if array.dtype != bool:
        raise Refused(f"its mask holds {array.dtype}, expected true or false; {THRESHOLD}")
    update = Mask(checked_start("mask", start), array)
    if array.size and not _inside(update.box, shape):
        raise Refused(f"its mask fills the box {_listed(update.box)}, outside of {_volume(shape)}; cut it off")
    if valid.slices is not None and valid.box is not None:
        raise Refused("it is valid on slices and in a box; give one of them")
    if valid.slices is not None:
        slices = valid.slices
        if not isinstance(slices, (tuple, list, range)) or not all(_whole((z,), 1) for z in slices):
            raise Refused(f"it is valid on the slices {_short(slices)}, expected whole numbers, as in (3, 4)")
        if outside := [z for z in slices if not 0 <= z < shape[0]]:
            raise Refused(f"it is valid on slice {outside[0]}, outside of {_volume(shape)}; leave it out")
    if valid.box is not None and not (_whole(valid.box, 6) and _inside(valid.box, shape)):
        raise Refused(
            f"it is valid in the box {_short(valid.box)}, expected a half-open box z0, y0, x0, z1, y1, x1 inside "
            f"{_volume(shape)}"
        )
    if answer.reach is not None and any(answer.reach[axis] > answer.reach[axis + 3] for axis in range(3)):
        raise Refused(f"its reach is the box {_listed(answer.reach)}, whose end lies before its beginning")
    if answer.scores is not None and np.shape(answer.scores) != array.shape:
        raise Refused(f"its scores have the shape {np.shape(answer.scores)}, expected that of its mask, {array.shape}")
    _seconds("seconds", answer.seconds)
    _seconds("encode_seconds", answer.encode_seconds)
    if not is_a(int, answer.batch) or not 1 <= answer.batch <= LARGEST:
        raise Refused(f"its batch is {_short(answer.batch)}, expected the number of requests, 1 or more")
    return update


def checked_start(what: str, start: Any) -> Index:
    """Where an array of an answer begins, in Python's own integers, because small ones of numpy would overflow.

    Raises:
        Refused: it is not three whole numbers.
    """
    if not _whole(start, 3):
        raise Refused(f"its {what} starts at {_short(start)}, expected three whole numbers (z, y, x)")
    return int(start[0]), int(start[1]), int(start[2])


def check_failure(failure: Failure) -> None:
    """Refuse a failure that rows cannot tell.

    Raises:
        Refused: what is wrong with it.
    """
    if failure.status not in get_args(FailureStatus):
        statuses = ", ".join(get_args(FailureStatus))
        raise Refused(f"its Failure has the status {_short(failure.status)}, expected one of {statuses}")
    if not isinstance(failure.message, str) or not failure.message.strip():
        raise Refused(f"its Failure has the message {_short(failure.message)}, expected a sentence")
    _seconds("seconds", failure.seconds)


def _seconds(name: str, value: Any) -> None:
    if not is_a(float, value) or not 0 <= value <= LARGEST:
        raise Refused(f"its {name} are {_short(value)}, expected a number, 0 or more")


def _voxels(what: str, voxels: Array, shape: Index) -> None:
    outside = ((voxels < 0) | (voxels >= shape)).any(axis=1)
    if outside.any():
        raise Refused(f"a {what} ({_listed(voxels[outside][0])}) lies outside of {_volume(shape)}; clip it")


def _labels(what: str, labels: Any) -> None:
    wrong = (labels != 0) & (labels != 1)
    if wrong.any():
        raise Refused(f"a {what} has the label {_short(labels[wrong][0])}, expected 1 (target) or 0 (background)")


def _boxes(what: str, boxes: Array, low: Array, high: Array, shape: Index, least: Any) -> None:
    """Boxes with corners `low` and `high`, rows ``z, y, x``, of at least `least` voxels along each axis."""
    small = (high - low < least).any(axis=1)
    if small.any():
        raise Refused(f"a {what} ({_listed(boxes[small][0])}) has no voxel: its end must lie behind its beginning")
    outside = ((low < 0) | (high > shape)).any(axis=1)
    if outside.any():
        raise Refused(f"a {what} ({_listed(boxes[outside][0])}) reaches outside of {_volume(shape)}; clip it")


def _whole(values: Any, count: int) -> bool:
    whole = isinstance(values, tuple) and all(isinstance(value, (int, np.integer)) for value in values)
    return whole and len(values) == count


def _inside(box: Any, shape: Index) -> bool:
    return all(0 <= box[axis] <= box[axis + 3] <= shape[axis] for axis in range(3))


def _volume(shape: Index) -> str:
    return f"the volume of {' x '.join(str(n) for n in shape)} voxels (z, y, x)"


def _listed(values: Any) -> str:
    return ", ".join(str(int(value)) for value in values)


def _short(value: Any) -> str:
    """A value of any type, in few characters."""
    return repr(value if not isinstance(value, np.generic) else value.item())[:60]
