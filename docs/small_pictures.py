"""Pictures of prompts with few colours, so that the repository stays small."""

from __future__ import annotations

from pathlib import Path

from PIL import Image

from intrabench.reporting.pictures import ANSWER, DERIVED, DRAWN, NEGATIVE, TARGET


def shrink(path: Path) -> None:
    """Keep the colours of prompts and outlines, and 64 greys."""
    palette = Image.new("P", (1, 1))
    greys = [(level, level, level) for level in range(0, 256, 4)]
    palette.putpalette([value for colour in (TARGET, ANSWER, DRAWN, DERIVED, NEGATIVE, *greys) for value in colour])
    Image.open(path).quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)
