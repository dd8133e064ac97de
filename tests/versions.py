"""What the built-in components do on a small fixed input, beside their versions; tests/golden/versions.json has both.

``python -m tests.versions`` writes the file, once the `version` of what behaves otherwise was raised.

Without networks, which round differently on other machines, and without what needs a file brought by hand (rclicks).
What comes out of floating point is rounded far above what CPUs differ in; of random_walker and grabcut, which solve
equations, only the mask of an easy case counts.
"""

from __future__ import annotations

import hashlib
import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from intrabench.clickability.base import Clickability
from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.models.base import Answer, Model, Request
from intrabench.prompters.base import Prompter, Refinement
from intrabench.prompters.hand import Hand
from intrabench.prompters.oracle import Oracle
from intrabench.prompters.user import Clock, User
from intrabench.prompts import box3d, boxes, points
from intrabench.registry import registry
from intrabench.superpixels.base import Picture, Superpixels
from intrabench.superpixels.baselines import grid_cells
from intrabench.superpixels.partitions.pair import PartitionPair
from intrabench.superpixels.partitions.partition import Partition
from intrabench.superpixels.partitions.relabel import relabelled
from intrabench.target import Target
from intrabench.turns import Click, DrawBox2D, Turn
from intrabench.volume import Volume

FILE = Path(__file__).parent / "golden" / "versions.json"

SHAPE, SPACING_MM = (9, 30, 32), (3.0, 1.0, 1.5)
ROUNDS, TURNS = 3, 12
GRID = "method=grid,segments=40"
MODELS = ("box_fill", "random_walker", "graph_cut", "grow_from_seeds", "interval", "grabcut", f"supervoxels:{GRID}")
METHODS = ("grid", "random", "slic", "slico", "sitk_slic", "watershed", "compact_watershed")
"""Methods of superpixels; those of OpenCV may round otherwise on other machines."""
HAND = "hand:jitter_mm=2,miss_rate=0.3,box_slack=0.1"
TELLING = {"hand": HAND, "oracle": f"oracle:{GRID}", "autopet": "autopet:empty=counts_zero"}
VARIANTS = (
    *("box_interp:jitter_px=2", "points_volume:n=3,placement=random", "clickability:model=uniform,group=3"),
    *("box_interp:ends=0.2", "point_interp:ends=0.2", "box_slice:boxes=components"),
    *("points_volume:n=3,placement=random,together=false", "points_slice:n=3,negatives=true,together=false"),
    *("autopet:style=random,empty=counts_zero", "autopet:style=boundary,empty=counts_zero,seed=session"),
)
"""Prompters whose defaults leave a part of them out."""


def described() -> dict[str, dict[str, str]]:
    """Version and digest of the behaviour of each component, by room and spec."""
    found = {}
    for room, spec in _components():
        made: Any = registry.make(room, spec)
        digest = hashlib.sha256(json.dumps(_behaviour(made), sort_keys=True).encode()).hexdigest()[:16]
        found[f"{room}: {spec}"] = {"version": version_of(made), "behaviour": digest}
    return found


def problems(then: dict[str, dict[str, str]], now: dict[str, dict[str, str]]) -> tuple[list[str], list[str]]:
    """Components that behave otherwise under the same version; and those that the file does not have as they are."""
    told: tuple[list[str], list[str]] = [], []
    for name in sorted(then.keys() | now.keys()):
        old, new = then.get(name), now.get(name)
        if old and new and old["version"] == new["version"] and old != new:
            told[0].append(f"{name} behaves differently, but its version still is {new['version']}; raise its version")
        elif old != new:
            told[1].append(f"{name} is {new} and was {old}; run python -m tests.versions")
    return told


def _components() -> Iterator[tuple[registry.Room, str]]:
    for name, entry in registry.entries("prompters").items():
        if entry.origin == "intrabench" and name not in ("partition", "human", "recorded"):  # which give nothing
            yield "prompters", TELLING.get(name, name)
    for spec in VARIANTS:
        yield "prompters", spec
    for name, entry in registry.entries("clickability").items():
        if entry.origin == "intrabench" and name != "rclicks":
            yield "clickability", name
    for name, entry in registry.entries("metrics").items():
        if entry.origin == "intrabench":
            yield "metrics", name
    for name in MODELS:
        yield "models", name
    for name in METHODS:
        yield "superpixels", name


def _targets() -> list[Target]:
    """A ball; and a hook of two pieces with a hole."""
    z, y, x = np.ogrid[: SHAPE[0], : SHAPE[1], : SHAPE[2]]
    ball = ((z - 4) * 3) ** 2 + (y - 14) ** 2 + (x - 13) ** 2 * 2 <= 81
    hook = np.zeros(SHAPE, dtype=bool)
    hook[1:7, 4:12, 5:20] = hook[3:8, 10:26, 5:9] = hook[6:8, 20:24, 24:29] = True
    hook[3:5, 7:9, 9:12] = False
    return [Target("case", name, 1, Mask.of(one), SHAPE, SPACING_MM) for name, one in (("ball", ball), ("hook", hook))]


def _answers(target: Target) -> list[Mask]:
    """What a bad model might answer: shifted, cut off, and with another piece."""
    whole = target.mask.to_array(SHAPE)
    shifted = np.roll(whole, (0, 2, -3), axis=(0, 1, 2))
    cut = whole.copy()
    cut[:, :, 12:] = False
    more = whole.copy()
    more[2:4, 26:29, 1:5] = True
    return [Mask.of(one) for one in (shifted, cut, more)]


