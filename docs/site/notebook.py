"""A notebook as Markdown: its cells, and the outputs that are stored in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def markdown(path: Path) -> str:
    """The page of a notebook."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return "\n\n".join(block for cell in cells for block in _cell(cell))


def _cell(cell: dict[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        yield source
        return
    yield f"```python\n{source}\n```"
    for output in cell["outputs"]:
        yield from _output(output)


def _output(output: dict[str, Any]) -> Iterator[str]:
    data = output.get("data", {"text/plain": output.get("text", "")})
    data = {kind: "".join(text) for kind, text in data.items()}
    if "image/png" in data:
        yield f'<img alt="{data["text/plain"]}" src="data:image/png;base64,{data["image/png"].strip()}">'
    elif "text/html" in data:
        yield f'<div class="output">{" ".join(data["text/html"].split(chr(10)))}</div>'
    else:
        yield f"```text\n{data['text/plain'].rstrip()}\n```"
