"""Random streams that depend on what is decided, never on when: no global randomness anywhere."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import numpy as np


def stream(*identity: Any) -> np.random.Generator:
    """A generator seeded by a hash of what identifies the decision (strings and numbers)."""
    digest = hashlib.sha256(json.dumps(identity).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))
