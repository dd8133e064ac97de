"""Draws the pictures in concepts/ as SVG; `make docs` runs it. The costs of actions are those of the effort tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from intrabench.effort import effort_of_round
from intrabench.mask import Bools
from intrabench.metrics.parts.borders import DirectedVoxels
from intrabench.metrics.parts.surface import BothWays, hausdorff, mean_distance, surface_dice
from intrabench.turns import Action, Click, DrawBox2D, DrawBox3D, DrawScribble, MarkExtent

FOLDER = Path(__file__).parent / "concepts"
TARGET, MODEL, HAND, FREE, ROW, INK, BAD = (
    *("#d7f0dd", "#e7e0f7", "#fff1c2", "#dbe9fb", "#eeeeee", "#222222", "#fbdcdc"),
)


@dataclass
class Drawing:
    """Boxes, arrows and words, in pixels; the title is what people who cannot see it are told."""

    title: str
    width: int
    height: int
    parts: list[str] = field(default_factory=list)

    def box(self, x: float, y: float, width: float, height: float, text: str, fill: str = "white") -> None:
        """A box with lines of text in its middle."""
        self.parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" fill="{fill}" stroke="{INK}"/>'
        )
        lines = text.split("\n")
        for number, line in enumerate(lines):
            self.text(x + width / 2, y + height / 2 + 5 + 18 * (number - (len(lines) - 1) / 2), line, "middle")

    def text(self, x: float, y: float, words: str, anchor: str = "start", bold: bool = False) -> None:
        """One line of text."""
        weight = ' font-weight="bold"' if bold else ""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}"{weight}>{escape(words)}</text>')

    def line(self, *points: tuple[float, float], arrow: bool = True, dashed: bool = False) -> None:
        """A line through points, with an arrow at its end."""
        way = " ".join(f"{x:g},{y:g}" for x, y in points)
        more = ' marker-end="url(#tip)"' if arrow else ""
        more += ' stroke-dasharray="5 4"' if dashed else ""
        self.parts.append(f'<polyline points="{way}" fill="none" stroke="{INK}" stroke-width="1.5"{more}/>')

    def svg(self) -> str:
        """The file."""
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" width="{self.width}"'
        style = f'font-family="Helvetica, Arial, sans-serif" font-size="15" fill="{INK}" role="img"'
        tip = '<marker id="tip" markerWidth="9" markerHeight="8" refX="8" refY="4" orient="auto">'
        return "\n".join(
            [
                f'{head} height="{self.height}" {style}>',
                f"<title>{escape(self.title)}</title>",
                f'<defs>{tip}<path d="M0,0 L9,4 L0,8 z"/></marker></defs>',
                f'<rect width="{self.width}" height="{self.height}" fill="white"/>',
                *self.parts,
                "</svg>\n",
            ]
        )


def session() -> Drawing:
    """Who knows what, and how turns become rounds."""
    made = Drawing("Prompter, session and model, and a session of three rounds", 760, 400)
    made.box(20, 60, 160, 60, "prompter\n(simulated user)", TARGET)
    made.box(300, 60, 160, 60, "session", ROW)
    made.box(580, 60, 160, 60, "model", MODEL)
    made.text(100, 30, "knows the target", "middle")
    made.text(660, 30, "knows the scan", "middle")
    for start, end, y, word in ((180, 300, 80, "turn"), (460, 580, 80, "prompts so far")):
        made.line((start, y), (end, y))
        made.text((start + end) / 2, y - 8, word, "middle")
    for start, end, word in ((300, 180, "mask so far"), (580, 460, "answer")):
        made.line((start, 104), (end, 104))
        made.text((start + end) / 2, 122, word, "middle")
    made.text(20, 175, "One session, from left to right:", bold=True)
    turns = [("box", HAND), ("derived", FREE), ("derived", FREE), ("click", HAND), ("scribble", HAND)]
    for number, (word, fill) in enumerate(turns):
        made.box(20 + 145 * number, 200, 125, 44, word, fill)
        made.text(82 + 145 * number, 262, f"turn {number}", "middle")
    for start, end, word in ((0, 2, "round 0"), (3, 3, "round 1"), (4, 4, "round 2")):
        left, right = 20 + 145 * start, 145 + 145 * end
        made.line((left, 275), (left, 285), (right, 285), (right, 275), arrow=False)
        made.line(((left + right) / 2, 285), ((left + right) / 2, 312))
        made.box((left + right) / 2 - 62, 314, 124, 34, f"row of {word}", ROW)
    made.text(20, 385, "Yellow: the hand acts, which costs effort. Blue: computed from the model's own answer, free.")
    return made


def geometry() -> Drawing:
    """The canonical axes, and where voxels and boxes are."""
    made = Drawing("The axes z, y, x of the canonical array, and a half-open box on a grid of voxels", 760, 330)
    made.text(20, 28, "The array is (z, y, x)", bold=True)
    for number in range(4):
        x, y = 70 + 18 * number, 190 - 32 * number
        made.parts.append(
            f'<polygon points="{x},{y} {x + 150},{y} {x + 200},{y - 60} {x + 50},{y - 60}" fill="{TARGET}" '
            f'fill-opacity="0.85" stroke="{INK}"/>'
        )
    made.line((56, 205), (240, 205))
    made.text(150, 226, "x: towards Right", "middle")
    made.line((232, 198), (290, 128))
    made.text(276, 180, "y: towards Anterior")
    made.line((44, 196), (44, 60))
    made.text(20, 50, "z: towards Superior")
    made.text(20, 262, "All 48 axis orders and flips of a file")
    made.text(20, 282, "become this array.")
    made.text(440, 28, "Points and boxes are voxel indices", bold=True)
    for row in range(5):
        for column in range(6):
            inside = 1 <= row < 4 and 2 <= column < 5
            made.parts.append(
                f'<rect x="{470 + 40 * column}" y="{60 + 40 * row}" width="40" height="40" '
                f'fill="{HAND if inside else "white"}" stroke="#888888"/>'
            )
    for column in range(6):
        made.text(490 + 40 * column, 54, str(column), "middle")
    for row in range(5):
        made.text(460, 85 + 40 * row, str(row), "end")
    made.parts.append(f'<circle cx="570" cy="160" r="5" fill="{INK}"/>')
    made.text(440, 288, "The box [1, 4) x [2, 5): its end is not part of it.")
    made.text(440, 310, "The dot is the point (2, 2): the centre of a voxel.")
    return made


def effort() -> Drawing:
    """What one action costs by each table, as the package computes it."""
    actions: list[tuple[str, Action]] = [
        ("click", Click()),
        ("slice marked", MarkExtent()),
        ("2D box", DrawBox2D()),
        ("scribble", DrawScribble(3)),
        ("3D box", DrawBox3D()),
    ]
    costs = [effort_of_round([action]) for _, action in actions]
    made = Drawing("The cost of one action as interactions, degrees of freedom and seconds", 760, 270)
    tables: Sequence[tuple[str, str, list[float]]] = (
        ("interactions", HAND, [cost.interactions for cost in costs]),
        ("degrees of freedom", FREE, [cost.dof for cost in costs]),
        ("seconds (estimated)", MODEL, [cost.seconds for cost in costs]),
    )
    for row, (word, _) in enumerate(actions):
        made.text(120, 78 + 38 * row, word, "end")
    for column, (title, fill, values) in enumerate(tables):
        left = 135 + 210 * column
        made.text(left, 32, title, bold=True)
        for row, value in enumerate(values):
            width = 150 * value / max(values)
            made.parts.append(
                f'<rect x="{left}" y="{58 + 38 * row}" width="{width:g}" height="28" fill="{fill}" stroke="{INK}"/>'
            )
            made.text(left + width + 6, 78 + 38 * row, f"{value:g}")
    made.text(20, 258, "One action in a round of its own; the scribble has three control points.")
    return made


def failures() -> Drawing:
    """From a session to its status, and what that counts."""
    made = Drawing("How a session ends, and what each status counts in a mean", 760, 330)
    lines = [
        ("Can the case be read?", "no_data", "in no mean; the cases are counted", BAD),
        ("Can the model take the first prompt?", "not_applicable", "in no mean; counted as n/a", ROW),
        ("Does the model answer?", "error, oom, timeout", "the worst value; tried again", BAD),
        ("Does the answer have a voxel?", "empty", "Dice 0", ROW),
    ]
    for row, (question, status, counts, fill) in enumerate(lines):
        y = 20 + 62 * row
        made.box(20, y, 270, 40, question)
        made.line((290, y + 20), (340, y + 20))
        made.text(315, y + 14, "no", "middle")
        made.box(340, y, 150, 40, status, fill)
        made.text(502, y + 25, counts)
        made.line((155, y + 40), (155, y + 62))
        made.text(163, y + 56, "yes")
    made.box(340, 268, 150, 40, "ok, stopped", TARGET)
    made.line((155, 268), (155, 288), (340, 288))
    made.text(502, 293, "its score")
    return made


def joint() -> Drawing:
    """Three targets, alone and together."""
    made = Drawing("Three targets in three sessions, and in one joint session", 760, 330)
    made.text(20, 28, "Three sessions", bold=True)
    made.text(400, 28, "One joint session", bold=True)
    for row, target in enumerate("ABC"):
        y = 50 + 70 * row
        made.box(20, y, 76, 44, f"target {target}", TARGET)
        made.box(400, y, 76, 44, f"target {target}", TARGET)
        for number in range(3):
            made.box(112 + 74 * number, y, 62, 44, f"round {number}", HAND)
            prompted = number == 0 or row == number
            made.box(492 + 84 * number, y, 66, 44, "prompt" if prompted else "waits", HAND if prompted else "white")
    for number in range(3):
        x = 486 + 84 * number
        made.parts.append(f'<rect x="{x}" y="42" width="78" height="206" rx="8" fill="none" stroke="{INK}"/>')
        made.text(x + 39, 268, f"round {number}", "middle")
    made.text(20, 290, "Each target has its own rounds")
    made.text(20, 310, "and its own budget.")
    made.text(400, 290, "Rounds and budget are shared; the user chooses")
    made.text(400, 310, "where to act. Each target still has a row per round.")
    return made


def border(mask: Bools) -> NDArray[np.int64]:
    """(n, 2) y, x of the pixels with an edge to the outside."""
    from scipy import ndimage

    return np.argwhere(mask & ~ndimage.binary_erosion(mask))


def distances() -> Drawing:
    """Two masks of one slice, the distance of each border voxel to the other border, and what metrics make of these."""
    made = Drawing("The distances of the border voxels of two masks to each other, and each metric of them", 760, 520)
    target, answer = np.zeros((2, 6, 10), bool)
    target[1:5, 1:6] = answer[1:4, 3:7] = answer[1, 3:9] = True
    ends = border(target), border(answer)
    away = np.sqrt(((ends[0][:, None] - ends[1][None]) ** 2).sum(axis=-1))
    found = BothWays(DirectedVoxels(away.min(axis=1)), DirectedVoxels(away.min(axis=0)))
    for left, title, mask, points, way in (
        (20, "from the target's border to the answer's", target, ends[0], found.truth),
        (400, "from the answer's border to the target's", answer, ends[1], found.answer),
    ):
        made.text(left, 28, title, bold=True)
        told = {(int(y), int(x)): value for (y, x), value in zip(points, way.distances_mm, strict=True)}
        for y, x in np.ndindex(*target.shape):
            fill = TARGET if target[y, x] and not answer[y, x] else MODEL if answer[y, x] and not target[y, x] else ROW
            made.parts.append(
                f'<rect x="{left + 34 * x}" y="{44 + 34 * y}" width="34" height="34" '
                f'fill="{fill if target[y, x] or answer[y, x] else "white"}" stroke="#888888" '
                f'stroke-width="{2.5 if mask[y, x] else 0.5}"/>'
            )
            if (y, x) in told:
                made.text(left + 34 * x + 17, 44 + 34 * y + 22, f"{told[y, x]:.1f}".removesuffix(".0"), "middle")
    made.text(20, 274, "Green: target only. Violet: answer only. Grey: both. Voxels of 1 mm; the numbers are mm.")
    rows = (
        ("hd", "the largest distance", hausdorff(found, 100)),
        ("hd95", "the 95th percentile of each way, the larger one", hausdorff(found, 95)),
        ("asd", "the mean from the answer to the target", mean_distance(found.answer)),
        ("asd:way=to_answer", "the mean from the target to the answer", mean_distance(found.truth)),
        ("assd", "the mean of all these numbers", mean_distance(found.truth, found.answer)),
        ("masd", "the mean of both means", (mean_distance(found.truth) + mean_distance(found.answer)) / 2),
        ("nsd:tolerance_mm=1", "the share of these numbers up to 1", surface_dice(found, 1)),
    )
    for number, (name, words, value) in enumerate(rows):
        y = 306 + 26 * number
        made.text(20, y, name, bold=True)
        made.text(220, y, words)
        made.text(640, y, f"{value:.2f}" + ("" if name.startswith("nsd") else " mm"), "end")
    made.text(20, 506, "With definition=monai, which counts voxels. By default surface elements count by their areas.")
    return made


DRAWINGS = {one.__name__: one for one in (session, geometry, effort, failures, joint, distances)}


if __name__ == "__main__":
    for name, draw in DRAWINGS.items():
        (FOLDER / f"{name}.svg").write_text(draw().svg(), encoding="utf-8")
