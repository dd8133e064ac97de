"""What the built-in components do on a small fixed input, beside their versions; tests/golden/versions.json has both.

`guard` fails where something behaves otherwise under the version that the file has. Once the version was raised,
``pytest FILE --snapshot-update`` writes the new digest. If only the input of a test changed, its entry is deleted from
the file before.

What comes out of floating point is rounded far above what CPUs differ in; of random_walker and grabcut, which solve
equations, only the mask of an easy case counts. Networks are stand-ins (tests/models/stand_ins.py).
Not here is what needs a file brought by hand (rclicks, transalnet), and what others answer (npz, gc, isegm, voxtell,
nninteractive and its server).
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

import intrabench
from intrabench.clickability.base import Clickability
from intrabench.datasets.base import Dataset, Files
from intrabench.datasets.cases.stored_case import StoredCase
from intrabench.datasets.views.view import View
from intrabench.engine.session_spec import CONTRACT
from intrabench.identity.versions import version_of
from intrabench.mask import Mask
from intrabench.metrics.base import Metric
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.partition_metric import PartitionMetric
from intrabench.models.base import Answer, Model, Predictor, Request
from intrabench.models.parts.network_model import NetworkModel
from intrabench.prompters.base import Prompter, Refinement
from intrabench.prompters.hand import Hand
from intrabench.prompters.oracle import Oracle
from intrabench.prompters.user import Clock, User
from intrabench.prompts import Prompts, box3d, boxes, points
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
SESSIONS = "sessions"
UNWRITTEN = "does not have; run pytest FILE --snapshot-update"

SHAPE, SPACING_MM = (9, 30, 32), (3.0, 1.0, 1.5)
ROUNDS, TURNS = 3, 12
GRID = "method=grid,segments=40"
MODELS = ("box_fill", "random_walker", "graph_cut", "grow_from_seeds", "interval", "grabcut", f"supervoxels:{GRID}")
NETWORKS = (
    *("sam", "medsam", "mobile_sam", "litemedsam", "scribbleprompt_sam", "sammed2d", "scribbleprompt_unet", "sam2"),
    *("sam2_video", "medsam2", "sammed3d", "sammed3d_turbo", "segvol"),
)
PLAYERS = ("model", "prompter", "dataset")
TEXTS = (
    *PLAYERS,
    *(f"{one}_version" for one in PLAYERS),
    *("plane", "target", "round", "status", "error", "ended", "adapted", "prompts_hash"),
)
NUMBERS = ("interactions", "dof", "seconds_human", "dice", "iou", "fp_voxels", "fn_voxels", "pred_voxels")
"""Columns of rows that say what sessions gave."""
METHODS = ("grid", "random", "slic", "slico", "sitk_slic", "watershed", "compact_watershed")
"""Methods of superpixels; those of OpenCV may round otherwise on other machines."""
PHANTOM = "phantom:shape=8x24x28,instances=2"
DATASETS = (PHANTOM, "phantom:shape=9x30x20,spacing=3x1x1,orientation=LPI,seed=3", f"{PHANTOM}+noise:sigma=0.1")
HAND = "hand:jitter_mm=2,miss_rate=0.3,box_slack=0.1"
TELLING = {"hand": HAND, "oracle": f"oracle:{GRID}", "autopet": "autopet:empty=counts_zero"}
VARIANTS = (
    *("box_interp:jitter_px=2", "points_volume:n=3,placement=random", "clickability:model=uniform,group=3"),
    *("box_interp:ends=0.2", "point_interp:ends=0.2", "box_slice:boxes=components"),
    *("points_volume:n=3,placement=random,together=false", "points_slice:n=3,negatives=true,together=false"),
    *("autopet:style=random,empty=counts_zero", "autopet:style=boundary,empty=counts_zero,seed=session"),
)
"""Prompters whose defaults leave a part of them out."""


UPDATE = False
"""Whether new digests are written; tests/conftest.py sets it, with --snapshot-update."""


def guard(name: str, version: str, behaviour: Any) -> None:
    """Fail if something behaves otherwise than the file says of this version; `behaviour` is plain data."""
    digest = _digest(json.dumps(behaviour, sort_keys=True).encode())
    then, now = known(), {"version": version, "behaviour": digest}
    problem = difference(name, then.get(name), now)
    if problem.endswith(UNWRITTEN) and UPDATE:
        text = json.dumps(dict(sorted((then | {name: now}).items())), indent=1)
        FILE.write_text(text + "\n", encoding="utf-8")
    elif problem:
        raise AssertionError(problem)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


def difference(name: str, then: dict[str, str] | None, now: dict[str, str]) -> str:
    """What is wrong with a component that the file had as `then`; empty if nothing is."""
    if then == now:
        return ""
    if then and then["version"] == now["version"]:
        raised = "raise its `version`"
        if name == SESSIONS:
            raised = "raise the `version` of what changed or, if rows mean something else, `CONTRACT`"
        return f"{name} behaves differently, but its version still is {now['version']}; {raised}"
    return f"{name} is version {now['version']}, which {FILE.name} {UNWRITTEN}"


def known() -> dict[str, dict[str, str]]:
    """What the file says, by name."""
    found: dict[str, dict[str, str]] = json.loads(FILE.read_text(encoding="utf-8"))
    return found


def guard_case(stored: StoredCase, dataset: Dataset, pixels: bool = True) -> None:
    """`guard` of a case that this test converted. pixels: the image counts, too, else only its shape."""
    volume, parts = stored.volume, []
    for target in stored.targets():
        masks = [[*mask.box, _digest(mask.array.tobytes())] for mask in (target.mask, target.ignore)]
        parts.append([target.id, target.person, *masks])
    image = _digest(volume.array.tobytes()) if pixels else ""
    test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].partition(" ")[0]
    name = f"datasets: {dataset.spec} {stored.index.case} of {test}"
    guard(name, version_of(dataset), [list(volume.array.shape), list(volume.spacing_mm), image, parts])


def components() -> Iterator[tuple[str, str]]:
    for name, entry in registry.entries("prompters").items():
        if entry.origin == "intrabench" and name not in ("partition", "human", "recorded"):  # which give nothing
            yield "prompters", TELLING.get(name, name)
    for spec in VARIANTS:
        yield "prompters", spec
    for name, entry in registry.entries("clickability").items():
        if entry.origin == "intrabench" and name not in ("rclicks", "transalnet"):
            yield "clickability", name
    for name, entry in registry.entries("metrics").items():
        if entry.origin == "intrabench":
            yield "metrics", name
    for name in (*MODELS, *NETWORKS):
        yield "models", name
    for name in METHODS:
        yield "superpixels", name
    for spec in DATASETS:
        yield "datasets", spec


def sessions() -> tuple[str, Any]:
    """The version of the meaning of rows, with those of all that played, and what a dozen sessions gave.

    They are played in the folder where the process works.
    """
    asked: Sequence[dict[str, Any]] = (
        {"model": ["box_fill", "interval"], "prompter": ["box_interp:n=3+scribble", "point_interp", "click_center"]},
        {"model": "interval", "prompter": "davis_slices", "joint": "others=negative,overlap=score"},
        {"model": "interval", "prompter": ["box_prop", "box_middle+click_slice"], "stop": "dice=0.9", "strict": True},
    )
    sagittal = "phantom:shape=40x36x12,spacing=1x1x4,instances=2"
    scans = ("phantom:shape=12x40x48,instances=1", f"{PHANTOM},seed=1", sagittal)
    runs = [
        intrabench.run(**one, dataset=scan, rounds=2, workers=0, out=f"out-{number}")
        for number, (one, scan) in enumerate(zip(asked, scans, strict=True))
    ]
    rows = pl.concat([run.select(*TEXTS, *NUMBERS) for run in runs])
    rows = rows.sort("dataset", "model", "prompter", "target", "round")
    rows = rows.with_columns(pl.col(NUMBERS).cast(pl.Float64).round(6))
    parts = sorted({f"{row[one]} {row[f'{one}_version']}" for row in rows.iter_rows(named=True) for one in PLAYERS})
    versions = [f"{one}_version" for one in PLAYERS]
    assert rows.n_unique(("dataset", "model", "prompter", "target")) == 12
    return ", ".join([f"contract {CONTRACT}", *parts]), rows.drop(versions).rows()


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


def behaviour(made: Any) -> Any:
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
    if isinstance(made, Dataset):
        return _converted(made)
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
    inside = target.mask.crop(target.mask.box)
    if model.looks:  # at one slice
        z = int(error.sum(axis=(1, 2)).argmax())
        found = model.probability(np.zeros((*error.shape[1:], 3), np.uint8), inside[z], error[z], SPACING_MM[1:])
    else:
        found = model.probability(None, inside, error, SPACING_MM)
    return np.round(np.asarray(found, dtype=np.float64), 5).tolist()


def _scores(metric: Metric, target: Target) -> list[float | None]:
    image = replace(Volume.from_canonical(np.zeros((1, *SHAPE[1:]), dtype=np.uint8)), modality="natural image")
    planar = Target("case", "slice", 1, Mask.of(target.mask.to_array(SHAPE)[4:5]), (1, *SHAPE[1:]), SPACING_MM)
    before, given = _answers(target)[1], [*_answers(target), target.mask, Mask.empty()]
    pairs = [MaskPair(target, one, given_before=before, prompted=(4,)) for one in given]
    pairs += [MaskPair(planar, Mask.of(answer.to_array(SHAPE)[4:5]), image) for answer in _answers(target)]
    values = [metric.measure(pair) for pair in pairs]
    return [None if value is None else round(float(value), 9) for value in values]


def _converted(dataset: Dataset) -> Any:
    """Targets, and means of blocks of the image."""
    origin = dataset
    while isinstance(origin, View):
        origin = origin.base
    found = []
    for case in dataset.cases():
        volume, targets = origin.load(case, Files(Path(), Path()))
        image = dataset.seen(replace(volume, case=case))
        masks = [dataset.moved(target).mask for target in targets]
        found.append([list(image.spacing_mm), _blocks(image.array, 50), [[*one.box, one.voxels] for one in masks]])
    return found


def _blocks(array: NDArray[Any], step: float) -> list[float]:
    """Means of blocks of 1 x 6 x 6 voxels, rounded to whole steps."""
    starts = [np.arange(0, side, size) for side, size in zip(array.shape, (1, 6, 6), strict=True)]
    sums, voxels = array.astype(np.float64), np.ones(array.shape)
    for axis, start in enumerate(starts):
        sums, voxels = np.add.reduceat(sums, start, axis=axis), np.add.reduceat(voxels, start, axis=axis)
    return np.rint(sums / voxels / step).ravel().tolist()


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
    """The masks of a bright cuboid in dark noise: after a box on its middle slice, and after clicks on it.

    Those of networks in parts of blocks, and also after a correction.
    """
    volume = _cuboid()
    box = boxes({4: (6, 7, 22, 24)})
    asked = {"box2d": [box], "box3d": [box3d((2, 6, 7, 7, 22, 24))], "point": [points([(4, 14, 15)]), box]}
    network = isinstance(model, NetworkModel)
    if network:
        from tests.models.stand_ins import stand_in

        model = stand_in(model)
    found = {}
    with model.open(volume) as image:
        for kind, prompts in asked.items():
            turns = tuple(Turn(one) for one in prompts if one.kinds <= model.accepts)
            if not turns:
                continue
            answer = _answer(image, Request(kind, turns))
            found[kind] = [[*answer.update.box], answer.update.pack().tolist()]
            if network:
                clicks = "point" in model.accepts
                more = (
                    Prompts(points=np.array([(4, 15, 17, 0), (6, 22, 26, 1)])) if clicks else boxes({4: (8, 9, 20, 21)})
                )
                corrected = Request(kind, (*turns, Turn(more)), answer.update, answer.memory)
                after = _answer(image, corrected)
                found[kind] = [_blocks(one.update.to_array(SHAPE), 0.25) for one in (answer, after)]
    return found


def _answer(image: Predictor, request: Request) -> Answer:
    (answer,) = image.segment([request])
    assert isinstance(answer, Answer), answer
    return answer
