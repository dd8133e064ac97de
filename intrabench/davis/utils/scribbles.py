"""What existing scripts do with scribbles, under the names that they import."""

from intrabench.davis.scribbles import (
    annotated_frames,
    annotated_frames_object,
    fuse_scribbles,
    is_empty,
    scribbles2mask,
    scribbles2points,
)

__all__ = [
    "annotated_frames",
    "annotated_frames_object",
    "fuse_scribbles",
    "is_empty",
    "scribbles2mask",
    "scribbles2points",
]
