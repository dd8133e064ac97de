"""Run all benchmarks, or those named: ``python -m benchmarks overhead surface``."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "overhead",
    "refinement",
    "corrections",
    "click",
    "clickability",
    "surface",
    "startup",
    "memory",
    "encode",
    "batches",
    "loading",
    "contours",
    "gpu",
    "statistics",
    "coverage",
    "claims",
    "durability",
    "dask",
    "size",
    "workers",
    "harness",
    "gpu-share",
    "davis",
    "superpixels",
    "rating",
    "pages",
    "files",
    "serve",
    "board",
)


def main() -> None:
    """Run and print."""
    for name in sys.argv[1:] or NAMES:
        if name not in NAMES:
            sys.exit(f"there is no benchmark {name!r}; known are {', '.join(NAMES)}")
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name.replace('-', '_')}").main()


if __name__ == "__main__":
    main()
