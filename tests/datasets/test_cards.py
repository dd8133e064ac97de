"""What the cards of all data sets promise."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from intrabench.datasets.base import Dataset, NotFetched
from intrabench.datasets.families.segmented_photos import SegmentedPhotos
from intrabench.datasets.photo_sets import PhotoSet
from intrabench.models.weights import registry as weights
from intrabench.registry import registry

SHIPPED = [entry.load()() for entry in registry.entries("datasets").values() if entry.origin == "intrabench"]
TEN = {
    "ms_flair": ("D1", 60),
    "hanseg": ("D2", 42),
    "hntsmrg": ("D3", 135),
    "rider_lung": ("D4", 59),  # the paper counts 58
    "lnq": ("D5", 513),
    "colorectal_livermets": ("D6", 171),
    "adrenal_acc": ("D7", 53),
    "hcc_tace": ("D8", 66),  # the paper counts 65
    "pengwin": ("D9", 100),
    "segrap": ("D10", 30),
}


def in_archive(dataset: Dataset) -> bool:
    """Whether its cases are known once its archive is here."""
    return isinstance(dataset, (PhotoSet, SegmentedPhotos)) or dataset.name in ("hntsmrg", "davis2017")


def test_the_ten_of_the_paper_are_there() -> None:
    assert {one.name: (one.card.paper, one.card.cases) for one in SHIPPED if one.card.paper} == TEN


@pytest.mark.parametrize("dataset", SHIPPED, ids=lambda one: one.name)
def test_a_card_tells_what_a_reader_must_know(data: Path, dataset: Dataset, wording: SnapshotAssertion) -> None:
    card = dataset.card
    for told in (card.title, card.modality, card.licence, card.citation, card.labels, card.caveats):
        assert told
    if dataset.name != "phantom":
        assert card.homepage.startswith("https://")
        assert card.instances
        assert card.cases
        assert dataset.sources() or dataset.case_sources(dataset.cases()[0])
    if in_archive(dataset):
        with pytest.raises(NotFetched) as caught:
            dataset.cases()
        assert caught == wording
    else:
        cases = dataset.cases()
        assert len(set(cases)) == len(cases) == (card.cases or len(cases))
        assert set(dataset.subsets()["smoke"]) <= set(cases)


def test_every_scan_is_of_another_patient_unless_its_data_set_says_so() -> None:
    fixed = [one for one in SHIPPED if not in_archive(one)]
    fewer = {one.name: len({one.patient(case) for case in one.cases()}) for one in fixed}
    assert {name: count for name, count in fewer.items() if count < len(registry.make("datasets", name).cases())} == {
        "rider_lung": 31
    }
    berkeley = registry.make("datasets", "berkeley")
    assert {berkeley.patient(case) for case in ("239007", "239007a", "239007b")} == {"239007"}


def test_names_of_what_was_trained_on_are_those_of_the_cards() -> None:
    """A name that is written in two ways would hide that a model has seen its test data."""
    ours = {name for one in SHIPPED if one.card.paper for name in one.card.part_of}
    assert ours == set(TEN)
    assert set(weights.get("nninteractive").held_out) == ours
    assert "hanseg" in weights.get("segvol").trained_on
