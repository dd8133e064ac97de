"""Writes the lists of prompters.md and their pictures from the classes of the prompters; `make docs` runs it."""

from __future__ import annotations

import inspect
from collections import Counter
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import ndimage
from short_pages import prose, short, store, table
from small_pictures import shrink

from intrabench.cli.parameters import parameters_of
from intrabench.datasets.base import Files
from intrabench.effort import effort_of_round
from intrabench.mask import Mask, Region
from intrabench.models.base import Answer, Request, VolumeModel
from intrabench.models.box_fill import BoxFill
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.prompters.base import Prompter, Refinement
from intrabench.prompters.combined import make_prompter
from intrabench.prompters.hand import Hand
from intrabench.protocols import PROTOCOLS, protocol
from intrabench.registry import registry
from intrabench.reporting.pictures import Picture
from intrabench.results.statuses import FAILED
from intrabench.specs.specs import split
from intrabench.target import Target
from intrabench.turns import Action, Turn, turns_by_round
from intrabench.volume import Volume

FOLDER = Path(__file__).parent
PAGE = "prompters.md"
PHANTOM = "phantom:shape=40x64x64,spacing=4x3x3,instances=2,noise=0,seed=5"  # without noise, for small files
SEED = 9  # a negative scribble, which lies in a plane across the slices
TELLING = {  # parameters that show more than the defaults
    "points_slice": "points_slice:n=4,negatives=true",
    "points_volume": "points_volume:n=3",
    "hand": "hand:jitter_mm=4",
}
BY_PEOPLE = {"human", "recorded"}
"""What people do cannot be played here."""
GROUPS = {"Initial prompts": Prompter, "Refinements": Refinement, "The user error model": Hand}


class Bright(VolumeModel):
    """A cheap model for pictures: what is bright, in a 2D box, around a point in its slice, or anywhere for a text."""

    name = "bright"
    dims = 2
    accepts = frozenset({"point", "box2d", "text"})

    def segment_one(self, volume: Volume, request: Request) -> Answer:
        """Answer on the slices of the newest prompts."""
        prompts = request.turns[-1].prompts
        within = np.zeros((3, 3, 3))
        within[1] = 1  # slices are apart
        pieces, _ = ndimage.label(volume.array > 95, structure=within)
        if prompts.text is not None:
            return Answer(Mask.of(pieces))
        answer = np.zeros(volume.shape, dtype=bool)
        for z, y, x, label in prompts.points.tolist():
            if label and pieces[z, y, x]:
                answer[z] |= pieces[z] == pieces[z, y, x]
        for z, y0, x0, y1, x1 in prompts.boxes2d.tolist():
            answer[z, y0:y1, x0:x1] |= pieces[z, y0:y1, x0:x1] > 0
        return Answer(Mask.of(answer), Region(slices=prompts.slices()))


@cache
def phantom() -> tuple[Volume, list[Target]]:
    """The scan of all pictures, and its targets."""
    volume, targets = registry.make("datasets", PHANTOM).load("case-1", Files(FOLDER, FOLDER))
    return Volume(np.maximum(volume.array, 0), volume.grid), targets  # beside air, tissues would look alike


