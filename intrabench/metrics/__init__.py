"""Metrics: what an answer is worth beside its own target, on the original grid, never matched to another instance."""
