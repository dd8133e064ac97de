"""What raters are told: the scale, kinds of errors, the clinical question, reasons to skip.

The scale is that of the human study of Segment Anything (Kirillov et al. 2023), in our own words, with the bands of its
guideline. The kinds of errors are sorted by its three questions: object, boundary, prompt.
"""

from __future__ import annotations

from typing import Any

VERSION = "2"
"""Changes whenever raters are told something else; it is stored with every answer."""

SCALE: list[dict[str, Any]] = [
    {"from": 1, "to": 1, "text": "No mask, or you cannot tell what it is meant to be."},
    {"from": 2, "to": 4, "text": "The structure is mostly recognisable, but large parts are wrong or missing."},
    {"from": 5, "to": 6, "text": "The structure is clear and its boundary mostly right, with major errors."},
    {"from": 7, "to": 9, "text": "Small, rare errors."},
    {"from": 10, "to": 10, "text": "No error that you can see."},
]
ERRORS = [
    {"id": "extra", "key": "q", "name": "part of another structure"},
    {"id": "missing", "key": "w", "name": "part missing"},
    {"id": "unrelated", "key": "e", "name": "unrelated things combined"},
    {"id": "holes", "key": "r", "name": "wrong holes"},
    {"id": "islands", "key": "t", "name": "stray pieces"},
    {"id": "edges", "key": "y", "name": "poor edges"},
    {"id": "front", "key": "u", "name": "what lies in front partly in, partly out"},
    {"id": "prompt", "key": "i", "name": "not what the prompt asks for"},
]
NO_ERRORS = [{"id": "blocks", "name": "Blocks as coarse as those of the image are no error."}]
EXAMPLES = {1: 0.0, 2: 0.4, 3: 0.5, 4: 0.6, 5: 0.7, 6: 0.78, 7: 0.86, 8: 0.91, 9: 0.96, 10: 1.0}
"""The Dice in its slice of the example of each score; 0: at another place. They are ours, not published."""
CLINICAL = [
    {"id": "accept", "key": "a", "name": "accept"},
    {"id": "minor", "key": "d", "name": "minor edit"},
    {"id": "major", "key": "f", "name": "major edit"},
    {"id": "reject", "key": "g", "name": "reject"},
]
SKIPS = [
    {"id": "image", "name": "the image cannot be judged"},
    {"id": "target", "name": "I do not know this structure"},
    {"id": "other", "name": "another reason"},
]


def text_of(score: int) -> str:
    """What the scale says of a score."""
    return str(next(each["text"] for each in SCALE if each["from"] <= score <= each["to"]))


def band(dice: float) -> tuple[int, int]:
    """The scores of a mask of known Dice that training calls plausible, wide on purpose: Dice is not the scale.

    The bands are ours, not published.
    """
    for least, scores in ((1.0, (9, 10)), (0.85, (6, 9)), (0.65, (4, 8))):
        if dice >= least:
            return scores
    return 1, 6
