"""Synthetic DICOM files: series, segmentations and structure sets that are drawn on them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import highdicom as hd
import numpy as np
import pydicom
from pydicom.dataset import FileMetaDataset
from pydicom.sr.codedict import codes
from pydicom.uid import CTImageStorage, ExplicitVRLittleEndian, RTStructureSetStorage, generate_uid

AXIAL = (1, 0, 0, 0, 1, 0)
CORONAL = (1, 0, 0, 0, 0, -1)
SAGITTAL = (0, 1, 0, 0, 0, -1)
OBLIQUE = (0.8, 0.6, 0, -0.36, 0.48, 0.8)
STACKS = {
    "axial": (AXIAL, None),
    "coronal": (CORONAL, None),
    "sagittal": (SAGITTAL, None),
    "oblique": (OBLIQUE, None),
    "tilted": (AXIAL, (0.3, -0.6, 2.5)),
}
"""Orientations, and the step from slice to slice where it is not along their normal."""


def write_ct(
    folder: Path,
    array: np.ndarray,
    spacing: Sequence[float] = (2.0, 1.0, 1.0),
    origin: Sequence[float] = (0.0, 0.0, 0.0),
    orientation: Sequence[float] = AXIAL,
    step: Sequence[float] | None = None,
    syntax: str = ExplicitVRLittleEndian,
    **tags: Any,
) -> list[Path]:
    """One file per slice of `array` ``(slice, row, column)`` of stored values (intercept -1000), under shuffled names.

    spacing: along ``(slice, row, column)`` in mm. origin, orientation: ImagePositionPatient of the first slice and
    ImageOrientationPatient, LPS. step: from slice to slice in mm; along the normal unless given. tags: further DICOM
    tags by keyword, such as PatientID. Returns the paths in the order of the slices.
    """
    folder.mkdir(parents=True, exist_ok=True)
    series = tags.setdefault("SeriesInstanceUID", uid(folder))
    if step is None:
        step = np.cross(orientation[:3], orientation[3:]) * spacing[0]
    names = np.random.default_rng(0).permutation(len(array))
    paths = []
    for index, plane in enumerate(array):
        dataset = _dataset(CTImageStorage, uid(series, index), "CT")
        dataset.Rows, dataset.Columns = plane.shape
        dataset.ImageOrientationPatient = list(orientation)
        dataset.ImagePositionPatient = np.add(origin, np.multiply(step, index)).round(6).tolist()
        dataset.PixelSpacing, dataset.SliceThickness = list(spacing[1:]), spacing[0]
        dataset.SamplesPerPixel, dataset.PhotometricInterpretation = 1, "MONOCHROME2"
        dataset.BitsAllocated = dataset.BitsStored = 8 * plane.dtype.itemsize
        dataset.HighBit, dataset.PixelRepresentation = dataset.BitsStored - 1, int(plane.dtype.kind == "i")
        dataset.RescaleSlope, dataset.RescaleIntercept = 1, -1000
        dataset.PixelData = np.ascontiguousarray(plane).tobytes()
        if syntax != ExplicitVRLittleEndian:
            dataset.compress(syntax)
        paths.append(save(folder / f"{names[index]:03d}", dataset, **tags))
    return paths


def write_seg(
    path: Path,
    images: Sequence[Path],
    segments: Mapping[str, np.ndarray] | Iterable[tuple[str, np.ndarray]],
    kind: str = "BINARY",
    **tags: Any,
) -> Path:
    """A DICOM SEG of masks (or, for the kind FRACTIONAL, fractions) ``(slice, row, column)`` in the order of `images`.

    Empty frames are left out. tags: as for `write_ct`.
    """
    named = list(segments.items() if isinstance(segments, Mapping) else segments)
    described = [
        hd.seg.SegmentDescription(number, label, codes.SCT.Organ, codes.SCT.Organ, "MANUAL")
        for number, (label, _) in enumerate(named, start=1)
    ]
    stacked = np.stack([mask for _, mask in named], axis=-1)
    seg = hd.seg.Segmentation(
        source_images=[pydicom.dcmread(image) for image in images],
        pixel_array=stacked.astype(np.float32 if kind == "FRACTIONAL" else np.uint8),
        segmentation_type=kind,
        segment_descriptions=described,
        series_instance_uid=uid(path),
        series_number=1,
        sop_instance_uid=uid(path, "instance"),
        instance_number=1,
        manufacturer="none",
        manufacturer_model_name="none",
        software_versions="0",
        device_serial_number="0",
    )
    return save(path, seg, **tags)


def write_rtstruct(
    path: Path,
    images: Sequence[Path],
    regions: Mapping[str, Sequence[np.ndarray]],
    geometry: str = "CLOSED_PLANAR",
    **tags: Any,
) -> Path:
    """An RTSTRUCT with contours ``(n, 3)`` in LPS mm per region, numbered from 1. tags: as for `write_ct`."""
    first = pydicom.dcmread(images[0], stop_before_pixels=True)
    dataset = _dataset(RTStructureSetStorage, uid(path, "instance"), "RTSTRUCT")
    del dataset.FrameOfReferenceUID  # as real ones
    dataset.StudyInstanceUID, dataset.PatientID = first.StudyInstanceUID, first.get("PatientID", "")
    dataset.SeriesInstanceUID = uid(path)
    instances = [item(ReferencedSOPInstanceUID=_instance(image)) for image in images]
    series = item(SeriesInstanceUID=first.SeriesInstanceUID, ContourImageSequence=instances)
    study = item(RTReferencedSeriesSequence=[series])
    frame = item(FrameOfReferenceUID=first.FrameOfReferenceUID, RTReferencedStudySequence=[study])
    dataset.ReferencedFrameOfReferenceSequence = [frame]
    dataset.StructureSetROISequence = [item(ROINumber=n, ROIName=name) for n, name in enumerate(regions, start=1)]
    dataset.ROIContourSequence = [
        item(ReferencedROINumber=number, ContourSequence=[_contour(points, geometry) for points in contours])
        for number, contours in enumerate(regions.values(), start=1)
        if len(contours)
    ]
    dataset.RTROIObservationsSequence = []
    return save(path, dataset, **tags)


def uid(*parts: object) -> str:
    """A UID that depends on nothing but `parts`."""
    return generate_uid(entropy_srcs=[str(part) for part in parts])


def item(**tags: Any) -> pydicom.Dataset:
    """An item of a sequence."""
    dataset = pydicom.Dataset()
    for keyword, value in tags.items():
        setattr(dataset, keyword, value)
    return dataset


def save(path: Path, dataset: pydicom.Dataset, **tags: Any) -> Path:
    """Write `dataset` after setting tags by keyword; those that are None are removed."""
    for keyword, value in tags.items():
        if value is not None:
            setattr(dataset, keyword, list(value) if isinstance(value, tuple) else value)
        elif keyword in dataset:
            delattr(dataset, keyword)
    dataset.save_as(path, enforce_file_format=True)
    return path


def change(path: Path, **tags: Any) -> Path:
    """Change or (None) remove tags of a file."""
    return save(path, pydicom.dcmread(path), **tags)


def _dataset(sop_class: str, instance: str, modality: str) -> pydicom.Dataset:
    dataset = item(
        SOPClassUID=sop_class,
        SOPInstanceUID=instance,
        Modality=modality,
        PatientID="patient",
        PatientName="none^",
        StudyInstanceUID=uid("study"),
        FrameOfReferenceUID=uid("frame"),
    )
    dataset.file_meta = FileMetaDataset()
    dataset.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    for keyword in ("PatientBirthDate", "PatientSex", "StudyID", "StudyDate", "StudyTime", "AccessionNumber"):
        setattr(dataset, keyword, "")
    return dataset


def _instance(path: Path) -> str:
    return pydicom.dcmread(path, stop_before_pixels=True).SOPInstanceUID


def _contour(points: np.ndarray, geometry: str) -> pydicom.Dataset:
    numbers = [f"{value:.6g}" for value in np.asarray(points, dtype=float).ravel()]
    return item(ContourGeometricType=geometry, NumberOfContourPoints=len(points), ContourData=numbers)
