"""Public data sets, known by the names of their files as published: their rules, names of values and modalities."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from intrabench.datasets.folder.by_pattern import by_pattern
from intrabench.datasets.folder.layout import not_used
from intrabench.datasets.folder.pairs import Pairs
from intrabench.datasets.folder.pattern import FilePatterns, Pattern
from intrabench.errors import several


@dataclass(frozen=True, kw_only=True)
class Published:
    """A public data set.

    kind: its name, for people. image, label, structures: its rule, as in `FilePatterns`. cases: what the names of cases
    match. channels: the modality of each image of a case. names: what values are called, if the names of all cases
    match `named`; empty: nobody knows, or the files say it themselves. left: further files of a case, which are not
    used. month_first: whether its times begin with dates such as 03-23-2003.
    """

    kind: str
    image: tuple[str, ...]
    label: str = ""
    structures: str = ""
    cases: str = ".+"
    channels: tuple[str, ...] = ("CT",)
    names: Mapping[int, str] = field(default_factory=dict)
    named: str = ".+"
    left: tuple[str, ...] = ()
    month_first: bool = False

    @property
    def files(self) -> FilePatterns:
        """Its rule."""
        label, structures = (Pattern(text) if text else None for text in (self.label, self.structures))
        return FilePatterns(tuple(map(Pattern, self.image)), label, structures)

    def layout(self, path: Path, label: Path | None, channel: int) -> Pairs | None:
        """Its cases in a folder; None if none is complete, or if a folder in it cannot be read."""
        if label is not None or not path.is_dir():
            return None
        try:
            found = self._in(path, 0)
        except PermissionError:
            return None
        if not found.complete():
            return None
        found = self._in(path, channel) if channel else found
        images = {file for pattern in self.files.image for file, _ in pattern.find(path)}
        beside = sorted(file for text in self.left for file, _ in Pattern(text).find(path))
        known = all(re.fullmatch(self.named, case) for case in found.complete())
        many = several(len(beside), "file")
        return replace(
            found,
            regions={name: (value,) for value, name in self.names.items()} if known else {},
            stated={"modality": self.channels[channel if len(self.channels) > 1 else 0]},
            left=frozenset(images.union(beside)),
            notes=(*found.notes, *(not_used(f"{many}, such as {one.relative_to(path)}") for one in beside[:1])),
        )

    def lacking(self, path: Path) -> list[str]:
        """The patterns that no file in a folder fits, if its first one is there; empty if it is not."""
        image, *others = self.files.image
        named = (" ".join(read[0][name] for name in self.files.fields) for _, read in image.find(path))
        if not any(re.fullmatch(self.cases, case) for case in named):
            return []
        return [one.text for one in (*others, *self.files.labels.values()) if not any(True for _ in one.find(path))]

    def _in(self, path: Path, channel: int) -> Pairs:
        """The cases whose names fit, with a note on those that do not."""
        found = by_pattern(path, self.files, channel, self.kind, self.channels)
        content = {case: pair for case, pair in found.content.items() if re.fullmatch(self.cases, case)}
        if self.month_first:
            content = {case: replace(pair, time=_date(pair.time)) for case, pair in content.items()}
        others = [case for case in found.content if case not in content]
        notes = [not_used(f"{several(len(others), 'case')} not named as in {self.kind}: {one}") for one in others[:1]]
        return replace(found, content=content, notes=(*found.notes, *notes))


def _date(time: str) -> str:
    """``2003-03-23`` of ``03-23-2003-NA-PET-CT``."""
    return re.sub(r"^(\d\d)-(\d\d)-(\d{4})\b.*", r"\3-\1-\2", time)


_KITS = {1: "kidney", 2: "tumor", 3: "cyst"}
_MR = ("FLAIR", "T1", "T1ce", "T2")
_ORGANS = (
    "liver, right kidney, spleen, pancreas, aorta, inferior vena cava, right adrenal gland, left adrenal gland, "
    "gallbladder, esophagus, stomach, duodenum, left kidney"
)
PUBLISHED: Mapping[str, Published] = {
    "totalsegmentator": Published(
        kind="TotalSegmentator",  # and AbdomenAtlas, which has a label map, too
        image=("{case}/ct.nii.gz",),
        structures="{case}/segmentations/{label}.nii.gz",
        left=("{case}/combined_labels.nii.gz",),
    ),
    "totalsegmentator_mr": Published(
        kind="TotalSegmentator MRI",
        image=("{case}/mri.nii.gz",),
        structures="{case}/segmentations/{label}.nii.gz",
        channels=("MR",),
    ),
    "kits": Published(
        kind="KiTS",  # of 2019 and 2023
        image=("{case}/imaging.nii.gz",),
        label="{case}/segmentation.nii.gz",
        cases=r"case_\d{5}",
        names=_KITS,
        left=("{case}/instances/*.nii.gz",),
    ),
    "kits21": Published(
        kind="KiTS21",
        image=("{case}/imaging.nii.gz",),
        label="{case}/aggregated_MAJ_seg.nii.gz",
        cases=r"case_\d{5}",
        names=_KITS,
        left=(
            "{case}/aggregated_AND_seg.nii.gz",
            "{case}/aggregated_OR_seg.nii.gz",
            "{case}/segmentations/*.nii.gz",
        ),
    ),
    "lits": Published(
        kind="LiTS",
        image=("volume-{case}.nii*",),
        label="segmentation-{case}.nii*",
        cases=r"\d+",
        names={1: "liver", 2: "tumor"},
    ),
    "brats2020": Published(
        kind="BraTS 2020",  # of 2017 to 2021
        image=(
            "{case}/{case}_flair.nii*",
            "{case}/{case}_t1.nii*",
            "{case}/{case}_t1ce.nii*",
            "{case}/{case}_t2.nii*",
        ),
        label="{case}/{case}_seg.nii*",
        cases=r"(?i)brats\w+",
        channels=_MR,
        names={1: "necrotic and non-enhancing tumor core", 2: "edema", 4: "enhancing tumor"},
    ),
    "brats": Published(
        kind="BraTS",  # since 2023; the values of some tumours, such as those of children, have other names
        image=(
            "{patient}-{time}/{patient}-{time}-t2f.nii*",
            "{patient}-{time}/{patient}-{time}-t1n.nii*",
            "{patient}-{time}/{patient}-{time}-t1c.nii*",
            "{patient}-{time}/{patient}-{time}-t2w.nii*",
        ),
        label="{patient}-{time}/{patient}-{time}-seg.nii*",
        cases=r"BraTS-\w+-\d+ \d+",
        channels=_MR,
        names={1: "non-enhancing tumor core", 2: "edema", 3: "enhancing tumor", 4: "resection cavity"},
        named=r"BraTS-(GLI|SSA|MEN|MET)-.+",
    ),
    "autopet": Published(
        kind="autoPET",  # of 2022
        image=("{patient}/{time}/CTres.nii.gz", "{patient}/{time}/SUV.nii.gz"),
        label="{patient}/{time}/SEG.nii.gz",
        cases=r"PETCT_\w+ .+",
        channels=("CT", "PET"),
        names={1: "lesion"},
        left=("{patient}/{time}/CT.nii.gz", "{patient}/{time}/PET.nii.gz"),
        month_first=True,
    ),
    "flare21": Published(
        kind="FLARE21",
        image=("TrainingImg/{case}_0000.nii.gz",),
        label="TrainingMask/{case}.nii.gz",
        cases=r"train_\d{3}",
        names={1: "liver", 2: "kidney", 3: "spleen", 4: "pancreas"},
    ),
    "flare22": Published(
        kind="FLARE22",
        image=("images/{case}_0000.nii.gz",),
        label="labels/{case}.nii.gz",
        cases=r"FLARE22_Tr_\d{4}",
        names=dict(enumerate(_ORGANS.split(", "), start=1)),
    ),
}
"""By what they are called as `layout`. Decathlon, AMOS and autoPET since 2024 are in nnU-Net's layout."""
