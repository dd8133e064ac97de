"""Lines and tables for people."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import typer

from intrabench.names import one_line

if TYPE_CHECKING:
    import polars as pl


def echo(*lines: str, err: bool = False) -> None:
    """Print lines; what a name or a message in them holds neither begins another line nor steers the terminal."""
    for line in lines:
        typer.echo("\t".join(map(one_line, line.split("\t"))), err=err)


def print_frame(frame: pl.DataFrame, title: str = "") -> None:
    """Print a frame as a table for people."""
    from rich.table import Table

    from intrabench.engine.progress.screen import plain_console
    from intrabench.reporting.formats import texts

    table = Table(title=title or None, title_justify="left", header_style="bold")
    for name in frame.columns:
        table.add_column(one_line(name), justify="right" if frame[name].dtype.is_numeric() else "left", overflow="fold")
    for row in zip(*(texts(frame[name].to_list()) for name in frame.columns), strict=True):
        table.add_row(*row)
    # a pipe has no width; tables must not be cut there
    plain_console(width=None if sys.stdout.isatty() else 200).print(table)
