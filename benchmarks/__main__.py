"""Run all benchmarks, or those named, each in a process of its own: ``python -m benchmarks overhead surface``.

--miniature: only show that they run. --write: store what they printed and renew docs/speed.md; of another day or
machine, nothing stays. --page: only make the page again from what is stored.
"""

from __future__ import annotations

import ast
import importlib
import os
import pickle
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.comparison import recorded
from benchmarks.page import STORED, Output, Stored

NAMES = (
    "radioactive",
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
OPTIONS = ("--miniature", "--write", "--page")

CHILD = "from benchmarks.__main__ import one; one({name!r}, {path!r})"


def one(name: str, path: str) -> None:
    """Run a benchmark in this process, and leave its comparisons in a file."""
    importlib.import_module(f"benchmarks.{name.replace('-', '_')}").main()
    Path(path).write_bytes(pickle.dumps(recorded))


def output(name: str) -> Output:
    """Run a benchmark in a process of its own and print what it prints."""
    started, printed = time.perf_counter(), list[str]()
    with tempfile.TemporaryDirectory() as folder:
        path, errors = Path(folder, "comparisons"), Path(folder, "errors")
        command = [sys.executable, "-c", CHILD.format(name=name, path=str(path))]
        with (
            errors.open("w") as err,
            subprocess.Popen(command, stdout=subprocess.PIPE, stderr=err, text=True) as process,
        ):
            assert process.stdout is not None
            for line in process.stdout:
                print(line, end="", flush=True)
                printed.append(line.rstrip().replace(str(Path.home()), "~"))
        seconds, said = time.perf_counter() - started, errors.read_text()
        if process.returncode:
            print(said, file=sys.stderr, flush=True)
        failed = ((said.strip() or f"exit code {process.returncode}").splitlines()[-1]) if process.returncode else ""
        comparisons = pickle.loads(path.read_bytes()) if path.is_file() else []
    source = Path(__file__).with_name(f"{name.replace('-', '_')}.py").read_text()
    about = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0]
    return Output(name, about, round(seconds), printed, comparisons, failed)


def main() -> None:
    """Run and print; the exit code says how many failed."""
    words = sys.argv[1:]
    names = [word for word in words if word not in OPTIONS] or list(NAMES)
    if unknown := [name for name in names if name not in NAMES]:
        sys.exit(
            f"there is no benchmark {unknown[0]!r}; known are {', '.join(NAMES)}; options are {', '.join(OPTIONS)}"
        )
    if "--page" in words:
        return Stored.read().write()
    if "--miniature" in words:
        os.environ["INTRABENCH_BENCH_MINIATURE"] = "1"
        if "--write" in words:
            sys.exit("what benchmarks print in miniature means nothing, so it is not written; omit one of both options")
    found = []
    for name in names:
        print(f"== {name}", flush=True)
        found.append(output(name))
        print(f"== {name} took {found[-1].seconds:.0f} s{', and failed' if found[-1].failed else ''}", flush=True)
        if "--write" in words:
            written(found[-1])
    failed = [one.name for one in found if one.failed]
    if failed:
        sys.exit(f"{len(failed)} of {len(names)} failed: {', '.join(failed)}")


def written(output: Output) -> None:
    """Put an output among those of this machine and day, in the order of `NAMES`."""
    stored = Stored.here()
    with_others = Stored.read() if STORED.is_file() else stored
    outputs = with_others.outputs if (with_others.machine, with_others.day) == (stored.machine, stored.day) else {}
    every = {**outputs, output.name: output}
    Stored(stored.machine, stored.day, {name: every[name] for name in NAMES if name in every}).write()


if __name__ == "__main__":
    main()
