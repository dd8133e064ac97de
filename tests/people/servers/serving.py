"""Servers of nnInteractive's protocol in a thread of the tests: ours, its own, and our proxy."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import uvicorn

from intrabench.models.base import Model
from intrabench.people.servers.app import Settings, make_app
from intrabench.people.servers.connections import Configuration
from intrabench.registry import registry

HOSTS = frozenset({"127.0.0.1"})
SHAPE = (12, 30, 32)
INSIDE = (6, 15, 16)


def ball() -> np.ndarray:
    """A bright ball in noise, around `INSIDE`, in voxels of one millimetre."""
    z, y, x = np.ogrid[tuple(slice(0, size) for size in SHAPE)]
    found = (z - 6) ** 2 + (y - 15) ** 2 + (x - 16) ** 2 <= 25
    return (80.0 * found + np.random.default_rng(3).normal(0, 10, SHAPE)).astype(np.float32)


class Prompt(uvicorn.Server):
    """A server that ends as soon as it is told to, not with the next tenth of a second."""

    async def main_loop(self) -> None:
        while not self.should_exit:
            await asyncio.sleep(0.005)


@contextmanager
def running(app: Any, port: int = 0) -> Iterator[str]:
    """The address of an app while the context lasts."""
    listening = socket.socket()
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listening.bind(("127.0.0.1", port))
    server = Prompt(Configuration(app, timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        assert thread.is_alive()
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(120)
        listening.close()


@contextmanager
def served(
    model: str | Model = "random_walker", token: str | None = None, port: int = 0, **settings: Any
) -> Iterator[str]:
    """The address of a model of ours."""
    made = registry.make("models", model) if isinstance(model, str) else model
    with running(make_app(made, Settings(token, HOSTS, **settings)), port) as address:
        yield address


@contextmanager
def official(folder: Path, **settings: Any) -> Iterator[str]:
    """The address of nnInteractive's own server, with a model folder."""
    import torch
    from nnInteractive.inference.inference_session import nnInteractiveInferenceSession
    from nnInteractive.inference.server.app import make_app as theirs

    threads = torch.get_num_threads()
    loader = nnInteractiveInferenceSession(torch.device("cpu"), torch_n_threads=threads)
    parts = loader._load_model_artifacts_from_disk(str(folder))
    parts["network"].eval()
    with running(theirs(parts, torch.device("cpu"), torch_n_threads=threads, **settings)) as address:
        yield address


@contextmanager
def client(address: str, image: np.ndarray | None = None, token: str | None = None) -> Iterator[Any]:
    """The official client, with an image and an empty mask."""
    from nnInteractive.inference.remote import nnInteractiveRemoteInferenceSession

    with nnInteractiveRemoteInferenceSession(address, token) as session:
        array = ball() if image is None else image
        session.set_image(array[None])
        session.set_target_buffer(np.zeros(array.shape, np.uint8))
        yield session
