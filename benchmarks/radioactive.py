"""Static prompters: against RadioActive itself, with a model that answers at once."""

from __future__ import annotations

import os
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from benchmarks.comparison import compare, cpu
from benchmarks.overhead import SIZES, VOXELS, Painter, Six, ellipsoids, ours
from benchmarks.peers import RADIOACTIVE
from intrabench.datasets.cases import store as cases

PROMPTERS = {
    "box_slice": "BoxPer2DSlicePrompter",
    "box_interp:n=3": "ThreeBoxInterpolationPrompter",
    "point_interp:n=3": "ThreePointInterpolationPrompter",
}
PRESETS = {"Dice and IoU": "overlap@1", "default metrics": "basic@1"}


def inferer(base: Any, transforms: Any) -> Any:
    """A model of RadioActive that paints what `Painter` paints, in the steps of its own models of slices."""

    class Instant(base):  # type: ignore[misc]
        dim, supported_prompts, transform_reverses_order = 2, ("box", "point"), True

        def load_model(self, checkpoint_path: Any, device: Any) -> None:
            return None

        def preprocess_img(self, img: Any) -> Any:
            return img

        def preprocess_prompt(self, prompt: Any) -> Any:
            return prompt

        def set_image(self, img_path: Any) -> None:
            if self._image_already_loaded(img_path):
                return
            image: Any = nib.load(img_path)
            self.orig_affine, self.orig_shape = image.affine, image.shape
            self.img, self.inv_trans_dense = self.transform_to_model_coords_dense(image, is_seg=False)
            self.loaded_image = img_path

        def transform_to_model_coords_dense(self, nifti: Any, is_seg: bool) -> Any:
            return transforms.orig_to_SAR_dense(nifti)

        def transform_to_model_coords_sparse(self, coords: Any) -> Any:
            return transforms.orig_to_canonical_sparse_coords(coords, self.orig_affine, self.orig_shape)

        def predict(self, prompt: Any, prev_seg: Any = None, promptstep_in_model_coord_system: bool = False) -> Any:
            if not promptstep_in_model_coord_system:
                prompt = self.transform_promptstep_to_model_coords(prompt)
            found = np.zeros(self.img.shape, np.uint8)
            for z, box in (prompt.boxes or {}).items() if prompt.has_boxes else ():
                x0, y0, x1, y1 = (int(side) for side in box)
                found[int(z), y0 : y1 + 1, x0 : x1 + 1] = 1
            for z, y, x in prompt.coords.astype(int).tolist() if prompt.has_points else ():
                found[z, max(y - 5, 0) : y + 6, max(x - 5, 0) : x + 6] = 1
            return self.inv_trans_dense(found), None, found

    return Instant(None, "cpu")


def theirs(prompter: Any, image: Path, labels: Path, folder: Path) -> None:
    """All instances of a scan, in the steps of its `run_experiments_organ`: truth, prompts, answer, Dice, file."""
    for value in range(1, len(VOXELS) + 1):
        read: Any = nib.load(labels)
        truth = np.where(read.get_fdata() == value, 1, 0).astype(np.uint8)
        prompter.set_groundtruth(nib.Nifti1Image(truth, read.affine))
        found = prompter.predict_image(image_path=image)
        found.predicted_image.to_filename(folder / f"{value}.nii.gz")


def main() -> None:
    """Print CPU milliseconds per instance at both sizes, and the ratios."""
    modules = RADIOACTIVE.found("model.inferer", "utils.transforms", "prompts.prompter")
    if modules is None:
        return
    base, transforms, prompters = modules
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        os.environ["INTRABENCH_DATA"] = str(folder / "data")
        for shape in SIZES:
            dataset, size = Six(shape), "x".join(map(str, shape))
            cases.prepare(dataset, "six")
            image, labels, affine = folder / f"{size}.nii", folder / f"{size}.nii.gz", np.diag([0.8, 0.8, 1.5, 1])
            nib.save(nib.Nifti1Image(ellipsoids(shape).transpose(2, 1, 0), affine), labels)
            nib.save(nib.Nifti1Image(np.zeros(shape[::-1], np.int16), affine), image)
            for prompter, cls in PROMPTERS.items():
                peer = getattr(prompters, cls)(inferer(base.Inferer, transforms))
                peer.inferer.set_image(image)
                for what, preset in PRESETS.items():
                    compare(
                        f"{prompter}, {size}, {what}",
                        str(RADIOACTIVE),
                        cpu(partial(theirs, peer, image, labels, folder)),
                        partial(all_of, dataset, prompter, folder / preset / size / cls, preset),
                        targets=len(VOXELS),
                        times=2,
                    )


def all_of(dataset: Six, prompter: str, folder: Path, preset: str) -> float:
    """CPU seconds of ours for all instances, with the same painter, slice by slice."""
    return ours(dataset, prompter, folder, Painter(), 0, preset) * len(VOXELS)


if __name__ == "__main__":
    main()
