"""The viewer opens in the plane in which the scan was read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

import intrabench
from intrabench.datasets.cases import store
from intrabench.reporting.page.page import write_report
from tests.reporting.page.browsing import wait_for_viewer

SAGITTAL = "phantom:shape=48x40x12,spacing=0.7x0.7x2.5,instances=1"


def test_the_viewer_opens_in_the_plane_of_the_session(opened: Any, data: Path) -> None:
    """Its slices come first, at the one where the target is largest there; another session changes that."""
    for prompter, protocol in (("box_slice", "basic@2"), ("box_middle", "basic@2:plane=coronal")):
        intrabench.run("box_fill", prompter, SAGITTAL, out="out", workers=0, protocol=protocol)
    write_report(Path("out"), Path("report.html"))
    page = opened(Path("report.html").resolve().as_uri())
    wait_for_viewer(page)
    array = store.open_case(intrabench.dataset(SAGITTAL), "case-1").targets()[0].mask.to_array((48, 40, 12))
    answers = page.get_by_label("Answer of")
    for prompter, planes in (
        ("box_slice", ["sagittal", "axial", "coronal"]),
        ("box_middle", ["coronal", "axial", "sagittal"]),
        ("box_slice", ["sagittal", "axial", "coronal"]),
    ):
        (label,) = [text for text in answers.locator("option").all_inner_texts() if text.startswith(prompter)]
        answers.select_option(label=label)
        assert [one.get_attribute("data-name") for one in page.locator(".planes canvas").all()] == planes
        axis = ["axial", "coronal", "sagittal"].index(planes[0])
        areas = array.sum(axis=tuple(other for other in range(3) if other != axis))
        assert page.locator(".planes output").first.inner_text() == str(int(np.argmax(areas)))
