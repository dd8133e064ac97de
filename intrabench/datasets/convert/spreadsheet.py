"""The first sheet of a spreadsheet as text."""

from __future__ import annotations

from pathlib import Path

from intrabench.errors import IntraBenchError


def read_table(path: Path) -> list[list[str]]:
    """The rows of the first sheet of an ``.xlsx`` file, of equal length, stripped; whole numbers have no decimals.

    Raises:
        IntraBenchError: the file is not a spreadsheet, or the library for it is not installed.
    """
    try:
        import openpyxl
    except ImportError as error:
        raise IntraBenchError(
            f"{path.name} needs a library that is not installed; run: pip install 'intrabench[ms_flair]'"
        ) from error
    try:
        book = openpyxl.load_workbook(path, read_only=True, data_only=True)
        rows = [[_text(value) for value in row] for row in book.worksheets[0].iter_rows(values_only=True)]
        book.close()
    except Exception as error:  # zip, XML and the library raise different exceptions
        raise IntraBenchError(f"{path} cannot be read as a spreadsheet ({error}); fetch it again") from error
    width = max(map(len, rows), default=0)
    return [row + [""] * (width - len(row)) for row in rows]


def _text(value: object) -> str:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return "" if value is None else str(value).strip()
