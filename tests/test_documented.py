"""Code in the text of pages, outside of blocks, is code that exists."""

from __future__ import annotations

import builtins
import dataclasses
import math
import re
from pathlib import Path

import numpy as np
import pytest

from tests import documented


@pytest.fixture(scope="module")
def callable_names() -> set[str]:
    """What code in running text may call: what the package defines, and what Python and arrays have."""
    sources = [path.read_text(encoding="utf-8") for path in (documented.ROOT / "intrabench").rglob("*.py")]
    ours = {name for source in sources for name in re.findall(r"^ *(?:class|def) (\w+)", source, re.M)}
    return ours.union(dir(builtins), dir(str), dir(dataclasses), dir(math), dir(np.ndarray))


@pytest.mark.parametrize("page", documented.PAGES, ids=lambda page: str(page.relative_to(documented.ROOT)))
def test_what_code_in_the_text_of_a_page_calls_exists(page: Path, callable_names: set[str]) -> None:
    assert documented.calls(page) - callable_names == set()


def test_a_call_of_what_does_not_exist_is_found(tmp_path: Path, callable_names: set[str]) -> None:
    page = tmp_path / "page.md"
    page.write_text("Give `Turn(Prompts(), actions=(Wait(),))`, or `MyData()`.\n```python\nother()\n```\n")
    assert documented.calls(page) - callable_names == {"Wait"}
