"""The interactive loops of autoPET: no prompts, then a scribble in each of five rounds (V), or clicks in ten (IV)."""

from __future__ import annotations

from intrabench.protocols.row import Row

SCRIBBLES = 5
"""The README promises six predictions; the published loop's default is one less."""
METRICS = ("dice@1", "iou@1", "dmm@1", "fpv@1", "fnv@1")
_FINAL = (("Dice", "dice"), ("DMM", "dmm"), ("FPV ml", "fpv"), ("FNV ml", "fnv"))
NUMBERS = (("AUC-Dice", "autopet5_auc"), ("AUC-DMM", "autopet5_auc:metric=dmm"), *_FINAL)
STYLES = {"Centerline": "centerline", "Random": "random", "Boundary": "boundary"}

_NOTE = (
    "All lesions of a case are one target. In the challenge each kind of scribble has a third of the cases, but which "
    "is not published; here each has all."
)
_PUBLISHED = (
    "As published: once there are no missed or no wrongly included voxels, the loop fails, and all later iterations "
    "score 0. Such a row has the status error. Models that need prompts would fail at once, so they do not get these. "
    f"Voxels are indexed as in the file. {_NOTE}"
)
_MENDED = (
    "A side without errors counts as a scribble without voxels, so nothing fails, and voxels are indexed in RAS, so "
    f"the order of a file's axes does not matter. {_NOTE}"
)
_BEGIN = "nothing+autopet:style"

ROWS = (
    *(
        Row(name, None, f"{_BEGIN}={style},axes=file", None, note=_PUBLISHED, unprompted=True)
        for name, style in STYLES.items()
    ),
    *(
        Row(f"{name} (mended)", None, f"{_BEGIN}={style},empty=counts_zero", None, note=_MENDED)
        for name, style in STYLES.items()
    ),
)

CLICKS = 10
"""Of autoPET IV, on lesions and on background; 11 steps."""
CLICK_NUMBERS = (("AUC-Dice", f"autopet5_auc:last={CLICKS}"), *_FINAL)
"""The challenge also has areas under FPV and FNV, but failures have no worst value of these."""

CLICK_ROWS = (
    Row(
        "10 clicks",
        None,
        f"lesion_clicks:clicks={CLICKS}",
        None,
        note="Clicks are drawn before anything is answered, by the challenge's rules but not by its random numbers. "
        "Background is what is bright in the last channel: the challenge has CT and PET, so give images of both.",
    ),
)
