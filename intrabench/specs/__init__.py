"""Specs, `name:key=value`, and the values of their parameters."""
