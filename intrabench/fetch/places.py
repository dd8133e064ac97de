"""Where files are published: plain addresses, and short names of files on Hugging Face and Google Drive."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from urllib.parse import urlencode, urljoin

HOSTS: Mapping[str, str] = {
    "hf": "https://huggingface.co/{repository}/resolve/{revision}/{path}",
    "gdrive": "https://drive.usercontent.google.com/download?id={id}&export=download&confirm=t",
    "idc": "https://idc-open-data.s3.amazonaws.com",
    "idc_mirror": "https://storage.googleapis.com/idc-open-data",
}
"""Addresses by kind of place; tests point them at a server of their own."""


def url_of(place: str, member: str = "") -> str:
    """The address of a place, or of one member of a folder there.

    place: ``https://...``, ``hf:owner/repository@revision/path`` or ``gdrive:ID``.
    """
    kind, _, rest = place.partition(":")
    if kind == "hf":
        repository, _, at = rest.partition("@")
        revision, _, path = at.partition("/")
        return HOSTS["hf"].format(repository=repository, revision=revision, path="/".join(filter(None, [path, member])))
    if kind == "gdrive":
        return HOSTS["gdrive"].format(id=rest)
    return "/".join(filter(None, [place, member]))


def confirmed(url: str, page: str) -> str | None:
    """The address behind the button of Google Drive's page that asks whether to download a large file unscanned.

    None if `page` is not such a page. The button is a form whose fields make up the address.
    """
    form = re.search(r"<form[^>]*id=\"download-form\"[^>]*action=\"([^\"]+)\"[^>]*>(.*?)</form>", page, re.DOTALL)
    if form is None:
        return None
    fields = {}
    for field in re.findall(r"<input[^>]*>", form.group(2)):
        name, value = (re.search(rf"\b{key}=\"([^\"]*)\"", field) for key in ("name", "value"))
        if name and value:
            fields[html.unescape(name.group(1))] = html.unescape(value.group(1))
    return f"{urljoin(url, html.unescape(form.group(1)))}?{urlencode(fields)}"


def is_quota(page: str) -> bool:
    """Whether a page is Google Drive's notice that too many people fetched a file lately."""
    return re.search(r"quota exceeded|too many users have viewed", page, re.IGNORECASE) is not None
