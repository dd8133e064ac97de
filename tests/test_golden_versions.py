"""No built-in component changes what it does under the same version (tests/versions.py)."""

from __future__ import annotations

import json

from syrupy.assertion import SnapshotAssertion

from tests.versions import FILE, described, problems


def test_what_changes_its_behaviour_changes_its_version() -> None:
    silent, written = problems(json.loads(FILE.read_text(encoding="utf-8")), described())
    assert not silent, "; ".join(silent)
    assert not written, "; ".join(written)


def test_what_is_said_of_changes(wording: SnapshotAssertion) -> None:
    one, other, third = ({"version": version, "behaviour": digest} for version, digest in ("1a", "1b", "2b"))
    assert problems({"x": one}, {"x": one}) == ([], [])
    (silent,), _ = problems({"x": one}, {"x": other})
    assert silent == wording
    for then, now in (({"x": one}, {"x": third}), ({}, {"x": one}), ({"x": one}, {})):
        silent, (told,) = problems(then, now)
        assert not silent
        assert told.startswith("x is ")
        assert told.endswith("run python -m tests.versions")
