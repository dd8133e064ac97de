"""Conversion of published formats to volumes and masks in the canonical geometry."""
