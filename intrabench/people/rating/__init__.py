"""Blind rating of masks: the design of a study, its server, its answers and their analysis."""
