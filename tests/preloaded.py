"""What servers of pages import and look up before they serve, without a test; see `tests.processes`."""

from functools import cache

import nibabel  # noqa: F401
import pytest  # noqa: F401
import scipy.ndimage
import scipy.sparse  # noqa: F401
import typer.main
import uvicorn.lifespan.on
import uvicorn.loops.auto
import uvicorn.protocols.http.auto  # noqa: F401

import intrabench.engine.make_job
import intrabench.people.annotating.server
import intrabench.people.rating.server
import intrabench.people.servers.run_server  # noqa: F401
from intrabench.cli.main import app
from intrabench.registry import registry

typer.main.get_command = cache(typer.main.get_command)
typer.main.get_command(app)
for kind, name in (("models", "random_walker"), ("prompters", "box_interp"), ("datasets", "phantom")):
    registry.make(kind, name)
