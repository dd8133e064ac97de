"""Metrics: scores of an answer against its own target on the original grid; never matched to another instance."""
