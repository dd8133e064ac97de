"""The tables of RClicks: results by groups of clicks and by users, alone or beside the published numbers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
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
from intrabench.statistics.click_groups import LINE, describe_groups, group_table, groups_adapted
from intrabench.statistics.click_users import describe_users, user_table, users_adapted
from intrabench.statistics.robustness import Robustness, UserNoise
from intrabench.statistics.scores import FailurePolicy


@dataclass(frozen=True)
class ClickTable:
    """One of the tables.

    option: shows it. protocol: that of the published numbers, which are of the metric `published`. beside: sets them
    beside ours, and says what is not compared. rounds: whether a round can be chosen. numbers: the columns of numbers
    that come from the sessions of `adapted`.
    """

    option: str
    protocol: str
    published: str
    rounds: bool
    table: Callable[[pl.DataFrame, str, int | None, FailurePolicy], pl.DataFrame]
    beside: Callable[[pl.DataFrame], tuple[pl.DataFrame, list[str]]]
    describe: Callable[[str], str]
    numbers: Sequence[str]
    adapted: Callable[[pl.DataFrame, int | None], pl.DataFrame]

    def places(self, rows: pl.DataFrame, round: int | None) -> list[Place]:
        """What is to be noted at the numbers of the table, whether or not published ones stand beside them."""
        return [Place(self.adapted(rows, round), [*LINE, "clicks", "dataset"], self.numbers)]


def _users(rows: pl.DataFrame, metric: str, round: int | None, policy: FailurePolicy) -> pl.DataFrame:
    return user_table(rows, metric, policy)  # always after the first click


_OF_GROUPS, _OF_USERS = (tuple(one.name for one in fields(kind)) for kind in (Robustness, UserNoise))

CLICK_TABLES = (
    ClickTable(
        *("--groups", "rclicks@1", PUBLISHED_METRIC, True, group_table, beside_published, describe_groups),
        [name for name in _OF_GROUPS if name != "base"],
        groups_adapted,
    ),
    ClickTable(
        *("--users", Users.name, FIRST_CLICK, False, _users, users_beside_published, describe_users),
        _OF_USERS,
        lambda rows, _: users_adapted(rows),
    ),
)


def click_table(groups: bool, users: bool, published: str) -> ClickTable | None:
    """The table that is asked for by its option, or by the protocol of the published numbers; None if none is."""
    given = {"--groups": groups, "--users": users}
    asked = [one for one in CLICK_TABLES if given[one.option]] or [
        one for one in CLICK_TABLES if one.protocol == published
    ]
    return asked[0] if asked else None
