"""Find metrics by the names in specs and rows: a spec, a column, or an id with a version."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.registry import registry
from intrabench.specs.specs import nearest


def metric(text: str, others: Sequence[str] = ()) -> Metric:
    """The metric that ``nsd``, ``nsd:tolerance_mm=1``, ``nsd_2mm`` or ``nsd_2mm@1`` means.

    others: more names that the error may suggest.

    Raises:
        IntraBenchError: the metric is unknown, or has a different version.
    """
    name, _, version = text.partition("@")
    bare = name.partition(":")[0]
    owner = name if not name or registry.look("metrics", bare) else _owner(name)
    if owner is None:
        entries = registry.entries("metrics")
        close = nearest(bare, [*entries, *others])
        besides = f"; also {', '.join(others)}" if others else ""
        raise IntraBenchError(
            f"there is no metric {text!r}{close}; `intrabench list metrics` shows all{besides}"
            f"{registry.left_out('metrics')}"
        )
    found: Metric = registry.make("metrics", owner)
    if version and text != found.id:
        raise IntraBenchError(f"there is no metric {text!r}; this version of intrabench has {found.id}")
    return found


def _owner(column: str) -> str | None:
    """The metric with this `default_column`; those that the column begins with are imported first, then others.

    The user's files are imported only if no built-in metric has it.
    """
    entries = registry.entries("metrics")
    order = sorted(entries, key=lambda name: (entries[name].origin != "intrabench", not column.startswith(name)))
    return next((name for name in order if entries[name].load().default_column == column), None)


@cache
def of_protocol(ids: tuple[str, ...]) -> tuple[Metric, ...]:
    """The metrics of a protocol; they are built in, so they never change."""
    return tuple(metric(id) for id in ids)
