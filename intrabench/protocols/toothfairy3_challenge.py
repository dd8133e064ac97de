"""Task 2 of ToothFairy3, two canals of the lower jaw: no prompts, then a click on each in five rounds."""

from __future__ import annotations

from intrabench.protocols.joint import JointRules
from intrabench.protocols.row import Row

CLICKS = 5
"""On each canal, one per round; with the round before them six predictions."""
JOINT = JointRules(others="ignore", overlap="score")
"""Both canals in one answer, which is a label map."""

METRICS = ("dice@1", "iou@1", "hd95_medpy@1")
NUMBERS = (
    ("Dice_AUC", "toothfairy3_auc"),
    ("HD95_AUC", "toothfairy3_auc:metric=hd95_medpy"),
    ("Dice_Final", "dice"),
    ("HD95_Final", "hd95_medpy"),
)
FIXED_METRICS = ("dice@1", "iou@1", "hd95_medpy:spacing=mm@1")
FIXED_NUMBERS = (
    ("Dice_AUC", "toothfairy3_auc"),
    ("HD95_AUC", "toothfairy3_auc:metric='hd95_medpy:spacing=mm'"),
    ("Dice_Final", "dice"),
    ("HD95_Final", "hd95_medpy:spacing=mm"),
)

ODD = (
    "A container finds its points in the order of the array, z, y, x, in a file whose format means x, y, z in mm: read "
    "as usual, they lie elsewhere. `gc:order=zyx` and `export clicks --order zyx` write them so.",
    "HD95 is in voxels, whatever their size, so scans of other spacings do not compare.",
    "A canal that a scan does not have scores Dice 1 and HD95 0 if nothing is answered for it, and so lifts the mean; "
    "an answer for it scores 0 and the diagonal. Here it is no target, unless the data set says that it has no voxels "
    "(+whole:label='LEFT,RIGHT'); the published code cannot draw clicks for such a scan at all.",
    "The area under HD95 begins with an answer without clicks: the diagonal from a model that needs them.",
    "Clicks are drawn without a seed; ours have one, so they are other clicks by the same rules.",
    "Slices are those of the file's third axis.",
)
"""What the published code does oddly."""
_DRAWN = (
    "Clicks are drawn before anything is answered, and all lie on their canal. An answer that failed counts as 0 and "
    "as infinitely far, and the session goes on."
)

ROWS = (Row("5 clicks per canal", None, f"tube_clicks:clicks={CLICKS},axes=file", None, note=" ".join([_DRAWN, *ODD])),)
FIXED_ROWS = (
    Row(
        "5 clicks per canal, mended",
        None,
        f"tube_clicks:clicks={CLICKS}",
        None,
        note=f"As toothfairy3@1, but HD95 is in mm, and slices are axial whatever the order of a file's axes. {_DRAWN}",
    ),
)
