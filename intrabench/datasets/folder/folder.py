"""The user's own folder or file as a data set."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from intrabench.datasets.base import Dataset, DatasetCard, Files
from intrabench.datasets.convert.dicom_series import listing_of
from intrabench.datasets.convert.segments import Segment, kept_segments, targets_from
from intrabench.datasets.convert.upright import LIMIT_DEGREES, check_upright, upright
from intrabench.datasets.folder.layout import Layout, LoadedCase
from intrabench.datasets.folder.pairing import labelled
from intrabench.datasets.folder.recognise import recognise
from intrabench.datasets.folder.rules import FILE, IGNORE, Rules
from intrabench.errors import IntraBenchError
from intrabench.mask import Mask
from intrabench.specs import specs
from intrabench.target import Target
from intrabench.volume import Volume


@dataclass(frozen=True)
class Folder(Dataset):
    """The data at a path in any supported layout; a ``dataset.toml`` beside it adds what the files cannot say.

    label: path of the labels, if the layout does not include them. channel: channel of the image to use, from 0.
    """

    path: Path
    label: str = ""
    channel: int = 0

    @cached_property
    def layout(self) -> Layout:
        """The layout of the files, or what the rule in ``dataset.toml`` says of them.

        Raises:
            IntraBenchError: the path does not exist, no layout is recognised, or several are and ``dataset.toml`` does
                not choose.
        """
        label = Path(self.label) if self.label else None
        return recognise(self.path, label, self.channel, self.rules.layout, self.rules.patterns)

    @cached_property
    def version(self) -> str:  # type: ignore[override]
        """That of the layout."""
        return self.layout.version

    def remarks(self) -> tuple[str, ...]:
        """What the layout of the files left out, or chose."""
        return self.layout.notes

    @cached_property
    def rules(self) -> Rules:
        """The content of the data set's ``dataset.toml``."""
        return Rules.read(self._root / FILE)

    @property
    def _root(self) -> Path:
        return self.path if self.path.is_dir() else self.path.parent

    @cached_property
    def name(self) -> str:  # type: ignore[override]
        """The name in ``dataset.toml``, else that of the folder, reduced to characters that a spec may contain."""
        return self.rules.name or re.sub(r"[^\w.+-]+", "_", self._root.resolve().name) or "root"

    @cached_property
    def card(self) -> DatasetCard:  # type: ignore[override]
        """The card as stated in ``dataset.toml``, else in the files, else empty."""
        entries = {key: getattr(self.rules, key) for key in ("title", "modality", "licence", "citation")}
        stated = {"title": self.name, "modality": "", **self.layout.stated, **{k: v for k, v in entries.items() if v}}
        return DatasetCard(**stated, caveats=self.layout.notes, names=self.rules.names)

    @cached_property
    def short_spec(self) -> str:
        """The name, the folder of labels if one is given, and the channel unless it is 0. No path is part of it."""
        return self._with_parameters(f"channel={self.channel}" if self.channel else "")

    @cached_property
    def spec(self) -> str:
        """`short_spec` with a hash of the path, so that the store keeps two folders with the same name apart."""
        place = f"{self.path.resolve()} {Path(self.label).resolve() if self.label else ''}"
        digest = hashlib.sha256(place.encode(errors="surrogateescape")).hexdigest()
        return self._with_parameters(f"channel={self.channel},place={digest[:8]}")

    def _with_parameters(self, others: str) -> str:
        labels = re.sub(r"[^\w.-]+", "_", "-".join(labelled(self.path, Path(self.label)))) if self.label else ""
        # one label file is a part of the name of its case
        more = [f"label={labels}" if labels and self.path.is_dir() else "", others]
        return ":".join(filter(None, (self.name, ",".join(filter(None, more)))))

    @property
    def argument(self) -> str:
        """The data set as an argument for the command line, in whatever folder that is typed."""
        parameters = [f"label={specs.quoted(str(Path(self.label).absolute()))}"] if self.label else []
        parameters += [f"channel={self.channel}"] if self.channel else []
        return ":".join([str(self.path.absolute()), *([",".join(parameters)] if parameters else [])])

    def cases(self) -> tuple[str, ...]:
        """The names of the cases, including those that cannot be loaded."""
        return self.layout.cases()

    def patient(self, case: str) -> str:
        """The patient in ``dataset.toml``, else in the files, else the case."""
        return self.rules.patient(case) or self.layout.patient(case)

    def local_files(self, case: str) -> tuple[Path, ...]:
        """The files of the case, and ``dataset.toml`` if it exists."""
        rules = self._root / FILE
        return *self.layout.local_files(case), *([rules] if rules.exists() else [])

    def noted(self) -> tuple[Path, ...]:
        """The list of DICOM series, if there is one."""
        return (listing_of(self.path),)

    def load(self, case: str, files: Files) -> tuple[Volume, Sequence[Target]]:
        """The scan, with notes on what is unusual, and its targets."""
        loaded = self.layout.load(case, self.rules)
        volume, segments = self._upright(loaded)
        entries = {segment: entry for segment in segments if (entry := self.rules.named(segment))}
        notes = [
            f"{_title(segment)} is left out because {FILE} does not list it under [labels]"
            for segment in segments
            if segment not in entries
        ]
        kept, cut = kept_segments(list(entries), self.rules.outside)
        ignored: list[Mask] = []
        pieces: list[tuple[str, Mask]] = []
        for segment in kept:
            label, rule = entries[segment]
            if label == IGNORE:
                ignored.append(segment.mask)
                continue
            if not segment.name and not self.rules.labels:
                notes.append(f"{_title(segment)} has no name; write one under [labels] in {FILE}")
            pieces += [(label, part) for part in ([segment.mask] if rule is None else rule.split(segment.mask))]
        ignore = Mask.union(ignored)
        whole = {segment.mask: segment for segment in kept}  # without the parts of one that is split
        volume = replace(volume, notes=(*volume.notes, *cut, *notes))
        targets = targets_from(pieces, case, volume)
        people = {entries[segment][0]: segment.person for segment in kept}
        return volume, [
            replace(
                one,
                ignore=ignore,
                scribbles=whole[one.mask].scribbles if one.mask in whole else (),
                boxes=whole[one.mask].boxes if one.mask in whole else None,
                person=people.get(one.label, ""),
            )
            for one in targets
        ]

    def _upright(self, loaded: LoadedCase) -> tuple[Volume, Sequence[Segment]]:
        """The scan and its segments with axes at right angles, or a refusal that names the option."""
        if self.rules.shear == "resample" and loaded.volume.grid.skew_degrees > LIMIT_DEGREES:
            return upright(loaded.volume, loaded.segments)
        remedy = f'resample scan and labels to right angles, or write shear = "resample" in {FILE}'
        check_upright(loaded.volume, remedy)
        return loaded.volume, loaded.segments

    def promised(self) -> tuple[str, ...]:
        """The labels named in ``dataset.toml`` or in the files, also those that do not occur."""
        named = tuple(entry.label for entry in self.rules.labels.values()) or self.layout.labels
        return tuple(label for label in dict.fromkeys(named) if label != IGNORE)


def open_folder(spec: str) -> Folder:
    """The data set of ``PATH`` or ``PATH:label=PATH,channel=1``.

    Raises:
        IntraBenchError: the path does not exist, no layout is recognised, or ``dataset.toml`` is invalid or
            names cases that do not exist.
    """
    name, arguments = (spec, {}) if Path(spec).exists() else specs.parse(spec)
    folder = specs.build(Folder, {**arguments, "path": name}, spec)
    if folder.channel < 0:
        raise IntraBenchError(f"{spec!r}: channels count from 0; give channel=0 or more")
    folder.rules.check_patients(folder.cases(), folder._root / FILE)  # as problems with the path, reported at once
    return folder


def _title(segment: Segment) -> str:
    return segment.name or f"value {segment.number}"
