"""The secret of a rating study: of it comes all that raters could use to tell what a mask is.

It stands in the study's key alone. What is derived from it, by HMAC, says nothing of it nor of anything else.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Secret:
    """text: of at least 128 random bits."""

    text: str

    @classmethod
    def new(cls) -> Secret:
        """One that nobody knows."""
        return cls(secrets.token_hex(32))

    def code(self, *purpose: Any) -> str:
        """64 hexadecimal digits for a purpose, which strings and numbers name."""
        return signature(self.text, json.dumps(purpose))

    def chance(self, *purpose: Any) -> np.random.Generator:
        """A generator for a purpose."""
        return np.random.default_rng(np.frombuffer(bytes.fromhex(self.code(*purpose)), dtype=np.uint32))

    def of_answers(self, rater: str) -> str:
        """The secret with which the bundle of a rater signs answers."""
        return self.code("answers", rater)


def signature(secret: str, text: str) -> str:
    """The HMAC-SHA256 of a text, in hexadecimal digits."""
    return hmac.new(secret.encode(), text.encode(), hashlib.sha256).hexdigest()
