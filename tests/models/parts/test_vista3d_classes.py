"""Which class a label means to VISTA3D."""

from __future__ import annotations

import pytest

from intrabench.models.parts.vista3d_classes import class_of, name_of, supported


@pytest.mark.parametrize(
    ("label", "index"),
    [
        ("liver", 1),
        ("Left Kidney", 14),
        ("kidney_left", 14),
        ("rib_right_12", 86),
        ("vertebrae_L5", 33),
        ("Vertebra C1", 56),
        ("lung_upper_lobe_left", 28),
        ("oesophagus", 11),
        ("urinary_bladder", 15),
        ("lung tumour", 23),
        ("portal_vein_and_splenic_vein", 17),
        ("airways", 132),
    ],
)
def test_words_of_data_sets(label: str, index: int) -> None:
    assert class_of(label) == index


@pytest.mark.parametrize("label", ["", "tumour", "vertebra", "kidney", "lung", "bone", "rectum", "left", "lesion 3"])
def test_labels_that_are_no_class(label: str) -> None:
    assert class_of(label) is None


def test_every_class_is_found_by_its_name() -> None:
    assert len(supported()) == 124
    assert all(class_of(name_of(index)) == index for index in supported())
    assert not supported() & {0, 2, 16, 18, 20, 21, 129, 130, 131, 133}
