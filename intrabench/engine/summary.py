"""What came of a run, in numbers and sentences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field, fields

from intrabench.errors import several
from intrabench.models.base import Failure
from intrabench.results.causes import by_cause
from intrabench.results.statuses import NO_DATA

MOST_FAILURES = 10
"""Further kinds of failures are only counted, not listed."""


@dataclass
class Summary:
    """The summary of a run.

    failures: failed sessions by ``status: message``. passing: those of them that may be gone when the same command
    is given again. tracebacks: where they happened, as far as that is known. inapplicable: sessions that do not
    apply by their reason. left_out: a sentence for each model and data set that could not take part. moved: a
    sentence for each data set whose stored cases are of other patients now. unmeasured: sessions in which a metric
    failed, by its column and the reason. undefined, measured: sessions in which a metric was None in every round,
    and those in which it was not, by its column. by_definition: the names of metrics that ship, which are None only
    where they mean nothing, by their columns. encode_s: seconds of encoding.
    """

    total: int = 0
    already: int = 0
    computed: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    passing: set[str] = field(default_factory=set)
    tracebacks: dict[str, str] = field(default_factory=dict)
    inapplicable: Counter[str] = field(default_factory=Counter)
    left_out: list[str] = field(default_factory=list)
    moved: list[str] = field(default_factory=list)
    unmeasured: Counter[tuple[str, str]] = field(default_factory=Counter)
    undefined: Counter[str] = field(default_factory=Counter)
    measured: Counter[str] = field(default_factory=Counter)
    by_definition: dict[str, str] = field(default_factory=dict)
    keys: set[str] = field(default_factory=set)
    encode_s: float = 0.0

    def add(self, other: Summary) -> None:
        """Count what came of some more sessions."""
        for one in fields(self):
            mine, theirs = getattr(self, one.name), getattr(other, one.name)
            if isinstance(mine, dict | set):
                mine.update(theirs)
            else:
                setattr(self, one.name, mine + theirs)

    @property
    def failed(self) -> int:
        """The number of failed sessions."""
        return self.failures.total()

    @property
    def no_data(self) -> int:
        """How many of them failed because of their data."""
        return sum(count for why, count in self.failures.items() if why.startswith(f"{NO_DATA}: "))

    def fail(self, failure: Failure, sessions: int = 1, status: str = "") -> None:
        """Count sessions that failed; status: if it is another than that of the failure."""
        why = f"{status or failure.status}: {failure.message}"
        self.failures[why] += sessions
        if failure.passing or failure.status in ("oom", "timeout"):
            self.passing.add(why)
        if failure.traceback:
            self.tracebacks.setdefault(why, failure.traceback)

    def advice(self, option: str = "") -> str:
        """What to do about failures: the same command, where that helps. option: of commands, for the same results."""
        again = sum(self.failures[why] for why in self.passing)
        if again == self.failed:
            return "run the same command to try them again"
        rest = f"see `intrabench failures --traceback{option}`; the same command plays them once the cause is mended"
        return f"run the same command to try {again} of them again, for the others {rest}" if again else rest

    @property
    def valueless(self) -> list[str]:
        """Lines on each metric that failed, and why, or that is the user's own and was None in all sessions."""
        reasons: dict[str, Counter[str]] = {}
        for (column, reason), count in self.unmeasured.most_common():
            reasons.setdefault(column, Counter())[reason] += count
        for column, count in self.undefined.items():
            if column not in self.measured and column not in reasons and column not in self.by_definition:
                reasons[column] = Counter({"measure returned None": count})
        return [
            line
            for column, counts in reasons.items()
            for group in by_cause(counts)[:MOST_FAILURES]
            for line in group.lines(f"metric {column} has no value in {several(group.count, 'session')}")
        ]

    @property
    def meaningless(self) -> list[str]:
        """Lines on each metric that by its definition has no value in any session, which is no failure."""
        failed = {column for column, _ in self.unmeasured}
        return [
            f"{column} means nothing in {several(count, 'session')}, so it has no value there; "
            f"`intrabench info {self.by_definition[column]}` says when"
            for column, count in self.undefined.items()
            if column in self.by_definition and column not in self.measured and column not in failed
        ]

    @property
    def not_applicable(self) -> list[str]:
        """Lines on each reason why sessions do not apply."""
        shown = by_cause(self.inapplicable)[:MOST_FAILURES]
        return [line for one in shown for line in one.lines(f"{several(one.count, 'session')} not applicable")]


def counted(failures: Counter[str]) -> list[str]:
    """Lines that name each cause of failures once, the most frequent first, with the number of its sessions."""
    groups = by_cause(failures)
    lines = [line for group in groups[:MOST_FAILURES] for line in group.lines(several(group.count, "session"))]
    if more := len(groups[MOST_FAILURES:]):
        lines.append(f"{more} more kinds of failures are in the column error of the results")
    return lines