@dataclass(frozen=True)
class Example:
    """A session of one prompter on the phantom."""

    name: str
    target: int = 1

    @cached_property
    def cls(self) -> Any:
        """The class that is documented."""
        return registry.find("prompters", self.name).load()

    @property
    def played(self) -> bool:
        """Whether there is a session of it, and a picture."""
        return self.name not in BY_PEOPLE

    @property
    def summary(self) -> str:
        """What it is, in a line."""
        return registry.find("prompters", self.name).summary

    @property
    def link(self) -> str:
        """The name, with its picture behind it."""
        return f"[{self.name}](prompters/{self.name}.png)" if self.played else f"`{self.name}`"

    @property
    def spec(self) -> str:
        """What is played: refinements and hands need an initial prompter."""
        spec = TELLING.get(self.name, self.name)
        return spec if issubclass(self.cls, Prompter) else f"box_interp:n=3+{spec}"

    @property
    def number(self) -> int:
        """The round to be looked at."""
        return int(issubclass(self.cls, Refinement))

    @property
    def scan(self) -> tuple[Volume, Target]:
        """Scan and target."""
        volume, targets = phantom()
        return volume, targets[self.target]

    @cached_property
    def session(self) -> Session:
        """The session, played."""
        volume, target = self.scan
        model = BoxFill() if self.number else Bright()  # boxes leave a lot to correct
        found = Session(
            "",
            target,
            make_prompter(self.spec),
            model.abilities,
            protocol("overlap@1"),
            seed=SEED,
            rounds=self.number,
            image=volume,
            keep_masks=True,
        )
        with model.open(volume) as image:
            play([found], image)
        for row in found.rows:
            if row["status"] in FAILED:
                raise RuntimeError(f"{self.spec}: {row['error']}")  # else its picture would show nothing
        return found

    @property
    def turns(self) -> list[Turn]:
        """What the user gave in the round."""
        return turns_by_round(self.session.turns).get(self.number, [])

    @property
    def actions(self) -> list[Action]:
        """What the hand did in the round."""
        return [action for turn in self.turns for action in turn.actions]

    def draw(self, path: Path) -> None:
        """Write the picture."""
        answer = None
        if self.number or not all(turn.actions for turn in self.turns):
            answer = self.session.masks[max(self.number - 1, 0)]  # the one that the prompts react to
        Picture(*self.scan, [turn.prompts for turn in self.turns], answer).save(path, tiles=4)
        shrink(path)

    def effort(self) -> str:
        """What the hand did, and by all tables what that costs."""
        other = Example(self.name, target=0)
        slices, more = (len(example.scan[1].mask.occupied_slices) for example in (self, other))
        told, there = [], Counter(action.kind for action in other.actions)
        for kind, count in Counter(action.kind for action in self.actions).items():
            often = ""
            if count != there[kind]:
                often = f" ({count // slices} per slice)" if count * more == there[kind] * slices else " (it depends)"
            told.append(f"{count} x {kind}{often}")
        cost, did = effort_of_round(self.actions), ", ".join(told) or "no actions"
        return f"{did}; interactions {cost.interactions:g}, dof {cost.dof:g}, seconds {cost.seconds:g}"


def section(example: Example) -> str:
    """What the page tells of one class."""
    name = example.name
    definition, _, source = inspect.cleandoc(example.cls.__doc__).partition("Source: ")
    tables: dict[int, list[str]] = {}
    for row in (row for preset in PROTOCOLS.values() for row in preset.rows):
        if row.table and split(row.prompter)[-1].partition(":")[0] == name:
            tables.setdefault(row.table, []).append(row.name)
    printed = "; ".join(f"Table {table}: {', '.join(dict.fromkeys(rows))}" for table, rows in tables.items())
    parted = [line.partition(": ") for line in parameters_of(example.cls)]
    parameters = ["- Parameters:", *(f"  - `{name}`: {rest}" for name, _, rest in parted)]
    picture = [f"![{name}](prompters/{name}.png)", ""] if example.played else []
    lines = [f"### {name}", "", *picture, definition.strip(), ""]
    lines += [f"- Source: {source}"] if example.played and source else []
    lines += [f"- In the paper: {printed}"] if printed else []
    lines += parameters if parted else ["- Parameters: none"]
    if example.played:
        lines += [f"- Picture: `{example.spec}`{', the first correction' if example.number else ''}"]
        lines += [f"- Effort: {example.effort()}"]
    return "\n".join(lines)


def examples() -> list[Example]:
    """One for each built-in class."""
    return [Example(entry.name) for entry in registry.entries("prompters").values() if entry.origin == "intrabench"]


def groups() -> dict[str, list[Example]]:
    """Them by the headings of the page."""
    shown = examples()
    return {title: [one for one in shown if issubclass(one.cls, base)] for title, base in GROUPS.items()}


def index() -> str:
    """The page in git; a name leads to its picture."""
    lines = []
    for title, members in groups().items():
        rows = ((example.link, example.summary) for example in members)
        lines += [f"## {title}", "", *table(("name", "what it is"), rows)]
    return short(PAGE, lines)


def pages() -> dict[str, str]:
    """The page of the site."""
    parts = [prose(PAGE)]
    for title, members in groups().items():
        parts += [f"## {title}\n", *(section(example) + "\n" for example in members)]
    return {PAGE: "\n".join(parts)}


if __name__ == "__main__":
    store(PAGE, index())
    for example in (one for one in examples() if one.played):
        example.draw(FOLDER / "prompters" / f"{example.name}.png")
