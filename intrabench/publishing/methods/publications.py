"""The publications behind the methods that rows name: what prompted, measured and counted."""

from __future__ import annotations

from collections.abc import Sequence

INTRABENCH = (
    "IntraBench{version}, a benchmark of promptable segmentation models, https://github.com/intrabench/intrabench"
)

RADIOACTIVE = (
    "C. Ulrich et al., RadioActive: 3D Radiological Interactive Segmentation Benchmark (first version: IntRaBench, "
    "Interactive Radiological Benchmark), arXiv 2411.07885"
)
RCLICKS = (
    "A. Antonov et al., RClicks: Realistic Click Simulation for Benchmarking Interactive Segmentation, NeurIPS 2024, "
    "arXiv 2410.11722"
)
SURFACE = "S. Nikolov et al., arXiv 1809.04430"
BOUNDARY = "B. Cheng et al., Boundary IoU, CVPR 2021, arXiv 2103.16562"
EXTREME = "D. P. Papadopoulos et al., Extreme clicking for efficient object annotation, ICCV 2017, arXiv 1708.02750"
BCA = (
    "B. Efron, R. J. Tibshirani, An Introduction to the Bootstrap (1993)",
    "T. C. Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 69, 371 (2015), "
    "doi:10.1080/00031305.2015.1089789",
)
CLAIMS = "Claims Reloaded, arXiv 2505.04720"

_OF_METRICS = {"nsd": SURFACE, "hd95": SURFACE, "boundary_iou": BOUNDARY}
_PAPER = (
    *("box_interp", "box_prop", "box_slice", "box_volume", "point_interp", "point_prop", "points_slice"),
    *("points_volume", "scribble", "click_slice", "click_volume"),
)
_OF_PROMPTERS = {"clickability": RCLICKS, **dict.fromkeys(_PAPER, RADIOACTIVE)}


def of_metrics(columns: Sequence[str]) -> list[str]:
    """The citations of metrics by the names of their columns."""
    return list(
        dict.fromkeys(text for name, text in _OF_METRICS.items() if any(one.startswith(name) for one in columns))
    )


def of_prompters(name: str) -> list[str]:
    """The citations of a prompter by the name of its class."""
    return [_OF_PROMPTERS[name]] if name in _OF_PROMPTERS else []