def _behaviour(made: Any) -> Any:
    """What a component does, as plain data."""
    if isinstance(made, Prompter):
        return [[turn.to_json() for turn in _turns(made, target)] for target in _targets()]
    if isinstance(made, Refinement):
        return [[turn.to_json() for turn in _corrections(made, target)] for target in _targets()]
    if isinstance(made, Hand):
        return [made.move(_given(target), User(target, seed=7)).to_json() for target in _targets()]
    if isinstance(made, Clickability):
        return [_map(made, target) for target in _targets()]
    if isinstance(made, Superpixels):
        return made.segment(Picture(_cuboid().array[..., None].astype(np.float32) / 255, _cuboid()), 30).tolist()
    if isinstance(made, PartitionMetric):
        return _compared(made)
    if isinstance(made, Metric):
        return [_scores(made, target) for target in _targets()]
    return _segmented(made)


def _turns(prompter: Prompter, target: Target) -> Iterator[Turn]:
    clock, given = Clock(), list[Turn]()
    image = _cuboid() if isinstance(prompter, Oracle) else None
    dialogue = prompter.interact(User(target, "data", 7, image, prompter.spec, clock, given))
    answers, turn = _answers(target), next(dialogue)
    try:
        for number in range(TURNS):
            yield turn
            given.append(turn)
            clock.round = sum(bool(one.actions) for one in given)
            if clock.round > ROUNDS:
                return
            turn = dialogue.send(answers[number % len(answers)])
    except StopIteration:
        return


def _corrections(refinement: Refinement, target: Target) -> Iterator[Turn]:
    clock, given = Clock(), [_given(target)]
    user = User(target, "data", 7, None, refinement.spec, clock, given)
    for mask in _answers(target):
        clock.round += 1
        turn = refinement.correct(user, mask)
        if turn is None:
            return
        given.append(turn)
        yield turn


def _given(target: Target) -> Turn:
    """A box and two clicks, on slices of the target."""
    (low, *_, high), (_, y0, x0, _, y1, x1) = target.mask.occupied_slices.tolist(), target.mask.box
    first, *_, last = target.mask.coordinates().tolist()
    drawn = boxes({low: (y0, x0, y1, x1), high: (y0, x0, y1, x1)})
    clicks = points([first, last])
    prompts = replace(drawn, points=clicks.points, clicked=clicks.clicked, box3d=np.array(target.mask.box))
    return Turn(prompts, (DrawBox2D(), DrawBox2D(), Click(), Click()))


def _map(model: Clickability, target: Target) -> Any:
    error = _answers(target)[1].crop(target.mask.box) ^ target.mask.crop(target.mask.box)
    found = model.probability(None, target.mask.crop(target.mask.box), error, SPACING_MM)
    return np.round(np.asarray(found, dtype=np.float64), 5).tolist()


def _scores(metric: Metric, target: Target) -> list[float | None]:
    image = replace(Volume.from_canonical(np.zeros((1, *SHAPE[1:]), dtype=np.uint8)), modality="natural image")
    planar = Target("case", "slice", 1, Mask.of(target.mask.to_array(SHAPE)[4:5]), (1, *SHAPE[1:]), SPACING_MM)
    before, given = _answers(target)[1], [*_answers(target), target.mask, Mask.empty()]
    pairs = [MaskPair(target, one, given_before=before, prompted=(4,)) for one in given]
    pairs += [MaskPair(planar, Mask.of(answer.to_array(SHAPE)[4:5]), image) for answer in _answers(target)]
    values = [metric.measure(pair) for pair in pairs]
    return [None if value is None else round(float(value), 9) for value in values]


def _compared(metric: PartitionMetric) -> list[float | None]:
    """In a volume and in a picture."""
    targets, values = _targets(), list[float | None]()
    for slices in (slice(None), slice(4, 5)):
        volume, labels = _cuboid().array[slices], grid_cells(SHAPE, (3, 4, 4))[slices]
        annotation = sum(target.mask.to_array(SHAPE)[slices] * n for n, target in enumerate(targets, start=1))
        found, drawn = (
            Partition(relabelled(np.asarray(one), volume.shape, "labels"), SPACING_MM, 2, 0.5, volume)
            for one in (labels, annotation)
        )
        value = metric.compare(PartitionPair(found, drawn))
        values.append(None if value is None else round(float(value), 6))
    return values


def _cuboid() -> Volume:
    """A bright cuboid in dark noise."""
    cuboid = np.zeros(SHAPE, dtype=bool)
    cuboid[3:6, 8:20, 9:22] = True
    noise = np.random.default_rng(0).integers(-8, 9, SHAPE)
    return Volume.from_canonical((200 * cuboid + noise).astype(np.int16), SPACING_MM)


def _segmented(model: Model) -> Any:
    """The masks of a bright cuboid in dark noise: after a box on its middle slice, and after clicks on it."""
    volume = _cuboid()
    box = boxes({4: (6, 7, 22, 24)})
    asked = {"box2d": [box], "box3d": [box3d((2, 6, 7, 7, 22, 24))], "point": [points([(4, 14, 15)]), box]}
    found = {}
    with model.open(volume) as image:
        for kind, given in asked.items():
            given = [one for one in given if one.kinds <= model.accepts]
            if given:
                (answer,) = image.segment([Request(kind, tuple(Turn(one) for one in given))])
                assert isinstance(answer, Answer), answer
                found[kind] = [list(answer.update.box), answer.update.pack().tolist()]
    return found


def main() -> int:
    """Write the file, unless something behaves otherwise under the same version."""
    then = json.loads(FILE.read_text(encoding="utf-8")) if FILE.exists() else {}
    now = described()
    silent, _ = problems(then, now)
    if silent:
        print("\n".join(silent))
        return 1
    FILE.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")
    print(f"wrote {FILE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
