"""Which other targets an answer fits better than its own: against all unions, in words, in rows and in the report."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import intrabench
from intrabench.datasets.cases import store
from intrabench.datasets.cases.stored_case import Siblings
from intrabench.mask import Mask
from intrabench.metrics import other_targets
from intrabench.metrics.mask_pair import MaskPair
from intrabench.metrics.other_targets import MARGIN, OtherTargets
from intrabench.reporting.page.diagnosis import other_targets as sentences
from intrabench.results.parts import read_rows
from intrabench.statistics.evaluation import with_lines
from intrabench.target import Target, targets_of

NAMES = {1: ("liver", 1), 2: ("lesion", 1), 3: ("lesion", 2), 4: ("vessel", 1), 5: ("spleen", 1)}


def case_of(labels: np.ndarray) -> list[Target]:
    """The targets of a label map, as the store gives them."""
    found = targets_of(labels, NAMES, "case", (1.0, 1.0, 1.0))
    infos = tuple(target.info() for target in found)
    return [replace(target, siblings=Siblings(infos, n)) for n, target in enumerate(found)]


def fits_better(every: list[Target], target: int, answer: np.ndarray) -> str | None:
    others = OtherTargets(lambda: every)
    return others.fitting_better(MaskPair(every[target], Mask.of(answer)))


def dice(one: np.ndarray, other: np.ndarray) -> float:
    return 2 * float((one & other).sum()) / float(one.sum() + other.sum())


def test_the_others_are_read_once_an_answer_is_not_nearly_right() -> None:
    read: list[int] = []
    labels = np.zeros((1, 4, 40), np.uint8)
    labels[0, :, :20], labels[0, :, 20:] = 1, 2
    every = case_of(labels)
    others = OtherTargets(lambda: read.append(1) or every)  # type: ignore[func-returns-value]
    for answer, times in ((labels == 1, 0), (labels == 0, 0), (labels == 2, 1), (labels == 2, 1)):
        others.fitting_better(MaskPair(every[0], Mask.of(answer)))
        assert len(read) == times


@pytest.mark.parametrize("seed", range(12))
def test_no_union_fits_better_than_the_one_that_is_named(seed: int) -> None:
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, 6, (4, 3, 3)).repeat(2, axis=0).repeat(2, axis=1)
    shares = rng.choice([0.1, 0.5, 0.95], 6)
    answer = rng.random(labels.shape) < shares[labels]
    every = case_of(labels)
    masks = {target.id: labels == n for n, target in enumerate(every, 1)}
    own, *others = masks
    alone = max(others, key=lambda id: dice(masks[id], answer))
    union = max(
        (ids for count in range(1, 6) for ids in combinations(masks, count)),
        key=lambda ids: dice(np.any([masks[id] for id in ids], axis=0), answer),
    )
    named, best = (alone,), dice(masks[alone], answer)
    if len(union) > 1 and (together := dice(np.any([masks[id] for id in union], axis=0), answer)) > best + MARGIN:
        named, best = union, together
    more = f"+{len(named) - 3} more" if len(named) > 3 else ""
    expected = "+".join(named[:3]) + more if best > dice(masks[own], answer) + MARGIN else ""
    assert fits_better(every, 0, answer) == expected


def test_the_liver_instead_of_the_lesion(monkeypatch: pytest.MonkeyPatch) -> None:
    labels = np.zeros((6, 20, 20), np.uint8)
    labels[1:5, 2:16, 2:16] = 1
    labels[2:4, 4:7, 4:7], labels[2:4, 10:13, 10:13] = 2, 3
    every = case_of(labels)
    lesions, liver = np.isin(labels, (2, 3)), labels > 0
    assert fits_better(every, 1, liver) == "liver.1"  # with its lesions it is hardly better
    assert fits_better(every, 1, lesions) == "lesion.1+lesion.2"
    assert fits_better(every, 1, labels == 2) == fits_better(every, 1, labels == 9) == ""
    assert fits_better(every, 0, liver) == ""
    raters = [replace(target, person=f"r{n}") for n, target in enumerate(every)]
    assert fits_better(raters, 1, liver) == ""  # what other people drew is no other target
    monkeypatch.setattr(other_targets, "MOST_BYTES", 100)
    assert fits_better(every, 1, liver) is None


MODEL = """
from dataclasses import dataclass
import numpy as np
from intrabench import Answer, Mask, VolumeModel

@dataclass(eq=False)
class Everything(VolumeModel):
    "All that is bright, whatever was asked."
    name = "everything"
    accepts = frozenset({"point"})

    def segment_one(self, volume, request):
        return Answer(Mask.of(np.load("bright.npy")))
"""


def test_rows_and_the_report_say_what_fits_better(data: Path) -> None:
    spec = "phantom:shape=12x32x32,instances=2,seed=1"
    dataset = intrabench.dataset(spec)
    store.prepare(dataset, dataset.cases()[0])
    first, second = store.open_case(dataset, dataset.cases()[0]).targets()
    np.save("bright.npy", second.mask.to_array(first.shape))
    Path("everything.py").write_text(MODEL)
    asked = {"model": "everything", "prompter": "click_center", "dataset": spec, "plugin": [Path("everything.py")]}
    intrabench.run(**asked, metric=["dice_prompted", "dice_away", "dice_away:least=2", "beyond_ends"], out="results")
    rows = read_rows(Path("results"))
    found = dict(rows.select("target", "fits_better").iter_rows())
    assert found == {first.id: second.id, second.id: ""}
    (said,) = sentences(*with_lines(rows))
    assert f"in 1 of 2 sessions the answer fits another target better: {second.id} 1." in said
    intrabench.report("page.html", "results")
    page = Path("page.html").read_text()
    assert said in page.replace("<wbr>", "")
    heads = [
        page.index(head)
        for head in ("Dice on prompted slices", "Dice 2 or more slices away", "Beyond the ends, voxels")
    ]
    assert heads == sorted(heads)
    assert sentences(*with_lines(rows.with_columns(fits_better=pl.lit(None, pl.String)))) == []
