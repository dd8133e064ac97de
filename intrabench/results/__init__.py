"""Stores rows, turns, masks and records of runs; reads, merges and exports them."""
