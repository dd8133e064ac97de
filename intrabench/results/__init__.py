"""Rows: how they are stored, read and tabulated."""
