"""Sweeps: the same lines on images that are perturbed more and more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from intrabench.datasets.perturb.base import Perturbation
from intrabench.datasets.perturb.perturbed import is_whole, parted, perturbation


def sweeps(values: pl.DataFrame) -> pl.DataFrame:
    """The rows of each sweep, with its `kind` of perturbation, the `parameter` that is varied, and its `strength`.

    values: a row per line and data set. A sweep is a data set with one kind of perturbation that differs in one
    parameter; `dataset` names the data set without it, whose own rows stand at the strength that changes nothing. There
    are at least two strengths. Several perturbations behind each other are no sweep.
    """
    specs = values["dataset"].unique().sort().to_list()
    schema = {
        "dataset": pl.String,
        "base": pl.String,
        "kind": pl.String,
        "parameter": pl.String,
        "strength": pl.Float64,
    }
    points = pl.DataFrame(list(_points(specs)), schema, orient="row")
    found = values.join(points, on="dataset").with_columns(dataset="base").drop("base")
    return found.sort("dataset", "kind", "strength", maintain_order=True)


def _points(specs: list[str]) -> Iterator[tuple[str, str, str, str, float]]:
    """Data set, that without perturbation, kind, parameter, and strength."""
    plain: dict[str, str] = {}
    changed: dict[tuple[str, str], dict[str, Perturbation]] = {}
    for spec in specs:
        base, changes = parted(spec)
        if changes and is_whole(changes[0]):
            base = f"{base}+{changes.pop(0)}"
        if not changes:
            plain[base] = spec
        elif len(changes) == 1:
            change = perturbation(changes[0])
            changed.setdefault((base, change.name), {})[spec] = change
    for (base, kind), each in changed.items():
        parameter, neutral = _varied(list(each.values()))
        strengths = {spec: float(vars(change)[parameter]) for spec, change in each.items()} if parameter else {}
        if neutral is not None and base in plain:
            strengths[plain[base]] = neutral
        if parameter and len(strengths) > 1:
            yield from ((spec, base, kind, parameter, strength) for spec, strength in strengths.items())


def _varied(changes: list[Perturbation]) -> tuple[str, float | None]:
    """The one parameter that differs, and its value that changes nothing; of a single one the first. Else "", None."""
    values: list[Mapping[str, float]] = [vars(change) for change in changes]
    varied = [name for name in values[0] if len({each[name] for each in values}) > 1]
    if len(varied) > 1:
        return "", None
    name = varied[0] if varied else next(iter(values[0]))
    return name, changes[0].neutral
