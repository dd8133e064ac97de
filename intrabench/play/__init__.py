"""Plays sessions against a predictor: turns, conversions, answers, scores."""
