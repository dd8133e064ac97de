"""A rule for a folder that has no known layout, proposed from the names of its files and written if the user wants."""

from __future__ import annotations

import os
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path

import numpy as np

from intrabench.datasets.folder.by_pattern import by_pattern
from intrabench.datasets.folder.pairing import ending
from intrabench.datasets.folder.pattern import FilePatterns, Pattern
from intrabench.datasets.folder.templates import (
    PARTS,
    SEPARATORS,
    Family,
    are_times,
    families,
    role,
    sample,
    timed,
    words_of,
)
from intrabench.errors import IntraBenchError
from intrabench.files.atomic import atomically, writing
from intrabench.files.pictures import SUFFIXES as PICTURES
from intrabench.volume import read_grid_array

_RATER = re.compile(r"(?:rater|reader|observer|annotator|expert|radiologist)[-_ ]?\w+", re.IGNORECASE)
_TRIED, _LOOKED_AT = 6, 3
"""How many families are tried, and how many files whose names do not say what they are are read in a folder."""
_LARGEST = 256 << 20
"""Bytes of a file that is read for that."""
_SAMPLED = 1_000_000
"""Voxels of it that are looked at."""
_VALUES = 64
"""A file with more values holds no labels."""


@dataclass(frozen=True)
class Proposal:
    """A rule, how many of its cases have an image and labels, how many it has, and templates that it leaves out."""

    rule: FilePatterns
    complete: int
    cases: int
    unused: str = ""

    def write(self, file: Path) -> None:
        """Write the lines of the rule into ``dataset.toml``: a new file, or before the first table of the old one.

        All other lines stay as they are.

        Raises:
            CannotWrite: the file cannot be written.
        """
        with writing(file):
            old = file.read_bytes().decode() if file.exists() else ""
            mark = old[: old.startswith("\ufeff")]  # which some editors put first
            old = old.removeprefix(mark)
            end, at = "\r\n" if "\r\n" in old else "\n", _first_table(old)
            above, below = old[:at], old[at:]
            above += "" if above[-1:] in ("", "\n") else end
            lines = (self.rule.lines() + ("\n" if below else "")).replace("\n", end)
            with atomically(file) as part:
                part.write_bytes((mark + above + lines + below).encode())


def _first_table(text: str) -> int:
    """Where the first table of a TOML file begins, else its end; a ``[`` within a value of several lines is none."""
    for found in re.finditer(r"^[ \t]*\[", text, re.MULTILINE):
        try:
            tomllib.loads(text[: found.start()])
            return found.start()
        except tomllib.TOMLDecodeError:
            continue
    return len(text)


def propose(root: Path) -> Proposal | None:
    """The rule that most files of a folder follow, None if there is none; only names count, if these say enough.

    It has at least two cases with an image and labels, which are two thirds of all its cases.
    """
    paths = sample(root)
    best = families(paths, stars=False)
    if not best or len(best[0].accounted) < len(paths):
        starred = families(paths, stars=True)
        most = [max((len(one.accounted) for one in found), default=0) for found in (best, starred)]
        best = starred if most[1] > most[0] else best
    for family in best[:_TRIED]:
        found = list[Proposal]()
        for rule, unused in _rules(root, family):
            found += _proved(root, rule, unused)
            if found and found[-1].complete == found[-1].cases:
                return found[-1]
        if found:
            return max(found, key=lambda one: (one.complete, -one.cases))
    return None


def _proved(root: Path, rule: FilePatterns, unused: str) -> list[Proposal]:
    """The rule as a proposal if it finds enough cases, and takes no image for a structure."""
    pairs = by_pattern(root, rule, 0)
    one = Proposal(rule, len(pairs.complete()), len(pairs.content), unused)
    enough = one.complete > 1 and 3 * one.complete >= 2 * one.cases
    return [one] if enough and not any(role(words_of(name)) == "image" for name in pairs.labels) else []


def _rules(root: Path, family: Family) -> Iterator[tuple[FilePatterns, str]]:
    """The rules of a family, wide ones first, and the templates of images and labels that they leave out."""
    roles = _roles(root, family)
    images, drawn, unknown = (
        [one for one in family.paths if roles.get(one) == what] for what in ("image", "labels", "")
    )
    drawn = [one for one in drawn if one[-1] != "/"]
    if not images or not drawn:
        return
    channels = _channels(images, drawn)
    (key, labels), *others = _labels(drawn, family.rare, set().union(*map(words_of, channels)))
    taken = re.escape(labels).replace(re.escape("{label}"), "[^/]+")
    if any(re.fullmatch(taken, one) for one in unknown):
        return
    left = [*(one for one in images if one not in channels), *(one for _, one in others)]
    for name in _names(family):
        *scans, drawn_on_them = (Pattern(one.replace("{case}", name)) for one in (*channels, labels))
        yield FilePatterns(tuple(scans), **{key: drawn_on_them}), ", ".join(left).replace("{case}", name)


