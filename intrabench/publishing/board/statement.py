"""``submission.json``: what a submission says of itself. Anybody may have written it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.documents import Unreadable, read_json
from intrabench.files.names import one_line
from intrabench.publishing.board.files import NAME, STATEMENT

SCHEMA = 1
"""The version of the folder's format."""

_LONGEST = {"name": 200, "contact": 300, "licence": 200, "notes": 4000}
_ADDRESS = re.compile(r"https?://[^\s<>\"']+|[^\s@<>\"'/]+@[^\s@<>\"'/]+\.[^\s@<>\"'/]+")


@dataclass(frozen=True)
class By:
    """Who submits: a name, a contact (an address of mail or of a page), the licence of the folder, and notes.

    Raises:
        IntraBenchError: one is missing, too long, or no address.
    """

    name: str
    contact: str
    licence: str
    notes: str = ""

    def __post_init__(self) -> None:
        for key, most in _LONGEST.items():
            text = getattr(self, key)
            if not text.strip() and key != "notes":
                raise IntraBenchError(f"--{key} is empty; say {_WANTED[key]}")
            if len(text) > most:
                raise IntraBenchError(f"--{key} has {len(text)} characters, expected {most} at most; shorten it")
        if not _ADDRESS.fullmatch(self.contact):
            raise IntraBenchError(
                f"--contact {one_line(self.contact)!r} is no address of mail and no page, https://...; give one"
            )

    @property
    def href(self) -> str:
        """The contact as a link."""
        return self.contact if self.contact.startswith(("http://", "https://")) else f"mailto:{self.contact}"


_WANTED = {
    "name": "who submits, e.g. a person or a group",
    "contact": "how to reach you, by mail or a page",
    "licence": "under which licence others may use these results, e.g. CC-BY-4.0",
}


@dataclass(frozen=True)
class Data:
    """A data set of a submission, as its card says; published: it ships with IntraBench, so that others can get it."""

    dataset: str
    version: str
    published: bool = False
    title: str = ""
    modality: str = ""
    licence: str = ""
    citation: str = ""
    homepage: str = ""


@dataclass(frozen=True)
class Statement:
    """All of it. sampled: the sessions whose turns are there; masks: those of them whose masks are there.

    lines: of `intrabench.publishing.board.lines.stated`.
    """

    id: str
    by: By
    created: str
    intrabench: str
    rows: int
    data: tuple[Data, ...]
    sampled: tuple[str, ...]
    masks: tuple[str, ...]
    lines: list[dict[str, Any]] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Write the file into a submission."""
        text = json.dumps({"schema": SCHEMA, **asdict(self)}, indent=1, ensure_ascii=False)
        (folder / STATEMENT).write_text(text + "\n", encoding="utf-8")


def read_statement(folder: Path) -> Statement:
    """The statement of a submission.

    Raises:
        IntraBenchError: it is not as this version writes it.
    """
    path = folder / STATEMENT
    found = read_json(path, {"schema": int})
    if (schema := found.pop("schema", None)) != SCHEMA:
        raise IntraBenchError(
            f"{path} is of schema {schema}, and this intrabench reads {SCHEMA}; use another version of it"
        )
    for name in _TYPES:
        if name not in found:
            raise Unreadable(f"{path} has no {name}; `intrabench submit` writes it")
    for name in found.keys() - _TYPES.keys():
        raise Unreadable(f"{path} has {one_line(name)!r}, which is unknown; remove it")
    found = read_json(path, {"schema": int, **_TYPES})
    if not NAME.fullmatch(found["id"]):
        raise Unreadable(
            f"{path} has the id {one_line(found['id'])!r}, expected small letters, digits, and . _ - between"
        )
    by = _made(path, By, found["by"])
    data = tuple(_made(path, Data, one) for one in found["data"])
    rest = {name: found[name] for name in ("id", "created", "intrabench", "rows", "lines")}
    return Statement(**rest, by=by, data=data, sampled=tuple(found["sampled"]), masks=tuple(found["masks"]))


_TYPES: dict[str, Any] = {
    **dict.fromkeys(("id", "created", "intrabench"), str),
    **{"by": dict[str, str], "rows": int, "data": list[dict[str, str | bool]]},
    **{"sampled": list[str], "masks": list[str], "lines": list[dict[str, Any]]},
}


def _made(path: Path, cls: Any, found: Mapping[str, Any]) -> Any:
    types = {one.name: bool if one.type == "bool" else str for one in fields(cls)}
    try:
        if wrong := [name for name, value in found.items() if type(value) is not types.get(name)]:
            raise Unreadable(f"{path} has a wrong {one_line(wrong[0])}; `intrabench submit` writes it")
        return cls(**found)
    except TypeError:
        raise Unreadable(f"{path} lacks what `intrabench submit` writes there ({', '.join(types)})") from None
    except IntraBenchError as error:
        raise Unreadable(f"{path}: {str(error).removeprefix('--')}") from None
