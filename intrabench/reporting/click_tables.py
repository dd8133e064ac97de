"""The tables of RClicks: results by groups of clicks and by users, alone or beside the published numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields

import polars as pl

from intrabench.protocols.rclicks_paper import Users
from intrabench.reporting.footnotes import Place
from intrabench.reporting.reference.rclicks import (
    FIRST_CLICK,
    PUBLISHED_METRIC,
    beside_published,
    users_beside_published,
)
from intrabench.statistics.click_robustness import (
    LINE,
    area_of,
    describe_groups,
    describe_users,
    group_table,
    is_real,
    of_groups,
    user_table,
    users_adapted,
)
from intrabench.statistics.notes import adapted, cut_short
from intrabench.statistics.robustness import Robustness, UserNoise
from intrabench.statistics.scores import FailurePolicy
from intrabench.statistics.sources import group_of


@dataclass(frozen=True)
class ClickTable:
    """One of the tables.

    option: shows it. protocol: that of the published numbers, which are of the metric `published`. beside: sets them
    beside ours, and says what is not compared. rounds: whether a round can be chosen. places: what is to be noted at
    the numbers of this metric.
    """

    option: str
    protocol: str
    published: str
    rounds: bool
    table: Callable[[pl.DataFrame, str, int | None, FailurePolicy, bool], pl.DataFrame]
    beside: Callable[[pl.DataFrame], tuple[pl.DataFrame, list[str]]]
    describe: Callable[[str], str]
    places: Callable[[pl.DataFrame, str, int | None], list[Place]]

    def metric_of(self, rows: pl.DataFrame, asked: str) -> str:
        """The metric of the table: as asked for, or the published one where the protocol was played, else dice."""
        return asked or (self.published if self.protocol in rows["protocol"] else "dice")


def _groups(rows: pl.DataFrame, metric: str, round: int | None, policy: FailurePolicy, interval: bool) -> pl.DataFrame:
    return group_table(rows, metric, round, policy, interval=interval)


def _users(rows: pl.DataFrame, metric: str, round: int | None, policy: FailurePolicy, interval: bool) -> pl.DataFrame:
    return user_table(rows, metric, policy, interval=interval)  # always after the first click


def _group_places(rows: pl.DataFrame, metric: str, round: int | None) -> list[Place]:
    groups, baseline = of_groups(rows), of_groups(rows, base=True)
    numbers = [name for name in _OF_GROUPS if name != "base"]
    return [
        Place(adapted(groups, _LINES, round), _LINES, numbers),
        Place(cut_short(groups, _LINES, metric, round), _LINES, [name for name in numbers if name != "nsr"]),
        Place(cut_short(groups, _LINES, area_of(metric), round), _LINES, ["nsr"]),
        Place(cut_short(baseline, _LINES, metric, round), _LINES, ["base"]),
    ]


def _user_places(rows: pl.DataFrame, _metric: str, _round: int | None) -> list[Place]:
    return [Place(users_adapted(rows), _LINES, _OF_USERS)]


_LINES = [*LINE, "clicks", "dataset"]
_OF_GROUPS, _OF_USERS = (tuple(one.name for one in fields(kind)) for kind in (Robustness, UserNoise))

CLICK_TABLES = (
    ClickTable(
        *("--groups", "rclicks@1", PUBLISHED_METRIC, True, _groups), *(beside_published, describe_groups, _group_places)
    ),
    ClickTable(
        *("--users", Users.name, FIRST_CLICK, False, _users), *(users_beside_published, describe_users, _user_places)
    ),
)


def click_table(groups: bool, users: bool, published: str) -> ClickTable | None:
    """The table that is asked for by its option, or by the protocol of the published numbers; None if none is."""
    flags = {"--groups": groups, "--users": users}
    asked = [one for one in CLICK_TABLES if flags[one.option]] or [
        one for one in CLICK_TABLES if one.protocol == published
    ]
    return asked[0] if asked else None


def further(prompters: Collection[str]) -> str:
    """The option that shows how much it matters where people click, if these prompters tell it; else empty."""
    groups = Counter(one.common for name in prompters if (one := group_of(name)))
    if max(groups.values(), default=0) > 1:
        return CLICK_TABLES[0].option
    return CLICK_TABLES[1].option if any(map(is_real, prompters)) else ""
