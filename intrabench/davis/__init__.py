"""DAVIS Interactive (Caelles et al., arXiv:1803.00557), written anew: its metrics, robot, summary and session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from intrabench.davis.dataset import Davis as Davis
    from intrabench.davis.session import DavisInteractiveSession as DavisInteractiveSession

__all__ = ["Davis", "DavisInteractiveSession"]


def __getattr__(name: str) -> Any:
    """Import on first use, because prompters need the robot only."""
    if name == "DavisInteractiveSession":
        from intrabench.davis.session import DavisInteractiveSession

        return DavisInteractiveSession
    if name == "Davis":
        from intrabench.davis.dataset import Davis

        return Davis
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
