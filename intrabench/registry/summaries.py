"""The names of what is not measured after each round, but of a whole session; listed without importing their code."""

from __future__ import annotations

SUMMARIES = {
    "auc": "The mean score while interactions, or seconds of the user or the model, go from 0 to a budget.",
    "autopet5_auc": "The area of the autoPET V challenge, by trapezoids over rounds 0 to 5.",
    "cvpr25_auc": "The area of the CVPR 2025 challenge, by trapezoids over rounds 1 to 5.",
    "cvpr25_final": "The score after the last click of the CVPR 2025 challenge.",
    "davis_at": "The score after so many seconds of the model, as in DAVIS Interactive.",
    "davis_auc": "The mean score over the seconds of the model, as in DAVIS Interactive.",
    "noc": "The number of clicks, or other effort, until a score is reached.",
    "nof": "The share of sessions that do not reach a score.",
    "rclicks_auc": "The mean score over clicks 1 to 20 by trapezoids, the IoU-AuC of RClicks.",
    "regressions": "The share of corrections that made the score worse.",
    "toothfairy3_auc": "The area of ToothFairy3, task 2, by trapezoids over 0 to 5 clicks.",
}
"""Each with a line on what it is; the classes are `intrabench.statistics.measures.SUMMARIES`."""

MACHINE_TIME = {"seconds": "The seconds of the model so far, for encoding and answering; not those of the user."}
"""The name of a number that all rows have, and what it is; the class is `MachineTime` of the scores."""

SUMMARY = "summary of sessions"
"""The kind of these names in lists."""
