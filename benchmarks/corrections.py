"""Dice before and after each truthful correction, of the models without training and of LiteMedSAM.

Targets are lesions of 10 to 1,000 voxels in phantoms and packaged scans, vertebrae, discs, a mass of 365 ml and a cord.
Every refinement that ships corrects every model from seeds 0 to 9; the first prompts take turns. A correction harms if
it lowers Dice by more than 0.01. At most 5 % may, and none may halve it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter

import numpy as np

import intrabench
from benchmarks.comparison import MINIATURE
from intrabench.datasets.base import Files
from intrabench.datasets.cases import store as cases
from intrabench.datasets.phantom import Phantom
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Model
from intrabench.play.lockstep import play
from intrabench.play.session import Session
from intrabench.protocols import protocol
from intrabench.registry import registry
from intrabench.target import Target
from intrabench.volume import Volume

MODELS = ("random_walker", "graph_cut", "grow_from_seeds", "grabcut", "interval")
MODELS = ("interval",) if MINIATURE else MODELS
NETWORKS = () if MINIATURE else ("litemedsam",)
FIRST = ("points_volume:n=1", "point_interp:n=3", "box_interp:n=3", "box_volume")
REFINEMENTS = (
    *("click_center", "click_component", "click_deepest", "click_slice", "click_volume"),
    *("scribble", "davis_slices", "autopet:empty=counts_zero"),
)
SEEDS = range(1) if MINIATURE else range(10)
ROUNDS = 1 if MINIATURE else 3
LOWER, LESIONS = 0.01, 8
SCANS = {"brain_tumour": 3, "lung_tumour": 1, "spine_ct": 2, "spine_mr": 2}
"""Packaged data sets, and of how many targets each."""

Case = tuple[str, Volume, list[Target]]


def made(name: str, spacing: tuple[float, float, float], truth: np.ndarray, rise: float, noise: float) -> Case:
    """A scan of one target in noise."""
    grain = np.random.default_rng(0).normal(0, noise, truth.shape)
    volume = Volume.from_canonical((40 + grain + rise * truth).astype(np.float32), spacing)
    return name, volume, [Target("case", name, 1, Mask.of(truth), volume.shape, volume.spacing_mm)]


def mass(noise: float = 25.0) -> Case:
    """A ball of 365 ml."""
    z, y, x = (np.ogrid[:44, :84, :84][k] - at for k, at in enumerate((21, 42, 40)))
    return made("mass", (3.0, 1.5, 1.5), (3.0 * z) ** 2 + (1.5 * y) ** 2 + (1.5 * x) ** 2 < 44.33**2, 60.0, noise)


def cord(noise: float = 25.0) -> Case:
    """A bent tube of 12 mm along 180 mm."""
    z, y, x = np.ogrid[:60, :64, :64]
    return made("cord", (3.0, 1.0, 1.0), (y - 32 - 10 * np.sin(z / 15)) ** 2 + (x - 30) ** 2 < 36, 60.0, noise)


def lesions_in_tissue() -> Case:
    """Small lesions with soft borders in the brain template, cut into slices of 5 mm; as dark as grey matter."""
    dataset = registry.make("datasets", "brain_mni")
    (case,) = dataset.cases()
    cases.prepare(dataset, case)
    volume = cases.open_case(dataset, case).volume
    array = np.asarray(volume.array[::5, 20:200, 20:180], dtype=np.float32)
    rng, targets = np.random.default_rng(5), list[Target]()
    white = np.argwhere((array > 205) & (np.arange(len(array)) > 10)[:, None, None])
    taken = np.zeros(array.shape, dtype=bool)
    while len(targets) < LESIONS:
        centre = white[rng.integers(len(white))]
        half = rng.uniform((0.7, 1.5, 1.5), (1.9, 5.0, 5.0))
        far2 = sum(
            ((np.arange(n) - c) / h).reshape([-1 if k == a else 1 for k in range(3)]) ** 2
            for a, (n, c, h) in enumerate(zip(array.shape, centre, half, strict=True))
        )
        truth = np.asarray(far2 < 1)
        if not 10 <= truth.sum() <= 300 or (taken & truth).any() or (array[truth] < 150).mean() > 0.2:
            continue
        taken |= truth
        array -= 70 * np.clip(1.6 - 0.8 * far2, 0, 1).astype(np.float32)
        number = len(targets) + 1
        targets.append(Target("case", "lesion", number, Mask.of(truth), array.shape, (5.0, 1.0, 1.0)))
    return "lesions in tissue", Volume.from_canonical(array, (5.0, 1.0, 1.0)), targets


def scans() -> Iterator[Case]:
    """Scans and their targets."""
    for spacing, depth in (((5.0, 1.0, 1.0), 8), ((3.0, 1.0, 1.0), 24), ((1.0, 1.0, 1.0), 40)):
        phantom = Phantom(shape=(depth, 64, 64), spacing=spacing, instances=8)
        volume, targets = phantom.load("case-1", Files(None, None))  # type: ignore[arg-type]
        small = [target for target in targets if 10 <= target.mask.voxels <= 1000]
        yield f"lesions, {spacing[0]:g} mm", volume, small[:4]
    if MINIATURE:
        return
    yield lesions_in_tissue()
    yield mass()
    yield cord()
    for name, most in SCANS.items():
        dataset = registry.make("datasets", name)
        found = list[Target]()
        for case in dataset.cases():
            cases.prepare(dataset, case)
            opened = cases.open_case(dataset, case)
            targets = sorted(opened.targets(), key=lambda target: target.mask.voxels)[: most - len(found)]
            found += targets
            if targets:
                yield f"{name} {case}", opened.volume, targets


@dataclass
class Tally:
    """Of one model: its Dice by round, what corrections did, and the seconds of its answers."""

    rounds: dict[int, list[float]] = field(default_factory=lambda: defaultdict(list))
    steps: list[tuple[float, float, str]] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, session: Session, name: str) -> None:
        """Add the rounds of a session."""
        assert session.failure is None, (name, session.failure.message, session.failure.traceback[-600:])
        rows = [row for row in session.rows if row["status"] in {"ok", "empty", "stopped"}]
        dice = [float(row["dice"]) for row in rows]
        for number, value in enumerate(dice):
            self.rounds[number].append(value)
        for number, (before, after) in enumerate(pairwise(dice), start=1):
            voxels = f"{rows[number - 1]['pred_voxels']} -> {rows[number]['pred_voxels']}"
            self.steps.append((before, after, f"{name}, round {number}: {before:.3f} -> {after:.3f}, {voxels} voxels"))

    def lines(self, shown: int = 5) -> Iterator[str]:
        """What the table says of it."""
        lower = [step for step in self.steps if step[1] < step[0] - LOWER]
        half = [step for step in self.steps if step[1] <= step[0] / 2 and step[0] > 0]
        total = max(1, len(self.steps))
        means = ", ".join(f"{np.mean(values):.3f}" for values in self.rounds.values())
        answers = sum(map(len, self.rounds.values()))
        yield (
            f"{len(self.steps)} corrections, {len(lower) / total:.1%} lower Dice by more than {LOWER}, "
            f"{len(half)} by half; mean Dice by round {means}; {1e3 * self.seconds / max(1, answers):.0f} ms an answer"
        )
        yield from (f"    {what}" for *_, what in sorted(lower, key=lambda step: step[1] / step[0])[:shown])


def measured(model: Model, scan: Case, seeds: Sequence[int], refinements: Sequence[str]) -> Tally:
    """Play all sessions of a model on a scan."""
    name, volume, targets = scan
    tally, sessions = Tally(), dict[str, Session]()
    for target in targets:
        for seed in seeds:
            for number, refinement in enumerate(refinements):
                first = FIRST[(seed + number) % len(FIRST)]
                what = f"{name}, {target.label} {target.instance} of {target.mask.voxels}, {first}+{refinement}, {seed}"
                sessions[what] = Session(
                    what,
                    target,
                    intrabench.prompter(f"{first}+{refinement}"),
                    model.abilities,
                    protocol("overlap@1"),
                    seed=seed,
                    rounds=ROUNDS,
                    image=volume,
                )
    with model.open(volume) as image:
        started = perf_counter()
        play(list(sessions.values()), image)
        tally.seconds = perf_counter() - started
    for what, session in sessions.items():
        tally.add(session, what)
    return tally


def main(
    models: Sequence[str] = (*MODELS, *NETWORKS),
    seeds: Sequence[int] = SEEDS,
    refinements: Sequence[str] = REFINEMENTS,
    where: str = "",
    shown: int = 5,
) -> None:
    """Print the table; `where`: only of scans whose name has this."""
    found = [scan for scan in scans() if where in scan[0]]
    for name in models:
        try:
            model = intrabench.model(name)
        except IntraBenchError as error:
            print(f"{name}: {error}")
            continue
        network = name in NETWORKS
        whole = Tally()
        for scan in found[:1] if network else found:
            tally = measured(model, scan, seeds[:1] if network else seeds, refinements)
            first, *_ = tally.lines()
            print(f"  {name} on {scan[0]}: {first}", flush=True)
            whole.steps += tally.steps
            whole.seconds += tally.seconds
            for number, values in tally.rounds.items():
                whole.rounds[number] += values
        print(name + ": " + "\n".join(whole.lines(shown)), flush=True)


if __name__ == "__main__":
    main()
