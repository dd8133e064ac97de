"""What a round costs around somebody's program, by npz files: as the challenge's script does it, and as we do.

Run with `python -m benchmarks files`. The recipe is that of the evaluation script of the CVPR 2025 challenge, written
anew: in each round it compresses the whole case again, with the image, the last answer and the clicks, and reads the
answer. The program copies an answer that lies ready; its own time, of both, is subtracted. Ten classes are answered
together. The best of several rounds counts.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.comparison import MINIATURE
from intrabench.datasets.base import Files
from intrabench.datasets.phantom import Phantom
from intrabench.mask import Mask
from intrabench.models.base import JointAnswer, JointRequest, Request, open_image
from intrabench.models.npz import Npz
from intrabench.play.joint_answer import shares
from intrabench.prompts import Prompts, box3d
from intrabench.turns import Click, Turn
from intrabench.volume import Volume

SHAPE = (48, 96, 96) if MINIATURE else (300, 512, 512)
CLASSES = 2 if MINIATURE else 10
ROUNDS = 1 if MINIATURE else 3


def case() -> tuple[Volume, np.ndarray]:
    """A synthetic scan with noise, and the label map of its ten blobs."""
    dataset = Phantom(shape=SHAPE, spacing=(2.0, 0.8, 0.8), instances=CLASSES)
    volume, targets = dataset.load("case-1", Files(Path(), Path()))
    labels = np.zeros(SHAPE, np.uint8)
    for number, target in enumerate(targets, start=1):
        z0, y0, x0, z1, y1, x1 = target.mask.box
        labels[z0:z1, y0:y1, x0:x1][target.mask.array] = number
    return volume, labels


def recipe(folder: Path, imgs: np.ndarray, labels: np.ndarray) -> float:
    """Seconds of one round of the challenge's script, but for the program."""
    clicks = [{"fg": [[100, 45 * n, 200]], "bg": []} for n in range(1, CLASSES + 1)]
    started = time.perf_counter()
    path = folder / "inputs" / "case.npz"
    spacing, order = np.array([0.8, 0.8, 2.0]), [["fg"] for _ in range(CLASSES)]
    arrays = {"imgs": imgs, "spacing": spacing, "clicks": clicks, "clicks_order": order, "prev_pred": labels}
    np.savez_compressed(path, **arrays)  # type: ignore[arg-type]
    began = time.perf_counter()
    subprocess.run(["cp", str(folder / "ready.npz"), str(folder / "outputs" / "case.npz")], check=True)
    ended = time.perf_counter()
    with np.load(folder / "outputs" / "case.npz") as found:
        segs = found["segs"]
    for number in range(1, CLASSES + 1):
        assert (segs == number).any()
    shutil.rmtree(folder / "outputs")
    (folder / "outputs").mkdir()
    return time.perf_counter() - started - (ended - began)


def ours(folder: Path, volume: Volume, labels: np.ndarray) -> tuple[float, list[float]]:
    """Seconds to open the image, and of each round, but for the program: files, launcher, and a mask for each class."""
    (folder / "copy.sh").write_text(f"cp {folder}/ready.npz $OUTPUTS/case.npz\n")
    masks = [Mask.of(labels == number) for number in range(1, CLASSES + 1)]
    turns = (Turn(box3d(masks[0].box)), Turn(Prompts(np.array([[100, 45, 200, 1]])), (Click(),)))
    requests = tuple(Request(f"session {number}", turns, mask) for number, mask in enumerate(masks))
    rounds = []
    started = time.perf_counter()
    with open_image(Npz(command=f"sh {folder}/copy.sh"), volume) as image:
        opened = time.perf_counter() - started
        for _ in range(ROUNDS):
            began = time.perf_counter()
            (answer,) = image.segment_jointly([JointRequest("joint", requests, (True,) * CLASSES)])
            assert isinstance(answer, JointAnswer), answer
            found = shares(answer, range(CLASSES), CLASSES)
            rounds.append(time.perf_counter() - began - answer.seconds)
            assert len(found) == CLASSES
    return opened, rounds


def main() -> None:
    """Print seconds and the ratio."""
    volume, labels = case()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for part in ("inputs", "outputs"):
            (folder / part).mkdir()
        np.savez_compressed(folder / "ready.npz", segs=labels)
        opened, rounds = ours(folder, volume, labels)
        imgs = np.clip((volume.array + 160.0) / 400 * 255, 0, 255).astype(np.uint8)
        theirs = [recipe(folder, imgs, labels) for _ in range(ROUNDS)]
    print(f"a case of {' x '.join(map(str, SHAPE))} voxels with {CLASSES} classes, a round without the program:")
    told = [", ".join(f"{seconds:.2f}" for seconds in each) for each in (theirs, rounds)]
    print(f"  the challenge's recipe {min(theirs):.2f} s ({told[0]}), ours {min(rounds):.2f} s ({told[1]})")
    print(f"  {min(theirs) / min(rounds):.1f} times as fast; once per case {opened:.1f} s to write the image")


if __name__ == "__main__":
    main()
