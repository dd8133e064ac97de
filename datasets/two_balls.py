"""A data set of your own: one file, one class, two methods."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from intrabench import Dataset, DatasetCard, Files, Target, Volume, targets_of


@dataclass(frozen=True)
class TwoBalls(Dataset):
    """Two bright balls in noise; replace `load` by reading your own files (`read_image`, `read_labels`)."""

    name = "two_balls"
    version = "1"
    card = DatasetCard(
        title="Two balls",
        modality="synthetic",
        licence="CC0-1.0",
        citation="none",
        homepage="",
        labels="ball: two instances, exact by construction",
    )

    def cases(self) -> tuple[str, ...]:
        """Names of the cases, known without reading anything."""
        return ("balls",)

    def load(self, case: str, files: Files) -> tuple[Volume, list[Target]]:
        """The scan and its targets."""
        z, y, x = np.ogrid[:24, :48, :48]
        labels = np.zeros((24, 48, 48), dtype=np.uint8)
        labels[(2 * (z - 12)) ** 2 + (y - 14) ** 2 + (x - 14) ** 2 < 81] = 1
        labels[(2 * (z - 12)) ** 2 + (y - 32) ** 2 + (x - 32) ** 2 < 144] = 2
        image = np.random.default_rng(0).normal(100 * (labels > 0), 20).astype(np.float32)
        volume = Volume.from_canonical(image, spacing_mm=(2.0, 1.0, 1.0))
        return volume, targets_of(labels, {1: ("ball", 1), 2: ("ball", 2)}, case, volume.spacing_mm)
