"""Rows: stored, read, merged and exported."""
