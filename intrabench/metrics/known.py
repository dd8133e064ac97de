"""Metrics by what people and rows call them: a spec, a column, or an id with a version."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from intrabench import registry
from intrabench.errors import IntraBenchError
from intrabench.metrics.base import Metric
from intrabench.specs import nearest


def metric(text: str, others: Sequence[str] = ()) -> Metric:
    """The metric that ``nsd``, ``nsd:tolerance_mm=1``, ``nsd_2mm`` or ``nsd_2mm@1`` means.

    others: what else may be meant where a metric is asked for, to be suggested.

    Raises:
        IntraBenchError: there is none, or only another version of it.
    """
    name, _, version = text.partition("@")
    known = registry.entries("metrics")
    bare = name.partition(":")[0]
    if bare in known:
        found: Metric = registry.make("metrics", name)
    else:
        columns = {cls.default_column: other for other, entry in known.items() if (cls := entry.load()).default_column}
        if name not in columns:
            close = nearest(bare, [*known, *columns, *others])
            besides = f", and there are {', '.join(others)}" if others else ""
            raise IntraBenchError(f"there is no metric {text!r}{close}; `intrabench list metrics` shows all{besides}")
        found = registry.make("metrics", columns[name])
    if version and text != found.id:
        raise IntraBenchError(f"there is no metric {text!r}; this version of intrabench has {found.id}")
    return found


@cache
def of_protocol(ids: tuple[str, ...]) -> tuple[Metric, ...]:
    """The metrics that a protocol names; they are built in, so the same each time."""
    return tuple(metric(id) for id in ids)


def distinct(metrics: Iterable[Metric]) -> tuple[Metric, ...]:
    """Each column once, in the order of their first mention."""
    return tuple({one.column: one for one in metrics}.values())
