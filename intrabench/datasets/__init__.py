"""Data sets: cards, sources, conversion, the canonical store."""
