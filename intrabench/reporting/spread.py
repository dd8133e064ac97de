"""The table of `intrabench table --spread`: how much targets vary over seeds, hands or groups of clicks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from intrabench.errors import IntraBenchError
from intrabench.reporting.footnotes import Footnotes, Place, few_patients
from intrabench.reporting.table import Layout, apart_by_effort, check_columns, counted
from intrabench.results.current import IDENTITY
from intrabench.statistics.aggregate import fewest_patients
from intrabench.statistics.coverage import on_shared, unequal
from intrabench.statistics.measures import best, described, scored_by
from intrabench.statistics.notes import infinite
from intrabench.statistics.resample import AVERAGE
from intrabench.statistics.soundness import check_mixable
from intrabench.statistics.sources import Source, varied
from intrabench.statistics.spread import each_target, fields_of, means_of, spread_table, without_spread

NONE_SHARED = "share no target; omit --common, or choose fewer of them"

_WORDS = {
    "base": "{base} (base)",
    "mean": "mean",
    "sd": "standard deviation (sd)",
    "worst": "mean of the worst tenth (worst)",
    "dsb": "mean against base (dsb)",
    "dgr": "the least against the most likely clicks (dgr)",
    "dwb": "the worst against the best tenth (dwb)",
    "nsr": "sd over mean in percent (nsr)",
}


@dataclass(frozen=True)
class SpreadTable:
    """The table, its heading, what is left out, what is to be noted at its numbers, and marks of few patients."""

    frame: pl.DataFrame
    heading: str
    left_out: Sequence[str]
    places: Sequence[Place]
    few: Footnotes


def make_spread(rows: pl.DataFrame, layout: Layout, of: Source, *, interval: bool, common: bool) -> SpreadTable:
    """A line per combination of `layout.by`, with what varies taken out of the prompter, and data set.

    What lines combine, such as prompters, has a spread of its own, over which a line has the mean.

    common: only the targets of which all lines have a spread.

    Raises:
        IntraBenchError: lines are of seeds, or cannot be mixed; nothing varies, or no target is shared.
    """
    layout = apart_by_effort(rows, layout)
    by = [name for name in layout.by if name != "dataset"]
    check_columns(rows, by)
    if not by:
        raise IntraBenchError(f"--by {','.join(layout.by)} with --spread needs another column, such as model")
    if "seed" in by:
        raise IntraBenchError(f"--spread {of.name} is over seeds, too; omit seed from --by")
    if "protocol" not in by:
        check_mixable(rows, scored_by(layout.metric), layout.how)
    scored = counted(layout.measured(rows), layout)
    kind, direction = layout.metric.partition(":")[0], best(layout.metric)
    numbers = fields_of(of, kind, direction)
    # Lines that are combined keep levels of their own: seeds of different prompters are not the same.
    apart = list(dict.fromkeys([*by, *IDENTITY]))
    each = each_target(scored, apart, of, kind, direction)
    left_out = without_spread(scored, each, apart, of)
    if common:
        each, lacking = on_shared(each, each, by)
        left_out += lacking
        if each.is_empty():
            raise IntraBenchError(f"the lines with a spread {NONE_SHARED}")
    frame = spread_table(each, by, of, numbers, layout.how, interval)
    places = _places(rows, each, by, layout, of, numbers)
    return SpreadTable(frame, _heading(layout, of, numbers), left_out, places, _few(frame, each, by, layout, numbers))


def _heading(layout: Layout, of: Source, numbers: Sequence[str]) -> str:
    """A description of the columns."""
    words = ", ".join(_WORDS[name].format(base=of.base) for name in numbers)
    percent = "; differences of clicks in percent" if layout.metric.startswith("noc") else ""
    return (
        f"{described(layout.metric)}, over the {of.level}s of each target: {words}{percent}; "
        f"then {layout.how.description}; {layout.policy.describe()}"
    )


def _places(
    rows: pl.DataFrame, each: pl.DataFrame, by: Sequence[str], layout: Layout, of: Source, numbers: Sequence[str]
) -> list[Place]:
    """What is to be noted at numbers, of each data set, and again at their average."""
    found, keys = [], [*by, "dataset"]
    lines = ["common" if name == "prompter" else name for name in by]
    for base in (False, True):
        mine = varied(rows, of, base=base)
        columns = ["base"] if base else [name for name in numbers if name != "base"]
        for notes in (layout.adapted, layout.cut_short):
            each_set, all_sets = notes(mine, [*lines, "dataset"]), notes(mine, lines)
            for frame, again in ((each_set, False), (all_sets.with_columns(dataset=pl.lit(AVERAGE)), True)):
                found.append(Place(frame.rename({"common": "prompter"}, strict=False), keys, columns, again))
    few = unequal(each, by)
    return [
        *found,
        *(Place(infinite(means_of(each, by, name, layout.how), keys), keys, [name]) for name in numbers),
        Place(few, keys, numbers),
        Place(few.with_columns(dataset=pl.lit(AVERAGE)), keys, numbers, again=True),
    ]


def _few(
    frame: pl.DataFrame, each: pl.DataFrame, by: Sequence[str], layout: Layout, numbers: Sequence[str]
) -> Footnotes:
    """Marks at the intervals of few patients; an average is as uncertain as its smallest data set."""
    fewest = fewest_patients(each, by, layout.how)
    least = fewest.group_by(by).agg(pl.col("fewest").min(), dataset=pl.lit(AVERAGE)).select(fewest.columns)
    keys = [*by, "dataset"]
    at = frame.select(keys).join(
        pl.concat([fewest, least]), on=keys, how="left", nulls_equal=True, maintain_order="left"
    )
    return few_patients(at["fewest"], numbers)
