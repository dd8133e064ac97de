"""The models of the IntRaBench paper as it ran them, each by the name of our model: ``paper:sam``."""

from __future__ import annotations

from intrabench.errors import IntraBenchError
from intrabench.protocols.intrabench_paper import MODELS
from intrabench.specs.specs import nearest, parse

PAPER = "paper"

PRESETS = {f"{PAPER}:{parse(spec)[0]}": spec for spec in MODELS.values()}
"""Full specs by the names that stand for them."""


def resolved(spec: str) -> str:
    """The full spec of a model that the paper has, ``paper:sam``; other specs as they are.

    Raises:
        IntraBenchError: the paper has no such model, or it was given parameters.
    """
    name, _, rest = spec.partition(":")
    if name.strip() != PAPER:
        return spec
    model, comma, _ = rest.partition(",")
    full = PRESETS.get(f"{PAPER}:{model.strip()}")
    if full is None:
        near = nearest(model.strip(), [name.removeprefix(f"{PAPER}:") for name in PRESETS])
        near = near.replace("'", f"'{PAPER}:", 1)
        raise IntraBenchError(f"there is no model {spec!r}{near}; the paper has {', '.join(PRESETS)}")
    if comma:
        raise IntraBenchError(f"{spec!r}: {PAPER}:{model} takes no parameters; write {full} with other values instead")
    return full
