"""The server of a rating study under load: 30 raters who score at once, on this machine's loopback.

Run with `python -m benchmarks rating`. Each rater loads masks and posts three answers a second, as no person can. Times
are those that the raters' side sees. It ends by itself once every rater has answered everything.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

import intrabench
from benchmarks.comparison import MINIATURE
from intrabench.people.rating.design import Plan, design
from intrabench.people.rating.study import Study

RATERS, INPUTS = (2, 2) if MINIATURE else (30, 20)
PAUSE_S = 0.3
"""Between two answers of a rater: 100 posts a second in all, a hundred times as many as people give."""
DATA = "phantom:shape=32x128x128,instances=5,scans=4"


def main() -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as folder:
        study = _study(Path(folder))
        command = [sys.executable, "-m", "intrabench", "rate", "serve", str(study.folder), "--port", "0"]
        server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            assert server.stdout is not None
            links = dict(server.stdout.readline().strip().split(": ", 1) for _ in range(RATERS))
            _measure(study, links)
        finally:
            server.terminate()
            server.wait(20)


def _study(folder: Path) -> Study:
    out = folder / "results"
    intrabench.run("box_fill", "box_volume", DATA, save_masks=True, workers=0, out=out)
    raters = tuple(f"r{number}" for number in range(RATERS))
    return design(out, folder / "study", Plan(inputs=INPUTS, raters=raters, training=0))[0]


def _measure(study: Study, links: dict[str, str]) -> None:
    posts: list[float] = []
    gets: list[float] = []
    ready = threading.Barrier(RATERS)

    def rate(rater: str) -> None:
        address, _, token = links[rater].partition("#")
        connection = http.client.HTTPConnection(address.split("/")[2], timeout=30)
        ready.wait(30)
        for place, job in enumerate(study.order(rater)):
            gets.append(_ask(connection, token, f"/api/job/{job}"))
            seen = list(range(*study.see(job)))
            posted = {
                "id": f"{rater}-{place:08d}",
                "place": place,
                "job": job,
                "score": 5,
                "seconds": 1.0,
                "seen": seen,
            }
            posts.append(_ask(connection, token, "/api/answers", posted))
            time.sleep(PAUSE_S)

    threads = [threading.Thread(target=rate, args=(rater,)) for rater in links]
    started = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    seconds = time.perf_counter() - started
    print(f"{RATERS} raters at once, {len(posts)} answers in {seconds:.1f} s ({len(posts) / seconds:.0f} a second):")
    for name, spent in (("post of a score", posts), ("next mask", gets)):
        median, most = np.percentile(spent, (50, 95)) * 1e3
        print(f"  {name}: median {median:.0f} ms, 95th percentile {most:.0f} ms, {max(spent) * 1e3:.0f} ms at most")


def _ask(connection: http.client.HTTPConnection, token: str, path: str, posted: Any = None) -> float:
    """The seconds until the answer is there."""
    started = time.perf_counter()
    body = None if posted is None else json.dumps(posted)
    connection.request("GET" if body is None else "POST", path, body, {"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    content = answer.read()
    assert answer.status == 200, content
    return time.perf_counter() - started
