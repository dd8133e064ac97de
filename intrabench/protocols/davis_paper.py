"""DAVIS Interactive as its challenge ran it: the robot, the number of interactions and the time for them."""

from __future__ import annotations

from intrabench.protocols.joint import JointRules
from intrabench.protocols.row import Row

INTERACTIONS = 8
"""Per video, the first included."""
SECONDS = 30.0 * INTERACTIONS
"""That the model may compute per object, in all interactions together."""
NUMBERS = (("J&F AUC", "davis_auc"), ("J&F@60s", "davis_at:after=60"), ("J&F", "j_and_f"))
"""The published summary, and J&F after the last interaction."""
JOINT = JointRules(others="negative", overlap="first")
"""Scribbles for one object are background for the others, and an answer is a label map."""

ROWS = (
    Row(
        "Robot",
        None,
        "davis:robot=published",
        None,
        note="People draw the first scribbles if the data set has them (the seed is the person), else the robot does, "
        "in the frame with the largest area of objects. Ties of equally deep pixels are broken as scikit-image did "
        "until 0.18. Only the model's time counts; in the published package that of metrics and robot does, too.",
    ),
)
