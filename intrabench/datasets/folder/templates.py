"""What the paths in a folder have in common: templates that differ only in the case, such as ``{case}/ct.nii.gz``."""

from __future__ import annotations

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path

from intrabench.datasets.folder.dicom import is_dicom
from intrabench.datasets.folder.pairing import NPZ, ending, is_folder

Key = tuple[str, ...]
"""The texts that the fields of a template stand for in one path: the case, or the patient and the case."""

PARTS = re.compile(r"\{\w+\}|[^/_. \-\d{}]+|\d[^/_. \-{}]*|[/_. \-*]")
"""A field, a word, a number with what follows it, or a separator: ``frame``, ``01``, ``_`` and ``gt``."""
SEPARATORS = frozenset("/_. -*")
_TIME = re.compile(
    r"(?:ses|session|time|timepoint|tp|t|frame|visit|week|wk|month|day|followup|fu)[-_ ]?\d+"
    r"|(?:19|20)\d\d(?P<dash>-?)[01]\d(?P=dash)[0-3]\d|baseline|follow-?up",
    re.IGNORECASE,
)
_CONTRAST = re.compile(r"t[12]", re.IGNORECASE)
"""Of an MR image; a time only beside other times."""
_GROUP = re.compile(
    r"(?:site|cent(?:er|re)|hospital|cohort|group|batch|part|fold|split|train|val|test|data|nifti|imag)\w*",
    re.IGNORECASE,
)
"""How folders begin that hold several patients."""
_SUBJECT = re.compile(r"(?:sub|subj|subject|patient|pat)[-_ ]?\w*\d", re.IGNORECASE)
"""How the names of patients begin."""
SCANS = 10
"""A patient has hardly more scans."""
_LABELS = re.compile(
    r"segm?s?|oars?|(?:segment|mask|label|annot|contour|lesion|structure|manual|delineat|ground)\w*|tumou?rs?\w*|gts?"
    r"|gtv\w*|ctv\w*|rois?|truth|rater|reader|observer",
    re.IGNORECASE,
)
_IMAGES = re.compile(
    r"(?:image|imaging|img|scan|flair|suv|dicom)\w*|vols?|volumes?|cta?|cbct|mri?|t[12]\w{0,3}|dwi|adc|pet|pt|us|dce|dcm"
    r"|raw|orig|original",
    re.IGNORECASE,
)
_ALIKE, _FILES, _FOLDERS, _DEPTH, _ALL = 20, 200, 60, 6, 2000
"""What is looked at: names that differ only in numbers, files and folders in a folder, levels of folders, and paths."""
_OTHERS = 3
"""How many files of a folder are opened to see whether they are DICOM."""
_SETS = 100
"""How many sets of cases are compared."""


def sample(root: Path) -> list[str]:
    """Paths of readable files and, with a ``/`` at the end, of folders of DICOM files, relative to `root` and sorted.

    Of a large folder they are a part, chosen by names alone. Folders that cannot be listed are left out.
    """
    found, level = list[str](), [""]
    for _ in range(_DEPTH):
        below = list[str]()
        for place in level:
            folders, files = listed(root / place)
            readable = [name for name in files if ending(Path(name)) not in ("", NPZ)]
            others = [name for name in files if not ending(Path(name))][:_OTHERS]
            found += [place + name for name in _some(readable, _FILES)]
            found += [place] if place and any(is_dicom(root / place / name) for name in others) else []
            below += [f"{place}{name}/" for name in _some(folders, _FOLDERS)]
        level = below[:_ALL]
        if len(found) >= _ALL:
            break
    return sorted(found[:_ALL])


def listed(folder: Path) -> tuple[list[str], list[str]]:
    """The names of folders and files in one, sorted, without hidden ones, links upwards and what no pattern can say."""
    try:
        with os.scandir(folder) as entries:
            plain = [one for one in entries if one.name[0] != "." and is_sayable(one.name)]
            here = Path(os.path.realpath(folder))
            plain = [one for one in plain if not (one.is_symlink() and here.is_relative_to(os.path.realpath(one)))]
            folders = {one.name for one in plain if is_folder(one)}
            return sorted(folders), sorted(one.name for one in plain if one.name not in folders)
    except OSError:
        return [], []


