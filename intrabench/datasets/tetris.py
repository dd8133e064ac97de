"""TETRIS: the pictures that people's clicks were collected on."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.datasets.base import DatasetCard
from intrabench.datasets.families.photo_set import PAGE, UNPINNED, PhotoSet
from intrabench.fetch.remote import RemoteFile


@dataclass(frozen=True)
class Tetris(PhotoSet):
    """2531 objects in 2000 large photographs, downscaled to 2048 pixels (6.3 GB)."""

    name = "tetris"
    version = "1"
    card = DatasetCard(
        title="TETRIS: 2531 objects in 2000 large photographs",
        modality="natural RGB",
        licence="not stated",
        citation="A. Moskalenko et al., TETRIS, AAAI 2024, arXiv:2402.06132",
        homepage=PAGE,
        labels="masks drawn by hand",
        instances="one object, numbered by its colour in the mask: red + 256 green + 65536 blue",
        cases=2000,
        targets=2531,
        part_of=("tetris",),
        caveats=(
            "photographs and masks with a side longer than 2048 pixels are downscaled, as in RClicks",
            "the archive is 6.3 GB large",
            UNPINNED,
        ),
    )
    source = RemoteFile("TETRIS.zip", ("gdrive:1iJgohY1XBSnY-kRUoaRZJlu0HZbyHcyK",), page=PAGE, about_mb=6300)
    images, masks, coding = "images", "masks", "packed"
    longest = 2048
