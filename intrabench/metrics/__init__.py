"""Scores of an answer against its target on the original grid, one class each, and of superpixels, a function each."""
