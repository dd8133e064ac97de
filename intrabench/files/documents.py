"""JSON and TOML files, which anybody may have written or damaged: checked content, or one sentence."""

from __future__ import annotations

import json
import math
import stat
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically
from intrabench.specs.values import is_a

DEEPEST = 100
"""Levels of tables and lists in each other; all code that walks through such content takes at least as many."""
LARGEST = 2**28
"""Bytes; what this package reads whole is much smaller."""


class Unreadable(IntraBenchError):
    """A file cannot be read, is no JSON or TOML, or holds something else than expected; the message names it."""


def read_json(path: Path, types: Mapping[str, Any], needs: Collection[str] = ()) -> dict[str, Any]:
    """The table of a JSON file; types: those of keys, as far as they are there. needs: keys that must be there.

    Raises:
        FileNotFoundError: there is no such file.
        Unreadable: the file is not what it should be.
    """
    return check_table(path, _parsed(path, "JSON", _loads), types, needs)


def read_json_list(path: Path, types: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The tables in the list that a JSON file holds; types and errors as for `read_json`."""
    listed = _parsed(path, "JSON", _loads)
    if not isinstance(listed, list):
        raise Unreadable(f"{path} has no list of tables; repair it")
    return [check_table(path, table, types) for table in listed]


def read_toml(path: Path, types: Mapping[str, Any]) -> dict[str, Any]:
    """The table of a TOML file; types and errors as for `read_json`."""
    return check_table(path, _parsed(path, "TOML", _loads_toml), types)


def written_toml(content: Mapping[str, Any]) -> str:
    """TOML of names and values, and of tables whose entries stand on a line each."""
    lines = [f"{name} = {_toml_value(value)}" for name, value in content.items() if not isinstance(value, dict)]
    for name, entries in content.items():
        if isinstance(entries, dict):
            lines += ["", f"[{name}]", *(f"{key} = {_toml_value(value)}" for key, value in entries.items())]
    return "\n".join(lines) + "\n"


def _toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return f"{{ {', '.join(f'{name} = {_toml_value(one)}' for name, one in value.items())} }}"
    return json.dumps(value, ensure_ascii=False)  # of texts, numbers and lists the same as in TOML


def json_number(value: Any) -> Any:
    """A value for JSON, which has no infinite numbers: the text ``Infinity`` or ``-Infinity``; NaN is null, unknown."""
    if not isinstance(value, float) or math.isfinite(value):
        return value
    return None if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def number_of_json(found: Any) -> Any:
    """What `json_number` wrote; also ``inf`` and ``-inf``, as earlier versions wrote it."""
    return float(found) if found in ("Infinity", "-Infinity", "inf", "-inf") else found


def write_json(path: Path, content: Mapping[str, Any], private: bool = False) -> None:
    """Write a table whole or not at all; private: only its owner may read it, from the first byte on.

    Raises:
        OSError: it cannot be written; inside of `writing` that becomes one sentence.
    """
    text = json.dumps(content, indent=1, allow_nan=False) + "\n"
    with atomically(path) as part:
        part.touch(0o600 if private else 0o666)
        part.write_text(text, encoding="utf-8")


def check_table(path: Path, found: Any, types: Mapping[str, Any], needs: Collection[str] = ()) -> dict[str, Any]:
    """What a file has, or one of the tables in it, if it is a table; types, needs and errors as for `read_json`."""
    if not isinstance(found, dict):
        raise Unreadable(f"{path} has no table of names and values; repair it")
    for key in needs:
        if key not in found:
            raise Unreadable(f"{path} has no {key}; repair it")
    for key, value in found.items():
        if key in types and not is_a(types[key], value):
            raise Unreadable(f"{path} has {_short(key)[1:-1]} = {_short(value)}, which is of the wrong kind; repair it")
    return found


def regular(path: Path) -> Path:
    """The path of a file or of a link to one; opening anything else, such as a pipe, may wait for ever.

    Raises:
        OSError: there is no such file.
        Unreadable: it is something else.
    """
    mode = path.stat().st_mode
    if not stat.S_ISREG(mode):
        what = "a folder" if stat.S_ISDIR(mode) else "a pipe, a socket or a device"
        raise Unreadable(f"{path} is {what}, expected a file; move it away")
    return path


def _parsed(path: Path, form: str, parse: Callable[[str], Any]) -> Any:
    try:
        size = regular(path).stat().st_size
        if size > LARGEST:
            raise Unreadable(f"{path} has {size / 1e6:.0f} MB, which is too large for such a file; repair it")
        text = path.read_bytes().decode("utf-8-sig")  # some editors put a byte order mark first
        found = parse(text)
        if sum(map(text.count, "[{.")) + 1 >= DEEPEST and _is_deep(found):
            raise RecursionError
        if form != "JSON" or "\\" in text:  # in JSON only escapes name halves of characters; TOML has huge numbers
            json.dumps(found, ensure_ascii=False, default=str).encode()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Unreadable(f"{path} cannot be read ({error.strerror}); repair it or move it away") from error
    except UnicodeError as error:  # JSON can also escape what is no text
        raise Unreadable(f"{path} is not valid {form} (it is not UTF-8); save it as UTF-8") from error
    except ValueError as error:
        raise Unreadable(f"{path} is not valid {form} ({error}); repair it") from error
    except (RecursionError, MemoryError) as error:
        raise Unreadable(f"{path} nests tables or lists more than {DEEPEST} levels deep; repair it") from error
    return found


def _loads(text: str) -> Any:
    if not text.strip("\0 \n\r\t"):
        raise ValueError("it is empty")
    return json.loads(text, object_pairs_hook=_unique, parse_constant=_refuse)


def _loads_toml(text: str) -> Any:
    if any(line.count(".") > 10 * DEEPEST for line in text.splitlines()):  # the time grows with the square of them
        raise RecursionError
    return tomllib.loads(text)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        keys = [key for key, _ in pairs]
        raise ValueError(f"the key {next(key for key in keys if keys.count(key) > 1)!r} is there twice")
    return found


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not a number in JSON")


def _is_deep(content: Any) -> bool:
    level = [content]
    for _ in range(DEEPEST):
        tables = [list(one.values()) if isinstance(one, dict) else one for one in level if isinstance(one, dict | list)]
        level = [child for table in tables for child in table]
        if not level:
            return False
    return True


def _short(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, default=str)
    except ValueError:  # a number of too many digits
        text = "a huge number"
    return text if len(text) <= 60 else f"{text[:60]}..."
