"""The tokens in the links of people, in a file that only its owner may read."""

from __future__ import annotations

import secrets
from pathlib import Path

from intrabench.files.documents import Unreadable, check_table, read_json

SHORTEST = 16
"""Characters of a token; fewer could be guessed."""


def new_token() -> str:
    """A token that nobody can guess."""
    return secrets.token_urlsafe(24)


def read_tokens(path: Path) -> dict[str, str]:
    """The token of each person.

    Raises:
        FileNotFoundError: there is no such file.
        Unreadable: it holds something else, or a token that is too short or of several people.
    """
    found = read_json(path, {})
    check_table(path, found, dict.fromkeys(found, str))
    for who, token in found.items():
        if len(token) < SHORTEST or not token.isascii():
            raise Unreadable(f"{path} has no token of {who}, which has {SHORTEST} characters or more; repair it")
    if len({*found.values()}) < len(found):
        raise Unreadable(f"{path} has the same token for several people; repair it")
    return found
