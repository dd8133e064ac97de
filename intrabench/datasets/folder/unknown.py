"""What is said of a folder in no known layout: what was seen, the nearest layout, and a rule that its files follow."""

from __future__ import annotations

import re
import shlex
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from intrabench.datasets.convert.photo import SUFFIXES as PICTURES
from intrabench.datasets.folder.pairing import VOLUMES, ending, files_in
from intrabench.datasets.folder.proposal import Proposal, propose
from intrabench.datasets.folder.rules import FILE
from intrabench.datasets.folder.templates import listed, sample
from intrabench.errors import IntraBenchError, several

GUIDE = "docs/your_own_data.md"
_NEEDS: Mapping[str, Sequence[str]] = {
    "an nnU-Net folder": ("imagesTr", "labelsTr", "dataset.json"),
    "images/ with labels/ or masks/": ("images", "labels"),
    "img/ with gt/": ("img", "gt"),
    "videos as DAVIS has them": ("JPEGImages", "Annotations"),
}
"""The folders and files of layouts."""
_SHOWN, _COUNTED = 2, 20
"""How many examples are shown, and how many more are counted."""


class Unrecognised(IntraBenchError):
    """No layout is recognised. proposal: the rule that the files follow, if there is one."""

    proposal: Proposal | None = None


def unrecognised(path: Path, problem: str = "") -> Unrecognised:
    """What to say of a folder; problem: what is wrong with the layout that it is nearest to."""
    error = Unrecognised(problem or f"{path} has no layout that is recognised", *_seen(path))
    proposal = error.proposal = propose(path)
    lines = [] if problem else [f"nearest: {_nearest(path)}"]
    if proposal:
        command = shlex.join(["intrabench", "data", "check", str(path), "--write"])
        lines += [
            f"{proposal.complete} of {several(proposal.cases, 'case')} have images and labels by these lines, which `{command}` "
            f"writes into {FILE}:",
            *(f"    {line}" for line in proposal.rule.lines().splitlines()),
        ]
        lines += [f"they leave out {proposal.unused}"] if proposal.unused else []
    error.args += (*lines, f"{GUIDE} has all layouts, and the patterns that {FILE} takes")
    return error


def _seen(root: Path) -> list[str]:
    """Two lines at most: the folders and files that there are most of, with examples."""
    folders, files = listed(root)
    readable = [name for name in files if ending(Path(name))]
    alike = defaultdict[str, list[str]](list)
    for name in folders:
        content = [sorted({_kind(one, name) for one in names}) for names in listed(root / name)]
        alike[repr(content)].append(name)
    groups = sorted([*alike.values(), *([readable] if readable else [])], key=len, reverse=True)
    if not groups:
        return [f"seen: no folder, and {several(len(files), 'file')} of other formats"]
    first, others = groups[:_SHOWN], sum(map(len, groups[_SHOWN:]))
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
    """The layout that a folder has most parts of, and what it lacks."""
    folders, files = listed(root)
    for inner in folders:
        for kind, parts in _NEEDS.items():
            if all((root / inner / part).exists() for part in parts):
                return f"{inner}/ is {kind}; give {root / inner}"
    there = {kind: [part for part in parts if (root / part).exists()] for kind, parts in _NEEDS.items()}
    kind = max(there, key=lambda one: len(there[one]) / len(_NEEDS[one]))
    if there[kind]:
        lacking = [part for part in _NEEDS[kind] if part not in there[kind]]
        return f"{kind}; {' and '.join(lacking)} {'is' if len(lacking) == 1 else 'are'} missing"
    endings = {ending(Path(name)) for name in files}
    if endings & PICTURES:
        return "photographs with masks: NAME.png beside NAME.jpg, NAME_mask.png beside NAME.png, or images/ with masks/"
    if endings & {*VOLUMES}:
        return "images beside labels; no name ends in _seg, _label or _mask"
    return "a folder for each case; image and label of its files are to be named by patterns in " + FILE
