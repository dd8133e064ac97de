"""The cases of a folder by a rule: patterns of the paths of images and of what was drawn on them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import SequenceMatcher
from itertools import islice
from pathlib import Path

from intrabench.datasets.convert.dicom_series import paths_below
from intrabench.datasets.folder.dicom import has_dicom
from intrabench.datasets.folder.pairing import Pair, ending
from intrabench.datasets.folder.pairs import Pairs, channel_notes, stated
from intrabench.datasets.folder.pattern import FilePatterns, Pattern
from intrabench.datasets.folder.rules import FILE
from intrabench.errors import IntraBenchError, several
from intrabench.files.names import check_utf8, one_line

_LOOKED_AT = 1000
"""Files among which the nearest one is looked for."""
Texts = Mapping[str, str]
"""Those of fields."""


@dataclass(eq=False)
class _Case:
    """The files of a case: its images by channel, and what was drawn, by rater and structure (empty: a label map)."""

    texts: Texts
    images: dict[int, list[Path]] = field(default_factory=dict)
    drawn: dict[str, dict[str, list[Path]]] = field(default_factory=dict)


def by_pattern(
    root: Path,
    patterns: FilePatterns,
    channel: int,
    kind: str = f"files by the rule of {FILE}",
    channels: Sequence[str] = (),
) -> Pairs:
    """The cases in a folder by a rule, named by the texts of its fields; none if no file fits.

    A file that fits patterns of images and of labels is what the pattern with more fixed characters says, else an
    image. What was drawn belongs to the case with the longest name that fits. A file without a partner, and two files
    for one place, become a case with a `problem`. Files of formats that cannot be read count only if a pattern names
    their ending.

    channel: which pattern of the image to use, or, if there is one only, which channel of the file. kind: as for
    `Layout`. channels: what they are called; empty: as their patterns.

    Raises:
        IntraBenchError: there is no such channel.
    """
    names = list(channels) or [one.text for one in patterns.image]
    notes = channel_notes(root, names, channel) if len(names) > 1 else []
    if channel and patterns.image[0].folders:
        raise IntraBenchError(f"{root} has DICOM series, which have no channels; omit channel={channel}")
    cases = _cases(root, patterns)
    content: dict[str, Pair] = {}
    for name, case in sorted(cases.items()):
        for rater, pair in _pairs(root, patterns, name, case, channel):
            full = " ".join(filter(None, (name or root.resolve().name, rater)))
            try:
                check_utf8(full, f"{one_line(str(root))} has a file or folder whose name cannot be stored:")
            except IntraBenchError as error:
                pair = replace(pair, problem=str(error))
            if full in content:
                files = f"{content[full].files[0]} and {pair.files[0]}"
                pair = replace(pair, problem=f"{files} would both be of case {full}; rename one of them")
            content[full.encode(errors="backslashreplace").decode()] = pair
    if patterns.label and patterns.structures:
        without = [name for name, pair in content.items() if not pair.problem and not pair.label]
        notes += [f"{several(len(without), 'case')} without a label map, such as {one}" for one in without[:1]]
    return Pairs(
        kind=kind,
        content=content,
        labels=tuple(sorted({name for pair in content.values() for name, _ in pair.structures})),
        stated=stated([pair.image for pair in content.values() if pair.image]),
        notes=tuple(notes),
    )


def check_found(root: Path, patterns: FilePatterns, channel: int, found: Pairs) -> None:
    """Refuse a folder in which nothing fits a rule of its ``dataset.toml``.

    Raises:
        IntraBenchError: there is no image of a case, or nothing that was drawn on one; it names the nearest file.
    """
    image = patterns.image[channel if len(patterns.image) > 1 else 0]
    wanted = [("image", image)] if not any(pair.image for pair in found.content.values()) else []
    wanted += patterns.labels.items() if not any(pair.labels for pair in found.content.values()) else []
    for key, pattern in wanted:
        what = "folder with DICOM files" if pattern.folders else "file"
        what += "" if pattern.folders or ending(Path(pattern.text)) else " of a known format"
        there = f"the nearest is {near}" if (near := _nearest(root, pattern)) else "the folder is empty"
        raise IntraBenchError(
            f'no {what} in {root} fits {key} = "{pattern.text}" of {FILE}; {there}; correct the pattern'
        )


def _nearest(root: Path, pattern: Pattern) -> str:
    """The path in `root` that is most like a pattern, of the first thousand files; empty if there is none."""
    fixed = pattern.fixed.lower()
    files = (path for path in paths_below(root) if path != root / FILE)
    places = (path.parent if pattern.folders else path for path in islice(files, _LOOKED_AT))
    paths = [f"{place.relative_to(root)}{'/' if pattern.folders else ''}" for place in places]
    return max(paths, key=lambda one: SequenceMatcher(None, fixed, one.lower()).ratio(), default="")


def _cases(root: Path, patterns: FilePatterns) -> dict[str, _Case]:
    """The cases by name."""
    images: dict[Path, tuple[int, Texts]] = {}
    for number, pattern in sorted(enumerate(patterns.image), key=lambda one: -len(one[1].fixed)):
        for path, read in _files(root, pattern):
            images.setdefault(path, (number, read[0]))
    names = {path: _name(texts, patterns) for path, (_, texts) in images.items()}
    drawn = [
        (path, pattern, read)
        for pattern in sorted(patterns.labels.values(), key=lambda one: -len(one.fixed))
        for path, read in _files(root, pattern)
    ]
    known = set(names.values())
    for path, pattern, read in drawn:
        # Both of NAME.nii.gz and NAME_seg.nii.gz may fit the pattern of images, but then the second one is no image.
        others = known.intersection(_name(texts, patterns) for texts in read) - {names.get(path)}
        if path in images and others and len(pattern.fixed) > len(patterns.image[images[path][0]].fixed):
            del images[path]
    cases: dict[str, _Case] = {}
    for path, (number, texts) in images.items():
        cases.setdefault(names[path], _Case(texts)).images.setdefault(number, []).append(path)
    known, taken = set(cases), set(images)
    for path, _, read in drawn:
        if path not in taken:
            taken.add(path)
            fitting = [texts for texts in read if _name(texts, patterns) in known]
            texts = max(fitting, key=lambda one: len(_name(one, patterns)), default=read[0])
            people = cases.setdefault(_name(texts, patterns), _Case(texts)).drawn
            people.setdefault(texts.get("rater", ""), {}).setdefault(texts.get("label", ""), []).append(path)
    return cases


def _files(root: Path, pattern: Pattern) -> Iterator[tuple[Path, Sequence[Texts]]]:
    """The files that fit a pattern and can be read, or the folders with DICOM files."""
    named = bool(ending(Path(pattern.text)))
    for path, read in pattern.find(root):
        if has_dicom(path) if pattern.folders else named or ending(path):
            yield path, read


def _name(texts: Texts, patterns: FilePatterns) -> str:
    """The name of a case; empty if the image has no fields, so that there is one case only."""
    return " ".join(texts[name] for name in patterns.fields)


def _pairs(root: Path, patterns: FilePatterns, name: str, case: _Case, channel: int) -> Iterator[tuple[str, Pair]]:
    """The pairs of a case by rater."""
    number, channel = (channel, 0) if len(patterns.image) > 1 else (0, channel)
    pattern, images = patterns.image[number], case.images.get(number, [])
    patient = case.texts.get("patient") or (case.texts.get("case", "") if "time" in case.texts else "")
    scan = case.texts.get("case", "") if {"patient", "time"} <= case.texts.keys() else ""
    for rater, files in sorted(case.drawn.items() or [("", {})]):
        drawn = [path for paths in files.values() for path in paths]
        places = [(patterns.labels["structures" if label else "label"], paths) for label, paths in files.items()]
        places = [(pattern, images), *places]
        twice = [(one.filled(case.texts), paths) for one, paths in places if len(paths) > 1]
        problem = ""
        if twice:
            place, paths = twice[0]
            problem = (
                f'{len(paths)} files fit "{place}", such as {paths[0]} and {paths[1]}; keep one, or narrow the pattern'
            )
        elif not images:
            there = [path for paths in case.images.values() for path in paths] or drawn
            problem = f"{there[0]} has no image {root / pattern.filled(case.texts)}; add it, or remove the file"
        elif not drawn:
            expected = " or ".join(str(root / one.filled(case.texts)) for one in patterns.labels.values())
            problem = f"{images[0]} has no label {expected}; add one, or remove the image"
        pair = Pair(
            image=images[0] if images else None,
            label=files[""][0] if "" in files else None,
            channel=channel,
            problem=problem,
            patient=patient or (name if rater else ""),
            structures=tuple((label, paths[0]) for label, paths in sorted(files.items()) if label),
            time=case.texts.get("time", ""),
            series=" ".join(filter(None, (scan, rater))),
        )
        yield rater, pair
