"""The interactive loop of the autoPET V challenge: no prompts, then one scribble in each of five iterations."""

from __future__ import annotations

from intrabench.protocols.row import Row

SCRIBBLES = 5
"""The README promises six predictions; the published loop's default is one less."""
STYLES = {"Centerline": "centerline", "Random": "random", "Boundary": "boundary"}

_NOTE = (
    "All lesions of a case are one target. In the challenge each kind of scribble has a third of the cases, but which "
    "is not published; here each has all. Voxels are indexed in RAS; the published loop indexes them as the file does."
)
_FAILS = (
    "As published: once there are no missed or no wrongly included voxels, the loop fails, and all later iterations "
    "score 0. Such a row has the status error. Models that need prompts would fail at once, so they do not get these."
)
_COUNTS = "A side without errors counts as a scribble without voxels, so nothing fails."

ROWS = (
    *(
        Row(name, 1, f"nothing+autopet:style={style}", None, note=f"{_FAILS} {_NOTE}", unprompted=True)
        for name, style in STYLES.items()
    ),
    *(
        Row(f"{name}, mended", 2, f"nothing+autopet:style={style},empty=counts_zero", None, note=f"{_COUNTS} {_NOTE}")
        for name, style in STYLES.items()
    ),
)
