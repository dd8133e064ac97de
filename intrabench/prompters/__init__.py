"""Prompters: simulated users, one strategy per file."""