def is_sayable(name: str) -> bool:
    """Whether a pattern can have the characters of a name."""
    return name.isprintable() and not set("{}*") & set(name)


def _some(names: Sequence[str], most: int) -> list[str]:
    """Some of many names; of those that differ only in numbers the first."""
    times, chosen = Counter[str](), list[str]()
    for name in names:
        kind = re.sub(r"\d+", "0", name)
        times[kind] += 1
        chosen += [name] if times[kind] <= _ALIKE else []
    return chosen[:most]


def words_of(text: str) -> set[str]:
    """The words of a path or template that may say what it holds; of ``img01`` also ``img``."""
    whole = [word for word in re.split(r"[/_. \-*]+|\{\w+\}", text) if word]
    return {*whole, *(part for word in whole for part in PARTS.findall(word))}


def role(words: Iterable[str]) -> str:
    """``labels`` or ``image``, if one of the words says so, labels first; else empty."""
    words = list(words)
    if any(map(_LABELS.fullmatch, words)):
        return "labels"
    return "image" if any(map(_IMAGES.fullmatch, words)) else ""


def timed(texts: Iterable[str]) -> list[tuple[str, str, str]]:
    """Patient, separator and time of texts such as ``P01_t0``; empty if one has no time, or no patient has two."""
    found = [re.fullmatch(rf"(.+?)([_. -])({_TIME.pattern})", text, re.IGNORECASE) for text in texts]
    parts = [(one[1], one[2], one[3]) for one in found if one]
    patients, separators, times = ({one[at] for one in parts} for at in range(3))
    all_ = len(parts) == len(found) and len(separators) == 1 and are_times(times)
    return parts if all_ and len(patients) < len(parts) else []


def are_times(texts: Iterable[str]) -> bool:
    """Whether texts are those of times, such as ``ses-1``, ``t0`` or dates."""
    texts = list(texts)
    return all(map(_TIME.fullmatch, texts)) and not all(map(_CONTRAST.fullmatch, texts))


def fields_of(template: str) -> tuple[str, ...]:
    """The fields of a template, each once, in order."""
    return tuple(dict.fromkeys(re.findall(r"\{\w+\}", template)))


@dataclass(frozen=True, eq=False)
class Family:
    """Templates of the same cases. paths: those of each template, by case. rare: templates that fit less than half."""

    paths: Mapping[str, Mapping[Key, str]]
    rare: Sequence[str]

    @cached_property
    def cases(self) -> Counter[Key]:
        """How many templates each case fits."""
        return Counter(key for paths in self.paths.values() for key in paths)

    @cached_property
    def accounted(self) -> frozenset[str]:
        """The paths that fit."""
        return frozenset(path for paths in self.paths.values() for path in paths.values())

    @cached_property
    def rank(self) -> tuple[object, ...]:
        """The lower, the better: more paths, fewer templates, stars and fields, longer names of cases."""
        stars = sum(template.count("*") for template in self.paths)
        length = sum(len(text) for key in self.cases for text in key) / len(self.cases)
        fields = len(fields_of(next(iter(self.paths))))
        return -len(self.accounted), len(self.paths), stars, fields, -length, sorted(self.paths)

    @cached_property
    def is_sound(self) -> bool:
        """Whether cases are told apart by no word for what a file holds, and templates by no time; and patients."""
        words = (set[str]().union(*map(words_of, key)) for key in self.cases)
        roles = {role(word for word in of_case if not _TIME.fullmatch(word)) for of_case in words}
        times = {frozenset(run for run in _runs(template) if are_times([run])) for template in self.paths}
        return len(roles) == len(times) == 1 and not self.is_grouped

    @cached_property
    def is_grouped(self) -> bool:
        """Whether folders taken for patients are rather groups, such as sites: they hold many cases, or patients."""
        patients = {key[:-1] for key in self.cases}
        return patients != {()} and (
            len(self.cases) > SCANS * len(patients) or all(_SUBJECT.match(key[-1]) for key in self.cases)
        )


