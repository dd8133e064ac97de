"""How rounds end, and the metrics that all rows have; for those who make rows but read none."""

ANSWERED = ("ok", "stopped", "empty")
"""Statuses of rounds to which a model answered."""

FAILED = ("error", "oom", "timeout")
"""Statuses of failures of a model or a prompter, which count as Dice 0."""

NO_DATA = "no_data"
"""Status of failures of data: no session could be played, because the case could not be had. It counts in no mean."""

UNDONE = (*FAILED, NO_DATA)
"""Statuses that give exit code 1 and are tried again by the next run."""

STATUSES = (*ANSWERED, "not_applicable", *UNDONE)
"""How a round can end; see docs/results.md."""

ALWAYS = ("dice", "iou")
"""Metrics that all rows have."""
