"""A folder, or a file, of the user's as a data set."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from intrabench import specs
from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.segments import targets_from
from intrabench.datasets.folder.layout import Layout
from intrabench.datasets.folder.recognise import recognise
from intrabench.datasets.folder.rules import FILE, IGNORE, Rules
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.target import Target
from intrabench.volume import Volume


@dataclass(frozen=True)
class Folder(Dataset):
    """What lies at a path, in any layout that is recognised; a ``dataset.toml`` beside it says what files cannot.

    label: where the labels lie, if not where the layout has them. channel: of images with several, from 0.
    """

    version = "1"

    path: Path
    label: str = ""
    channel: int = 0

    @cached_property
    def layout(self) -> Layout:
        """How it is laid out.

        Raises:
            IntraBenchError: nothing is there, or nothing that is understood.
        """
        return recognise(self.path, Path(self.label) if self.label else None, self.channel)

    @cached_property
    def rules(self) -> Rules:
        """The content of its ``dataset.toml``."""
        return Rules.read(self._root / FILE)

    @property
    def _root(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        """As ``dataset.toml`` says, else the name of the folder, with letters that a spec may have."""
        return self.rules.name or re.sub(r"[^\w.+-]+", "_", self._root.resolve().name) or "root"

    @cached_property
    def card(self) -> DatasetCard:  # type: ignore[override]
        """What ``dataset.toml`` says, else the files, else nobody."""
        given = {key: getattr(self.rules, key) for key in ("title", "modality", "licence", "citation")}
        told = {"title": self.name, "modality": "", **self.layout.stated, **{k: v for k, v in given.items() if v}}
        return DatasetCard(**told, caveats=self.layout.notes)

    @property
    def short_spec(self) -> str:
        """The name, and the channel unless it is 0: where the folder lies is no part of what it is."""
        return f"{self.name}:channel={self.channel}" if self.channel else self.name

    @property
    def spec(self) -> str:
        """As `short_spec`, with a hash of the place, so that two folders of one name are kept apart in the store."""
        place = f"{self.path.resolve()} {Path(self.label).resolve() if self.label else ''}"
        return f"{self.name}:channel={self.channel},place={hashlib.sha256(place.encode()).hexdigest()[:8]}"

    @property
    def argument(self) -> str:
        """What to write on the command line to have it."""
        parameters = [f"label={self.label}"] if self.label else []
        parameters += [f"channel={self.channel}"] if self.channel else []
        return ":".join([str(self.path), *([",".join(parameters)] if parameters else [])])

    def cases(self) -> tuple[str, ...]:
        """The names of the cases, also of those with something wrong."""
        return self.layout.cases()

    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files of the case, and ``dataset.toml`` where there is one."""
        rules = self._root / FILE
        return *self.layout.local_files(case), *([rules] if rules.exists() else [])

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """The scan and its targets."""
        volume, targets, _ = self.read(case)
        return volume, targets

    def read(self, case: str) -> tuple[Volume, list[Target], list[str]]:
        """The scan, its targets, and what is unusual about them, a sentence each."""
        loaded = self.layout.load(case, self.rules)
        notes, ignored, pieces = list(loaded.notes), [], []
        for segment in loaded.segments:
            told = segment.name or f"value {segment.number}"
            named = self.rules.named(segment)
            if named is None:
                notes.append(f"{told} is left out, for {FILE} does not list it under [labels]")
                continue
            label, rule = named
            if label == IGNORE:
                ignored.append(segment.mask)
                continue
            if not segment.name and not self.rules.labels:
                notes.append(f"{told} has no name; write one under [labels] in {FILE}")
            pieces += [(label, part) for part in ([segment.mask] if rule is None else rule.split(segment.mask))]
        ignore = Mask.union(ignored)
        targets = targets_from(pieces, case, loaded.volume)
        return loaded.volume, [replace(target, ignore=ignore) for target in targets], notes

    def promised(self) -> tuple[str, ...]:
        """The labels that ``dataset.toml`` or the files name, whether or not they occur."""
        named = tuple(entry.label for entry in self.rules.labels.values()) or self.layout.labels
        return tuple(label for label in dict.fromkeys(named) if label != IGNORE)


def open_folder(spec: str) -> Folder:
    """The data set of ``PATH`` or ``PATH:label=PATH,channel=1``.

    Raises:
        IntraBenchError: nothing is there, nothing that is understood, or a ``dataset.toml`` that is wrong.
    """
    name, arguments = (spec, {}) if Path(spec).exists() else specs.parse(spec)
    folder = specs.build(Folder, {**arguments, "path": name}, spec)
    if folder.channel < 0:
        raise IntraBenchError(f"{spec!r}: channels count from 0; give channel=0 or more")
    folder.cases()  # what is wrong with the place is told at once
    return folder
