"""The first boxes in files of the CVPR 2025 challenge: pickled dictionaries, of which nothing but numbers is taken."""

from __future__ import annotations

import io
import pickle
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from intrabench.errors import IntraBenchError
from intrabench.mask import Box

FIELDS = ("z_min", "z_max", "z_mid", "z_mid_x_min", "z_mid_y_min", "z_mid_x_max", "z_mid_y_max")
"""Of a box, all inclusive; also the columns of ``boxes_table``, the same without pickle."""


def unpickled(npy: bytes) -> Sequence[Any]:
    """The entries of a stored array of objects, an ``.npy`` file, made of plain Python alone.

    No class and no function that the file names is imported: what numpy needs is replaced by stand-ins, and lists,
    dictionaries, numbers and texts need none.

    Raises:
        pickle.UnpicklingError: the file holds other objects.
        Exception: of pickle and numpy, for damaged files.
    """
    file = io.BytesIO(npy)
    version = np.lib.format.read_magic(file)
    reader = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape = reader(file)[0]
    found = _Plain(file).load()
    entries = found.entries if isinstance(found, _Array) else found
    if shape == ():
        (entries,) = entries
    return [_plain(entry) for entry in entries]


def first_boxes(rows: Sequence[Any], where: str) -> list[Box]:
    """Half-open boxes ``z0, y0, x0, z1, y1, x1`` of the challenge's, each a dictionary or a row of numbers.

    where: what has them, for messages.

    Raises:
        IntraBenchError: a number is missing or is none.
    """
    return [_box(row, where) for row in rows]


def _box(row: Any, where: str) -> Box:
    values: list[Any] = [row.get(name) for name in FIELDS] if isinstance(row, Mapping) else list(row)
    if len(values) != len(FIELDS) or not all(isinstance(value, int | float) and value % 1 == 0 for value in values):
        raise IntraBenchError(
            f"{where} has a box {str(row)[:80]}, expected the numbers {', '.join(FIELDS)}; export it again, or without "
            "boxes"
        )
    z_min, z_max, _, x_min, y_min, x_max, y_max = (int(value) for value in values)
    return z_min, y_min, x_min, z_max + 1, y_max + 1, x_max + 1


class _Type:
    """Stands in for a ``numpy.dtype``."""

    def __init__(self, name: str, *_: Any) -> None:
        self.name, self.order = str(name), "<"

    def __setstate__(self, state: Sequence[Any]) -> None:
        self.order = str(state[1])

    def number(self, stored: bytes) -> Any:
        """The number of a ``numpy`` scalar."""
        if self.name[:1] not in "biuf" or not self.name[1:].isdecimal():
            raise pickle.UnpicklingError(f"a number of the type {self.name}")
        return np.frombuffer(stored, np.dtype(("<" if self.order == "|" else self.order) + self.name))[0].item()


class _Array:
    """Stands in for a ``numpy.ndarray``."""

    entries: Sequence[Any] = ()

    def __setstate__(self, state: Sequence[Any]) -> None:
        _, _, kind, _, data = state
        if isinstance(data, bytes):
            size = max(int(kind.name[1:]), 1)
            data = [kind.number(data[at : at + size]) for at in range(0, len(data), size)]
        self.entries = list(data)


def _array(*_: Any) -> _Array:
    return _Array()


def _scalar(kind: _Type, stored: bytes) -> Any:
    return kind.number(stored)


_STAND_INS: dict[tuple[str, str], Any] = {("numpy", "dtype"): _Type, ("numpy", "ndarray"): _Array}
for _module in ("numpy.core.multiarray", "numpy._core.multiarray"):
    _STAND_INS |= {(_module, "_reconstruct"): _array, (_module, "scalar"): _scalar}


class _Plain(pickle.Unpickler):
    """Makes nothing but plain Python and the stand-ins."""

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in _STAND_INS:
            return _STAND_INS[module, name]
        raise pickle.UnpicklingError(f"it names {module}.{name}")

    def persistent_load(self, pid: Any) -> NoReturn:
        raise pickle.UnpicklingError("it names something outside of itself")


def _plain(entry: Any) -> Any:
    """An entry without stand-ins for arrays."""
    if isinstance(entry, _Array):
        return [_plain(one) for one in entry.entries]
    return {name: _plain(value) for name, value in entry.items()} if isinstance(entry, dict) else entry


def table_rows(table: NDArray[Any]) -> Sequence[Any]:
    """The rows of a ``boxes_table``."""
    return table.tolist() if table.ndim == 2 else [table.tolist()]
