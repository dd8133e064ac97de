"""Calibration: what actions of people cost, and how exactly they hit, from recorded sessions."""
