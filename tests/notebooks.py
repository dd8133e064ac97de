"""The notebooks in docs/notebooks, executed; ``python -m tests.notebooks`` renews the outputs that they show."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOKS = tuple(sorted(ROOT.glob("docs/notebooks/*.ipynb")))


def execute(path: Path, folder: Path) -> Any:
    """The notebook with the outputs of now, executed in an empty folder; a cell that fails raises."""
    notebook = nbformat.read(path, as_version=4)
    data = {"INTRABENCH_DATA": str(folder / "data"), "INTRABENCH_WORKERS": "0"}
    client = NotebookClient(notebook, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}})
    client.execute(env={**os.environ, **data})
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # when it ran
        for output in cell.get("outputs", []):
            output.get("data", {}).pop("image/jpeg", None)  # the same as its PNG
    notebook.metadata = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    return notebook


def shown(notebook: Any) -> list[str]:
    """What stands below the cells as text; of pictures that there is one."""
    found = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            data = output.get("data", {"text/plain": output.get("text", "")})
            found.append("a picture" if "image/png" in data else data["text/plain"])
    return found


def main() -> int:
    """Renew all notebooks."""
    for path in NOTEBOOKS:
        with tempfile.TemporaryDirectory() as folder:
            nbformat.write(execute(path, Path(folder)), path)
        print(f"renewed {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
