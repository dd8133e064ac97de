"""Whatever answers at an address as nnInteractive's server does: nnInteractive itself, or `intrabench serve`."""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np

from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.models.base import Model, Predictor, Request
from intrabench.models.parts.nninteractive_image import OneImage, check_image
from intrabench.progress import step
from intrabench.prompts import Abilities, Derived, PromptKind, StrokePoints
from intrabench.specs.specs import Reach, switch
from intrabench.volume import Volume

KEY = "NN_INTERACTIVE_API_KEY"
"""The variable with the token, as the official client reads it."""
ADDRESS = "NN_INTERACTIVE_URL"
"""The variable with the address that the token is for; without it, it is for every address that a person types."""
MAJOR = 2
"""The first number of the version of the protocol."""
ANSWER_SECONDS = 600.0
FULL_SECONDS, PATIENCE_SECONDS = 10.0, 3600.0
"""A full server is asked again after the first, and given up after the second."""
_KINDS: Mapping[str, PromptKind] = {
    "points": "point",
    "bbox2d": "box2d",
    "bbox3d": "box3d",
    "scribble": "scribble",
    "lasso": "lasso",
}


def token_of(url: str) -> str | None:
    """The token for an address; None if there is none, or if it is for another one."""
    address = os.environ.get(ADDRESS, "").rstrip("/")
    return os.environ.get(KEY) or None if address in ("", url.rstrip("/")) else None


@contextmanager
def without_token() -> Iterator[None]:
    """For what only a file of somebody else names: the token is for no address but that of `ADDRESS`.

    It leaves the environment, which worker processes inherit.
    """
    token = None if os.environ.get(ADDRESS) else os.environ.pop(KEY, None)
    try:
        yield
    finally:
        if token is not None:
            os.environ[KEY] = token


@dataclass(eq=False)
class NnInteractiveServer(Model):
    """A model that answers at an address, in version 2 of the HTTP protocol of nnInteractive.

    What it accepts is what the server says (`/capabilities`). The image is uploaded once per scan, as it stands, ``(1,
    z, y, x)``; after that, a round sends its prompts, and gets the box that changed. Our geometry stays here: the
    server sees voxels, and their spacing, which `intrabench serve` wants to know. A server that is full is asked again
    until a place is free; one that is gone fails the session with a sentence.

    Another answer of `/capabilities` is another version of the model. An official server does not say which weights it
    has, so give each an address, or results folders, of its own. The variable NN_INTERACTIVE_API_KEY has the token. If
    NN_INTERACTIVE_URL has an address, the token goes only there; without it, to the address that a person types, never
    to one that only somebody's results name.

    url: the address.
    """

    name = "nninteractive_server"
    grey_only = True
    dims = 3
    accepts = frozenset({"point", "box2d", "box3d", "scribble", "lasso"})
    extra = "servers"
    requires = ("nnInteractive", "blosc2")
    covers = "what the server answers for"
    feeds_back = True

    url: Annotated[str, Reach("network")] = "http://127.0.0.1:1527"
    derived: Derived = switch("none")
    strokes: StrokePoints = switch("one_negative")

    def __post_init__(self) -> None:
        if not self.url.startswith(("http://", "https://")):
            raise ValueError(f"url={self.url} is no address; give one such as http://127.0.0.1:1527")
        self.url = self.url.rstrip("/")

    @property
    def version(self) -> str:  # type: ignore[override]
        """Its own, and a hash of what the server says about itself."""
        text = json.dumps(self.capabilities, sort_keys=True)
        return f"1/{hashlib.sha256(text.encode()).hexdigest()[:8]}"

    @property
    def abilities(self) -> Abilities:
        """What the server takes; `intrabench serve` also says what it would convert."""
        extension = self.capabilities.get("intrabench") or {}
        supported = self.capabilities["supported_interactions"]
        accepts = {kind for name, kind in _KINDS.items() if supported.get(name)} & set(
            extension.get("accepts", self.accepts)
        )
        if not accepts:
            raise IntraBenchError(f"the server at {self.url} says that it takes no prompts; look at its log")
        return replace(super().abilities, accepts=frozenset(accepts), dims=2 if extension.get("dims") == 2 else 3)

    @property
    def any_plane(self) -> bool:
        """As nnInteractive; behind `intrabench serve` there may be a model that needs canonical axes."""
        extension = self.capabilities.get("intrabench")
        return not extension or extension.get("dims") == 2

    @cached_property
    def capabilities(self) -> Mapping[str, Any]:
        """What the server says about itself.

        Raises:
            IntraBenchError: nobody answers at the address, or not as a server of this protocol does.
        """
        import httpx2

        token = token_of(self.url)
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        try:
            answer = httpx2.get(f"{self.url}/capabilities", headers=headers, timeout=10)
        except httpx2.HTTPError as error:
            raise IntraBenchError(
                f"no server answers at {self.url} ({error}); start it, for example with `intrabench serve MODEL`"
            ) from error
        if answer.status_code == 401:
            wrong = f"refuses the token in {KEY}" if token else "wants a token"
            raise IntraBenchError(f"the server at {self.url} {wrong}; set {KEY} to the one that it printed")
        about: Any = None
        with suppress(ValueError):
            about = answer.json()
        version = str(about.get("inference_session_version") or "") if isinstance(about, dict) else ""
        if answer.status_code != 200 or not version or not isinstance(about.get("supported_interactions"), dict):
            raise IntraBenchError(
                f"what answers at {self.url} is no server of nnInteractive's protocol (status {answer.status_code}); "
                "give the address of one"
            )
        if version.partition(".")[0] != str(MAJOR):
            raise IntraBenchError(
                f"the server at {self.url} speaks version {version} of nnInteractive's protocol, expected {MAJOR}; "
                "update it, or intrabench"
            )
        return about

    def load(self) -> None:
        """Ask the server what it takes."""
        _ = self.abilities

    @contextmanager
    def open(self, volume: Volume) -> Iterator[Predictor]:
        """Upload one image; closing it gives the place at the server back.

        Raises:
            IntraBenchError: the server cannot be used.
            ValueError: the image has several channels, or cannot be normalised.
        """
        check_image(volume.array)
        with closing(_Remote(self, volume)) as image:
            yield image

    def connect(self, volume: Volume) -> Any:
        """A session of the official client that has the image, and an empty mask.

        Raises:
            IntraBenchError: the server is full for too long, refuses, or is gone.
        """
        _ = self.abilities  # which tells a wrong address or version in a sentence
        session = self._claimed()
        try:
            about = {"spacing": [float(mm) for mm in volume.spacing_mm], "modality": volume.modality}
            session.set_image(volume.array[None], about)
            session.set_target_buffer(np.zeros(volume.shape, bool))
        except BaseException as error:
            session.close()
            if isinstance(error, Exception):
                raise server_error(error, self.url) from error
            raise
        return session

    def _claimed(self) -> Any:
        """A place at the server, for which it waits."""
        from nnInteractive.inference.remote import ServerAtCapacityError, nnInteractiveRemoteInferenceSession

        until, token = time.monotonic() + PATIENCE_SECONDS, token_of(self.url) or ""  # None: the client looks itself
        while True:
            try:
                return nnInteractiveRemoteInferenceSession(self.url, token, read_timeout=ANSWER_SECONDS)
            except ServerAtCapacityError as error:
                if time.monotonic() > until:
                    raise IntraBenchError(
                        f"the server at {self.url} was full for an hour ({error}); allow it more sessions, or give "
                        "fewer --workers"
                    ) from error
                with step("loading", f"waiting for a place at {self.url} ({error})"):
                    time.sleep(FULL_SECONDS)
            except Exception as error:
                raise server_error(error, self.url) from error


