"""nnInteractive's protocol over HTTP, version 2: its words, and what requests and answers look like.

Read in nninteractive-client 2.6 and nninteractive 2.6 (https://github.com/MIC-DKFZ/nnInteractive).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response

from intrabench.models.about import about
from intrabench.models.base import Model
from intrabench.people.servers.arrays import NUMBERS, check_header, pack
from intrabench.people.servers.client_gestures import Kind
from intrabench.people.servers.client_session import Change, takes
from intrabench.people.servers.guard import Rates, Rules, refused
from intrabench.play.validate import Refused

META, LEASE = "X-Meta", "X-Lease-Token"
VERSION = "2.6.0"
"""Of the package whose protocol this is; clients compare only the first number."""
DRAWN: Mapping[str, Kind] = {
    "/add_point_interaction": "point",
    "/add_bbox_interaction": "bbox",
    "/add_scribble_interaction": "scribble",
    "/add_lasso_interaction": "lasso",
}
CHANNELS = {"bbox2d": 1, "bbox3d": 1, "lasso": 1, "points": 3, "scribble": 5}
"""Clients want to know channels of a network; these are those of the published one."""
PAINTED = ("scribble", "lasso")
"""The kinds whose body is a mask."""
INITIAL = "/add_initial_seg_interaction"
WITH_ARRAYS = frozenset({"/set_image", INITIAL, "/add_scribble_interaction", "/add_lasso_interaction"})
"""Where the body is an array, and everything else stands in the header `META`."""
SLACK = 2**20
"""Bytes of a body besides its array; what cannot be compressed grows a little."""
LONGEST_HEADER = 300
"""Bytes: a type has a name of 255 letters at most, and an image four axes."""


def rules(token: str | None, hosts: frozenset[str], most: int, rates: Rates | None = None) -> Rules:
    """What a server of the protocol asks; token: None on this machine only. most: bytes of an array."""
    return Rules(
        None if token is None else {"client": token},
        hosts,
        frozenset({"/healthz"}),
        dict.fromkeys(WITH_ARRAYS, most + SLACK),
        rates,
        "this server wants the token that it printed, as `Authorization: Bearer TOKEN`; give it as the API key",
        "detail",
    )


def capabilities(model: Model) -> dict[str, Any]:
    """What clients must know of a model. `intrabench` is ours: what it really takes, and what answers."""
    abilities = model.abilities
    return {
        "supported_interactions": takes(abilities),
        "channel_mapping": {"prev_seg": 0, **{kind: [first, first + 1] for kind, first in CHANNELS.items()}},
        "num_interaction_channels": 7,
        "supports_initial_label": True,
        "supports_zero_shot_label_refinement": model.feeds_back,
        "preferred_scribble_thickness": [1, 1, 1],
        "interaction_decay": None,
        "patch_size": None,
        "do_autozoom": False,
        "inference_session_version": VERSION,
        "license": _licence(model),
        "supports_undo": True,
        "intrabench": about(model),
    }


def _licence(model: Model) -> str:
    from intrabench.models.weights import registry as weights

    return weights.get(model.weights).licence if model.weights else "none: the model has no weights"


async def received(request: Request, most: int | None) -> bytes:
    """The body of a request. most: bytes of the array that it is, whose header is looked at first; None: it is JSON.

    Raises:
        Refused: it is no array, or one that is too large.
    """
    parts, checked = bytearray(), most is None
    async for part in request.stream():
        parts += part
        if not checked and len(parts) >= LONGEST_HEADER:
            check_header(bytes(parts[:LONGEST_HEADER]), most or 0, NUMBERS)
            checked = True
    return bytes(parts)


def meta_of(headers: Headers) -> Mapping[str, Any]:
    """What stands beside a binary body.

    Raises:
        Refused: it is no JSON object.
    """
    return parsed(headers.get(META, "{}"), META)


def parsed(text: str | bytes, what: str) -> Mapping[str, Any]:
    """A JSON object.

    Raises:
        Refused: it is none.
    """
    try:
        found = json.loads(text or "{}")
        json.dumps(found, ensure_ascii=False).encode()  # halves of characters cannot be said again
    except (ValueError, RecursionError) as error:
        raise Refused(f"{what} is no JSON; see the protocol of nnInteractive") from error
    if not isinstance(found, dict):
        raise Refused(f"{what} is no JSON object; see the protocol of nnInteractive")
    return found


def answered(change: Change, dtype: str) -> Response:
    """The box that changed, and what is in it now, in the type of the client's own mask."""
    meta: dict[str, Any] = {"ran_prediction": change.ran, "bbox": None}
    content = b""
    if change.box is not None and change.mask is not None:
        box = change.box
        meta["bbox"] = [[box[axis], box[axis + 3]] for axis in range(3)]
        meta |= {"dtype": dtype, "shape": list(change.mask.shape)}
        content = pack(change.mask.astype(dtype, copy=False))
    headers = {META: json.dumps(meta, separators=(",", ":"))}
    return Response(content, media_type="application/octet-stream", headers=headers)


def refusal(status: int, reason: str, **headers: str) -> Response:
    """Why something was not done."""
    return refused(status, reason, "detail", {key.replace("_", "-"): it for key, it in headers.items()})
