"""The pages of people with a CT of 512 x 512 x 300, in Chromium on this machine.

Run with `python -m benchmarks pages`. First page: from opening the link until a slice of the scan is on the screen.
Next slice: from the key until the picture. Next job: from a sent score until the next mask is there. And the wait for
an answer of `random_walker` on a small phantom: in `intrabench annotate`, over HTTP, and in a run.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import intrabench
from benchmarks.comparison import MINIATURE
from intrabench.people.rating.design import Plan, design
from intrabench.results.parts import read_rows

CT = f"phantom:shape={'24x64x64' if MINIATURE else '300x512x512'},instances=3"
SMALL = "phantom:shape=48x96x96,instances=8"
SLICES, TURNS = (4, 2) if MINIATURE else (40, 8)


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["INTRABENCH_DATA"] = str(Path(folder) / "data")
        _answers(Path(folder))
        _pages(Path(folder))


@contextmanager
def _serving(*words: str) -> Iterator[str]:
    """The link of a server while the context lasts."""
    command = [sys.executable, "-m", "intrabench", *words, "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip().split(": ", 1)[1]
    finally:
        server.terminate()
        server.wait(20)


def _pages(folder: Path) -> None:
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        return print("  no Chromium is installed: the pages are not measured")
    from playwright.sync_api import sync_playwright

    out = folder / "results"
    intrabench.run("box_fill", "box_volume", CT, save_masks=True, workers=0, out=out)
    study, _ = design(out, folder / "study", Plan(inputs=3, raters=("r1",), training=0, anchors=0.5))
    print("a CT of 512 x 512 x 300 voxels:")
    with _serving("rate", "serve", str(study.folder)) as link, sync_playwright() as play:
        page = play.chromium.launch(executable_path=found, args=["--no-sandbox"]).new_page()
        page.goto(link)
        _until(page, "window.rating && window.rating.state().firstDraw")
        print(f"  first page of rate: {_state(page)['firstDraw'] / 1e3:.2f} s")
        page.keyboard.press("Enter")
        _until(page, "window.rating.state().loaded === 1")
        slices = [_timed(page, "n", "sliceDraw") for _ in range(SLICES)]
        _tell("next slice", slices)
        jobs = []
        for _ in range(2):
            while _state(page)["left"]:
                page.keyboard.press("n")
            page.keyboard.press("5")
            jobs.append(_timed(page, "Enter", "jobDraw"))
        _tell("next job", jobs)
    words = ("annotate", "--model", "box_fill", "-d", CT, "--out", str(folder / "ct"))
    with _serving(*words) as link, sync_playwright() as play:
        page = play.chromium.launch(executable_path=found, args=["--no-sandbox"]).new_page()
        page.goto(link)
        _until(page, "window.annotating && window.annotating.state().firstDraw")
        first = page.evaluate("window.annotating.state().firstDraw")
        print(f"  first page of annotate: {first / 1e3:.2f} s")


def _state(page: Any) -> dict[str, Any]:
    found: dict[str, Any] = page.evaluate("window.rating.state()")
    return found


def _until(page: Any, expression: str) -> None:
    while not page.evaluate(expression):  # the pages allow nothing else to be evaluated in them
        page.wait_for_timeout(5)


def _timed(page: Any, key: str, name: str) -> float:
    """The milliseconds that the page measured from a key until its picture."""
    page.evaluate("window.rating.forget()")
    page.keyboard.press(key)
    _until(page, f"window.rating.state().{name} !== null")
    return float(_state(page)[name])


def _tell(name: str, milliseconds: list[float]) -> None:
    median, most = statistics.median(milliseconds), max(milliseconds)
    print(f"  {name}: median {median:.0f} ms, {most:.0f} ms at most, of {len(milliseconds)}")


def _answers(folder: Path) -> None:
    """What the same clicks cost in a run and over HTTP."""
    import json

    out = folder / "clicks"
    options: dict[str, Any] = {"rounds": TURNS - 1, "workers": 0}
    intrabench.run("random_walker", "click_deepest", SMALL, out=out, **options)
    rows = read_rows(out).sort("target", "round")
    played = rows["segment_s"] + rows["prompt_s"]
    print("an answer of random_walker to a click, 48 x 96 x 96 voxels:")
    print(f"  in a run: median {1e3 * float(played.median() or 0):.0f} ms")  # type: ignore[arg-type]
    with _serving("annotate", "--model", "random_walker", "-d", SMALL, "--out", str(folder / "people")) as link:
        address, _, token = link.partition("#")

        def ask(path: str, posted: Any = None) -> Any:
            headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
            body = None if posted is None else json.dumps(posted).encode()
            with urllib.request.urlopen(urllib.request.Request(address + path, body, headers)) as answer:
                return json.loads(answer.read())

        spent = []
        turns = _turns(out)
        for number, task in enumerate(ask("api/annotation")["tasks"]):
            ask(f"api/task/{task['code']}")
            for turn, (*voxel, label) in enumerate(turns[task["label"]]):
                gesture = {"kind": "click", "place": voxel, "label": label, "seconds": 1.0, "at": 0.0}
                posted = {"code": task["code"], "id": f"turn-{number:03d}-{turn:03d}", "gestures": [gesture]}
                started = time.perf_counter()
                ask("api/turn", posted)
                spent.append(time.perf_counter() - started)
    print(f"  in annotate, over HTTP: median {1e3 * statistics.median(spent):.0f} ms, of {len(spent)}")


def _turns(out: Path) -> dict[str, list[list[int]]]:
    """The clicks of the simulated user, by target."""
    from intrabench.results.parts import read_turns
    from intrabench.turns import turns_by_round

    found = {}
    for session, target in read_rows(out).select("session", "target").unique().iter_rows():
        rounds = turns_by_round(read_turns(out, [session]).sort("turn").to_dicts())
        found[target] = [
            row for number in sorted(rounds) for turn in rounds[number] for row in turn.prompts.points.tolist()
        ]
    return found


if __name__ == "__main__":
    main()
