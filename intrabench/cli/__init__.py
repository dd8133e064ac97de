"""Parses commands, calls the functions behind them, prints; one file per group of commands."""
