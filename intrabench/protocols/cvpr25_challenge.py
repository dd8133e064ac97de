"""The interactive challenge of CVPR 2025 as its script ran it, and the same with what is odd about it mended."""

from __future__ import annotations

from intrabench.protocols.joint import JointRules
from intrabench.protocols.row import Row

CLICKS = 5
"""For each target, after the box."""
JOINT = JointRules(others="ignore", overlap="score")
"""All classes of a case at once. A click says nothing about other classes, and an answer is a label map."""

METRICS = ("dice@1", "iou@1", "nsd:spacing=xyz@1")
NUMBERS = (
    ("DSC_AUC", "cvpr25_auc:missing=previous"),
    ("NSD_AUC", "cvpr25_auc:metric='nsd:spacing=xyz',above=0.2,missing=previous"),
    ("DSC_Final", "cvpr25_final:missing=previous"),
    ("NSD_Final", "cvpr25_final:metric='nsd:spacing=xyz',above=0.2,missing=previous"),
)

FIXED_METRICS = ("dice@1", "iou@1", "nsd_2mm@1")
FIXED_NUMBERS = (
    ("DSC_AUC", "cvpr25_auc:first=0"),
    ("NSD_AUC", "cvpr25_auc:metric=nsd_2mm,first=0"),
    ("DSC_Final", "cvpr25_final"),
    ("NSD_Final", "cvpr25_final:metric=nsd_2mm"),
)

ODD = (
    "The box is as wide as the middle slice of the class and may miss most of it; a file without boxes has no step 0, "
    "in which the model is not asked and scores 0.",
    "The largest error may hold missed and surplus voxels at once.",
    "The deepest voxel is the deepest in voxels: spacing is ignored, and the edge of the volume is a border.",
    "Of equally deep voxels a seed that is set anew for each click takes one, so only their number decides.",
    "NSD takes the numbers of `spacing` in the order of the axes z, y, x. Files made with SimpleITK hold x, y, z, so "
    "our data sets are measured with the spacing of x and z exchanged, and files of the challenge as stored.",
    "NSD is 0 for all classes of a case whose mean Dice is not above 0.2.",
    "The areas leave the box out and go from 0 to 4.",
    "A step without an answer has the score of the answer before, because the script finds its file; a case without "
    "any answer is left out of all means.",
)
"""What the script does oddly."""

ROWS = (
    Row(
        "Box and 5 clicks",
        None,
        "box_middle:widen=5,start=file+click_component:error=any,depth=voxel",
        None,  # models of slices and of volumes; "point": all that take clicks, for a box can be converted
        "point",
        "What the script does oddly is done here, too. "
        + " ".join(ODD)
        + " Once all classes are right, nobody clicks, and the last answer counts for the steps that are left; the "
        "script asks the model again, with nothing new. cvpr25-fixed@1 mends all but the choice among equally deep "
        "voxels.",
    ),
)
FIXED_ROWS = (
    Row(
        "Box and 5 clicks, mended",
        None,
        "box_volume+click_component:error=one_sign,depth=mm",
        None,
        "point",
        "As cvpr25@1, but: the box is that of the whole class, in every case; missed and surplus voxels are errors "
        "apart; depth is in mm; NSD takes the spacing of the scan and always counts; the areas include the box and are "
        "scaled to 0 to 4; a step without an answer counts as 0, and so does a case without any.",
    ),
)
