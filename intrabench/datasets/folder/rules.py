"""``dataset.toml``: information that the files lack, such as the names of labels and the rule of instances."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)

from intrabench.datasets.convert.dicom_phase import Phase
from intrabench.datasets.convert.dicom_stack import Gaps
from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.photo import VOID, Coding, Pixels
from intrabench.datasets.convert.polygons import Contours
from intrabench.datasets.convert.segments import Outside, Segment
from intrabench.datasets.folder.pattern import FilePatterns, Pattern
from intrabench.errors import IntraBenchError, some
from intrabench.files.documents import Unreadable, read_toml
from intrabench.files.label_values import LabelValues, Threshold
from intrabench.prompts import Prompts
from intrabench.specs.specs import nearest

FILE = "dataset.toml"
IGNORE = "ignore"
"""The label of voxels that metrics ignore, as in nnU-Net."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Components(_Table):
    """The parameters of `Instances`."""

    connectivity: Literal[6, 18, 26] = 26
    dilation: int = Field(default=0, ge=0)
    min_voxels: int = Field(default=1, ge=1)


def _as_rule(value: Any) -> Any:
    if value in ("one", "components"):
        return None if value == "one" else Components()
    if not isinstance(value, dict):
        raise ValueError('write "one", "components" or { connectivity = 26, dilation = 0, min_voxels = 1 }')
    return value


def _as_entry(value: Any) -> Any:
    if not isinstance(value, str | dict):
        raise ValueError('write "NAME" or { label = "NAME", instances = "components" }')
    return {"label": value} if isinstance(value, str) else value


def _as_threshold(value: Any) -> Any:
    if value in ("refuse", "none") or (isinstance(value, float) and 0 < value < 1):
        return value
    raise ValueError('write a share of what is full, such as 0.5, or "refuse" or "none"')


def _as_phase(value: Any) -> Any:
    """A number, or values of DICOM tags."""
    if type(value) is int and value > 0:
        return value
    if not isinstance(value, dict) or not value or not all(type(one) in (int, float, str) for one in value.values()):
        raise ValueError("write its number, from 1, or the value of a DICOM tag, such as { EchoTime = 4.6 }")
    from pydicom.datadict import tag_for_keyword

    for keyword in value:
        if tag_for_keyword(keyword) is None:
            raise ValueError(f"DICOM has no tag {keyword}; write its keyword, such as EchoTime")
    return {keyword: one if isinstance(one, str) else float(one) for keyword, one in value.items()}


def _as_spacing(value: Any) -> Any:
    """``[z, y, x]``."""
    lengths = value if isinstance(value, list) else []
    if len(lengths) != 3 or not all(type(one) in (int, float) and 0 < one < float("inf") for one in lengths):
        raise ValueError("write three lengths in mm along z, y and x, such as [2.0, 1.0, 1.0]")
    return tuple(map(float, lengths))


def _as_pattern(value: Any) -> Any:
    if not isinstance(value, str):
        raise ValueError('write the path of files within the folder, such as "{case}/ct.nii.gz"')
    return Pattern(value)


def _as_patterns(value: Any) -> Any:
    """``"PATTERN"`` or ``["PATTERN", "PATTERN"]``."""
    return tuple(map(_as_pattern, value if isinstance(value, list) and value else [value]))


Files = Annotated[Pattern | None, BeforeValidator(_as_pattern)]
"""A pattern of paths."""
Rule = Annotated[Components | None, BeforeValidator(_as_rule)]
"""The rule of instances: connected components, or (None) everything under one value or name in the files."""


def _as_text(value: Any) -> Any:
    """A text, also of a whole number or a date without quotes."""
    if not isinstance(value, str) and type(value) not in (int, date):
        raise ValueError('write it in quotes, such as "0.5"')
    return str(value)


Text = Annotated[str, BeforeValidator(_as_text)]
"""A patient or a time."""


