"""Reading one DICOM file and its tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError, reading

_UNKNOWN_LENGTH = 0xFFFFFFFF


class NotDicom(IntraBenchError):
    """The file is not a DICOM file."""


def read_dataset(path: Path, *keywords: str) -> Any:
    """The `pydicom.Dataset` of a file: only the tags named by `keywords` and no pixels, or everything if none is named.

    Raises:
        NotDicom: the file has a different format.
        IntraBenchError: the file is missing or cannot be read.
    """
    import pydicom
    from pydicom.errors import InvalidDicomError

    with reading(path):
        try:
            if keywords:
                return pydicom.dcmread(path, stop_before_pixels=True, specific_tags=list(keywords))
            dataset = pydicom.dcmread(path)
        except FileNotFoundError as error:
            raise IntraBenchError(f"{path} does not exist; check the path or fetch the data set again") from error
        except InvalidDicomError as error:
            raise NotDicom(f"{path} is not a DICOM file, it lacks the letters DICM; give DICOM files only") from error
        _check_complete(dataset)
        return dataset


def _check_complete(dataset: Any) -> None:
    """Refuse a file that ends within its last element, which pydicom does not notice."""
    last = dataset.get_item(max(dataset.keys())) if dataset else None
    announced, value = getattr(last, "length", _UNKNOWN_LENGTH), getattr(last, "value", None)
    if announced != _UNKNOWN_LENGTH and len(value or b"") < announced:
        raise EOFError(f"{announced - len(value or b'')} bytes are missing at its end")


def highdicom_for(path: Path) -> Any:
    """The module `highdicom`, which reads segmentations and files with several frames.

    Raises:
        IntraBenchError: it is not installed, as on Python 3.14, for which a library below it has no wheels yet.
    """
    try:
        import highdicom
    except ImportError as error:
        raise IntraBenchError(
            f"{path} needs highdicom, which is not installed; run: pip install highdicom (on Python 3.14 this needs a "
            "C++ compiler; Python 3.11 to 3.13 do not)"
        ) from error
    return highdicom


def required(dataset: Any, keyword: str, name: Path | str) -> Any:
    """The value of a required tag.

    Raises:
        IntraBenchError: the tag is missing or empty.
    """
    value = dataset.get(keyword)
    if value is None or value == "":
        raise IntraBenchError(
            f"{name} has no {keyword}: it is truncated, or an export or anonymisation removed the tag; export it again"
        )
    return value
