"""Random streams that depend on what is decided, never on the order: there is no global random state."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def stream(*identity: Any) -> np.random.Generator:
    """A generator seeded by a hash of the strings and numbers that identify the decision."""
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
