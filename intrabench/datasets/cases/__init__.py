"""Converted cases: fetched, prepared, indexed, chosen."""
