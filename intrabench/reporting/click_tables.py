"""The tables of RClicks: results by groups of clicks and by users, alone or beside the published numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from intrabench.protocols.rclicks_paper import Users
from intrabench.reporting.reference.rclicks import (
    FIRST_CLICK,
    PUBLISHED_METRIC,
    beside_published,
    users_beside_published,
)
from intrabench.statistics.click_groups import describe_groups, group_table
from intrabench.statistics.click_users import describe_users, user_table
from intrabench.statistics.scores import FailurePolicy


@dataclass(frozen=True)
class ClickTable:
    """One of the tables.

    option: shows it. protocol: that of the published numbers, which are of the metric `published`. beside: sets them
    beside ours, and says what is not compared. rounds: whether a round can be chosen.
    """

    option: str
    protocol: str
    published: str
    rounds: bool
    table: Callable[[pl.DataFrame, str, int | None, FailurePolicy], pl.DataFrame]
    beside: Callable[[pl.DataFrame], tuple[pl.DataFrame, list[str]]]
    describe: Callable[[str], str]


def _users(rows: pl.DataFrame, metric: str, round: int | None, policy: FailurePolicy) -> pl.DataFrame:
    return user_table(rows, metric, policy)  # always after the first click


CLICK_TABLES = (
    ClickTable("--groups", "rclicks@1", PUBLISHED_METRIC, True, group_table, beside_published, describe_groups),
    ClickTable("--users", Users.name, FIRST_CLICK, False, _users, users_beside_published, describe_users),
)


def click_table(groups: bool, users: bool, published: str) -> ClickTable | None:
    """The table that is asked for by its option, or by the protocol of the published numbers; None if none is."""
    given = {"--groups": groups, "--users": users}
    asked = [one for one in CLICK_TABLES if given[one.option]] or [
        one for one in CLICK_TABLES if one.protocol == published
    ]
    return asked[0] if asked else None
