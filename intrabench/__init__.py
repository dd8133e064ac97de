"""IntraBench: measure promptable segmentation models on 3D radiology volumes the way a clinician would use them.

A plug-in finds all it needs here, for example ``from intrabench import Prompter, Turn, Click, points``. What is here is
public, all else is private (docs/python.md). Names are imported on first use, so that ``import intrabench`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from intrabench.api.objects import dataset as dataset
    from intrabench.api.objects import follow_ups as follow_ups
    from intrabench.api.objects import metric as metric
    from intrabench.api.objects import model as model
    from intrabench.api.objects import prompter as prompter
    from intrabench.api.results import compact as compact
    from intrabench.api.results import compare as compare
    from intrabench.api.results import compare_published as compare_published
    from intrabench.api.results import figures as figures
    from intrabench.api.results import lesions as lesions
    from intrabench.api.results import merge as merge
    from intrabench.api.results import methods as methods
    from intrabench.api.results import power as power
    from intrabench.api.results import report as report
    from intrabench.api.results import score as score
    from intrabench.api.results import submit as submit
    from intrabench.api.results import table as table
    from intrabench.api.results import verify as verify
    from intrabench.api.running import check as check
    from intrabench.api.running import preview as preview
    from intrabench.api.running import run as run
    from intrabench.api.types import Compacted as Compacted
    from intrabench.api.types import Comparison as Comparison
    from intrabench.api.types import Comparisons as Comparisons
    from intrabench.api.types import Finding as Finding
    from intrabench.api.types import FollowUp as FollowUp
    from intrabench.api.types import Merged as Merged
    from intrabench.api.types import Methods as Methods
    from intrabench.api.types import PublishedClaims as PublishedClaims
    from intrabench.api.types import ResultTable as ResultTable
    from intrabench.api.types import Scored as Scored
    from intrabench.api.types import Submission as Submission
    from intrabench.api.types import Verdict as Verdict
    from intrabench.clickability.base import Clickability as Clickability
    from intrabench.datasets.base import Dataset as Dataset
    from intrabench.datasets.base import DatasetCard as DatasetCard
    from intrabench.datasets.base import Files as Files
    from intrabench.datasets.convert.instances import Instances as Instances
    from intrabench.datasets.convert.segments import targets_from as targets_from
    from intrabench.errors import ChangedPatients as ChangedPatients
    from intrabench.errors import FailedSessions as FailedSessions
    from intrabench.errors import IntraBenchError as IntraBenchError
    from intrabench.errors import PartialResults as PartialResults
    from intrabench.fetch.remote import RemoteFile as RemoteFile
    from intrabench.mask import Mask as Mask
    from intrabench.mask import Region as Region
    from intrabench.mask import box_slices as box_slices
    from intrabench.metrics.base import Metric as Metric
    from intrabench.metrics.mask_pair import MaskPair as MaskPair
    from intrabench.metrics.partition_metric import PartitionMetric as PartitionMetric
    from intrabench.models.base import Answer as Answer
    from intrabench.models.base import Failure as Failure
    from intrabench.models.base import JointAnswer as JointAnswer
    from intrabench.models.base import JointRequest as JointRequest
    from intrabench.models.base import Model as Model
    from intrabench.models.base import Predictor as Predictor
    from intrabench.models.base import Request as Request
    from intrabench.models.base import VolumeModel as VolumeModel
    from intrabench.models.box_fill import BoxFill as BoxFill
    from intrabench.models.parts.crop_model import CropModel as CropModel
    from intrabench.models.parts.network_model import NetworkModel as NetworkModel
    from intrabench.models.parts.slice_model import SliceModel as SliceModel
    from intrabench.models.parts.wrapped import wrap as wrap
    from intrabench.prompters.base import Modifier as Modifier
    from intrabench.prompters.base import Prompter as Prompter
    from intrabench.prompters.base import Refinement as Refinement
    from intrabench.prompters.joint import JointPrompter as JointPrompter
    from intrabench.prompters.slices import tight_box as tight_box
    from intrabench.prompters.user import JointTurns as JointTurns
    from intrabench.prompters.user import Turns as Turns
    from intrabench.prompters.user import User as User
    from intrabench.prompters.user import Users as Users
    from intrabench.prompts import Derived as Derived
    from intrabench.prompts import Prompts as Prompts
    from intrabench.prompts import Scribble as Scribble
    from intrabench.prompts import box3d as box3d
    from intrabench.prompts import boxes as boxes
    from intrabench.prompts import points as points
    from intrabench.specs.specs import Reach as Reach
    from intrabench.specs.specs import switch as switch
    from intrabench.superpixels.base import Picture as Picture
    from intrabench.superpixels.base import SliceSuperpixels as SliceSuperpixels
    from intrabench.superpixels.base import Superpixels as Superpixels
    from intrabench.target import Target as Target
    from intrabench.target import targets_of as targets_of
    from intrabench.turns import Click as Click
    from intrabench.turns import DrawBox2D as DrawBox2D
    from intrabench.turns import DrawBox3D as DrawBox3D
    from intrabench.turns import DrawScribble as DrawScribble
    from intrabench.turns import MarkExtent as MarkExtent
    from intrabench.turns import SetHandle as SetHandle
    from intrabench.turns import Turn as Turn
    from intrabench.turns import TypeText as TypeText
    from intrabench.turns import Undo as Undo
    from intrabench.volume import Volume as Volume
    from intrabench.volume import read_image as read_image
    from intrabench.volume import read_labels as read_labels

_PLACES = {
    "api.objects": ("dataset", "follow_ups", "metric", "model", "prompter"),
    "api.results": (
        *("compact", "compare", "compare_published", "figures", "lesions", "merge", "methods"),
        *("power", "report", "score", "submit", "table", "verify"),
    ),
    "api.running": ("check", "preview", "run"),
    "api.types": (
        *("Comparison", "Comparisons", "Compacted", "Finding", "FollowUp", "Merged"),
        *("Methods", "PublishedClaims", "ResultTable", "Scored", "Submission", "Verdict"),
    ),
    "clickability.base": ("Clickability",),
    "datasets.base": ("Dataset", "DatasetCard", "Files"),
    "datasets.convert.instances": ("Instances",),
    "datasets.convert.segments": ("targets_from",),
    "errors": ("ChangedPatients", "FailedSessions", "IntraBenchError", "PartialResults"),
    "fetch.remote": ("RemoteFile",),
    "mask": ("Mask", "Region", "box_slices"),
    "metrics.base": ("Metric",),
    "metrics.mask_pair": ("MaskPair",),
    "metrics.partition_metric": ("PartitionMetric",),
    "models.base": (
        *("Answer", "Failure", "JointAnswer", "JointRequest"),
        *("Model", "Predictor", "Request", "VolumeModel"),
    ),
    "models.box_fill": ("BoxFill",),
    "models.parts.crop_model": ("CropModel",),
    "models.parts.network_model": ("NetworkModel",),
    "models.parts.slice_model": ("SliceModel",),
    "models.parts.wrapped": ("wrap",),
    "prompters.base": ("Modifier", "Prompter", "Refinement"),
    "prompters.joint": ("JointPrompter",),
    "prompters.slices": ("tight_box",),
    "prompters.user": ("JointTurns", "Turns", "User", "Users"),
    "prompts": ("Derived", "Prompts", "Scribble", "box3d", "boxes", "points"),
    "specs.specs": ("Reach", "switch"),
    "superpixels.base": ("Picture", "SliceSuperpixels", "Superpixels"),
    "target": ("Target", "targets_of"),
    "turns": ("Click", "DrawBox2D", "DrawBox3D", "DrawScribble", "MarkExtent", "SetHandle", "Turn", "TypeText", "Undo"),
    "volume": ("Volume", "read_image", "read_labels"),
}
"""The public names of each module."""

_MODULES = {name: f"intrabench.{module}" for module, names in _PLACES.items() for name in names}

__all__ = [name for name, module in sorted(_MODULES.items()) if ".api." not in module or name[0].isupper()]
"""What ``from intrabench import *`` gives: not the functions, whose names others have, too (`run`, `table`)."""


def __getattr__(name: str) -> Any:
    """Import on first use."""
    if name in _MODULES:
        return getattr(import_module(_MODULES[name]), name)
    raise AttributeError(f"module 'intrabench' has no attribute {name!r}")


def __dir__() -> list[str]:
    """The names that can be imported from here."""
    return ["__version__", *sorted(_MODULES)]
