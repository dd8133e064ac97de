"""Protocols: named, versioned, immutable presets. A change of meaning is a new version, never an edit."""

from __future__ import annotations

from dataclasses import dataclass

from intrabench.errors import IntraBenchError
from intrabench.specs import nearest


@dataclass(frozen=True)
class Protocol:
    """What is measured and how it is averaged.

    metrics: ids with versions, columns of the rows. rounds: corrections allowed unless ``--rounds`` says otherwise.
    target_dice: a session stops early once it is reached.
    """

    id: str
    summary: str
    metrics: tuple[str, ...]
    rounds: int = 0
    target_dice: float = 1.0
    aggregation: str = "mean over the instances of a case, then over cases, then over data sets"


_OVERLAP = ("dice@1", "iou@1")

PROTOCOLS: dict[str, Protocol] = {
    protocol.id: protocol
    for protocol in (
        Protocol("basic@1", "Dice, IoU, NSD at 2 mm and HD95 per round.", (*_OVERLAP, "nsd_2mm@1", "hd95_mm@1")),
        Protocol("overlap@1", "Dice and IoU only, where surfaces are not worth their time.", _OVERLAP),
    )
}


def protocol(name: str) -> Protocol:
    """The protocol called `name`, or one sentence that suggests the nearest."""
    if name not in PROTOCOLS:
        raise IntraBenchError(
            f"there is no protocol {name!r}{nearest(name, PROTOCOLS)}; `intrabench list protocols` shows all"
        )
    return PROTOCOLS[name]
