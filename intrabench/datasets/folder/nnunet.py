"""Folders in nnU-Net's layout (versions 1 and 2, Decathlon): ``imagesTr``, ``labelsTr`` and ``dataset.json``.

The folder that holds them is known to nnU-Net by the environment variable `RAW`, and each by its number.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from intrabench.datasets.folder.layout import first_of
from intrabench.datasets.folder.pairing import Pair, files_in, stem
from intrabench.datasets.folder.pairs import Pairs, channel_notes
from intrabench.datasets.folder.rules import IGNORE
from intrabench.errors import IntraBenchError, some
from intrabench.files.documents import read_json

FILE = "dataset.json"
RAW = "nnUNet_raw"
_CHANNEL = re.compile(r"_(\d{4})$")
_PART = re.compile(r"images((Tr|Va|Ts)\w*)")
_ID = re.compile(r"Dataset\d{3,}(_.+)?")


def nnunet(path: Path, label: Path | None, channel: int) -> Pairs | None:
    """A case is a label map; its image is ``CASE_0000`` (0000 is the channel), or ``CASE`` with four axes.

    Names come from ``dataset.json``, which may combine values into regions, call one of them `IGNORE`, and list files
    in other folders. Without that file values have no names. Of several parts, such as ``imagesTr`` and ``imagesVa``
    with their labels, the first with complete cases counts, ``Tr`` before others.

    Raises:
        IntraBenchError: ``dataset.json`` cannot be read or does not name labels, or there is no such channel.
    """
    if label is not None or not path.is_dir():
        return None
    described = path / FILE
    content = read_json(described, {}) if described.is_file() else {}
    listed = content.get("dataset")
    found: dict[tuple[Path, ...], dict[str, Pair]] = (
        {(path,): _listed(listed, path, channel)}
        if isinstance(listed, dict)
        else {(images, labels): _found(content, images, labels, channel) for images, labels in _parts(path)}
    )
    return first_of(
        path, {where: _layout(described, content, where[0], pairs, channel) for where, pairs in found.items()}
    )


def _parts(path: Path) -> list[tuple[Path, Path]]:
    """The folders of images and of their labels, ``Tr`` first."""
    images = sorted(one for one in path.iterdir() if _PART.fullmatch(one.name) and one.is_dir())
    parts = [(one, path / one.name.replace("images", "labels")) for one in images]
    return sorted((part for part in parts if part[1].is_dir()), key=lambda part: part[0].name != "imagesTr")


def _layout(
    described: Path, content: Mapping[str, Any], images: Path, pairs: Mapping[str, Pair], channel: int
) -> Pairs:
    """The cases of a folder of images, with what ``dataset.json`` says if it is there."""
    there = described.is_file()
    channels = _channels(content) if there else _numbers(images, pairs)
    told = channel_notes(described if there else images, channels, channel)
    regions = regions_of(content.get("labels"), described) if there else {}
    notes = [] if there else [f"there is no {FILE}, which would name values and channels"]
    return Pairs(
        kind="nnU-Net",
        content=pairs,
        regions=regions,
        labels=tuple(name for name in regions if name != IGNORE),
        stated=_stated(content, channels[channel] if there and channels else ""),
        notes=(*notes, *told),
        more=(described,) if there else (),
    )


def _channels(content: Mapping[str, Any]) -> list[str]:
    """The names of the channels in order, if any are given."""
    found = content.get("channel_names") or content.get("modality")
    return [str(name) for name in found.values()] if isinstance(found, dict) else []


def _numbers(images: Path, pairs: Mapping[str, Pair]) -> list[str]:
    """The channels ``0000``, ``0001``, ... in names of images; a case may have a name that ends alike."""
    names = [stem(image) for image in files_in(images)]
    return sorted({found[1] for name in names if name not in pairs and (found := _CHANNEL.search(name))})


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
    drawn = [label for label in files_in(labels) if label.name.endswith(ending)]
    cases = set(map(stem, drawn))
    # amos_0003 is a case, not a channel of `amos`, where all labels have images whose names are equal to theirs
    numbered = cases.isdisjoint(by_stem) or any(_CHANNEL.sub("", name) in cases for name in by_stem.keys() - cases)
    pairs: dict[str, Pair] = {}
    for label in drawn:
        case = stem(label)
        one, all_channels = by_stem.get(f"{case}_{channel:04d}"), by_stem.get(case)
        expected = f"{case}_{channel:04d}" if numbered else case
        problem = "" if one or all_channels else f"{label} has no image {expected} in {images}; add it"
        image = one or all_channels
        if image and stem(image) in twice:
            problem = f"{image} and {twice[stem(image)]} are images of the same case; keep one of them"
        if case in pairs:
            problem = f"{label} and {pairs[case].label} are labels of the same case; keep one of them"
        pairs[case] = Pair(image, label, 0 if one else channel, problem)
    for name, image in by_stem.items():
        case = _CHANNEL.sub("", name) if numbered else name
        if name not in pairs and case not in pairs:
            pairs[case] = Pair(
                image, None, problem=f"{image} has no label {case} in {labels}; add it or remove the image"
            )
    return dict(sorted(pairs.items()))


def in_raw(spec: str) -> str:
    """The spec with the path of a data set in the folder `RAW`, if it begins with an id, ``Dataset027[_ACDC]``.

    It is empty if it does not.

    Raises:
        IntraBenchError: the folder is not known, or has no or several data sets of that id.
    """
    name, colon, parameters = spec.partition(":")
    if not _ID.fullmatch(name):
        return ""
    raw = Path(os.environ.get(RAW) or "-")
    if not raw.is_dir():
        raise IntraBenchError(f"{name} is an id of nnU-Net, but {RAW} is no folder; set this environment variable")
    there = _data_sets(raw)
    found = [one for one in there if name in (one, one.partition("_")[0])]
    if len(found) != 1:
        what = "several data sets of the id" if found else "no data set"
        raise IntraBenchError(f"{RAW}, {raw}, has {what} {name}; give one of {some(found or there)}")
    return f"{raw / found[0]}{colon}{parameters}"


def of_raw(path: Path) -> str:
    """Which data sets a folder such as `RAW` holds, one sentence; empty if it holds none."""
    there = _data_sets(path)
    return f"{path} holds data sets of nnU-Net; give the path of one of {some(there)}" if there else ""


def _data_sets(path: Path) -> list[str]:
    return sorted(one.name for one in path.iterdir() if _ID.fullmatch(one.name) and one.is_dir())
