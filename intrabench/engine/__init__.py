"""Runs: planning, playing and checking sessions."""