class _Remote(OneImage):
    """One image at the server. A lease that ended is claimed once more, and the image uploaded again."""

    def __init__(self, model: NnInteractiveServer, volume: Volume) -> None:
        super().__init__(model.connect(volume), volume.shape)
        self._model, self._volume = model, volume

    def close(self) -> None:
        """Give the place back."""
        if self.session is not None:
            self.session.close()
        super().close()

    def _end_turn(self) -> None:
        """A model behind `intrabench serve` may look at turns, so it gets them as they were."""
        if "intrabench" in self._model.capabilities:
            self.session._post_json("/end_turn", {})

    def _mask(self, request: Request) -> Mask:
        from nnInteractive.inference.remote import SessionExpiredError

        try:
            if self.session is None:
                self.session = self._model.connect(self._volume)
            try:
                return super()._mask(request)
            except SessionExpiredError:
                self.close()
                self.session = self._model.connect(self._volume)
                return super()._mask(request)
        except (IntraBenchError, ValueError):
            raise
        except Exception as error:
            raise server_error(error, self._model.url) from error


def server_error(error: Exception, url: str) -> Exception:
    """What a request to the server raised, as a sentence of ours; a time limit stays one."""
    response = getattr(error, "response", None)
    if isinstance(error, IntraBenchError):
        return error
    if response is not None:
        reason = response.reason_phrase
        with suppress(ValueError, AttributeError):
            reason = response.json().get("detail", reason)
        return IntraBenchError(f"the server at {url} refused ({response.status_code}): {str(reason)[:500]}")
    if "Timeout" in type(error).__name__:
        return TimeoutError(f"the server at {url} took too long to answer ({type(error).__name__})")
    reason = " ".join(str(error).split()) or type(error).__name__
    return IntraBenchError(f"the server at {url} is gone ({reason}); start it again, and run the same command")