def families(paths: Sequence[str], stars: bool) -> list[Family]:
    """The families of templates that each fit at least two cases, the best first.

    stars: folders that are not part of a case, and whose names do not say what is in them, may have any name.
    """
    found = _templates(paths, stars)
    fitting: dict[tuple[tuple[str, ...], Key], list[str]] = defaultdict(list)
    sharing = Counter[tuple[tuple[str, ...], frozenset[Key]]]()
    for template, cases in found.items():
        fields = fields_of(template)
        for key in cases:
            fitting[fields, key].append(template)
        if len(cases) > 1:
            sharing[fields, frozenset(cases)] += 1
    # Only cases that are the same in several templates are of a family. The sets of cases are compared that account for
    # most paths: in a large irregular folder there are many small ones, none of which is worth its time.
    largest = sorted(sharing, key=lambda one: (-sharing[one] * len(one[1]), one[0], sorted(one[1])))[:_SETS]
    made = []
    for fields, keys in largest:
        counts = Counter(template for key in keys for template in fitting[fields, key])
        regular = sorted(one for one, count in counts.items() if count > 1 and 2 * count >= len(keys))
        of_cases = {one: {key: found[one][key] for key in sorted(keys & found[one].keys())} for one in regular}
        made += [Family(of_cases, sorted(counts.keys() - of_cases.keys()))] if len(regular) > 1 else []
    return sorted((one for one in made if one.is_sound), key=lambda one: one.rank)


def _templates(paths: Sequence[str], stars: bool) -> dict[str, dict[Key, str]]:
    """The templates that paths fit, and the path of each case; without cases of which a star fits several paths."""
    found: dict[str, dict[Key, str]] = defaultdict(dict)
    twice = set[tuple[str, Key]]()
    for path in paths:
        for template, key in _readings(path, stars):
            if found[template].setdefault(key, path) != path:
                twice.add((template, key))
    for template, key in twice:
        del found[template][key]
    return found


def _readings(path: str, stars: bool) -> Iterator[tuple[str, Key]]:
    """The templates that a path fits with the field of a case, or of a patient and a case, and their texts."""
    suffix = "/" if path.endswith("/") else ending(Path(path))
    # The case may be any words of a folder or of the name of a file, and comes again wherever these words do. A patient
    # is a whole folder, and its case below is one, too, or the name of a file, or a time in one.
    parts = PARTS.findall(path[: len(path) - len(suffix)])
    for first, last, whole in _spans(parts):
        text = parts[first:last]
        yield _finished(_replaced(parts, text, "{case}"), suffix, stars), ("".join(text),)
        if whole and "/" in parts[last:] and not _GROUP.fullmatch(text[0]):
            within = _replaced(parts, text, "{patient}")
            for start, end, entire in _spans(within):
                scan = within[start:end]
                if start > first and (entire or _TIME.fullmatch("".join(scan))):
                    template = _finished(_replaced(within, scan, "{case}"), suffix, stars)
                    yield template, ("".join(text), "".join(scan))


def _spans(parts: Sequence[str]) -> Iterator[tuple[int, int, bool]]:
    """Runs of words within a name, from and to, and whether a run is the whole name; of long names those at an end."""
    ends = [-1, *(at for at, part in enumerate(parts) if part == "/"), len(parts)]
    for start, end in pairwise(ends):
        words = [at for at in range(start + 1, end) if parts[at] not in SEPARATORS]
        count = len(words)
        for one in range(count):
            for other in range(one, count):
                if (count <= 8 or one == 0 or other == count - 1) and not any(
                    part[0] == "{" for part in parts[words[one] : words[other] + 1]
                ):
                    yield words[one], words[other] + 1, other - one == count - 1


def _runs(template: str) -> list[str]:
    parts = PARTS.findall(template)
    return ["".join(parts[first:last]) for first, last, _ in _spans(parts)]


def _replaced(parts: Sequence[str], text: Sequence[str], field: str) -> list[str]:
    """The parts with a field in each place of a text."""
    found, at, length = list[str](), 0, len(text)
    while at < len(parts):
        fits = parts[at : at + length] == text
        found.append(field if fits else parts[at])
        at += length if fits else 1
    return found


def _finished(parts: Sequence[str], suffix: str, stars: bool) -> str:
    """A template with its suffix and, if asked for, a star for each folder that says neither a case nor a role."""
    if not stars:
        return "".join([*parts, suffix])
    *folders, name = "".join([*parts, suffix]).split("/")
    return "/".join([*(one if "{" in one or role(words_of(one)) else "*" for one in folders), name])
