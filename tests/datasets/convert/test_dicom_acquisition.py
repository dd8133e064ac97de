"""Series in which a scanner stored several acquisitions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.convert.dicom_acquisition import one_acquisition
from intrabench.datasets.convert.dicom_file import read_dataset
from intrabench.datasets.convert.dicom_references import References
from intrabench.errors import IntraBenchError
from tests.datasets.convert.dicom_files import change, write_ct, write_seg

ARRAY = np.arange(6 * 16 * 16, dtype=np.uint16).reshape(6, 16, 16)


def acquisitions(folder: Path, *first_slices: int) -> list[list[Path]]:
    """Acquisitions of six slices each, beginning at the given slices, 2 mm apart, in one series."""
    made = []
    for number, first in enumerate(first_slices):
        paths = write_ct(folder / str(number), ARRAY, origin=(0, 0, 2.0 * first), SeriesInstanceUID=f"1.2.{number}")
        made.append([change(path, SeriesInstanceUID="1.2.9", AcquisitionNumber=number) for path in paths])
    return made


def instances(paths: list[Path]) -> list[str]:
    return [str(read_dataset(path, "SOPInstanceUID").SOPInstanceUID) for path in paths]


def test_a_series_without_shared_positions_is_left_as_it_is(tmp_path: Path) -> None:
    (paths,) = acquisitions(tmp_path, 0)
    assert one_acquisition(paths, ()) == paths
    assert one_acquisition([], ()) == []


def test_the_acquisition_that_was_drawn_on_is_taken(tmp_path: Path) -> None:
    first, second = acquisitions(tmp_path, 0, 0)
    assert set(one_acquisition([*first, *second], instances(second[2:4]))) == set(second)


def test_slices_that_only_another_acquisition_has_are_added_where_labels_name_them(tmp_path: Path) -> None:
    first, second = acquisitions(tmp_path, 0, 4)  # slices 0 to 5 and 4 to 9
    named = instances(first[1:6]) + instances(second[2:4])
    assert set(one_acquisition([*first, *second], named)) == {*first, second[2], second[3]}


def test_frames_tell_more_than_the_list_of_all_images(tmp_path: Path) -> None:
    first, second = acquisitions(tmp_path, 0, 0)
    mask = np.zeros(ARRAY.shape, dtype=np.uint8)
    mask[2:4, 3:9, 3:9] = 1
    seg = read_dataset(write_seg(tmp_path / "seg.dcm", second, {"tumour": mask}))
    assert References.drawn_on(seg) == set(instances(second[2:4]))
    assert set(one_acquisition([*first, *second], References.drawn_on(seg))) == set(second)
    for frame in seg.PerFrameFunctionalGroupsSequence:
        del frame.DerivationImageSequence
    assert References.drawn_on(seg) == References.of(seg).instances != frozenset()


@pytest.mark.parametrize("named", [[], [0, 6]], ids=str)
def test_labels_that_do_not_tell(tmp_path: Path, named: list[int], wording: SnapshotAssertion) -> None:
    both = [path for paths in acquisitions(tmp_path, 0, 0) for path in paths]
    with pytest.raises(IntraBenchError) as caught:
        one_acquisition(both, instances([both[index] for index in named]))
    assert caught == wording


def test_different_images_at_one_position_of_one_acquisition(tmp_path: Path, wording: SnapshotAssertion) -> None:
    """Two phases without acquisition numbers: no mixture of them is taken."""
    first, second = acquisitions(tmp_path, 0, 0)
    for path in second:
        change(path, AcquisitionNumber=0)
    with pytest.raises(IntraBenchError) as caught:
        one_acquisition([*first, *second], instances(second))
    assert caught == wording
    copy = tmp_path / "copy"
    copy.write_bytes(first[3].read_bytes())
    assert one_acquisition([*first, copy], instances(first)) == first
