"""The robot, J and F, and joint sessions: against the published recipes, and against single sessions.

Run with `python -m benchmarks davis`. J and F are compared with davisinteractive itself where it can be imported. The
other recipes, and those of J and F elsewhere, are its algorithms of version 1.0.4 written anew with the libraries that
it used. Both give the same values, which is checked. Runs take turns in one process, the fastest of each counts.
"""

from __future__ import annotations

import itertools
import math
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.spatial import cKDTree
from scipy.special import comb

from benchmarks.overhead import SPACING, Painter, played
from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.davis.metrics import batched
from intrabench.davis.robot import ScribbleRobot
from intrabench.davis.skeleton import medial_axes
from intrabench.mask import Bools, Floats
from intrabench.protocols import protocol
from intrabench.protocols.joint import JointRules
from intrabench.target import Target, targets_of
from intrabench.volume import Volume

FRAME = (480, 854)
TIMES = 3


def blobs(frames: int, objects: int, seed: int) -> NDArray[np.int64]:
    """Smooth objects that touch each other, as labels ``(frame, y, x)``."""
    rng = np.random.default_rng(seed)
    fields = ndimage.zoom(rng.standard_normal((objects, frames // 10 + 2, 9, 14)), (1, 10, 60, 66), order=1)
    fields = fields[:, :frames, : FRAME[0], : FRAME[1]]
    return np.asarray(np.where(fields.max(axis=0) > 0.7, fields.argmax(axis=0) + 1, 0))


def published_strokes(error: Bools) -> list[Floats]:
    """The strokes into an error, step by step as published."""
    import networkx as nx
    from skimage.filters import rank
    from skimage.morphology import disk

    radius, found = min(0.1 * math.sqrt(error.sum()), 16.0), error
    while radius > 1:
        footprint, image = disk(radius), error.astype(np.uint8)
        found = rank.maximum(rank.minimum(image, footprint), footprint) > 0
        if found.any():
            break
        radius *= 0.9
    pixels = np.argwhere(medial_axes([found], None)[0])
    graph: Any = nx.Graph()
    graph.add_nodes_from(range(len(pixels)))
    for one, other in cKDTree(pixels).query_pairs(1.5) if len(pixels) else ():
        graph.add_edge(one, other, weight=float(np.linalg.norm(pixels[one] - pixels[other])))
    strokes = []
    for nodes in list(nx.connected_components(graph)):
        part = graph.subgraph(nodes).copy()
        if len(part) < 4:
            continue
        while True:
            try:
                cycle = nx.find_cycle(part)
            except nx.NetworkXNoCycle:
                break
            part.remove_edge(*max(cycle, key=lambda edge: part.edges[edge]["weight"]))
        *_, end = nx.bfs_tree(part, min(part))
        paths = nx.single_source_shortest_path(part, end)
        path = pixels[max(paths.values(), key=len)]
        order, along = np.arange(len(path)), np.linspace(0, 1, 1000)[:, None]
        weights = comb(len(path) - 1, order) * along ** (len(path) - 1 - order) * (1 - along) ** order
        strokes.append(weights @ path)
    return strokes


Scores = Callable[[NDArray[Any], NDArray[Any], int], tuple[Floats, Floats]]


def published_scores() -> tuple[str, Scores]:
    """What computes J and F of each frame and object in the published way, and its name.

    davisinteractive itself where it can be imported (its source distribution on PYTHONPATH will do; NumPy names that it
    uses and that newer releases have dropped are given back), else our restatement of it.
    """
    import cv2

    cv2.setNumThreads(1)
    try:
        import davisinteractive  # type: ignore[import-not-found]
        from davisinteractive.metrics import batched_f_measure, batched_jaccard  # type: ignore[import-not-found]
    except ImportError:
        return "our restatement of davisinteractive", restated_scores
    for name, kind in {"int": int, "float": float, "bool": bool}.items():
        if not hasattr(np, name):
            setattr(np, name, kind)
    return f"davisinteractive {davisinteractive.__version__}", lambda truth, answer, objects: (
        batched_jaccard(truth, answer, False, objects),
        batched_f_measure(truth, answer, False, objects),
    )


def restated_scores(truth: NDArray[Any], answer: NDArray[Any], objects: int) -> tuple[Floats, Floats]:
    """J and F of each frame and object, one after the other on whole frames, with the dilation of OpenCV."""
    import cv2
    from skimage.morphology import disk

    footprint = disk(math.ceil(0.008 * math.hypot(*truth.shape[1:])))
    j, f = np.ones((2, len(truth), objects))
    for frame, one in itertools.product(range(len(truth)), range(objects)):
        a, b = truth[frame] == one + 1, answer[frame] == one + 1
        if (a | b).any():
            j[frame, one] = (a & b).sum() / (a | b).sum()
        ours, theirs = _outline(a), _outline(b)
        counts = ours.sum(), theirs.sum()
        if not all(counts):
            f[frame, one] = counts[0] == counts[1]
            continue
        near_ours, near_theirs = (cv2.dilate(lines.astype(np.uint8), footprint) > 0 for lines in (ours, theirs))
        precision, recall = (theirs & near_ours).sum() / counts[1], (ours & near_theirs).sum() / counts[0]
        f[frame, one] = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return j, f


def _outline(mask: Bools) -> Bools:
    right, down, both = (np.zeros_like(mask) for _ in range(3))
    right[:, :-1], down[:-1], both[:-1, :-1] = mask[:, 1:], mask[1:], mask[1:, 1:]
    found = (mask ^ right) | (mask ^ down) | (mask ^ both)
    found[-1], found[:, -1] = mask[-1] ^ right[-1], mask[:, -1] ^ down[:, -1]
    found[-1, -1] = False
    return np.asarray(found)


@dataclass(frozen=True)
class Eight(Dataset):
    """Eight ellipsoids beside each other."""

    name = "eight"
    version = "1"
    card = DatasetCard("Eight ellipsoids", "synthetic")

    def cases(self) -> tuple[str, ...]:
        """One."""
        return ("eight",)

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """Noise and labels."""
        labels = np.zeros((96, 256, 256), np.uint8)
        z, y, x = np.ogrid[:96, :256, :256]
        for number, (row, column) in enumerate(itertools.product((64, 192), (32, 96, 160, 224)), start=1):
            far = ((z - 48) / 30) ** 2 + ((y - row) / 40) ** 2 + ((x - column) / 30) ** 2
            labels[far <= 1] = number
        noise = np.random.default_rng(0).integers(-1000, 1000, labels.shape, dtype=np.int16)
        volume = Volume.from_canonical(noise, SPACING)
        names = {value: ("blob", value) for value in range(1, 9)}
        return volume, targets_of(labels, names, case, volume.spacing_mm)


def sessions(folder: Path, prompter: str, joint: JointRules | None) -> float:
    """Seconds for eight targets in five rounds, each alone or all together; the model is asked as often."""
    rules = protocol("basic@1")
    return played(Eight(), prompter, folder / str(time.perf_counter_ns()), Painter(), 4, replace(rules, joint=joint))


def turns(
    runs: dict[str, Callable[[], Any]], clock: Callable[[], float] = time.perf_counter
) -> tuple[dict[str, float], dict[str, Any]]:
    """The fastest seconds of each run, all taking turns, and what they gave."""
    best, given = dict.fromkeys(runs, math.inf), dict.fromkeys(runs)
    for _, (name, run) in itertools.product(range(TIMES), runs.items()):
        start = clock()
        given[name] = run()
        best[name] = min(best[name], clock() - start)
    return best, given


def main() -> None:
    """Print seconds and ratios."""
    truth, answer = blobs(100, 3, 1), blobs(100, 3, 1)
    answer = np.roll(answer, (9, 14), axis=(1, 2))
    robot = ScribbleRobot()
    frames = [[(truth[frame] == one) & (answer[frame] != one) for one in (0, 1, 2, 3)] for frame in (0, 50)]
    errors = [error for frame in frames for error in frame]
    best, given = turns(
        {
            "published": lambda: [published_strokes(error) for error in errors],
            "ours": lambda: [strokes for frame in frames for strokes in robot.strokes_in(frame)],
        }
    )
    counts = [[len(strokes) for strokes in given[name]] for name in best]
    assert counts[0] == counts[1]
    pairs = [pair for both in zip(given["published"], given["ours"], strict=True) for pair in zip(*both, strict=True)]
    same = sum(np.allclose(one, other, atol=1e-6) for one, other in pairs)
    told = ", ".join(f"{name} {1e3 * seconds / len(errors):.1f} ms" for name, seconds in best.items())
    print(f"robot per error in a frame of {FRAME[0]} x {FRAME[1]}: {told}")
    print(f"  {best['published'] / best['ours']:.1f} times as fast; {same} of {len(pairs)} strokes are equal")
    peer, scores = published_scores()
    best, given = turns(
        {"published": partial(scores, truth, answer, 3), "ours": partial(batched, truth, answer, 3)}, time.process_time
    )
    off = max(float(np.abs(a - b).max()) for a, b in zip(given["published"], given["ours"], strict=True))
    print(f"J and F of 100 frames with 3 objects, CPU: {peer} {best['published']:.2f} s, ours {best['ours']:.2f} s")
    print(f"  {best['published'] / best['ours']:.1f} times as fast; largest difference {off:.1e}")
    with tempfile.TemporaryDirectory() as folder:
        for prompter in ("box_interp:n=3+scribble", "point_interp:n=3+davis_slices"):
            best, _ = turns(
                {
                    "alone": partial(sessions, Path(folder), prompter, None),
                    "together": partial(sessions, Path(folder), prompter, JointRules()),
                    "told": partial(sessions, Path(folder), prompter, JointRules("negative", "first")),
                }
            )
            told = ", ".join(f"{name} {1e3 * seconds:.0f} ms" for name, seconds in best.items())
            print(f"eight targets, {prompter}, five rounds: {told}")
            more = {name: best[name] / best["alone"] for name in ("together", "told")}
            print(f"  together {more['together']:.2f} times as long, told of each other {more['told']:.2f} times")


if __name__ == "__main__":
    main()
