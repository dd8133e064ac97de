"""Scores of an answer against its own target on the original grid, and of superpixels, one class each."""
