"""How long a person waits for nothing: a list, a description, a finished run again. Whole processes, best of five."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time

from benchmarks.comparison import MINIATURE


def seconds(words: list[str], folder: str, times: int = 1 if MINIATURE else 5) -> float:
    """Smallest wall time of the command in a fresh process."""
    best = float("inf")
    for _ in range(times):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "intrabench", *words], cwd=folder, check=True, capture_output=True)
        best = min(best, time.perf_counter() - started)
    return best


def main() -> None:
    """Print seconds."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = folder + "/data"
        print(f"intrabench list models        {seconds(['list', 'models'], folder):.2f} s")
        print(f"intrabench info litemedsam    {seconds(['info', 'litemedsam'], folder):.2f} s")
        run = ["run", "--model", "box_fill", "--prompter", "box_slice", "--prompter", "point_interp:n=3"]
        run += ["--dataset", "phantom:scans=4"]
        print(f"a small run                   {seconds(run, folder, times=1):.2f} s")
        print(f"the same run, finished        {seconds(run, folder):.2f} s")


if __name__ == "__main__":
    main()
