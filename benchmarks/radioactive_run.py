"""A run of RadioActive, also in a process of its own, which imports nothing of ours.

``python -m benchmarks.radioactive_run IMAGE LABELS FOLDER TARGETS PROMPTER...``: TARGETS is the number of labels,
PROMPTER a class.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nibabel as nib
import numpy as np

from benchmarks.peers import RADIOACTIVE


def prompters(names: Sequence[str]) -> dict[str, Any] | None:
    """Prompters of these classes, all with one model that answers at once; None: RadioActive is not here."""
    modules = RADIOACTIVE.found("model.inferer", "utils.transforms", "prompts.prompter")
    if modules is None:
        return None
    base, transforms, classes = modules
    model = inferer(base.Inferer, transforms)
    return {name: getattr(classes, name)(model) for name in names}


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


def play(each: Sequence[Any], image: Path, labels: Path, folder: Path, targets: int) -> None:
    """So many targets of a scan with prompters, in the steps of its `run_experiments_organ`: truth, prompts, answer.

    Answers are written, truths are not; `predict_image` gives the Dice, so the files are not evaluated again.
    """
    for value in range(1, targets + 1):
        read: Any = nib.load(labels)
        truth = nib.Nifti1Image(np.where(read.get_fdata() == value, 1, 0).astype(np.uint8), read.affine)
        for prompter in each:
            prompter.set_groundtruth(truth)
            found = prompter.predict_image(image_path=image)
            found.predicted_image.to_filename(folder / f"{value}-{type(prompter).__name__}.nii.gz")


def main() -> None:
    """Play what the command line says."""
    image, labels, folder = map(Path, sys.argv[1:4])
    each = prompters(sys.argv[5:])
    assert each is not None
    play([*each.values()], image, labels, folder, int(sys.argv[4]))


if __name__ == "__main__":
    main()