def _roles(root: Path, family: Family) -> dict[str, str]:
    """What the files of each template hold: ``labels``, ``image``, or an empty text if that is not known.

    Words decide that not all templates have. The others are read, a few of one case in each folder.
    """
    words = {one: words_of(one) for one in family.paths}
    common = set.intersection(*words.values())
    roles = {one: role(words[one] - common) for one in family.paths}
    unknown = defaultdict[str, list[str]](list)
    for one in family.paths:
        if not roles[one]:
            unknown[os.path.dirname(one)].append(one)
    if sum(map(len, unknown.values())) == 1 and "image" not in roles.values():
        return {one: known or "image" for one, known in roles.items()}
    case = max(sorted(family.cases), key=family.cases.__getitem__)
    for alike in unknown.values():
        known = [one for one in alike if case in family.paths[one]][:_LOOKED_AT]
        read = {one: _role_of(root / family.paths[one][case]) for one in known}
        same = len(alike) > _LOOKED_AT and len(set(read.values())) == 1
        roles |= dict.fromkeys(alike, read[known[0]]) if same else read
    return roles


def _role_of(path: Path) -> str:
    """What a file holds by its values: labels are few whole numbers from 0; empty if it cannot be read."""
    if path.is_dir():
        return "image"
    try:
        if ending(path) in PICTURES or path.stat().st_size > _LARGEST:
            return ""
        array, _ = read_grid_array(path)
    except (IntraBenchError, OSError):
        return ""
    values = np.unique(array.ravel()[:: max(1, array.size // _SAMPLED)])
    few = len(values) <= _VALUES and values[0] >= 0
    return "labels" if few and bool((values == np.round(values)).all()) else "image"


def _channels(images: Sequence[str], drawn: Sequence[str]) -> list[str]:
    """The image that the names of labels begin with, or else the first, and the others in its folder.

    A folder of DICOM files counts only if there are no other images, and alone.
    """
    files = [one for one in images if not one.endswith("/")]
    if not files:
        return list(images[:1])
    names = [os.path.basename(one) for one in drawn]
    named = [one for one in files if any(name.startswith(os.path.basename(one).split(".")[0]) for name in names)]
    first = (named or files)[0]
    return [first, *(one for one in files if one != first and os.path.dirname(one) == os.path.dirname(first))]


def _labels(drawn: Sequence[str], rare: Sequence[str], known: Set[str]) -> list[tuple[str, str]]:
    """The key of the rule and the template of label files, of many ones with a field; if several do not fit one, all.

    rare: templates that few cases fit, which may be further structures of these. known: words of images.
    """
    folders = defaultdict[str, list[str]](list)
    for one in drawn:
        folders[os.path.dirname(one)].append(one)
    groups = [list(drawn)] if _joined(drawn, known) else sorted(folders.values(), key=len, reverse=True)
    found = []
    for group in groups:
        place = os.path.dirname(group[0])
        more = [one for one in rare if os.path.dirname(one) == place and role(words_of(one)) != "image"]
        found.append(_joined([*group, *more], known) or _joined(group, known) or ("label", group[0]))
    return found


def _joined(templates: Sequence[str], known: Set[str]) -> tuple[str, str] | None:
    """One template with a field where several differ, in one word or more of a name; None if they differ elsewhere.

    Of ``{case}_left_lung_mask`` and ``{case}_left_kidney_mask`` the structure is ``left_lung``: words that are neither
    in the names of images (`known`) nor say what a file holds belong to it.
    """
    suffix = ending(Path(templates[0]))
    if len(templates) < 2 or any(ending(Path(one)) != suffix for one in templates):
        return None
    parts = [PARTS.findall(one.removesuffix(suffix)) for one in templates]
    first = _alike(parts)
    last = _alike([one[first:][::-1] for one in parts])
    start, end = parts[0][:first], parts[0][len(parts[0]) - last :]
    while start and (start[-1] not in SEPARATORS or _belongs(start, known)):
        start.pop()
    while end and (end[0] not in SEPARATORS or _belongs(end[::-1], known)):
        end.pop(0)
    texts = ["".join(one[len(start) : len(one) - len(end)]) for one in parts]
    if not all(texts) or any(re.search("[/{*]", text) for text in texts) or (not start and "/" in end):
        return None
    raters = all(map(_RATER.fullmatch, texts))
    key, field = ("label", "{rater}") if raters else ("structures", "{label}")
    return key, "".join([*start, field, *end, suffix])


def _alike(lists: Sequence[Sequence[str]]) -> int:
    """With how many equal items lists begin."""
    return sum(1 for _ in takewhile(lambda column: len(set(column)) == 1, zip(*lists, strict=False)))


def _belongs(parts: Sequence[str], known: Set[str]) -> bool:
    """Whether one of the words at this end of a name, before or after the structure, is a part of its name."""
    within = list(takewhile(lambda part: part != "/", reversed(parts)))
    words = [part for part in within if part not in SEPARATORS and part[0] != "{"]
    return any(word not in known and not role([word]) for word in words)


def _names(family: Family) -> list[str]:
    """What stands for ``{case}`` in a rule: also patient and time if names say them, and what all times begin with."""
    texts, before = [key[-1] for key in family.cases], ""
    if all(len(key) == 1 for key in family.cases):
        parts = timed(texts)
        texts = [time for _, _, time in parts]
        before = f"{{patient}}{parts[0][1]}" if parts else ""
    if not texts or not are_times(texts):
        return ["{case}"]
    starts = {re.split(r"\d", text)[0] for text in texts}
    narrow = [f"{before}{start}{{time}}" for start in starts if len(starts) == 1 and start not in texts]
    return list(dict.fromkeys([f"{before}{{time}}", *narrow]))
