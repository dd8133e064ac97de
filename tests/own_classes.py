"""Sound classes of one's own, as text, from which tests make broken ones."""

from __future__ import annotations

from pathlib import Path

MODEL = """
from dataclasses import dataclass
from intrabench import Answer, Mask, VolumeModel

@dataclass(eq=False)
class Mine(VolumeModel):
    "My own."
    name = "mine"
    accepts = frozenset({"box3d"})

    def segment_one(self, volume, request):
        return Answer(Mask.empty())
"""
PROMPTER = """
from dataclasses import dataclass
from intrabench import Click, Prompter, Refinement, Turn, points

@dataclass(frozen=True)
class Mine(Prompter):
    "My own."
    name = "mine"

    def interact(self, user):
        yield Turn(points([(0, 0, 0)]), (Click(),))
"""
REFINEMENT = """
from intrabench import Refinement

class Mine(Refinement):
    "My own."
    name = "mine"

    def correct(self, user, mask):
        return None
"""
DATASET = """
from dataclasses import dataclass
from intrabench import Dataset, DatasetCard

@dataclass(frozen=True)
class Mine(Dataset):
    "My own."
    name = "mine"
    version = "1"
    card = DatasetCard("Mine", "CT")

    def cases(self):
        return ("a",)

    def load(self, case, files):
        raise NotImplementedError
"""
CLICKS = """
from intrabench.clickability.saliency import Saliency

class Mine(Saliency):
    "My own."
    name = "mine"

    def saliency(self, crop):
        return crop.mean(axis=2)
"""
METRIC = """
from dataclasses import dataclass
from intrabench import Metric

@dataclass(frozen=True)
class Mine(Metric):
    "My own."
    name = "mine"
    best = "low"
    worst = 9.0

    def measure(self, pair):
        return 1.0
"""
SOUND = {
    "model": ("models", MODEL),
    "prompter": ("prompters", PROMPTER),
    "refinement": ("prompters", REFINEMENT),
    "data set": ("datasets", DATASET),
    "metric": ("metrics", METRIC),
    "clickability model": ("clickability", CLICKS),
}


def in_workspace(room: str, text: str) -> Path:
    """The file with a class in the room of a workspace, which is the current folder."""
    Path("intrabench.toml").touch()
    file = Path.cwd() / room / "mine.py"
    file.parent.mkdir()
    file.write_text(text)
    return file
