"""The superpixel benchmark: its metrics, its numbers of superpixels, and what it printed.

Stutz, Hermans, Leibe: Superpixels: an evaluation of the state of the art, CVIU 2018.
"""

from __future__ import annotations

from collections.abc import Sequence

from intrabench.errors import IntraBenchError
from intrabench.protocols.row import Row
from intrabench.specs.specs import quoted

SEGMENTS = tuple(range(200, 5201, 200))
"""Numbers of superpixels to ask for: the paper averages between 200 and 5200, and calls for at least 20 of them."""
COMPARED = (400, 1200, 3600)
"""The numbers at which the paper tunes parameters, and correlates metrics in Table C.5."""
AVERAGED = {"AMR": ("rec", True), "AUE": ("ue_np", False), "AUV": ("ev", True)}
"""The averages over numbers of superpixels: of which metric, and whether of what it lacks to 1."""
METRICS = (
    *("rec@2", "pre@2", "ue_np@1", "ue_levin@1", "ue_bergh@1", "asa@1", "oe@1", "ev@1", "icv@1", "co@2", "mde@2"),
    *("sse_rgb@1", "sse_xy@1", "cd@2", "sp@1", "sp_extra@1"),
    *("sp_size_mean@1", "sp_size_min@1", "sp_size_max@1", "sp_size_std@1", "cpu_s@1"),
)

ROWS = (
    Row(
        "Superpixels",
        3,
        "partition",
        None,
        note="Nobody prompts. A region is a connected component; the paper counts and measures them so, too.",
    ),
)


def models_of(
    methods: Sequence[str], numbers: str = "", intensity: str = "modality", least_voxels: int = 1, tuned: str = ""
) -> list[str]:
    """The specs of the models that divide images with each method, for each number of superpixels.

    numbers: separated by commas; empty: `SEGMENTS`. The others are parameters of the model.

    Raises:
        IntraBenchError: they are no numbers.
    """
    more = "" if intensity == "modality" else f",intensity={intensity}"
    more += "" if least_voxels == 1 else f",least_voxels={least_voxels}"
    more += f",tuned={quoted(tuned)}" if tuned else ""
    asked = numbers_of(numbers) if numbers.strip() else SEGMENTS
    return [f"supervoxels:method={quoted(method)},segments={number}{more}" for method in methods for number in asked]


def numbers_of(text: str) -> list[int]:
    """Numbers of superpixels separated by commas.

    Raises:
        IntraBenchError: they are no numbers.
    """
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) > 0 for part in parts):
        raise IntraBenchError(f"--segments {text} are no numbers of superpixels; give them as in 200,400,1200")
    return list(dict.fromkeys(map(int, parts)))