def _as_names(value: Any) -> Any:
    """``"NAME"`` or ``["NAME", "SYNONYM"]``."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, list) or not names or not all(isinstance(name, str) for name in names):
        raise ValueError('write "NAME" or ["NAME", "SYNONYM"]')
    for name in names:
        Prompts(text=name)  # raises what is wrong with it
    return tuple(names)


class Entry(_Table):
    """The label of a value or name in the files, and its own rule of instances."""

    label: str = Field(min_length=1)
    instances: Rule = None


class Rules(_Table):
    """The content of ``dataset.toml``.

    image, label, structures: where files are (`FilePatterns`); then no layout is recognised. ``labels = "PATTERN"`` is
    the same as `structures`, which may stand beside the table of labels.

    labels: maps values or names in the files, or globs of these, to labels. The name of what has a colour in a mask is
    ``#ff0000`` or the like; if one is listed, colours count instead of `coding`. The first match counts; segments
    without a match are left out. Without this table, all segments are used under their names in the files. instances:
    the rule for labels that have no rule of their own. resample: resample labels on a different grid by nearest
    neighbour. outside: what happens to structures that were drawn on slices that a DICOM series lacks. gaps: what
    happens to a DICOM series with uneven steps. phase: the one to use of a DICOM series with several. shear: what
    happens to scans whose axes are not at right angles. contours: whether voxels whose centres lie on a contour of an
    RTSTRUCT are inside. coding: how the pixels of mask pictures encode objects. threshold, round: as in `LabelValues`.
    spacing: that of stacks of pictures along ``(z, y, x)`` in mm, instead of what they state. patients, timepoints: map
    names of cases, in which ``*`` stands for any text, to their patients and times, in which ``*`` stands for what the
    first ``*`` matched; the first match counts. names: what people call a label, or a target, with synonyms
    (`DatasetCard.names`). layout: the one to use if the files have several.
    """

    name: str = Field(default="", pattern=r"^[\w.+-]*$")
    title: str = ""
    modality: str = ""
    licence: str = ""
    citation: str = ""
    layout: str = ""
    image: Annotated[tuple[Pattern, ...], BeforeValidator(_as_patterns)] = ()
    label: Files = None
    structures: Files = None
    resample: bool = False
    outside: Outside = "refuse"
    gaps: Gaps = "refuse"
    phase: Annotated[Phase | None, BeforeValidator(_as_phase)] = None
    shear: Literal["refuse", "resample"] = "refuse"
    contours: Contours = "inclusive"
    coding: Coding = "palette"
    threshold: Annotated[Threshold, BeforeValidator(_as_threshold)] = "refuse"
    round: bool = False
    spacing: Annotated[tuple[float, float, float] | None, BeforeValidator(_as_spacing)] = None
    instances: Rule = None
    labels: dict[str, Annotated[Entry, BeforeValidator(_as_entry)]] = {}
    patients: dict[str, Text] = {}
    timepoints: dict[str, Text] = {}
    names: dict[str, Annotated[tuple[str, ...], BeforeValidator(_as_names)]] = {}

    @model_validator(mode="before")
    @classmethod
    def _structures(cls, content: Any) -> Any:
        """The text `labels` is the pattern of structures."""
        if not isinstance(content, dict) or not isinstance(content.get("labels"), str):
            return content
        if "{label}" not in content["labels"]:
            raise ValueError(
                f'labels = "{content["labels"]}" lacks {{label}}; add it, or name it label if it is a label map'
            )
        if "structures" in content:
            raise ValueError("labels and structures are both patterns of a file for each structure; keep one")
        return {("structures" if key == "labels" else key): value for key, value in content.items()}

    @model_validator(mode="after")
    def _check_patterns(self) -> Rules:
        if self.patterns and self.layout:
            raise ValueError("layout and image are two rules of where files are; keep one")
        return self

    @field_validator("patients", "timepoints")
    @classmethod
    def _check_names(cls, names: dict[str, str], info: ValidationInfo) -> dict[str, str]:
        what = "patient" if info.field_name == "patients" else "time"
        for cases, name in names.items():
            if not name.strip():
                raise ValueError(f'"{cases}" has a blank {what}; write one')
            if "*" in name and "*" not in cases:
                raise ValueError(f'"{cases}" = "{name}" has a * for the {what}, but none for the cases')
        return names

    @field_validator("threshold")
    @classmethod
    def _check_threshold(cls, threshold: Threshold, info: ValidationInfo) -> Threshold:
        if isinstance(threshold, float) and info.data.get("coding", "palette") != "palette":
            raise ValueError(f'coding = "{info.data["coding"]}" says already what an object is')
        return threshold

    @field_validator("labels")
    @classmethod
    def _check_colours(cls, labels: dict[str, Entry], info: ValidationInfo) -> dict[str, Entry]:
        colours = [key for key in labels if key.startswith("#")]
        if "#000000" in colours:
            raise ValueError('"#000000", black, is the background')
        if colours and isinstance(info.data.get("threshold"), float):
            raise ValueError(f'"{colours[0]}" is a colour, so there is nothing for threshold to cut')
        return {key.lower() if key in colours else key: entry for key, entry in labels.items()}

    @property
    def patterns(self) -> FilePatterns | None:
        """The rule of the files, if there is one."""
        given = self.image or self.label or self.structures
        return FilePatterns(self.image, self.label, self.structures) if given else None

    @property
    def values(self) -> LabelValues:
        """How values in files become labels."""
        return LabelValues(self.threshold, self.round)

    @property
    def pixels(self) -> Pixels:
        """How the pixels of mask pictures become objects."""
        colours = any(key.startswith("#") for key in self.labels)
        return Pixels(self.coding, self.values, str(VOID) not in self.labels, colours)

    @classmethod
    def read(cls, path: Path) -> Rules:
        """Read the rules from a file; defaults if it does not exist.

        Raises:
            IntraBenchError: the file is not TOML, a key is unknown, or a value does not fit.
        """
        try:
            return cls.model_validate(read_toml(path, {}))
        except FileNotFoundError:
            return cls()
        except Unreadable as error:
            if "overwrite a value" in str(error) and re.search(
                r"^labels *=", path.read_text("utf-8-sig"), re.MULTILINE
            ):
                raise IntraBenchError(
                    f'{path}: labels is a pattern and a table; write the pattern as structures = "..."'
                ) from error
            raise
        except ValidationError as error:
            raise IntraBenchError(f"{path}: {_problem(error)}") from error

    def patient(self, case: str) -> str:
        """The patient of a case; empty if none is given."""
        return _value(self.patients, case)

    def time(self, case: str) -> str:
        """The time of a case; empty if none is given."""
        return _value(self.timepoints, case)

    @property
    def _of_cases(self) -> Mapping[str, Mapping[str, str]]:
        """The sections whose keys are cases."""
        return {"patients": self.patients, "timepoints": self.timepoints}

    def check_cases(self, cases: Sequence[str], path: Path) -> None:
        """Refuse a name under `patients` or `timepoints` that no case has: what is meant would silently be unsaid.

        path: the file that the rules are from. A pattern may fit no case; `unmatched` tells.

        Raises:
            IntraBenchError: there is such a name.
        """
        for section, table in self._of_cases.items():
            for name in table.keys() - set(cases):
                if "*" not in name:
                    raise IntraBenchError(
                        f"{path}: [{section}] names {name!r}, which is no case{nearest(name, cases)}; correct or "
                        f"remove it; the cases are {some(cases)}"
                    )

    def unmatched(self, cases: Sequence[str]) -> list[tuple[str, str]]:
        """Section and key of `patients` and `timepoints` that never count.

        They fit no case, or an earlier key fits the same ones.
        """
        found = []
        for section, table in self._of_cases.items():
            used = {_matched(table, case)[0] for case in cases}
            found += [(section, key) for key in table if key not in used]
        return found

    def named(self, segment: Segment) -> tuple[str, Instances | None] | None:
        """The label of a segment and its rule of instances (None: it is one instance); None if it is left out."""
        if segment.name == IGNORE and not segment.number:  # of no value in the files
            return IGNORE, None
        label, rule = segment.name or f"label_{segment.number}", self.instances
        if self.labels:
            entry = self._entry(segment)
            if entry is None:
                return None
            label, rule = entry.label, entry.instances if "instances" in entry.model_fields_set else rule
        return label, None if rule is None else Instances(**rule.model_dump())

    def _entry(self, segment: Segment) -> Entry | None:
        for key, entry in self.labels.items():
            if fnmatch.fnmatchcase(segment.name, key) or fnmatch.fnmatchcase(str(segment.number), key):
                return entry
        return None


def _value(table: Mapping[str, str], case: str) -> str:
    """What a table says of a case; empty if no key fits."""
    key, first = _matched(table, case)
    return table[key].replace("*", first) if key else ""


def _matched(table: Mapping[str, str], case: str) -> tuple[str, str]:
    """The first key that fits a case, and the text that its first star matched."""
    for key in table:
        if found := re.fullmatch("(.*)".join(map(re.escape, key.split("*"))), case):
            return key, "".join(found.groups()[:1])
    return "", ""


def _problem(error: ValidationError) -> str:
    """The first problem as a sentence."""
    found = error.errors()
    # a key with a typo is also reported as missing
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    said = first["msg"].removeprefix("Value error, ")
    if not first["loc"]:
        return said
    *outer, key = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        table = Rules if not outer else Components if outer[-1] == "instances" else Entry
        where, keys = f" in {'.'.join(outer)}" if outer else "", list(table.model_fields)
        return f"there is no key {key!r}{where}{nearest(key, keys)}; choose from {', '.join(keys)}"
    return f"{'.'.join([*outer, key])} does not fit ({said}); change the value"
