"""``dataset.toml``: what files cannot say of themselves, such as the names of labels and what an instance is."""

from __future__ import annotations

import fnmatch
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from intrabench.datasets.convert.instances import Instances
from intrabench.datasets.convert.photo import Coding
from intrabench.datasets.convert.segments import Segment
from intrabench.errors import IntraBenchError
from intrabench.specs import nearest

FILE = "dataset.toml"
IGNORE = "ignore"
"""The label of voxels that no metric counts, as nnU-Net calls it."""


class _Table(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Components(_Table):
    """The parameters of `Instances`."""

    connectivity: Literal[6, 18, 26] = 26
    dilation: int = Field(default=0, ge=0)
    min_voxels: int = Field(default=1, ge=1)


def _as_rule(given: Any) -> Any:
    if given in ("one", "components"):
        return None if given == "one" else Components()
    if not isinstance(given, dict):
        raise ValueError('write "one", "components" or { connectivity = 26, dilation = 0, min_voxels = 1 }')
    return given


def _as_entry(given: Any) -> Any:
    if not isinstance(given, str | dict):
        raise ValueError('write "NAME" or { label = "NAME", instances = "components" }')
    return {"label": given} if isinstance(given, str) else given


Rule = Annotated[Components | None, BeforeValidator(_as_rule)]
"""What an instance is: a connected component, or (None) all that the files give under one value or name."""


class Entry(_Table):
    """What something in the files is called, and its own rule of instances."""

    label: str = Field(min_length=1)
    instances: Rule = None


class Rules(_Table):
    """The content of ``dataset.toml``.

    labels: from a value or name in the files, or a glob of such, to what it is called; the first that fits counts, and
    what fits none is left out. Without this table all is taken, under the names that the files give. instances: the
    rule for labels that have none of their own. resample: labels on another grid than their image's are taken over by
    nearest neighbour. coding: how the pixels of pictures of masks tell objects.
    """

    name: str = Field(default="", pattern=r"^[\w.+-]*$")
    title: str = ""
    modality: str = ""
    licence: str = ""
    citation: str = ""
    resample: bool = False
    coding: Coding = "palette"
    instances: Rule = None
    labels: dict[str, Annotated[Entry, BeforeValidator(_as_entry)]] = {}

    @classmethod
    def read(cls, path: Path) -> Rules:
        """The rules in a file; the defaults where there is none.

        Raises:
            IntraBenchError: no TOML, a key that is not known, or a value that does not fit.
        """
        try:
            return cls.model_validate(tomllib.loads(path.read_text(encoding="utf-8")))
        except FileNotFoundError:
            return cls()
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise IntraBenchError(f"{path} is not valid TOML ({error}); repair it") from error
        except ValidationError as error:
            raise IntraBenchError(f"{path}: {_told(error)}") from error

    def named(self, segment: Segment) -> tuple[str, Instances | None] | None:
        """The label of a segment and how it falls into instances (None: it is one); None where it is left out."""
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


def _told(error: ValidationError) -> str:
    """The first complaint as a sentence."""
    found = error.errors()
    # a key with a typo is also one that is missing
    first = next((one for one in found if one["type"] == "extra_forbidden"), found[0])
    *outer, key = [str(part) for part in first["loc"]]
    if first["type"] == "extra_forbidden":
        table = Rules if not outer else Components if outer[-1] == "instances" else Entry
        where, known = f" in {'.'.join(outer)}" if outer else "", list(table.model_fields)
        return f"there is no key {key!r}{where}{nearest(key, known)}; choose from {', '.join(known)}"
    return f"{'.'.join([*outer, key])} does not fit ({first['msg'].removeprefix('Value error, ')}); change the value"
