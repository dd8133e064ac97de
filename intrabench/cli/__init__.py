"""The command line: parse, call, print; one file per group of commands."""
