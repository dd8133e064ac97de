"""The simulated user of a joint session, who sees several targets of a case and all their answers."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import closing

from intrabench.mask import Mask
from intrabench.prompters.base import Prompter, checked_turn, dialogue
from intrabench.prompters.user import JointTurn, JointTurns, User, Users, relay
from intrabench.specs.values import expect, expect_count
from intrabench.turns import Turn


class JointPrompter(Prompter):
    """Base of strategies that look at several targets at once; a subclass writes `interact_jointly`.

    If any of the turns has actions, a round begins for all targets. Outside of joint sessions it gets one target.
    """

    def interact(self, user: User) -> Generator[Turn, Mask, None]:
        """The turns for a single target."""
        turns = self.interact_jointly(Users((user,)))
        with closing(turns):
            try:
                joint = next(turns)
                while (turn := joint[0]) is not None:
                    joint = turns.send([(yield turn)])
            except StopIteration:
                return


def joint_dialogue(prompter: Prompter, users: Users) -> JointTurns:
    """The turns of `prompter.interact_jointly`, each checked when it is given.

    Raises:
        WrongType: it is not a generator, or gives something else than a turn or None for each target.
    """
    method = f"{prompter.spec.partition(':')[0]}.interact_jointly"
    turns = prompter.interact_jointly(users)
    expect(Generator, turns, f"{method} returned", "a generator; give the turns by yield")
    yield from relay(turns, lambda joint: _checked(joint, method, len(users.each)))


def _checked(joint: JointTurn, method: str, count: int) -> JointTurn:
    expect_count(count, joint, f"{method} gave", f"a list with a Turn or None for each of {count} targets")
    return [None if turn is None else checked_turn(turn, method) for turn in joint]


def each_alone(prompter: Prompter, users: Users) -> Generator[JointTurn, Sequence[Mask], Sequence[Mask]]:
    """The turns of a prompter for all targets, each as if it were alone; returns the masks that were sent last."""
    masks: Sequence[Mask] = [Mask.empty() for _ in users.each]
    if prompter.joint:
        return (yield from relay(joint_dialogue(prompter, users), lambda joint: joint)) or masks
    dialogues = [dialogue(prompter, user) for user in users.each]
    begun = [next(one, None) for one in dialogues]
    while any(begun):
        masks = yield begun
        begun = [_next(one, mask) if turn else None for one, turn, mask in zip(dialogues, begun, masks, strict=True)]
    return masks


def _next(turns: Generator[Turn, Mask, None], mask: Mask) -> Turn | None:
    try:
        return turns.send(mask)
    except StopIteration:
        return None
