"""Folders in nnU-Net's layout (versions 1 and 2, Decathlon): ``imagesTr``, ``labelsTr`` and ``dataset.json``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intrabench.datasets.folder.pairing import Pair, files_in, stem
from intrabench.datasets.folder.pairs import Pairs
from intrabench.datasets.folder.rules import IGNORE
from intrabench.errors import IntraBenchError
from intrabench.files.documents import read_json

FILE = "dataset.json"
_CHANNEL = re.compile(r"_\d{4}$")


def nnunet(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A case is a label map; its image is ``CASE_0000`` (0000 is the channel), or ``CASE`` with four axes.

    Names come from ``dataset.json``, which may combine values into regions, call one of them `IGNORE`, and list files
    in other folders.

    Raises:
        IntraBenchError: ``dataset.json`` cannot be read or does not name labels, or there is no such channel.
    """
    described, images, labels = path / FILE, path / "imagesTr", path / "labelsTr"
    if label is not None or not described.is_file():
        return None
    content = read_json(described, {})
    listed = content.get("dataset")
    if not isinstance(listed, dict) and not (images.is_dir() and labels.is_dir()):
        return None
    channels = _channels(content, channel, described)
    regions = regions_of(content.get("labels"), described)
    pairs = _listed(listed, path, channel) if isinstance(listed, dict) else _found(content, images, labels, channel)
    return Pairs(
        kind="nnU-Net",
        content=pairs,
        regions=regions,
        labels=tuple(name for name in regions if name != IGNORE),
        stated=_stated(content, channels[channel] if channels else ""),
        notes=(f"of the channels {', '.join(channels)} only {channels[channel]} is used",) if len(channels) > 1 else (),
        more=(described,),
    )


def _channels(content: Mapping[str, Any], channel: int, path: Path) -> list[str]:
    """The names of the channels in order, if any are given; refuses a `channel` beyond them."""
    found = content.get("channel_names") or content.get("modality")
    names = [str(name) for name in found.values()] if isinstance(found, dict) else []
    if names and channel >= len(names):
        raise IntraBenchError(f"{path} has no channel {channel}; it has {', '.join(names)}, counted from 0")
    return names


def regions_of(labels: Any, path: Path) -> dict[str, tuple[int, ...]]:
    """The values of each name, without background. Version 1 maps values to names, version 2 maps names to values."""
    try:
        if all(key.isdecimal() for key in labels):
            found: dict[str, tuple[int, ...]] = {str(name): (int(value),) for value, name in labels.items()}
        else:
            found = {
                name: tuple(map(int, values)) if isinstance(values, list) else (int(values),)
                for name, values in labels.items()
            }
    except (AttributeError, TypeError, ValueError) as error:
        raise IntraBenchError(f'{path} has no labels such as {{"background": 0, "liver": 1}}; repair it') from error
    return {name: values for name, values in found.items() if values != (0,)}


def _stated(content: Mapping[str, Any], modality: str) -> dict[str, str]:
    texts = {
        "title": content.get("name") or content.get("dataset_name") or content.get("description"),
        "modality": modality,
        "licence": content.get("licence") or content.get("license"),
        "citation": content.get("reference"),
    }
    return {key: str(text) for key, text in texts.items() if text}


def _listed(dataset: Mapping[str, Any], root: Path, channel: int) -> dict[str, Pair]:
    """The cases listed in ``dataset.json``, whose files may be in other folders."""
    try:
        listed = {case: (entry["images"][channel], entry["label"]) for case, entry in sorted(dataset.items())}
        return {case: Pair(root / image, root / label) for case, (image, label) in listed.items()}
    except (KeyError, IndexError, TypeError) as error:
        raise IntraBenchError(
            f"{root / FILE}: its table `dataset` has a case without a label or without image {channel}; repair it"
        ) from error


def _found(content: Mapping[str, Any], images: Path, labels: Path, channel: int) -> dict[str, Pair]:
    """The cases of the two folders, sorted; version 2 states the ending of its files."""
    ending = str(content.get("file_ending", ""))
    listed = [image for image in files_in(images) if image.name.endswith(ending)]
    by_stem = {stem(image): image for image in reversed(listed)}
    twice = {stem(image): image for image in listed if by_stem[stem(image)] != image}
    pairs: dict[str, Pair] = {}
    for label in files_in(labels):
        case = stem(label)
        if not label.name.endswith(ending):
            continue
        one, all_channels = by_stem.get(f"{case}_{channel:04d}"), by_stem.get(case)
        problem = "" if one or all_channels else f"{label} has no image {case}_{channel:04d} in {images}; add it"
        image = one or all_channels
        if image and stem(image) in twice:
            problem = f"{image} and {twice[stem(image)]} are images of the same case; keep one of them"
        if case in pairs:
            problem = f"{label} and {pairs[case].label} are labels of the same case; keep one of them"
        pairs[case] = Pair(image, label, 0 if one else channel, problem)
    for name, image in by_stem.items():
        case = _CHANNEL.sub("", name)
        if name not in pairs and case not in pairs:
            pairs[case] = Pair(
                image, None, problem=f"{image} has no label {case} in {labels}; add it or remove the image"
            )
    return dict(sorted(pairs.items()))
