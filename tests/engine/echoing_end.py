"""A process that does what a test asks."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import suppress

from intrabench.engine.executors.ipc import array_in, connect, receive_file


def main(words: Sequence[str]) -> None:
    """Serve the test."""
    connection = connect(words)
    connection.send("ready")
    with suppress(EOFError):
        while True:
            kind, *about = connection.recv()
            if kind == "array":
                array = array_in(receive_file(connection), *about)
                connection.send((array.sum(), type(array).__name__))
            elif kind == "read":
                connection.send(sys.stdin.buffer.read())
            elif kind == "busy":
                connection.send("busy")
                time.sleep(1000)
            else:
                try:
                    connection.send("waiting")
                    while True:
                        time.sleep(0.01)
                except KeyboardInterrupt:
                    connection.send("interrupted")
