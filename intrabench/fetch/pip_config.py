"""The user's sources of Python packages, according to pip or, without pip, the environment."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from intrabench.errors import IntraBenchError
from intrabench.specs.values import is_a

# pip's own parser, not `pip config list`: that prints no defaults and, in newer pips, sorts the files by name.
ASK_PIP = """
import json
from pip._internal.commands import create_command
options, _ = create_command("download").parse_args([])
print(json.dumps({name: getattr(options, name, None) for name in NAMES}))
"""
_TYPES: Mapping[str, Any] = {
    "no_index": bool | None,
    "timeout": float | None,
    **dict.fromkeys(("index_url", "cert", "client_cert", "proxy"), str | None),
    **dict.fromkeys(("extra_index_urls", "find_links", "trusted_hosts"), list[str]),
}
"""What is read of its options; another pip may have others."""
NAMES = tuple(_TYPES)
UV_NAME = re.compile(r"^[\w.-]+=(?=\w+:)")  # uv writes an index as NAME=URL or as URL


@dataclass(frozen=True)
class PipSettings:
    """Package sources and settings; values that may contain credentials are never printed."""

    index_urls: tuple[str, ...] = field(default=(), repr=False)
    find_links: tuple[str, ...] = field(default=(), repr=False)
    trusted_hosts: tuple[str, ...] = field(default=(), repr=False)
    cert: str | None = None
    client_cert: str | None = None
    proxy: str | None = field(default=None, repr=False)
    timeout: float = 15.0


def pip_settings() -> PipSettings:
    """The settings that ``pip download`` would use here; without pip, those in the PIP_* and UV_* variables.

    Raises:
        IntraBenchError: the time limit is no number.
    """
    options = _from_pip() or _from_environment(os.environ)
    try:
        timeout = float(options["timeout"] or 15)
    except ValueError as error:
        raise IntraBenchError(f"{error}; correct PIP_TIMEOUT, PIP_DEFAULT_TIMEOUT or UV_HTTP_TIMEOUT") from error
    indexes = () if options["no_index"] else (options["index_url"] or _usual_index(), *options["extra_index_urls"])
    return PipSettings(
        index_urls=tuple(indexes),
        find_links=tuple(os.path.expanduser(place) for place in options["find_links"]),
        trusted_hosts=tuple(options["trusted_hosts"]),
        cert=options["cert"] or os.environ.get("REQUESTS_CA_BUNDLE") or None,  # which pip also uses, through requests
        client_cert=options["client_cert"] or None,
        proxy=_with_scheme(options["proxy"]),
        timeout=timeout,
    )


def _from_pip() -> dict[str, Any] | None:
    """pip's options, or None if pip is not installed or cannot read its configuration."""
    # -I: a folder named pip in the current directory must not be taken for pip
    command = [sys.executable, "-I", "-c", f"NAMES = {NAMES!r}\n{ASK_PIP}"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
        options: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None
    valid = is_a(dict[str, Any], options) and all(is_a(_TYPES[name], options.get(name)) for name in NAMES)
    return options if valid else None


def _from_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    def first(*names: str) -> str:
        return next((variables[name] for name in names if variables.get(name)), "")

    def every(*names: str) -> list[str]:
        return [UV_NAME.sub("", one) for name in names for one in variables.get(name, "").replace(",", " ").split()]

    return {
        "index_url": UV_NAME.sub("", first("PIP_INDEX_URL", "UV_DEFAULT_INDEX", "UV_INDEX_URL")),
        "extra_index_urls": every("PIP_EXTRA_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL"),
        "find_links": every("PIP_FIND_LINKS", "UV_FIND_LINKS"),
        "no_index": first("PIP_NO_INDEX", "UV_NO_INDEX").lower() in {"1", "y", "yes", "t", "true", "on"},
        "trusted_hosts": every("PIP_TRUSTED_HOST", "UV_INSECURE_HOST"),
        "cert": first("PIP_CERT", "SSL_CERT_FILE"),
        "client_cert": first("PIP_CLIENT_CERT", "SSL_CLIENT_CERT"),
        "proxy": first("PIP_PROXY"),
        "timeout": first("PIP_TIMEOUT", "PIP_DEFAULT_TIMEOUT", "UV_HTTP_TIMEOUT"),
    }


def _with_scheme(proxy: str | None) -> str | None:
    return f"http://{proxy}" if proxy and "://" not in proxy else proxy or None


def _usual_index() -> str:
    """The default index."""
    from unearth import PackageFinder

    return PackageFinder().sources[0]["url"]
