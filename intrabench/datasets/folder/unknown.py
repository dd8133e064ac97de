"""What is said of a folder in no known layout: what was seen, the nearest layout, and a rule that its files follow."""

from __future__ import annotations

import fnmatch
import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from intrabench.datasets.folder.pairing import VOLUMES, ending
from intrabench.datasets.folder.proposal import Proposal, propose
from intrabench.datasets.folder.published import PUBLISHED
from intrabench.datasets.folder.rules import FILE
from intrabench.datasets.folder.templates import listed, sample
from intrabench.errors import IntraBenchError, several
from intrabench.files.pictures import SUFFIXES as PICTURES

GUIDE = "docs/your_own_data.md"
_NEEDS: Mapping[str, Sequence[str]] = {
    "an nnU-Net folder": ("imagesTr/", "labelsTr/", "dataset.json"),
    "images/ with labels/ or masks/": ("images/", "labels/"),
    "img/ with gt/": ("img/", "gt/"),
    "videos as DAVIS has them": ("JPEGImages/", "Annotations/"),
}
"""The folders and files of layouts."""
_SHOWN, _COUNTED, _LISTED = 2, 20, 2000
"""How many examples are shown, how many more are counted, and how many folders are compared."""


class Unrecognised(IntraBenchError):
    """No layout is recognised. proposal: the rule that the files follow, if there is one."""

    proposal: Proposal | None = None


def unrecognised(path: Path, kind: str = "") -> Unrecognised:
    """What to say of a folder; kind: the layout that it has, but without a complete case."""
    proposal = propose(path)
    lines = [f"{path} has no {f'complete case as {kind}' if kind else 'layout that is recognised'}", *_seen(path)]
    if nearest := "" if kind else _nearest(path):
        lines.append(f"nearest: {nearest}")
    if proposal is not None:
        lines.append(f"these lines of {FILE} fit {proposal.complete} of {several(proposal.cases, 'case')}")
        lines += [f"    {line}" for line in proposal.rule.lines().splitlines()]
        lines += [f"they leave out {proposal.unused}"] if proposal.unused else []
        lines.append(f"write them with {shlex.join(['intrabench', 'data', 'check', str(path), '--write'])}")
    elif not kind and any(ending(Path(one)) not in PICTURES for one in sample(path)):
        lines.append(f'or in {FILE}: image = "{{case}}/ct.nii.gz", label = "{{case}}/seg.nii.gz"')
    error = Unrecognised(*lines, f"all layouts and patterns: {GUIDE}")
    error.proposal = proposal
    return error


def _seen(root: Path) -> list[str]:
    """Two lines at most: the folders and files that there are most of, with examples."""
    folders, files = listed(root)
    readable = [name for name in files if ending(Path(name))]
    alike = defaultdict[str, list[str]](list)
    for name in folders[:_LISTED]:
        content = [sorted({_kind(one, name) for one in names}) for names in listed(root / name)]
        alike[repr(content)].append(name)
    groups = sorted([*alike.values(), *([readable] if readable else [])], key=len, reverse=True)
    if not groups:
        other = f"{several(len(files), 'file')} of other formats, such as {files[0]}" if files else "an empty folder"
        return [f"seen: {other}"]
    first = groups[:_SHOWN]
    others = len(folders) + len(readable) - sum(map(len, first))
    lines = [_files(names) if names is readable else _folders(root, names) for names in first]
    lines[-1] += f", and {others} others" if others else ""
    return [f"seen: {line}" for line in lines]


def _files(names: Sequence[str]) -> str:
    kinds = {_kind(name): name for name in reversed(names)}
    return f"{several(len(names), 'file')} such as {', '.join(sorted(kinds.values())[:_SHOWN])}"


def _folders(root: Path, names: Sequence[str]) -> str:
    found = sample(root / names[0])
    left = len(found) - _SHOWN
    more = "" if left <= 0 else f" and {left} more" if left < _COUNTED else " and more"
    start = f"{names[0]}/" if len(names) == 1 else f"{len(names)} folders such as {names[0]}/"
    return f"{start} with {', '.join(found[:_SHOWN]) + more if found else 'no file that can be read'}"


def _kind(name: str, case: str = "") -> str:
    return re.sub(r"\d+", "0", name.replace(case, "") if case else name)


def _nearest(root: Path) -> str:
    """The layout that a folder has most parts of, and what it lacks; empty if it has none."""
    folders, files = listed(root)
    for inner in folders[:_LISTED]:
        for kind, parts in _NEEDS.items():
            if all((root / inner / part).exists() for part in parts):
                return f"{inner}/ is {kind}; give {root / inner}"
    lacking = {kind: [part for part in parts if not (root / part).exists()] for kind, parts in _NEEDS.items()}
    kind = min(lacking, key=lambda one: len(lacking[one]) / len(_NEEDS[one]))
    if len(lacking[kind]) == len(_NEEDS[kind]):
        names = [Path(one).name for one in sample(root)]  # far fewer than all, which are looked for if one fits
        globs = [(one, re.sub(r"\{\w+\}", "*", one.files.image[0].parts[-1])) for one in PUBLISHED.values()]
        lacking = {one.kind: one.lacking(root) for one, glob in globs if fnmatch.filter(names, glob)}
        kind = next((one for one, parts in lacking.items() if parts), "")
    if kind:
        return f"{kind}; {' and '.join(lacking[kind])} {'is' if len(lacking[kind]) == 1 else 'are'} missing"
    endings = {ending(Path(name)) for name in files}
    if endings & PICTURES:
        return "photographs with masks: NAME.png beside NAME.jpg, or images/ with masks/"
    if endings & {*VOLUMES}:
        return "images beside labels; no name ends in _seg, _label or _mask"
    return ""
