"""The source of a user's code: which modules belong to it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from intrabench.identity.sources import hash_of, sources_of


def test_local_modules_that_are_imported_directly_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(Path.cwd())
    Path("pack_of_tests/inner").mkdir(parents=True)
    Path("pack_of_tests/__init__.py").write_text("")
    Path("pack_of_tests/inner/__init__.py").write_text("from . import near\n")
    Path("pack_of_tests/inner/near.py").write_text("from ..far import thing\nimport mine_of_tests\n")
    Path("pack_of_tests/far.py").write_text("thing = 1\n")
    Path("pack_of_tests/unused.py").write_text("raise SystemExit('imported')\n")
    Path("mine_of_tests.py").write_text(
        "import json, numpy, intrabench.mask\nimport absent_module\n"
        "def later():\n    from pack_of_tests import inner, nothing\n"
    )
    found = sources_of(Path("mine_of_tests.py"))
    assert set(found) == {
        "",
        "mine_of_tests",
        "pack_of_tests",
        "pack_of_tests.far",
        "pack_of_tests.inner",
        "pack_of_tests.inner.near",
    }
    assert found["pack_of_tests.far"] == b"thing = 1\n"
    assert not [name for name in sys.modules if name.startswith("pack_of_tests")]


def test_folders_without_an_init_are_packages_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of packages that are not imported, which importing would do."""
    monkeypatch.syspath_prepend(Path.cwd())
    Path("spaces_of_tests/inner/deep").mkdir(parents=True)
    Path("spaces_of_tests/inner/deep/near.py").write_text("thing = 1\n")
    Path("mine_of_tests.py").write_text(
        "from spaces_of_tests.inner.deep import near\nimport spaces_of_tests.absent.x\n"
    )
    assert set(sources_of(Path("mine_of_tests.py"))) == {"", "spaces_of_tests.inner.deep.near"}


def test_contents_and_names_count() -> None:
    digests = {hash_of(one) for one in ({"": b"a"}, {"": b"b"}, {"": b"a", "m": b"b"}, {"": b"a", "n": b"b"})}
    assert len(digests) == 4
    assert hash_of({"m": b"b", "": b"a"}) == hash_of({"": b"a", "m": b"b"})
    assert all(len(digest) == 8 for digest in digests)


def test_a_file_that_is_no_python_has_a_hash_all_the_same() -> None:
    Path("broken.py").write_text("def (:\n")
    assert set(sources_of(Path("broken.py"))) == {""}
