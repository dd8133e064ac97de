"""Which folders of scans a person gave to a command on this machine: results may have them opened again."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from itertools import accumulate
from pathlib import Path

from intrabench.datasets.base import Dataset
from intrabench.datasets.cases.store import home_of
from intrabench.datasets.perturb.perturbed import parted
from intrabench.files.atomic import CannotWrite, atomically, make_folder, writing
from intrabench.workspace import data_root

GIVEN = "given.txt"
"""Beside the cases of a data set: the argument that named its folder."""


def note_given(datasets: Iterable[Dataset], root: Path | None = None) -> None:
    """Note the folders among these data sets, which a person gave."""
    for dataset in {one.stored_as for one in datasets if os.sep in one.argument}:
        with suppress(CannotWrite, UnicodeEncodeError):  # a store that is only read; a name that no case can have
            file = home_of(dataset, root) / GIVEN
            with writing(file):
                make_folder(file.parent)
                if not file.exists():
                    with atomically(file) as part:
                        part.write_bytes(os.fsencode(dataset.argument))


def is_given(spec: str, root: Path | None = None) -> bool:
    """Whether a person gave this folder before. Only the text is compared: nothing at another path is looked at.

    spec: ``PATH`` or ``PATH:label=PATH``, as in the record of a run, perhaps with changes behind it.
    """
    homes = (root or data_root()) / "cases"
    folders = {_normal(os.fsdecode(file.read_bytes())) for file in homes.glob(f"*/{GIVEN}")}
    base, changes = parted(spec)
    if folders.isdisjoint(map(_normal, accumulate(changes, "{}+{}".format, initial=base))):
        return False
    return _normal(parted(spec, there=True)[0]) in folders


def _normal(argument: str) -> str:
    """The argument with its path in one spelling."""
    path, colon, rest = argument.partition(":")
    return f"{os.path.abspath(os.path.expanduser(path))}{colon}{rest}"
