"""Models of where people click: the published one, its training and evaluation, and simple baselines."""

GROUPS = 10
"""Number of groups of clicks with equal probability mass: 1 has the least probable clicks, 10 the most probable."""
